package supervisor

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// losing loses a share of the replies to these calls, and lets them take a moment.
func losing(seed uint64, share float64, calls ...string) func(string) fault {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(call string) fault {
		f := fault{after: time.Duration(r.IntN(3)) * time.Millisecond}
		for _, c := range calls {
			if c == call && r.Float64() < share {
				f.lost = errDoubt
			}
		}
		return f
	}
}

func TestLostRepliesLoseAndDoubleNothing(t *testing.T) {
	for _, seed := range seeds(t, 5) {
		runFaked(t, fmt.Sprint(seed), func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Children = 10
			w.redis.faults(losing(seed, 0.05, "exchange", "renew", "held", "resolve"))
			w.runFor(10*time.Minute, 2000)
			w.want("complete", 2000)
			for i := range 2000 {
				jid := fmt.Sprintf("j%d", i)
				same(t, w.host.begun(jid), 1, "seed %d: %s was begun %d times", seed, jid)
			}
		})
	}
}

func TestDoubtfulCallsThatDidNotRunAreSentAgain(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.redis.put(20)
		n := 0
		w.redis.faults(func(call string) fault {
			if call != "exchange" {
				return fault{}
			}
			if n++; n%3 == 0 {
				return fault{away: errDoubt} // it never reached Redis, but we cannot know
			}
			return fault{}
		})
		w.runFor(time.Minute, 0)
		w.want("complete", 20)
		for i := range 20 {
			same(t, w.host.begun(fmt.Sprintf("j%d", i)), 1, "j%d was begun %d times", i)
		}
	})
}

func TestAnAuditFindsWhatNobodyKnowsOf(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.runFor(time.Second, 0)
		w.putFor(time.Second, 1)
		w.redis.put(1)
		w.s.Quiet()
		// As a take leaves it whose reply was lost without anybody noticing.
		w.redis.mu.Lock()
		j := w.redis.jobs["j0"]
		j.enter("running")
		j.worker = w.s.Snapshot().Pools[0].Worker
		j.Popped, j.Expires = w.redis.Now(), w.redis.Now()+60
		w.redis.mu.Unlock()
		time.Sleep(30 * time.Second)
		same(t, w.redis.job("j0").state, "complete", "j0 is %s")
	})
}

// Whoever finds Redis back first must not take what the others could not renew.
func TestOthersMayRenewAfterAnOutage(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.redis.put(1)
		w.redis.steal("j0", "other")
		w.redis.order = nil
		w.runFor(time.Second, 0)
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		time.Sleep(2 * w.redis.lock)
		w.redis.faults(nil)
		time.Sleep(2800 * time.Millisecond)
		if w.redis.calls("exchange") == 0 || w.redis.job("j0").worker != "other" {
			t.Errorf("the lock of another was taken right after the outage: %v", w.redis.log)
		}
		time.Sleep(time.Minute)
		same(t, w.redis.job("j0").state, "complete", "a job that nobody renewed is %s")
	})
}

// A take in doubt keeps nobody who has nothing in flight: what it may have taken is owed,
// and left to the next supervisor or to its lock.
func TestATakeInDoubtKeepsNobody(t *testing.T) {
	for name, end := range map[string]func(*Supervisor){"stop": (*Supervisor).Stop, "drain": (*Supervisor).Drain} {
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			w.cfg.DrainTimeout = time.Hour
			w.redis.faults(func(call string) fault {
				switch call {
				case "exchange", "held", "resolve":
					return fault{lost: errDoubt}
				}
				return fault{}
			})
			w.runFor(3*time.Second, 1)
			began := time.Now()
			end(w.s)
			w.wait()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v to leave", took)
			}
			if !w.s.owing {
				t.Error("what it has taken is not owed")
			}
		})
	}
}
