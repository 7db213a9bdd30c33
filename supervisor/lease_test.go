package supervisor

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// lasting is a job that takes so long and heeds being stopped.
func lasting(d time.Duration) func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
	return func(_ *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
		select {
		case <-stop:
		case <-time.After(d):
		}
		return said(protocol.Ack)
	}
}

func TestLocksAreRenewedAtAThird(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = lasting(5 * time.Minute)
		w.runFor(4*time.Minute, 2)
		between(t, w.redis.calls("renew"), 11, 13, "%d renewals of two locks of 60 s in 4 minutes")
		w.after(2*time.Minute, "complete", 2)
	})
}

func TestALostLockStopsTheChildAndSettlesNothing(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.host.work = lasting(5 * time.Minute)
		w.runFor(time.Second, 1)
		w.redis.steal("j0", "other")
		time.Sleep(25 * time.Second)
		s := w.s.Snapshot()
		if runs := s.Pools[0].Slots[0].Runs; len(runs) != 0 {
			t.Errorf("the child still works %+v", runs)
		}
		same(t, s.Pools[0].Counters.Lost, 1, "%d locks lost")
		w.end()
		if j := w.redis.job("j0"); j.worker != "other" || j.state != "running" {
			t.Errorf("the job was touched: %+v", j)
		}
	})
}

func lockLost(jid, worker string) queue.Notice {
	return queue.Notice{Kind: queue.NoticeLockLost, JID: jid, Worker: worker}
}

func TestANoticeMakesTheLossKnownAtOnce(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = lasting(5 * time.Minute)
		w.runFor(time.Second, 1)
		worker := w.redis.job("j0").worker
		w.redis.steal("j0", "other")
		locked(&w.redis.mu, func() { w.redis.tell(lockLost("j0", worker)) })
		time.Sleep(100 * time.Millisecond)
		same(t, w.s.Snapshot().Pools[0].Counters.Lost, 1, "%d locks lost")
	})
}

func TestAWrongNoticeStopsNobody(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = lasting(time.Minute)
		w.runFor(time.Second, 1)
		worker := w.redis.job("j0").worker
		w.redis.mu.Lock()
		w.redis.tell(queue.Notice{Kind: queue.NoticeCanceled, JID: "j0", Worker: worker})
		w.redis.mu.Unlock()
		w.after(2*time.Minute, "complete", 1)
	})
}

func TestTheChildIsDeadBeforeTheLockEnds(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		asked := make(chan time.Time, 1)
		w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			if w.host.begun(job.JID) > 1 {
				return said(protocol.Ack)
			}
			<-stop
			asked <- time.Now()
			time.Sleep(time.Hour) // it ignores SIGTERM
			return nil
		}
		w.runFor(time.Second, 1)
		expires := time.Unix(0, int64(w.redis.job("j0").Expires*1e9))
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		for w.host.starts() < 2 && time.Now().Before(expires) { // the next one shows that it is gone
			time.Sleep(10 * time.Millisecond)
		}
		died := time.Now()
		between(t, expires.Sub(died), 5*time.Second, 7*time.Second, "the child died %v before its lock ended")
		between(t, died.Sub(<-asked), 4*time.Second, 6*time.Second, "it had %v to stop")
		w.redis.faults(nil)
		w.after(time.Minute, "complete", 1)
		if j := w.redis.job("j0"); j.Crashes != 0 || j.Remaining != 5 {
			t.Errorf("the job paid for the outage: %+v", j)
		}
		w.end()
		time.Sleep(time.Hour)
	})
}

func TestJobsThatCameLateAreWatchedToo(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.host.work = lasting(time.Hour)
		w.redis.put(1)
		w.redis.faults(func(call string) fault {
			if call == "exchange" {
				return fault{after: 58 * time.Second} // the job comes when its lease has ended
			}
			return fault{}
		})
		w.runFor(70*time.Second, 0)
		if n := w.host.begun("j0"); n != 1 {
			t.Fatalf("begun %d times, want once, after a renewal", n)
		}
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		time.Sleep(time.Minute)
		same(t, w.s.Snapshot().Pools[0].Counters.Interrupted, 1, "%d jobs were stopped when their lease ran out")
		w.redis.faults(nil)
		time.Sleep(10 * time.Second)
	})
}

