package supervisor

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/statedir"
)

// suspectWorld is a world of two pools whose first jobs are suspects, half of them in each.
type suspectWorld struct {
	*fakeWorld
	mu            sync.Mutex
	running, most int // suspects at work
}

func newSuspectWorld(t *testing.T, suspects int, last time.Duration) *suspectWorld {
	w := &suspectWorld{fakeWorld: newFakeWorld(t)}
	w.cfg.Pools[0].Children = 4
	second := w.cfg.Pools[0]
	second.Name, second.Queues = "p2", []string{"q2"}
	w.cfg.Pools = append(w.cfg.Pools, second)
	w.redis.put(suspects)
	for i := range suspects {
		j := w.redis.jobs[fmt.Sprintf("j%d", i)]
		j.Deaths = queue.SuspectDeaths
		j.Queue = []string{"q", "q2"}[i%2]
	}
	w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
		if w.redis.job(job.JID).Deaths >= queue.SuspectDeaths {
			w.mu.Lock()
			w.running++
			w.most = max(w.most, w.running)
			w.mu.Unlock()
			select {
			case <-stop:
			case <-time.After(last):
			}
			locked(&w.mu, func() { w.running-- })
		}
		return said(protocol.Ack)
	}
	return w
}

func TestOneSuspectRunsAtATimeAndHindersNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const suspects, others = 6, 20
		w := newSuspectWorld(t, suspects, 20*time.Second)
		w.runFor(time.Second, 0)
		w.putFor(time.Second, others)
		if by := w.redis.states(); by["complete"] != others {
			t.Errorf("beside a suspect at work jobs are %v, want %d complete", by, others)
		}
		w.after(10*time.Minute, "complete", suspects+others)
		if w.most != 1 {
			t.Errorf("%d suspects at a time, want 1", w.most)
		}
		for i := range suspects {
			if j := w.redis.job(fmt.Sprintf("j%d", i)); j.Deaths != 0 || j.Crashes != 0 || w.host.begun(j.JID) != 1 {
				t.Errorf("%s has %d deaths and %d crashes after %d runs, want it cleared by the first", j.JID, j.Deaths, j.Crashes, w.host.begun(j.JID))
			}
		}
	})
}

func TestASuspectWhoseTurnDoesNotComeIsGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newSuspectWorld(t, 4, time.Hour)
		w.run()
		time.Sleep(35 * time.Second) // 30 until it is given back, for 10
		if by := w.redis.states(); by["running"] != 1 || by["scheduled"] != 3 {
			t.Errorf("jobs are %v, want one at work and 3 for other supervisors", by)
		}
		w.end()
		for i := range 4 {
			if j := w.redis.job(fmt.Sprintf("j%d", i)); j.Deaths != queue.SuspectDeaths || j.Crashes != 0 || j.Remaining != 5 {
				t.Errorf("%s has %d deaths, %d crashes and %d retries left; want 2, 0 and 5: it has not ended", j.JID, j.Deaths, j.Crashes, j.Remaining)
			}
		}
	})
}

// However a suspect ends its turn, the next one follows, and it is cleared if it has ended.
func TestATurnEnds(t *testing.T) {
	died := &runner.Ending{Kind: runner.Died, ExitCode: -1}
	tests := []struct {
		name    string
		work    func(w *suspectWorld) *runner.Ending
		cleared bool
	}{
		{"acknowledged", func(*suspectWorld) *runner.Ending { return said(protocol.Ack) }, true},
		{"retried", func(*suspectWorld) *runner.Ending { return said(protocol.Retry) }, true},
		{"failed", func(*suspectWorld) *runner.Ending { return said(protocol.Fail) }, true},
		{"released", func(*suspectWorld) *runner.Ending { return said(protocol.Release) }, true},
		{"crashed", func(*suspectWorld) *runner.Ending { return died }, true},
		{"lost", func(w *suspectWorld) *runner.Ending {
			w.redis.steal("j0", "other")
			locked(&w.redis.mu, func() { w.redis.jobs["j0"].Expires += 3600 })
			time.Sleep(time.Minute)
			return said(protocol.Ack)
		}, false},
		{"put again", func(w *suspectWorld) *runner.Ending {
			w.redis.again("j0", "q", `{"v":2}`)
			time.Sleep(time.Minute)
			return said(protocol.Ack)
		}, true},
	}
	for _, tt := range tests {
		runBubble(t, tt.name, func(t *testing.T) {
			w := newSuspectWorld(t, 2, time.Second)
			of := w.host.work
			w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
				if job.JID == "j0" && w.host.begun("j0") == 1 {
					return tt.work(w)
				}
				return of(job, stop)
			}
			w.runFor(2*time.Minute, 0)
			same(t, w.redis.job("j1").state, "complete", "the next suspect is %s")
			if deaths := w.redis.job("j0").Deaths; (deaths == 0) != tt.cleared {
				t.Errorf("the first has %d deaths, cleared is %t", deaths, tt.cleared)
			}
		})
	}
}

// After a death the one suspect that was at work pays, as far as the state directory says,
// and of the others it is noted.
func TestOnlyTheSuspectPaysForADeath(t *testing.T) {
	for _, left := range []bool{false, true} {
		runFaked(t, fmt.Sprint(left), func(t *testing.T, w *fakeWorld) {
			w.cfg.StateDir = t.TempDir()
			w.redis.put(4)
			for i := range 4 {
				j := w.redis.jobs[fmt.Sprintf("j%d", i)]
				j.pop("dead", 0, time.Hour)
				j.Expires = w.redis.Now() + 3600
				j.Deaths = []int{0, 1, 2, 2}[i]
				j.Crashes = []int{0, 3, 0, 1}[i]
			}
			w.redis.order = nil
			l, err := statedir.Begin(w.cfg.StateDir)
			must(t, err)
			must(t, l.Write([]statedir.Workers{{Name: "dead", Queues: []string{"q"}, MaxCrashes: 3}}))
			statedir.NewSuspects(l).Admit(nil, statedir.Accused{Worker: "dead", JID: "j3"}, w.cfg.Logger)
			deaths, crashes, interruptions := []int{1, 2, 3, 2}, []int{0, 3, 0, 2}, []int{0, 0, 0, 0}
			if left {
				l.Abandon()
				deaths, crashes, interruptions = []int{0, 1, 2, 2}, []int{0, 3, 0, 1}, []int{1, 1, 1, 1}
			} else {
				l.Close()
			}
			w.host.work = lasting(time.Hour)
			w.run()
			w.s.Quiet()
			time.Sleep(5 * time.Second)
			for i := range 4 {
				j := w.redis.job(fmt.Sprintf("j%d", i))
				got := []int{j.Deaths, j.Crashes, j.Interruptions, j.Remaining}
				if want := []int{deaths[i], crashes[i], interruptions[i], 5}; !slices.Equal(got, want) {
					t.Errorf("%s: deaths, crashes, interruptions, remaining are %v, want %v", j.JID, got, want)
				}
			}
		})
	}
}
