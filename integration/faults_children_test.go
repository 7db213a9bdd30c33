package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/queue"
)

// Most rows about children are shown by the tests of package runner, without Redis.
// These show what becomes of the job and of the jobs beside it.

func childKilled(t *testing.T, r *rig) {
	victim := r.putOne(t, work{MS: 3000}, first)
	a := r.start(t, "a", pool{})
	pid := r.ledger.await(t, "the victim begun", begun(1))[0].pid
	r.put(t, 200, work{MS: 20})
	r.ledger.await(t, "20 others done", ended(20))
	killed := now()
	syscall.Kill(pid, syscall.SIGKILL)
	r.ledger.within(t, time.Second, "the victim begun again", beganAgain([]string{victim}))
	again := runs(r.ledger.all(t))[victim][1]
	r.note("again_after", again.at-killed)
	if again.attempt != 2 {
		t.Errorf("the second run of the victim was attempt %d, want 2: one crash", again.attempt)
	}
	a.said(t, victim, "signal-KILL")
	r.finish(t, allowed{twice: 1})
}

func saysNothing(t *testing.T, r *rig) {
	r.put(t, scaled(20, 100), work{})
	r.start(t, "a", pool{mode: "once", worker: "says-nothing.sh"})
	allDone(t, r.settled(t))
	r.check(t, allowed{})
}

func leavesWithoutAVerdict(t *testing.T, r *rig) {
	// Some are gone at once, some after a while: both have read their job. Others among
	// them keep the breaker closed.
	n := scaled(10, 100)
	var puts []queue.Put
	for range n {
		puts = append(puts, r.describe(t, work{MS: 80 * (len(puts) / 2 % 2), End: 0}), r.describe(t, work{MS: 5}))
	}
	r.putAll(t, puts)
	r.start(t, "a", pool{more: "max_crashes = 0"})
	jobs := r.settled(t)
	if by := inState(jobs); by["failed"] != n || by["complete"] != n {
		t.Errorf("%d jobs whose reused child left without a verdict, among as many others, end as %v", n, by)
	}
	r.uncounted(t, jobs)
	r.check(t, allowed{})
}

func exitCodes(t *testing.T, r *rig) {
	tests := []struct {
		code      int
		state     string
		group     string
		remaining int // of one retry
	}{
		{0, "complete", "", 1},
		{65, "failed", "exit-65", 1},
		{100, "failed", "exit-100", 1},
		{1, "failed", "exit-1", -1}, // retried once, then out of retries
		{75, "failed", "exit-75", -1},
		{111, "failed", "exit-111", -1},
		{255, "failed", "exit-255", -1},
	}
	jids := make([]string, len(tests))
	for i, tt := range tests {
		jids[i] = r.putOne(t, work{End: tt.code}, retries(1))
	}
	r.start(t, "a", pool{mode: "once", children: 2})
	r.settled(t)
	jobs := r.check(t, allowed{twice: len(tests)})
	for i, tt := range tests {
		j := jobs[i]
		if j.jid != jids[i] || j.state != tt.state || j.group != tt.group || j.remaining != tt.remaining {
			t.Errorf("exit %d: the job is %s, group %q, remaining %d; want %s, %q, %d",
				tt.code, j.state, j.group, j.remaining, tt.state, tt.group, tt.remaining)
		}
	}
}

func grandchildKeepsStdout(t *testing.T, r *rig) {
	r.put(t, 1, work{})
	a := r.start(t, "a", pool{mode: "once", worker: "leaves-a-grandchild.sh"})
	end := r.ledger.await(t, "an end", ended(1))
	jobs := r.settled(t)
	r.bound(t, "settled_after", end[len(end)-1].at, now(), 0.5+tick)
	allDone(t, jobs)
	a.leftNone(t, "sleep")
	r.check(t, allowed{})
}

// tick is how coarse the clock of the sh handlers is, and our looks at Redis.
const tick = 0.05

