package supervisor

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

func TestIdlePoolsDoNotAskForJobs(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.runFor(10*time.Minute, 0)
		if n := w.redis.calls("exchange"); n > 2 {
			t.Errorf("%d exchanges while there was nothing to do", n)
		}
		w.redis.put(1)
		time.Sleep(10 * time.Millisecond) // the wake-up, not the poll
		w.want("complete", 1)
	})
}

func TestJobsPutByOthersAreFoundByThePoll(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.runFor(time.Minute, 0)
		w.redis.mu.Lock()
		w.redis.listener = nil // nobody is woken
		w.redis.mu.Unlock()
		w.redis.put(1)
		w.after(1200*time.Millisecond, "complete", 1)
	})
}

// Where puts are told faster than anybody listens, the queues they went to are looked for.
func TestPutsThatNobodyHeardOfAreLookedFor(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.PollInterval, w.cfg.Pools[0].Queues = time.Hour, []string{"*"}
		w.runFor(time.Minute, 0)
		w.redis.mu.Lock()
		listener := w.redis.listener
		w.redis.listener = nil // nobody is woken
		w.redis.mu.Unlock()
		w.redis.put(1)
		w.redis.mu.Lock()
		w.redis.listener = listener
		w.redis.tell(queue.Notice{Kind: queue.NoticeMissed})
		w.redis.mu.Unlock()
		w.after(time.Second, "complete", 1)
	})
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(3 * time.Minute) // longer than a lock: it is renewed while draining
			return said(protocol.Ack)
		}
		w.runFor(time.Second, 5)
		w.s.Drain()
		w.wait()
		w.want("complete", 2)
		w.want("waiting", 3)
		if w.redis.calls("deregister") != 1 {
			t.Error("the worker was not deregistered")
		}
	})
}

// On a busy machine Redis takes its time: who may finish waits a while to be off the list of workers, who is to end at once does not.
func TestAWorkerIsTakenOffTheListBySlowRedis(t *testing.T) {
	for killed, least := range map[bool]time.Duration{false: time.Second, true: 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeWorld(t)
			w.redis.fault = func(call string) fault {
				if call == "deregister" {
					return fault{delay: time.Second}
				}
				return fault{}
			}
			w.runFor(time.Second, 0)
			began := time.Now()
			if killed {
				w.s.StopNow()
			} else {
				w.s.Drain()
			}
			w.wait()
			if took := time.Since(began); took < least || took > least+200*time.Millisecond {
				t.Errorf("killed %v: it left after %v, want %v", killed, took, least)
			}
			time.Sleep(time.Second) // the call may outlive the supervisor
		})
	}
}

func TestStopInterruptsAtTheDrainTimeout(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = func(_ *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			<-stop // a child that heeds SIGTERM at once
			return said(protocol.Retry)
		}
		w.runFor(time.Second, 2)
		began := time.Now()
		w.end()
		between(t, time.Since(began), 10*time.Second, 11*time.Second, "it took %v to stop")
		w.want("waiting", 2)
		for _, jid := range []string{"j0", "j1"} {
			if j := w.redis.job(jid); j.Remaining != 5 || j.Interruptions != 1 || j.Crashes != 0 || !j.settlement.Front {
				t.Errorf("%s paid for the stop: %+v", jid, j)
			}
		}
	})
}

func TestStopNowDoesNotWait(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = func(_ *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			<-stop
			return nil
		}
		w.runFor(time.Second, 2)
		began := time.Now()
		w.s.Stop()
		time.Sleep(time.Second)
		w.stopNow()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v to stop", took)
		}
		w.want("waiting", 2)
	})
}

func TestStopNowLeavesWithoutRedis(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = func(_ *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			<-stop
			return nil
		}
		w.runFor(time.Second, 2)
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		began := time.Now()
		w.stopNow()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v to stop", took)
		}
		w.want("running", 2)
	})
}

func TestQuietPoolsTakeNothing(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.runFor(time.Second, 0)
		w.s.Quiet()
		w.redis.put(3)
		w.after(time.Minute, "waiting", 3)
		w.s.Resume()
		w.after(time.Second, "complete", 3)
	})
}

