package integration

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSoak works 100,000 jobs off with two supervisors while
// one reply in twenty is lost, children are killed at random and Redis is killed
// every ten seconds: nothing is lost, nothing settled twice, no retry paid, and each run
// that was repeated is the one that a child was at when it was killed. Every second wave is of jobs that take no
// time: of those, some are kept ready behind others.
func TestSoak(t *testing.T) {
	long(t, "a soak")
	row(t, "soak", rigOptions{proxy: true}, func(t *testing.T, r *rig) {
		n := 100_000
		every := 10 * time.Second
		const wave = 5000 // put at once: what Redis must read again after each kill stays small
		r.put(t, wave, work{MS: 2})
		r.loseReplies(0.05)
		for _, name := range []string{"a", "b"} {
			r.start(t, name, pool{children: 4, more: "max_crashes = 100"})
		}
		r.ledger.await(t, "300 ended", ended(300))
		before := r.footprints(t)
		killed := make(map[int]bool)
		restarts := 0
		restart := time.NewTimer(every)
		defer restart.Stop()
		kill := time.NewTicker(300 * time.Millisecond)
		defer kill.Stop()
		late := time.After(30 * time.Minute)
		for {
			left := r.unsettled(t)
			if left < wave/2 && len(r.jids) < n {
				r.put(t, wave, work{MS: (len(r.jids)/wave + 1) % 2 * 2})
			} else if left == 0 {
				break
			}
			select {
			case <-restart.C:
				r.redis.Kill()
				r.redis.Restart()
				restarts++
				restart.Reset(every) // from when it has read its file again
			case <-kill.C:
				entries := r.ledger.all(t)
				if len(entries) == 0 {
					continue
				}
				recent := entries[max(0, len(entries)-20):]
				victim := recent[r.random.IntN(len(recent))].pid
				if !killed[victim] && syscall.Kill(victim, syscall.SIGKILL) == nil {
					killed[victim] = true
				}
			case <-late:
				t.Fatalf("%d of %d jobs are still on their way", r.unsettled(t), n)
			}
		}
		r.loseReplies(0)
		r.finish(t, allowed{twice: len(killed)})
		r.explain(t, killed)
		r.givenBack(t, before)
		r.note("lost_replies", r.proxy.Dropped(), "killed_children", len(killed), "redis_restarts", restarts)
	})
}

// explain fails the test for each run that was repeated unless it was the last of a child
// that was killed: a kill explains one.
func (r *rig) explain(t testing.TB, killed map[int]bool) {
	t.Helper()
	byJob := runs(r.ledger.all(t))
	lastOf := make(map[int]ledgerRun) // by pid
	for _, rs := range byJob {
		for _, run := range rs {
			if run.at > lastOf[run.pid].at {
				lastOf[run.pid] = run
			}
		}
	}
	starved, repeated, unexplained := r.starved(t), 0, 0
	for jid, rs := range byJob {
		for _, run := range rs[:len(rs)-1] {
			repeated++
			if starved[run.run] == "" && !(killed[run.pid] && lastOf[run.pid].run == run.run) {
				unexplained++
				t.Errorf("job %s ran again after run %s of child %d, which nobody killed then", jid, run.run, run.pid)
			}
		}
	}
	r.note("repeated", repeated, "unexplained", unexplained)
}

// footprint is what a supervisor occupies.
type footprint struct {
	descriptors, goroutines int
	resident                int64 // bytes
}

func (s *supervisor) footprint(t testing.TB) footprint {
	t.Helper()
	return footprint{descriptors(s.pid()), s.goroutines(t), resident(s.pid())}
}

func (r *rig) footprints(t testing.TB) []footprint {
	t.Helper()
	all := make([]footprint, len(r.supervisors))
	for i, s := range r.supervisors {
		all[i] = s.footprint(t)
	}
	return all
}

// givenBack is invariant I8: all that the faults cost is given back.
func (r *rig) givenBack(t testing.TB, before []footprint) {
	t.Helper()
	await(t, func() error {
		for i, now := range r.footprints(t) {
			was := before[i]
			if now.descriptors > was.descriptors*11/10+2 || now.goroutines > was.goroutines*11/10+2 || now.resident > was.resident*12/10+16<<20 {
				return fmt.Errorf("I8: supervisor %s has %+v, and had %+v", r.supervisors[i].name, now, was)
			}
		}
		return nil
	})
}

// goroutines asks the supervisor for a dump, and counts them.
func (s *supervisor) goroutines(t testing.TB) int {
	t.Helper()
	const dump = `"msg":"dump"`
	before := s.saying(dump)
	s.signal(t, syscall.SIGTTIN)
	await(t, func() error {
		if s.saying(dump) == before {
			return fmt.Errorf("supervisor %s does not dump its state", s.name)
		}
		return nil
	})
	lines, _ := s.lines()
	for _, line := range slices.Backward(lines) {
		if strings.Contains(line, dump) {
			return strings.Count(line, `\n\ngoroutine `) + 1
		}
	}
	return 0
}