func hangs(worker string) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		r.putOne(t, work{End: "hang"}, retries(0))
		r.start(t, "a", pool{mode: "once", worker: worker, more: `timeout = "1s"`})
		begin := r.ledger.await(t, "a begun job", begun(1))[0]
		within(t, 3*time.Second, func() error {
			if p, ok := readProcess(begin.pid); ok {
				return fmt.Errorf("the child is still there: %v", p)
			}
			return nil
		})
		r.bound(t, "gone_after", begin.at, now(), 2.5)
		jobs := r.settled(t)
		if j := jobs[0]; j.state != "failed" || j.group != "timeout" || j.remaining != -1 {
			t.Errorf("the job is %s, group %q, remaining %d; want failed, timeout, -1", j.state, j.group, j.remaining)
		}
		r.check(t, allowed{})
	}
}

func escape(worker string) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		r.put(t, 2, work{})
		a := r.start(t, "a", pool{mode: "once", worker: worker, children: 1})
		r.settled(t)
		a.leftNone(t, "sleep")

		// The same while they live: the supervisor is killed, and all of them go.
		r.put(t, 1, work{MS: 60_000})
		r.ledger.await(t, "a third job", begun(3))
		await(t, func() error {
			if n := a.named("sleep"); n < escapees {
				return fmt.Errorf("%d of %d escapees are on their way", n, escapees)
			}
			return nil
		})
		r.note("escapees", a.named("sleep"))
		a.kill(t)
		a.leftNothing(t)
	}
}

// escapees is how many processes each job of escapees.py and escapees.sh sends out
// into sessions of their own.
const escapees = 24

func crashLoopAtBoot(t *testing.T, r *rig) {
	jobs := r.put(t, 10, work{})
	a := r.start(t, "a", pool{worker: "dies-at-boot.sh"})
	window := 60 * time.Second
	last(window)
	starts := count(r.ledger.all(t), "boot")
	// Four at once, and then one at a time after waits that double from 0.1 s to 30 s,
	// jittered: nine or ten in a minute.
	if most := 15; starts > most || starts < 8 {
		t.Errorf("%d starts in %v, want 8 to %d", starts, window, most)
	}
	r.note("starts", starts)
	if a.saying("children do not start") == 0 {
		t.Error("it was not said that children do not start")
	}
	// A plain child counts as ready when it has lived for a moment. On a machine where
	// even dying takes longer, a first job may be given to it, which it does not read.
	a.stop(t)
	touched := 0
	for _, j := range r.check(t, allowed{}) {
		if len(j.history) != 1 {
			touched++
		}
	}
	if touched > 2 {
		t.Errorf("%d of %d jobs were given to children that die at boot", touched, len(jobs))
	}
	r.note("touched", touched)
}

func commandMissing(t *testing.T, r *rig) {
	script := r.dir + "/later.sh"
	copyFile(t, fixture(t, "worker.sh"), script)
	r.put(t, 4, work{MS: 5})
	r.start(t, "a", pool{mode: "once", command: []string{script}})
	r.settled(t)
	must(t, os.Rename(script, script+".away"))
	r.put(t, 10, work{MS: 5})
	last(2 * time.Second)
	r.uncounted(t, readJobs(t, r.db, r.jids))
	must(t, os.Rename(script+".away", script))
	repaired := now()
	r.ledger.await(t, "a begun job", begun(5))
	r.note("begun_after_repair", now()-repaired)
	r.finish(t, allowed{})
}

func memoryGrows(t *testing.T, r *rig) {
	n := 1000
	r.put(t, n, work{MS: 20, Grow: 10 << 20})
	r.start(t, "a", pool{more: `max_memory = "60MiB"`})
	jobs := r.settled(t)
	r.doneFree(t, jobs)
	// Six jobs make a child due. Its replacement is ready before it leaves, and a child
	// that does not say hello is so after 0.2 s, in which ten more jobs are worked.
	children := len(pidsOf(r.ledger.all(t)))
	if least := n / 40; children < least {
		t.Errorf("%d children worked %d jobs, want %d at least", children, n, least)
	}
	r.note("children", children)
	r.check(t, allowed{})
}

