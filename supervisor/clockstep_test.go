package supervisor

import (
	"fmt"
	"testing"
	"time"
)

// TestLocksOutliveAStepOfTheClock has the clock of Redis step, in a calm moment, before a renewal runs, or before it is answered. The job that
// runs is neither stopped nor taken again, and what comes after it is worked.
func TestLocksOutliveAStepOfTheClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, step := range []time.Duration{20 * time.Second, -20 * time.Second, time.Hour, -time.Hour, 30 * year, -30 * year} {
		for _, when := range []string{"calm", "before", "after"} {
			runFaked(t, fmt.Sprint(when, " ", step), func(t *testing.T, w *fakeWorld) {
				w.host.work = lasting(3 * time.Minute)
				w.runFor(time.Second, 1)
				if when == "calm" {
					w.redis.faults(func(call string) fault {
						if call == "outlook" { // a look comes first: a real session goes by what its client measured
							w.redis.step(step)
							w.redis.fault = nil // once; the caller holds mu
						}
						return fault{}
					})
					time.Sleep(2 * time.Second)
				} else {
					w.redis.faults(func(call string) (x fault) {
						if call != "renew" {
							return fault{}
						}
						time.AfterFunc(time.Millisecond, func() { w.redis.step(step) })
						w.redis.fault = nil // once; the caller holds mu
						if when == "before" {
							return fault{delay: 2 * time.Millisecond}
						}
						return fault{after: 2 * time.Millisecond}
					})
				}
				w.putFor(2*time.Minute, 1)
				w.after(5*time.Minute, "complete", 2)
				for _, jid := range []string{"j0", "j1"} {
					same(t, w.host.begun(jid), 1, "%s was begun %d times", jid)
				}
				if left := w.host.leastLease; left <= 0 {
					t.Errorf("a child was told that its lease had ended %v before", -left)
				}
				c := w.s.Snapshot().Pools[0].Counters
				if c.Lost+c.RunAnew+c.Late+c.Interrupted > 0 {
					t.Errorf("counted are %+v", c)
				}
			})
		}
	}
}