// What must count for jobs is waited for with children ready, whatever people say of quiet.
func TestPoolsThatAbstainTakeNothing(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		time.Sleep(time.Second) // so that it does not begin at the beginning of the clock
		w.run()
		w.s.Abstain("rules")
		time.Sleep(time.Second)
		w.redis.put(3)
		w.after(time.Minute, "waiting", 3)
		if shot := w.s.Snapshot(); w.s.Ready() || shot.Ready || shot.Abstains != "rules" || shot.Quiet || shot.Pools[0].Abstains != "rules" || shot.Pools[0].Ready != 3 {
			t.Errorf("ready: %t; the snapshot is %+v", w.s.Ready(), shot)
		}
		if w.host.starts() == 0 {
			t.Error("no child was started meanwhile")
		}
		w.s.Resume()
		w.after(time.Minute, "waiting", 3)
		w.s.Abstain("")
		w.after(time.Second, "complete", 3)
		if shot := w.s.Snapshot(); !shot.Ready || shot.Abstains != "" || shot.Pools[0].Abstains != "" {
			t.Errorf("the snapshot is %+v", shot)
		}
	})
}

// A key space that needs what is not known here: nothing is asked for and no child more is started for it, what there is is seen all
// the same, and it is said; while Redis is away that is what is said.
func TestAPoolTakesNothingWhereItLacksAWord(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		time.Sleep(time.Second) // so that it does not begin at the beginning of the clock
		w.run()
		w.redis.needs("shards")
		time.Sleep(time.Minute)
		takes := w.redis.calls("exchange")
		w.redis.put(3)
		w.after(time.Minute, "waiting", 3)
		if n := w.redis.calls("exchange") - takes; n > 1 { // the one that hears of a put
			t.Errorf("%d calls took nothing", n)
		}
		shot := w.s.Snapshot()
		const why = "the key space needs shards, which this version does not know; upgrade it"
		if shot.Ready || shot.Abstains != why || shot.Pools[0].Abstains != why || shot.Pools[0].Ready != 3 || len(shot.Pools[0].Damaged) > 0 {
			t.Errorf("the snapshot is %+v", shot)
		}
		if seen, _ := w.s.Queues(); len(seen) != 1 || seen[0].Ready != 3 {
			t.Errorf("of the queues is told %+v", seen)
		}
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		time.Sleep(time.Minute)
		if shot := w.s.Snapshot(); shot.Ready || shot.Abstains != "" || shot.Redis == "ok" {
			t.Errorf("while Redis is away the snapshot is %+v", shot)
		}
		w.redis.faults(nil)
		w.redis.needs("")
		w.after(time.Minute, "complete", 3)
		if !w.s.Ready() {
			t.Error("it is not ready when the word is gone")
		}
	})
}

func TestFreshChildrenAreStartedForTheirJobs(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		w.runFor(5*time.Second, 20)
		w.want("complete", 20)
		same(t, w.host.starts(), 20, "%d children for 20 jobs")
	})
}

func TestPrefetchedJobsOfADeadChildGoToAnother(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.cfg.Pools[0].Prefetch = 4
		var begun []string // of the only child
		w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
			begun = append(begun, job.JID)
			time.Sleep(time.Millisecond)
			if job.JID == "j0" && job.Attempt == 1 {
				return &runner.Ending{Kind: runner.Died, ExitCode: -1, Group: "signal-KILL"}
			}
			return said(protocol.Ack)
		}
		w.runFor(5*time.Second, 10)
		w.want("complete", 10)
		for jid, want := range map[string]int{"j0": 2, "j1": 1, "j2": 1, "j3": 1, "j4": 1} {
			same(t, w.host.begun(jid), want, "%s was begun %d times", jid)
		}
		if others := slices.DeleteFunc(begun, func(jid string) bool { return jid == "j0" }); !slices.IsSorted(others) || len(others) != 9 {
			t.Errorf("the others were begun as %v", others)
		}
		if j := w.redis.job("j0"); j.Crashes != 1 || j.Remaining != 5 {
			t.Errorf("j0 has %d crashes and %d remaining, want 1 and 5", j.Crashes, j.Remaining)
		}
	})
}

func TestAJobThatAlwaysKillsItsChildFails(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			return &runner.Ending{Kind: runner.Died, ExitCode: -1, Group: "signal-SEGV"}
		}
		w.runFor(time.Minute, 1)
		w.want("failed", 1)
		same(t, w.host.begun("j0"), 4, "begun %d times")
		same(t, w.redis.job("j0").settlement.Group, "signal-SEGV", "failed under %q")
	})
}

