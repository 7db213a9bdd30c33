package supervisor

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

func byItself(code int, action protocol.ExitAction) runner.Ending {
	return runner.Ending{Kind: runner.Exited, ExitCode: code, Action: action, Group: protocol.ExitGroup(code)}
}

func bySignalOf(sig syscall.Signal) runner.Ending {
	return runner.Ending{Kind: runner.Died, ExitCode: -1, Signal: sig, Group: "signal"}
}

// endsAt makes the job j0 end so after a time, if it was not begun before; all else ends well.
func (w *fakeWorld) endsAt(after time.Duration, e runner.Ending) {
	w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
		if job.JID != "j0" || w.host.begun(job.JID) > 1 {
			return said(protocol.Ack)
		}
		time.Sleep(after)
		return &e
	}
}

// What ends without a verdict while a signal ends the supervisor was sent it too.
func TestASignalToAllInterrupts(t *testing.T) {
	const after = 5 * time.Second
	acked := *said(protocol.Ack)
	tests := []struct {
		name   string
		ending runner.Ending
		told   time.Duration // when we are, after the child ended
		state  string        // of the job then
		counts [3]int        // crashes, retries, interruptions
	}{
		{"TERM, then we", bySignalOf(syscall.SIGTERM), 900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"INT, then we", bySignalOf(syscall.SIGINT), 900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"HUP, then we", bySignalOf(syscall.SIGHUP), 900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"129, then we", byItself(129, protocol.ExitOnError), 900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"130, then we", byItself(130, protocol.ExitOnError), 900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"143, then we", byItself(143, protocol.ExitOnError), 900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"143 that acks, then we", byItself(143, protocol.ExitAck), 900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"we, then TERM", bySignalOf(syscall.SIGTERM), -900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"we, then KILL", bySignalOf(syscall.SIGKILL), -900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"we, then 0", byItself(0, protocol.ExitAck), -900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"we, then 1", byItself(1, protocol.ExitOnError), -900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"we, then 65", byItself(65, protocol.ExitFail), -900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},
		{"we, then 75", byItself(75, protocol.ExitRetry), -900 * time.Millisecond, "waiting", [3]int{0, 0, 1}},

		{"we, then an ack", acked, -900 * time.Millisecond, "complete", [3]int{0, 0, 0}},
		{"an ack, then we", acked, 900 * time.Millisecond, "complete", [3]int{0, 0, 0}},
		{"0, then we", byItself(0, protocol.ExitAck), 900 * time.Millisecond, "complete", [3]int{0, 0, 0}},
		{"we, then 0 much later", byItself(0, protocol.ExitAck), -1100 * time.Millisecond, "complete", [3]int{0, 0, 0}},
		{"we, then 1 much later", byItself(1, protocol.ExitOnError), -1100 * time.Millisecond, "waiting", [3]int{0, 1, 0}},
		{"we, then TERM much later", bySignalOf(syscall.SIGTERM), -1100 * time.Millisecond, "waiting", [3]int{1, 0, 0}},
	}
	for _, tt := range tests {
		runFaked(t, tt.name, func(t *testing.T, w *fakeWorld) {
			w.cfg.DrainTimeout = time.Minute
			w.endsAt(after, tt.ending)
			w.redis.put(1)
			w.run()
			for w.host.begun("j0") == 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(after + tt.told)
			w.s.Signaled()
			w.end()
			j := w.redis.job("j0")
			if got := [3]int{j.Crashes, 5 - j.Remaining, j.Interruptions}; j.state != tt.state || got != tt.counts {
				t.Errorf("the job is %s after %d crashes, %d retries and %d interruptions; want %s, %v", j.state, got[0], got[1], got[2], tt.state, tt.counts)
			}
		})
	}
}

// A stop that came by no signal says nothing about what ends meanwhile.
func TestAStopWithoutASignalInterruptsNobody(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.endsAt(time.Second, byItself(0, protocol.ExitAck))
		w.runFor(500*time.Millisecond, 1)
		w.end()
		w.want("complete", 1)
	})
}

// An ending that Redis has not been told of is judged anew, whatever it was.
func TestASignalInterruptsWhatIsNotSettledYet(t *testing.T) {
	for _, told := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeWorld(t)
			w.endsAt(time.Second, byItself(0, protocol.ExitAck))
			w.runFor(500*time.Millisecond, 1)
			slow := 3 * time.Second
			w.redis.faults(func(call string) fault {
				if call != "exchange" {
					return fault{}
				}
				f := fault{delay: slow}
				slow = 0
				return f
			})
			w.s.Resume() // asks for more, and nothing is settled until it has the answer
			time.Sleep(500*time.Millisecond + told)
			w.s.Signaled()
			w.end()
			if told < time.Second {
				w.want("waiting", 1)
			} else {
				w.want("complete", 1)
			}
		})
	}
}

// A pool that drains while Redis is away settles as soon as it is back.
func TestADrainGoesOnWhenRedisIsBack(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.DrainTimeout = time.Minute
		w.host.work = lasting(2 * time.Second)
		w.runFor(time.Second, 1)
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		w.s.Resume() // a take finds it away
		time.Sleep(2 * time.Second)
		w.s.Stop()
		time.Sleep(2 * time.Second)
		w.redis.faults(nil)
		w.after(3*time.Second, "complete", 1)
	})
}

// What looks as if it had been told to end is settled a second later as what it is, and
// holds up nothing else.
func TestAnEndingBySignalIsHeldBack(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.endsAt(time.Second, bySignalOf(syscall.SIGTERM))
		w.redis.put(1)
		w.run()
		for w.host.begun("j0") == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(1900 * time.Millisecond)
		if j := w.redis.job("j0"); j.state != "running" || j.Crashes != 0 {
			t.Errorf("after 900 ms the job is %s with %d crashes, want it held back", j.state, j.Crashes)
		}
		w.putFor(50*time.Millisecond, 1)
		if state := w.redis.job("j1").state; state != "complete" {
			t.Errorf("another job is %s, want it complete meanwhile", state)
		}
		time.Sleep(time.Second)
		if j := w.redis.job("j0"); j.state != "complete" || j.Crashes != 1 {
			t.Errorf("the job is %s after %d crashes, want it complete after one", j.state, j.Crashes)
		}
	})
}

// While an ending is held back, its job may be put again.
func TestAJobPutAgainWhileItsEndingIsHeldBack(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.endsAt(time.Second, bySignalOf(syscall.SIGTERM))
		w.redis.put(1)
		w.run()
		for w.host.begun("j0") == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(1500 * time.Millisecond)
		w.redis.again("j0", "q", `{"v":2}`)
		time.Sleep(5 * time.Second)
		if j := w.redis.job("j0"); j.state != "complete" || j.Crashes != 0 || w.host.begun("j0") != 2 {
			t.Errorf("the job is %s after %d crashes and %d runs, want it complete after none and 2", j.state, j.Crashes, w.host.begun("j0"))
		}
	})
}