func orphans(t *testing.T, r *rig) {
	// Each job leaves an orphan that ends later; I7 watches for zombies. Children
	// come and go meanwhile, and each must be known to have left in order.
	r.put(t, 1000, work{MS: 5, Orphan: true})
	a := r.start(t, "a", pool{more: "max_jobs = 20"})
	r.finish(t, allowed{})
	a.neverSaid(t, "child ended before")
	r.note("children", len(pidsOf(r.ledger.all(t))))
	a.stop(t)
}

func slowStarts(t *testing.T, r *rig) {
	r.put(t, 40, work{MS: 5})
	r.start(t, "a", pool{children: 40, worker: "starts-slowly.py"})
	r.finish(t, allowed{})
	var boots []float64
	for _, e := range r.ledger.all(t) {
		if e.what == "boot" {
			boots = append(boots, e.at)
		}
	}
	slices.Sort(boots)
	if len(boots) < 40 {
		t.Fatalf("%d children started, want 40", len(boots))
	}
	// 32 in the first second, the others after it; a busy machine bunches them up.
	first, last := boots[0], boots[len(boots)-1]
	took := last - first
	if fairly(first-1, last) > 0.9*(1+took) && took < 0.8 {
		t.Errorf("40 children started within %.2f s, want 32 a second at most", took)
	}
	r.note("all_started_within", took)
}

// A child that prints without end costs the others little.
func floodOfLines(t *testing.T, r *rig) {
	a := r.start(t, "a", pool{more: "log_rate = 100"})
	others := 0
	// beside returns how many others ended in a second while one job was at work.
	beside := func(w work) float64 {
		jid := r.putOne(t, w, first)
		r.ledger.within(t, 5*time.Minute, "the end of the long job", func(es []entry) bool {
			rs := runs(es)[jid]
			return len(rs) > 0 && rs[0].ended
		})
		run := runs(r.ledger.all(t))[jid][0]
		n, until := 0, run.at // the last of the others, for they may all be done before
		for _, e := range r.ledger.all(t) {
			if e.what == "end" && run.at < e.at && e.at < run.last {
				n, until = n+1, e.at
			}
		}
		return float64(n) / (until - run.at)
	}
	var silence, flood float64
	for n := 0; n == 0 || n < 5 && flood < 0.8*silence; n++ { // the machine may be busy beside one of them
		others += len(r.put(t, 2000, work{MS: 20}))
		silence, flood = beside(work{MS: 1500}), beside(work{Flood: 10_000_000})
	}
	r.note("per_s_beside_silence", silence, "per_s_beside_flood", flood)
	if flood < 0.8*silence {
		t.Errorf("%.0f jobs a second beside a flood of lines, %.0f beside silence: less than four fifths", flood, silence)
	}
	jobs := r.settled(t)
	if others == len(jobs) {
		t.Error("the long jobs are not counted")
	}
	r.doneFree(t, jobs)
	a.neverSaid(t, "lock lost")
	r.check(t, allowed{})
}

func memoryAtOnce(t *testing.T, r *rig) {
	r.put(t, 1, work{MS: 20_000, Grow: 500 << 20})
	r.put(t, 20, work{MS: 5})
	config := strings.Replace(r.config(t, "a", pool{children: 2, more: "max_crashes = 0"}),
		"[pools.work.sandbox]", "[pools.work.sandbox]\nlimits = { memory = \"200MiB\" }", 1)
	r.startConfig(t, "a", config)
	jobs := r.settled(t)
	big := jobs[0]
	r.note("failed_after", now()-runs(r.ledger.all(t))[big.jid][0].at)
	if big.state != "failed" || big.group != "memory" || big.remaining != big.retries {
		t.Errorf("the job is %s, group %q, remaining %d of %d; want failed for memory, as a crash",
			big.state, big.group, big.remaining, big.retries)
	}
	allDone(t, jobs[1:])
	r.check(t, allowed{})
}