func TestRefusedSettlementsFailTheJob(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			e := said(protocol.Fail)
			e.Verdict.Group = "refuse-me"
			return e
		}
		w.runFor(time.Second, 1)
		w.want("failed", 1)
		same(t, w.redis.job("j0").settlement.Group, "refused", "failed under %q")
	})
}

// What was asked of a Redis that hangs must not keep a supervisor that is told to leave now.
func TestStopNowDoesNotWaitForRedis(t *testing.T) {
	for name, call := range map[string]string{"at work": "renew", "idle": "outlook", "leaving": "deregister"} {
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			w.host.work = func(_ *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
				<-stop
				return &runner.Ending{Kind: runner.Interrupted, SentByUs: runner.CauseShutdown}
			}
			w.redis.put(1)
			w.run()
			w.redis.faults(func(sent string) fault {
				if sent == call {
					return fault{delay: time.Hour}
				}
				return fault{}
			})
			time.Sleep(time.Minute)
			began := time.Now()
			w.stopNow()
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v to leave", took)
			}
			time.Sleep(2 * time.Hour) // until Redis has answered after all
		})
	}
}

// A job of which Redis accepts no settlement is neither run again nor forgotten.
func TestWhatCannotBeSettledIsTriedAgain(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.redis.put(1)
		w.redis.refuse("j0", "settle")
		w.runFor(10*time.Minute, 0)
		w.redis.put(50) // which go on beside it
		w.after(time.Minute, "complete", 50)
		same(t, w.host.begun("j0"), 1, "it was begun %d times")
		if n := w.redis.calls("exchange"); n > 200 {
			t.Errorf("%d calls, most of them to settle one job", n)
		}
		w.redis.refuse("j0")
		time.Sleep(10 * time.Minute) // twice as long as the longest pause
		w.want("failed", 1)
		if s := w.redis.job("j0").settlement; s.Group != "refused" || s.Message == "" {
			t.Errorf("it was settled by %+v, want a failure that says why", s)
		}
	})
}

// What Redis cannot do at the moment is no refusal.
func TestWhatCannotBeSettledNowIsSettledLater(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.redis.put(1)
		w.redis.refuse("j0", "settle now")
		w.runFor(time.Minute, 0)
		w.want("running", 1)
		if n := w.redis.calls("exchange"); n > 200 {
			t.Errorf("%d calls in a minute to settle one job", n)
		}
		w.redis.refuse("j0")
		w.after(5*time.Second, "complete", 1)
		same(t, w.host.begun("j0"), 1, "it was begun %d times")
	})
}

// A supervisor that has such a job can leave.
func TestWhatCannotBeSettledIsOwed(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.redis.put(1)
		w.redis.refuse("j0", "settle")
		w.runFor(time.Second, 0)
		began := time.Now()
		w.end()
		if took := time.Since(began); took > 9*time.Second {
			t.Errorf("it took %v to leave", took)
		}
	})
}

// A lock that is neither renewed nor lost must not stop the others.
func TestLocksThatCannotBeRenewedAreGivenUp(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			if job.JID == "j0" {
				<-stop
				return &runner.Ending{Kind: runner.LockLost, SentByUs: runner.CauseLockLost}
			}
			return said(protocol.Ack)
		}
		w.redis.put(1)
		w.redis.refuse("j0", "settle", "renew")
		w.runFor(5*time.Minute, 0)
		w.redis.put(50)
		w.after(time.Second, "complete", 50)
	})
}

func TestLargePayloadsFailUnseen(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].MaxJob = 1
		w.runFor(time.Second, 3)
		w.want("failed", 3)
		same(t, w.host.begun("j0"), 0, "begun %d times")
		same(t, w.s.Snapshot().Pools[0].Counters.Failed, 3, "%d are counted as failed")
	})
}

// Where nothing runs a stop waits for nothing: no poll, no timeout.
func TestAnIdleSupervisorLeavesAtOnce(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.PollInterval = time.Hour
		w.runFor(time.Minute, 0)
		began := time.Now()
		w.end()
		if took := time.Since(began); took >= 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}
