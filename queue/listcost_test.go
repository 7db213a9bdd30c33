package queue

import (
	"fmt"
	"strings"
	"testing"
)

// TestListCommandsPerCall counts the Redis commands inside a call about a list. What a call costs follows from them: fifty entries that are taken,
// acknowledged, or given signs of cost as many as one.
func TestListCommandsPerCall(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	const keys, tag = "jobs progress failed reasons broken tries", "111111111"
	const stamp = `"1.` + tag + `Z"`
	run := func(command string, words ...any) {
		t.Helper()
		argv := strings.Fields(fmt.Sprintln(append([]any{1763700000}, words...)...))
		for i, word := range argv {
			argv[i] = strings.ReplaceAll(word, "''", "")
		}
		if _, err := l.eval(t.Context(), l.text(Batch, command), nil, argv); err != nil {
			t.Fatalf("%s %q: %v", command, words, err)
		}
	}
	push := func(n int) func() {
		return func() {
			for i := range n {
				l.redis.LPush(t.Context(), "jobs", fmt.Sprint("e", i))
			}
		}
	}
	take := func(n int) func() { return func() { run("list.exchange", keys, tag, stamp, 1000, n) } }
	taken := func(n int) func() { return func() { push(n)(); take(n)() } }
	each := func(n int, words string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("e%d %s", i, words))
		}
		return strings.Join(all, " ")
	}
	settle := func(n int, words string) func() {
		return func() { run("list.exchange", keys, tag, stamp, 1000, 0, each(n, words)) }
	}
	kept := func(n int) func() {
		return func() { taken(n)(); settle(n, "back kept ''")(); take(n)() }
	}
	intake := func(n int) func() {
		return func() {
			words := []any{"w jobs broken q 0", n, each(n, "''"), n}
			for i := range n {
				words = append(words, fmt.Sprintf("q j%d K {} 0 0", i))
			}
			run("list.intake", words...)
		}
	}
	for _, load := range []func(){settle(1, "ack '' ''"), func() { run("list.renew", "progress tries", tag, stamp) }, func() { run("list.monitor", "jobs progress") }, intake(1)} {
		load()
	}
	tests := []struct {
		name   string
		before func()
		call   func()
		want   int
	}{
		{"a look at an empty list", push(0), take(50), 2},
		{"take of 1", push(1), take(1), 6},
		{"take of 50", push(50), take(50), 6},
		{"take of 50 that were tried before", func() { taken(50)(); settle(50, "back kept ''")() }, take(50), 7},
		{"take of 1 that is in work", func() { taken(1)(); push(1)() }, take(1), 5},
		{"ack of 1", taken(1), settle(1, "ack '' ''"), 3},
		{"ack of 50", taken(50), settle(50, "ack '' ''"), 3},
		{"ack of 50 that were tried before", kept(50), settle(50, "ack '' ''"), 4},
		{"retry of 1", taken(1), settle(1, "back kept ''"), 4},
		{"retry of 50", taken(50), settle(50, "back kept ''"), 151},
		{"delayed retry of 1", taken(1), settle(1, "later kept "+stamp), 3},
		{"giving back 1", taken(1), settle(1, "front '' ''"), 4},
		{"failure of 1", taken(1), settle(1, "fail '' why"), 7},
		{"failure of 50", taken(50), settle(50, "fail '' why"), 301},
		{"1 that is no job", taken(1), settle(1, "broken '' when"), 3},
		{"a late ack", push(0), settle(1, "ack '' ''"), 1},
		{"signs of 50", taken(50), func() { run("list.renew", "progress tries", tag, stamp, each(50, "''")) }, 3},
		{"signs of 50 with what is kept", taken(50), func() { run("list.renew", "progress tries", tag, stamp, each(50, "kept")) }, 4},
		{"50 that were abandoned", taken(50), func() { run("list.monitor", "jobs progress", each(50, stamp+" front")) }, 150},
		{"50 that another put back", push(0), func() { run("list.monitor", "jobs progress", each(50, stamp+" front")) }, 50},
		{"intake of 1", push(1), intake(1), 13},
		{"intake of 50", push(50), intake(50), 210},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l.redis.FlushDB(t.Context())
			tt.before()
			l.redis.ConfigResetStat(t.Context())
			tt.call()
			if n := commandsRun(t, l); n != tt.want {
				t.Errorf("%d commands, want %d", n, tt.want)
			}
		})
	}
}