func TestVerdictsOutliveAnOutage(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = lasting(10 * time.Second)
		w.runFor(5*time.Second, 2)
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		time.Sleep(30 * time.Second) // both jobs end meanwhile
		w.redis.faults(nil)
		w.after(10*time.Second, "complete", 2)
		for _, jid := range []string{"j0", "j1"} {
			same(t, w.host.begun(jid), 1, "%s was begun %d times", jid)
		}
	})
}

func TestRenewalsGoBeforeTakesAfterAnOutage(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 3
		w.host.work = lasting(time.Hour)
		w.runFor(5*time.Second, 2)
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		w.putFor(20*time.Second, 5)
		var calls []string
		w.redis.faults(func(call string) fault {
			calls = append(calls, call)
			return fault{}
		})
		time.Sleep(10 * time.Second)
		w.redis.faults(nil)
		renew, exchange := slices.Index(calls, "renew"), slices.Index(calls, "exchange")
		if renew < 0 || exchange < 0 || renew > exchange {
			t.Errorf("calls after the outage: %v", calls)
		}
	})
}

func TestAGapIsSettledByOneRenewal(t *testing.T) {
	for _, stolen := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeWorld(t)
			w.cfg.Pools[0].Children = 1
			w.host.work = lasting(30 * time.Second)
			w.runFor(5*time.Second, 1)
			if stolen {
				w.redis.steal("j0", "other")
			}
			w.mu.Lock()
			w.skip = 5 * time.Minute // the machine was suspended
			w.mu.Unlock()
			time.Sleep(26 * time.Second)
			if stolen {
				same(t, w.s.Snapshot().Pools[0].Counters.Lost, 1, "%d locks lost")
				w.end()
				return
			}
			w.want("complete", 1)
			same(t, w.host.begun("j0"), 1, "begun %d times")
		})
	}
}

func TestARenewalThatWasOutInAGapIsAskedAgain(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.host.work = lasting(90 * time.Second)
		w.redis.put(1)
		var out sync.Once
		sent := make(chan struct{})
		w.redis.fault = func(name string) (x fault) {
			if name == "renew" {
				out.Do(func() {
					close(sent)
					x = fault{delay: 50 * time.Millisecond, away: queue.ErrDoubt}
				})
			}
			return x
		}
		w.run()
		<-sent
		w.mu.Lock()
		w.skip = 5 * time.Minute // suspended, and the call times out just after
		w.mu.Unlock()
		w.after(2*time.Minute, "complete", 1)
		same(t, w.host.begun("j0"), 1, "begun %d times")
	})
}

func TestAnAttemptAtWorkIsNotAdopted(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = lasting(4 * time.Minute)
		w.runFor(time.Second, 1)
		// Its lock ends for Redis while we think that it was renewed.
		locked(&w.redis.mu, func() { w.redis.jobs["j0"].Expires = w.redis.Now() })
		time.Sleep(5 * time.Second)
		if c := w.s.Snapshot().Pools[0].Counters; c.Adopted != 0 || c.RunAnew != 1 {
			t.Errorf("%d attempts adopted and %d run anew, want 0 and 1", c.Adopted, c.RunAnew)
		}
		w.after(5*time.Minute, "complete", 1)
		same(t, w.host.begun("j0"), 2, "begun %d times")
	})
}

func TestCheckpointsAreStoredOnceASecond(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.host.work = lasting(time.Minute)
		w.runFor(time.Second, 1)
		c, job := w.host.at("j0")
		before := w.redis.calls("renew")
		for range 10 {
			c.to.Checkpoint(job, []byte(`{"at":1}`))
			time.Sleep(300 * time.Millisecond)
		}
		between(t, w.redis.calls("renew")-before, 2, 4, "%d renewals for checkpoints in 3 s")
		same(t, string(w.redis.job("j0").Checkpoint), `{"at":1}`, "checkpoint is %q")
	})
}
