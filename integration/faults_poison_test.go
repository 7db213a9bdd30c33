package integration

import (
	"errors"
	"strings"
	"testing"

	"oarlock/queue"
)

func killsItsChild(t *testing.T, r *rig) {
	r.put(t, 1, work{MS: 80, End: "SIGSEGV"}) // no child that was about to leave anyway
	r.start(t, "a", pool{more: "max_crashes = 3"})
	j := r.settled(t)[0]
	if j.state != "failed" || j.group != "signal-SEGV" || j.remaining != j.retries {
		t.Errorf("the job is %s, group %q, remaining %d of %d; want failed by signal-SEGV at the cost of no retry",
			j.state, j.group, j.remaining, j.retries)
	}
	if n := count(r.ledger.all(t), "begin"); n != 4 {
		t.Errorf("it began %d times, want 4", n)
	}
	r.check(t, allowed{twice: 1})
}

// deathsAndCrashes is how often a job that kills its supervisors runs with max_crashes = 3: until
// it is a suspect, and then for each crash.
const deathsAndCrashes = queue.SuspectDeaths + 4

func killsItsSupervisor(t *testing.T, r *rig) {
	r.put(t, 1, work{End: "supervisor"})
	r.restartUntilSettled(t, pool{more: "max_crashes = 3"})
	if n := count(r.ledger.all(t), "begin"); n != deathsAndCrashes {
		t.Errorf("it began %d times, want %d", n, deathsAndCrashes)
	}
	jobs := r.check(t, allowed{twice: 1})
	r.uncounted(t, jobs)
}

func killsItsSupervisorBesideOthers(t *testing.T, r *rig) {
	const neighbours = 7
	killer := r.put(t, 1, work{MS: 100, End: "supervisor"})[0]
	r.put(t, neighbours, work{MS: 400})
	a := r.restartUntilSettled(t, pool{children: 1 + neighbours, more: "max_crashes = 3"})
	jobs := r.settled(t)
	a.stop(t)
	for _, j := range jobs {
		switch {
		case j.jid != killer && (j.state != "complete" || j.crashes != 0):
			t.Errorf("a neighbour is %s in group %q after %d crashes, want it complete after none", j.state, j.group, j.crashes)
		case j.jid == killer && (j.state != "failed" || j.group != "supervisor-died" || j.crashes != 4):
			t.Errorf("the killer is %s in group %q after %d crashes, want it failed as supervisor-died after 4", j.state, j.group, j.crashes)
		}
	}
	if n := len(runs(r.ledger.all(t))[killer]); n != deathsAndCrashes {
		t.Errorf("the killer began %d times, want %d", n, deathsAndCrashes)
	}
	r.check(t, allowed{twice: 1 + neighbours})
	r.uncounted(t, jobs)
}

// restartUntilSettled starts the supervisor again whenever it was killed, until the rig's first
// job is settled, and returns its last life.
func (r *rig) restartUntilSettled(t *testing.T, p pool) *supervisor {
	t.Helper()
	for starts := 1; starts <= 10; starts++ {
		a := r.start(t, "a", p)
		settled := false
		await(t, func() error {
			select {
			case <-a.gone:
				r.killed[a.pid()] = now()
				return nil
			default:
			}
			state := readJobs(t, r.db, r.jids[:1])[0].state
			if settled = state == "failed" || state == "complete"; settled {
				return nil
			}
			return errors.New("the supervisor lives, and the job is " + state)
		})
		if settled {
			r.note("starts", starts)
			return a
		}
	}
	t.Fatal("ten supervisors died, and the job has not failed")
	return nil
}

func oneBadClass(t *testing.T, r *rig) {
	// Two equal pools at the same moment; among the jobs of one, 1 % are bad.
	n := 5000
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
	jobs := r.settled(t)
	entries := r.ledger.all(t)
	alone, beside := rate(entries, jids[:n]), rate(entries, jids[n:])
	r.note("alone_per_s", alone, "beside_per_s", beside)
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
