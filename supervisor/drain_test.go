package supervisor

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// told is what children have been told of draining, sorted.
func (h *fakeHost) told() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.drained))
}

func untilStopped(_ *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
	<-stop
	return nil
}

func TestADrainIsToldAtOnce(t *testing.T) {
	tests := []struct {
		name string
		end  func(s *Supervisor)
		want []string
	}{
		{"with a limit", (*Supervisor).Stop, []string{"j0 10s", "j1 10s"}},
		{"without one", (*Supervisor).Drain, []string{"j0 0s", "j1 0s"}},
		{"shortened", func(s *Supervisor) { s.Drain(); s.Stop() }, []string{"j0 0s", "j0 10s", "j1 0s", "j1 10s"}},
		{"now", (*Supervisor).StopNow, nil},
	}
	for _, tt := range tests {
		runFaked(t, tt.name, func(t *testing.T, w *fakeWorld) {
			w.host.work = untilStopped
			w.runFor(time.Second, 2)
			tt.end(w.s)
			synctest.Wait()
			if got := w.host.told(); !slices.Equal(got, tt.want) {
				t.Errorf("children were told %q, want %q", got, tt.want)
			}
			w.stopNow()
		})
	}
}

// TestADrainIsToldToAChildThatIsBeingStarted as soon as it has its job.
func TestADrainIsToldToAChildThatIsBeingStarted(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		w.host.slow = 3 * time.Second
		w.host.work = untilStopped
		w.runFor(2*time.Second, 1)
		w.s.Stop()
		time.Sleep(2 * time.Second)
		if got := w.host.told(); len(got) != 1 || !strings.HasPrefix(got[0], "j0 9") && !strings.HasPrefix(got[0], "j0 8") {
			t.Errorf("the child was told %q, want what is left of 10 s", got)
		}
		w.stopNow()
	})
}

// TestARollIsToldWhenTheReplacementWaits, once to each child, and not when a child is replaced for another reason.
func TestARollIsToldWhenTheReplacementWaits(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 2
		w.cfg.Pools[0].MaxAge = 5 * time.Second
		w.host.work = untilStopped
		w.runFor(10*time.Second, 2)
		same(t, len(w.host.told()), 0, "for their age %d children were told")
		must(t, w.s.Recycle("p"))
		time.Sleep(10 * time.Second)
		if got := w.host.told(); !slices.Equal(got, []string{"j0 0s"}) && !slices.Equal(got, []string{"j1 0s"}) {
			t.Errorf("while the first slot turns over children were told %q, want one of them, once", got)
		}
		w.stopNow()
	})
}

// TestOnlyWhatRunsIsInterrupted, not what has ended and waits for Redis.
func TestOnlyWhatRunsIsInterrupted(t *testing.T) {
	for name, want := range map[string]int{"both have ended": 0, "one has not": 1} {
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			var log strings.Builder
			w.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
				if want > 0 && job.JID == "j1" {
					return untilStopped(job, stop)
				}
				time.Sleep(time.Second)
				return said(protocol.Ack)
			}
			w.runFor(500*time.Millisecond, 2)
			w.redis.faults(func(string) fault { return fault{away: errAway} })
			time.Sleep(time.Second)
			w.end()
			said := ""
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "interrupting jobs") {
					said += line
				}
			}
			if (said != "") != (want > 0) || want > 0 && !strings.Contains(said, " jobs=1 ") {
				t.Errorf("%d to be interrupted, and it was said: %q", want, said)
			}
		})
	}
}

// TestAStandstillIsSaid: five deploys that bring a job no further.
func TestAStandstillIsSaid(t *testing.T) {
	const words = "interrupted again and again"
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		var log strings.Builder
		w.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		w.host.work = untilStopped
		w.redis.put(1)
		for i := range 6 {
			w.runFor(2*time.Second, 0)
			w.end()
			if said, want := strings.Count(log.String(), words), max(i-3, 0); said != want {
				t.Errorf("after interruption %d it was said %d times, want %d", i+1, said, want)
			}
		}
		if j := w.redis.job("j0"); j.Standstill != 6 || j.Interruptions != 6 || j.Remaining != 5 {
			t.Errorf("standstill %d, interruptions %d, remaining %d", j.Standstill, j.Interruptions, j.Remaining)
		}
	})
}
