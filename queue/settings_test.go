package queue_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"oarlock/queue"
)

// TestLocksOfAnySetting sets heartbeat to what any client may write, and looks at how long our
// commands lock by it.
func TestLocksOfAnySetting(t *testing.T) {
	const month = 30 * 86400
	c, ctx := fresh(t), t.Context()
	s := session(t, c, "w")
	for value, want := range map[string]float64{
		"0": 1, "-5": 1, "0.01": 1, "1": 1, "60": 60, "2.5": 2.5, "1e15": month, "1e300": month, "inf": 60, "nan": 60, "banana": 60, "": 60,
	} {
		for _, setting := range []string{"heartbeat", "q-heartbeat"} {
			ok(t, c.Redis().Del(ctx, "ql:config").Err())
			ok(t, c.Set(ctx, setting, value))
			putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"})
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			if lock := reply.Jobs[0].Expires - reply.Now; math.Abs(lock-want) > 1e-3 {
				t.Errorf("%s %q: taken for %v s, want %v", setting, value, lock, want)
			}
			before := c.Now()
			renewed := must(s.Renew(ctx, []queue.RenewItem{{JID: "j", Queue: "q", Popped: reply.Jobs[0].Popped}}))(t)
			if lock := renewed[0].Expires - before; lock < want-1e-3 || lock > want+5 {
				t.Errorf("%s %q: renewed for %v s, want %v", setting, value, lock, want)
			}
		}
	}
}

// TestOddSettings looks at what is said of settings out of their bounds.
func TestOddSettings(t *testing.T) {
	c, ctx := fresh(t), t.Context()
	for _, fine := range [][2]string{
		{"heartbeat", "30"}, {"grace-period", "0"}, {"jobs-history", "31536000000"}, {"max-job-history", "0"},
		{"application", "banana"}, {"mine", "-5"}, {"q-max-concurrency", "0"},
	} {
		ok(t, c.Set(ctx, fine[0], fine[1]))
	}
	equal(t, "odd settings", len(must(c.OddSettings(ctx))(t)), 0)
	ok(t, c.Set(ctx, "heartbeat", "banana"))
	ok(t, c.Set(ctx, "mail-heartbeat", "1e300"))
	ok(t, c.Set(ctx, "grace-period", "-1"))
	equal(t, "odd settings", fmt.Sprint(must(c.OddSettings(ctx))(t)), fmt.Sprint([]string{
		"grace-period is -1, and must be from 0 to 2592000; 0 is used", `heartbeat is "banana", no number; 60 is used`,
		"mail-heartbeat is 1e300, and must be from 1 to 2592000; 2592000 is used",
	}))
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{0: 0, 1.5: 1500 * time.Millisecond, -2: -2 * time.Second} {
		equal(t, "duration", queue.Duration(seconds), want)
	}
	for _, absurd := range []float64{1e10, 1e19, 1e300, math.Inf(1), math.NaN()} {
		if d := queue.Duration(absurd); d < 99*365*24*time.Hour || d+d < d {
			t.Errorf("%v s are %v", absurd, d)
		}
	}
	if d := queue.Duration(-1e300); d >= 0 {
		t.Errorf("-1e300 s are %v", d)
	}
}
