package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// wishful makes jobs wish for a tag each when they begin, and for another at their end, and
// work for so long.
func (w *fakeWorld) wishful(long time.Duration, jids ...string) {
	w.host.wishes = map[string][]protocol.Wish{}
	for _, jid := range jids {
		w.host.wishes[jid] = []protocol.Wish{{Verb: "tag", Tags: []string{"begun"}}}
	}
	w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
		time.Sleep(long)
		e := said(protocol.Ack)
		e.Wishes = []protocol.Wish{{Verb: "tag", Tags: []string{"ended"}}}
		return e
	}
}

// What a job wishes is done while it works, and before it is settled.
func TestWishesAreGrantedBeforeTheVerdict(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.wishful(time.Second, "j0")
		w.runFor(500*time.Millisecond, 1)
		if !slices.Contains(w.redis.lines(), "tag j0 [begun]") {
			t.Errorf("not done while it works: %q", w.redis.lines())
		}
		time.Sleep(5 * time.Second)
		same(t, strings.Join(w.redis.lines(), ", "), "take j0, tag j0 [begun], tag j0 [ended], complete j0", "%s")
	})
}

// 1,000 jobs that wish cost a few calls, not one each.
func TestWishesGoTogether(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		var jids []string
		for i := range 1000 {
			jids = append(jids, fmt.Sprint("j", i))
		}
		w.cfg.Pools[0].Children, w.cfg.Pools[0].MinChildren, w.cfg.Pools[0].MaxChildren = 100, 0, 0
		w.wishful(time.Second, jids...)
		w.runFor(time.Minute, 1000)
		w.want("complete", 1000)
		granted := 0
		for _, line := range w.redis.lines() {
			if strings.HasPrefix(line, "tag") {
				granted++
			}
		}
		if n := w.redis.calls("wish"); granted != 2000 || n > 400 {
			t.Errorf("%d wishes in %d calls", granted, n)
		}
	})
}

// Where Redis is away, or the answer is lost, wishes and verdicts wait, in order.
func TestWishesWaitForRedis(t *testing.T) {
	for name, bad := range map[string]fault{"away": {away: errAway}, "in doubt": {lost: errDoubt}} {
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			w.wishful(time.Second, "j0")
			w.redis.put(1)
			left := 3
			w.redis.faults(func(call string) fault {
				if call == "wish" && left > 0 {
					left--
					return bad
				}
				return fault{}
			})
			w.runFor(20*time.Second, 0)
			w.want("complete", 1)
			log := slices.Compact(w.redis.lines())
			if log[len(log)-1] != "complete j0" || log[len(log)-2] != "tag j0 [ended]" {
				t.Errorf("%q", log)
			}
		})
	}
}

// A wish that cannot be granted costs its job nothing, nor does a Redis that refuses all of them.
func TestRefusedWishesEndNoJob(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.wishful(time.Second, "j0", "j1")
		w.redis.put(2)
		w.redis.refuse("j0", "wish")
		refused := 0
		w.redis.faults(func(call string) fault {
			if call == "wish" && refused == 0 {
				refused++
				return fault{away: &queue.ScriptError{Command: "wish", Message: "OOM"}}
			}
			return fault{}
		})
		w.runFor(5*time.Second, 0)
		w.want("complete", 2)
	})
}

// A job that lost its lock has nothing done, and its end is what it would be.
func TestWishesOfALostLock(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.wishful(5*time.Second, "j0")
		w.runFor(time.Second, 1)
		w.redis.steal("j0", "another")
		time.Sleep(30 * time.Second)
		if slices.Contains(w.redis.lines(), "tag j0 [ended]") {
			t.Errorf("done without the lock: %q", w.redis.lines())
		}
	})
}
