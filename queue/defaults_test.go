package queue_test

import (
	"fmt"
	"testing"

	"oarlock/queue"
)

// TestDefaultsOfTheProtocol: nothing is set, and each default shows at the moment, or the number, by which the originals have it.
func TestDefaultsOfTheProtocol(t *testing.T) {
	c := fresh(t)
	script := queue.Protocol(queue.Qless)
	call := func(now float64, command string, args ...any) any {
		t.Helper()
		reply, _ := script.Run(t.Context(), c.Redis(), nil, append([]any{command, now}, args...)...).Result() // nil is no error
		return reply
	}
	complete := func(jid string, now float64) {
		t.Helper()
		call(now, "put", "w", "q", jid, "K", "{}", 0)
		call(now, "pop", "q", "w", 1)
		equal(t, "completed", call(now, "complete", jid, "w", "q", "{}"), any("complete"))
	}
	there := func(jid string) bool { return c.Redis().Exists(t.Context(), "ql:j:"+jid).Val() == 1 }

	const week = 7 * 86400
	complete("first", 1000) // jobs-history: a week
	complete("second", 1000+week-1)
	equal(t, "a second before a week", there("first"), true)
	complete("third", 1000+week)
	equal(t, "after a week", there("first"), false)

	const failed = 1e6 // unfail: 25 at a time
	for i := range 30 {
		jid := fmt.Sprint("f", i)
		call(failed, "put", "w", "q", jid, "K", "{}", 0)
		call(failed, "pop", "q", "w", 1)
		call(failed, "fail", jid, "w", "g", "m")
	}
	equal(t, "brought back at once", call(failed, "unfail", "q", "g"), any(int64(25)))
	equal(t, "left", c.Redis().LLen(t.Context(), "ql:f:g").Val(), 5)
}
