package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

func TestJ1KillsItsChild(t *testing.T) {
	row(t, "J1", rigOptions{}, func(t *testing.T, r *rig) {
		r.put(t, 1, work{MS: 80, End: "SIGSEGV"}) // no child that was about to leave anyway
		r.start(t, "a", pool{more: "max_crashes = 3"})
		j := r.settled(t, 30*time.Second)[0]
		if j.state != "failed" || j.group != "signal-SEGV" || j.remaining != j.retries {
			t.Errorf("the job is %s, group %q, remaining %d of %d; want failed by signal-SEGV at the cost of no retry",
				j.state, j.group, j.remaining, j.retries)
		}
		if n := count(r.ledger.all(t), "begin"); n != 4 {
			t.Errorf("it began %d times, want 4", n)
		}
		r.check(t, allowed{twice: 1})
	})
}

func TestJ2KillsItsSupervisor(t *testing.T) {
	row(t, "J2", rigOptions{}, func(t *testing.T, r *rig) {
		r.put(t, 1, work{End: "supervisor"})
		starts := 0
		for starts < 10 {
			starts++
			a := r.start(t, "a", pool{more: "max_crashes = 3"})
			begins := count(r.ledger.all(t), "begin")
			await(t, 10*time.Second, func() error {
				select {
				case <-a.gone:
					r.killed[a.pid()] = now()
					return nil
				default:
				}
				if readJobs(t, r.db, r.jids)[0].state == "failed" {
					return nil
				}
				return errors.New("the supervisor lives, and the job has not failed")
			})
			if readJobs(t, r.db, r.jids)[0].state == "failed" {
				break
			}
			if n := count(r.ledger.all(t), "begin"); n != begins+1 {
				t.Fatalf("the job began %d times in one life of the supervisor", n-begins)
			}
		}
		if n := count(r.ledger.all(t), "begin"); n != 4 {
			t.Errorf("it began %d times, want 4", n)
		}
		r.note("starts", starts)
		jobs := r.check(t, allowed{twice: 1})
		r.uncounted(t, jobs)
	})
}

func TestJ3OneBadClass(t *testing.T) {
	row(t, "J3", rigOptions{}, func(t *testing.T, r *rig) {
		// Two equal pools at the same moment; among the jobs of one, 1 % are bad.
		n := scaled(500, 5000)
		var puts []queue.Put
		for i := range 2 * n {
			w := work{MS: 20}
			if i >= n && i%100 == 0 {
				w = work{MS: 80, End: "SIGSEGV"}
			}
			p := r.describe(t, w)
			p.Queue = [...]string{"work", "mixed"}[i/n]
			puts = append(puts, p)
		}
		jids := r.putAll(t, puts)
		config := r.config(t, "a", pool{children: 2, more: "max_crashes = 0"})
		_, table, _ := strings.Cut(config, "[pools.work]")
		mixed := "[pools.mixed]" + strings.NewReplacer(`"work"`, `"mixed"`, "pools.work", "pools.mixed").Replace(table)
		a := r.startConfig(t, "a", config+mixed)
		jobs := r.settled(t, 4*time.Minute)
		entries := r.ledger.all(t)
		alone, beside := rate(entries, jids[:n]), rate(entries, jids[n:])
		r.note("alone_per_s", alone)
		r.note("beside_per_s", beside)
		if beside < 0.7*alone {
			t.Errorf("jobs went at %.0f a second beside 1 %% bad ones, without at %.0f: less than 70 %%", beside, alone)
		}
		if a.saying("breaker open") > 0 {
			t.Error("the breaker opened: other jobs had to wait")
		}
		if by := inState(jobs); by["failed"] != n/100 {
			t.Errorf("jobs end as %v, want %d failed", by, n/100)
		}
		r.check(t, allowed{})
	})
}

// rate is how many of the jobs ended a second, from the first begin to the last end.
func rate(entries []entry, jids []string) float64 {
	byJob := runs(entries)
	first, final := 0.0, 0.0
	for i, jid := range jids {
		for _, run := range byJob[jid] {
			if i == 0 || run.at < first {
				first = run.at
			}
			final = max(final, run.last)
		}
	}
	return float64(len(jids)) / (final - first)
}
