package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
)

// inFlight returns the jids of runs that began and did not end.
func inFlight(entries []entry) []string {
	var jids []string
	for jid, rs := range runs(entries) {
		if !rs[len(rs)-1].ended {
			jids = append(jids, jid)
		}
	}
	return jids
}

// busy asks for n begun jobs, and for a moment at which so many children are in the middle
// of one: a kill then hits them.
func busy(n, children int) func([]entry) bool {
	return func(entries []entry) bool { return begun(n)(entries) && len(inFlight(entries)) >= children }
}

// beganAgain asks for a second run of each of the jobs.
func beganAgain(jids []string) func([]entry) bool {
	return func(entries []entry) bool {
		byJob := runs(entries)
		return !slices.ContainsFunc(jids, func(jid string) bool { return len(byJob[jid]) < 2 })
	}
}

// killedAndRestarted: A11 stands for each end of the process that nobody asked for: the Go runtime ends
// it on SIGABRT as it does after a panic that nobody recovers.
func killedAndRestarted(sig syscall.Signal) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		const children = 4
		r.put(t, scaled(200, 1000), work{MS: 20})
		a := r.begins(t, pool{children: children}, 40)
		if family := marked(r.mark); len(family) < 1+children {
			t.Fatalf("the mark finds only %v: nothing could be said about who is left", family)
		}
		r.ledger.await(t, "busy children", busy(45+r.random.IntN(40), children))
		a.signal(t, sig)
		a.died(t)
		killed := now()
		a.leftNothing(t)
		r.note("all_gone_after", now()-killed)
		if code := a.exit(t); code == 0 {
			t.Error("it ended with exit code 0")
		}
		interrupted := inFlight(r.ledger.all(t))

		restarted := now()
		a = r.start(t, "a", pool{children: children})
		r.ledger.within(t, 2*time.Second, "the interrupted jobs begun again", beganAgain(interrupted))
		jobs := r.settled(t)
		entries := r.ledger.all(t)
		for _, rs := range runs(entries) {
			if len(rs) > 1 {
				r.note("back_after", rs[1].at-restarted)
				break
			}
		}
		if begunTwice(entries) == 0 {
			t.Error("the kill hit no job: the row shows nothing")
		}
		for _, rs := range runs(entries) {
			if len(rs) > 2 {
				t.Errorf("job %s was begun %d times, want 2 at most", rs[0].jid, len(rs))
			}
			if len(rs) > 1 && rs[1].attempt != 1 {
				t.Errorf("the second run of job %s was attempt %d, want 1: it is not to blame", rs[0].jid, rs[1].attempt)
			}
		}
		r.doneFree(t, jobs)
		a.stop(t)
		r.check(t, allowed{twice: children})
	}
}

func supervisorKilledForGood(t *testing.T, r *rig) {
	const children = 4
	r.put(t, 1000, work{MS: 20})
	a := r.begins(t, pool{children: children}, 10)
	r.start(t, "b", pool{children: children})
	r.ledger.await(t, "busy children", busy(40, children+1))
	a.kill(t)
	died := now()
	allDone(t, r.settled(t))
	entries := r.ledger.all(t)
	late := 0.0
	for _, rs := range runs(entries) {
		if len(rs) > 1 {
			late = max(late, rs[1].at-died)
		}
	}
	if late == 0 {
		t.Error("the kill hit no job: the row shows nothing")
	}
	r.bound(t, "back_after", died, died+late, (lock + grace + 2*time.Second).Seconds())
	r.check(t, allowed{twice: children})
}

func pausedWithinTheLease(t *testing.T, r *rig) {
	r.put(t, 400, work{MS: 20})
	r.put(t, 2, work{MS: 3000, Beat: 50})
	a := r.start(t, "a", pool{})
	r.start(t, "b", pool{})
	r.ledger.await(t, "20 begun jobs", begun(20))
	a.signal(t, syscall.SIGSTOP)
	last(lock / 2)
	a.signal(t, syscall.SIGCONT)
	r.finish(t, allowed{})
}

func pausedBeyondTheLock(t *testing.T, r *rig) {
	// One of A's jobs ends while A stands still, the other is ended with its lease.
	short := r.put(t, 1, work{MS: 1000, Beat: 20})[0]
	long := r.put(t, 1, work{MS: 8000, Beat: 20})[0]
	a := r.begins(t, pool{children: 2}, 2)
	r.start(t, "b", pool{children: 2})
	a.signal(t, syscall.SIGSTOP)
	last(6 * time.Second)
	calls := r.listen("renew", "exchange")
	a.signal(t, syscall.SIGCONT)

	jobs := r.settled(t)
	allDone(t, jobs)
	entries := r.ledger.all(t)
	byJob, more := runs(entries), map[string]int{} // for a lock that a busy machine costs
	for _, jid := range r.starved(t) {
		more[jid]++
	}
	for _, jid := range []string{short, long} {
		if n := len(byJob[jid]); n < 2 || n > 2+more[jid] {
			t.Fatalf("job %s had %d runs, want one of A and one of B", jid, n)
		}
	}
	asked := false
	for _, c := range calls() {
		if c.pid != strconv.Itoa(a.pid()) {
			continue
		}
		asked = asked || c.script == "renew"
		if !asked {
			t.Errorf("A called %s before it asked what is still its own", c.script)
		}
		if c.script == "exchange" && (strings.Contains(c.text, short) || strings.Contains(c.text, long)) {
			t.Errorf("A settled what it had lost: %q", c.text)
		}
	}
	if !asked {
		t.Error("A did not ask what is still its own")
	}
	for _, j := range jobs {
		if popped, settled := j.settlements(); popped < 2 || popped > 2+more[j.jid] || settled != 1 {
			t.Errorf("job %s: popped %d times, settled %d times; want 2 and 1", j.jid, popped, settled)
		}
	}
	r.check(t, allowed{twice: 2})
}

func pausedAlone(t *testing.T, r *rig) {
	r.put(t, 1, work{MS: 1000})
	r.put(t, 1, work{MS: 5000})
	a := r.begins(t, pool{children: 2}, 2)
	a.signal(t, syscall.SIGSTOP)
	last(6 * time.Second)
	a.signal(t, syscall.SIGCONT)
	r.finish(t, allowed{twice: 1})
}

func drain(t *testing.T, r *rig) {
	const children = 4
	r.put(t, 1000, work{MS: 20})
	a := r.begins(t, pool{children: children}, 60+r.random.IntN(40))
	signaled := now()
	a.stop(t)
	entries := r.ledger.all(t)
	late := 0
	for _, e := range since(entries, signaled) {
		if e.what == "begin" && fairly(signaled, e.at) > 0.1 {
			late++
		}
	}
	if late > 0 {
		t.Errorf("%d jobs began later than 100 ms after SIGTERM", late)
	}
	if left := inFlight(entries); len(left) > 0 {
		t.Errorf("a drained supervisor left jobs %v in the middle", left)
	}
	pops := 0
	for _, j := range readJobs(t, r.db, r.jids) {
		popped, _ := j.settlements()
		pops += popped
	}
	// What a call took that was out when the signal came is given back.
	if back := pops - count(entries, "begin"); back > children {
		t.Errorf("%d jobs were taken and not begun, want %d at most: those of one call", back, children)
	} else {
		r.note("given_back", back)
	}
	r.note("late", late)
	r.start(t, "a", pool{})
	r.finish(t, allowed{})
}

func drainTimesOut(t *testing.T, r *rig) {
	r.put(t, 4, work{MS: 60_000})
	a := r.begins(t, pool{top: `drain_timeout = "2s"`}, 4)
	signaled := now()
	a.signal(t, syscall.SIGTERM)
	a.exit(t)
	r.bound(t, "exit_after", signaled, now(), 2+1+1) // drain, kill grace, and one to leave
	a.leftNothing(t)
	jobs := r.check(t, allowed{})
	r.uncounted(t, jobs)
	for _, j := range jobs {
		if !slices.Equal(j.places, []string{"waiting"}) || j.interruptions != 1 {
			t.Errorf("job %s is %s after %d interruptions, want it to wait after 1", j.jid, j.state, j.interruptions)
		}
	}
}

func secondStopSignal(silent bool) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		r.put(t, 4, work{MS: 60_000})
		a := r.begins(t, pool{}, 4)
		if silent {
			r.redis.Pause()
		}
		a.signal(t, syscall.SIGTERM)
		a.said(t, "drain")
		second := now()
		a.signal(t, syscall.SIGTERM)
		a.exit(t)
		r.bound(t, "exit_after", second, now(), 5)
		a.leftNothing(t)
		if silent {
			r.redis.Resume()
		}
		r.uncounted(t, r.check(t, allowed{}))
	}
}

func binaryReplaced(t *testing.T, r *rig) {
	r.binary = filepath.Join(r.dir, "oarlock")
	if err := os.Link(oarlock(t), r.binary); errors.Is(err, syscall.EXDEV) {
		t.Fatal("the rig and the binary must be on one file system: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	r.put(t, 20, work{MS: 20})
	a := r.start(t, "a", pool{mode: "once", worker: "worker.sh"})
	r.ledger.await(t, "5 jobs done", ended(5))
	other := filepath.Join(r.dir, "other")
	must(t, os.WriteFile(other, []byte("#!/bin/false\n"), 0o755))
	must(t, os.Rename(other, r.binary))
	r.put(t, 200, work{MS: 5})
	r.finish(t, allowed{})
	a.stop(t)
	a.neverSaid(t, "could-not-start")
}

func equalNames(t *testing.T, r *rig) {
	p := pool{top: `name = "twin"`}
	r.put(t, scaled(1000, 10_000), work{MS: 1})
	r.start(t, "a", p)
	r.start(t, "b", p)
	allDone(t, r.settled(t))
	// A worker is known by the children's parents: no name may have worked in both.
	await(t, func() error {
		if workers := r.db.ZRange(t.Context(), "ql:workers", 0, -1).Val(); len(workers) != 2 || workers[0] == workers[1] {
			return fmt.Errorf("two supervisors are known to Redis as %q", workers)
		}
		return nil
	})
	r.check(t, allowed{})
}

func childrenGoFirst(t *testing.T, r *rig) {
	r.put(t, 1, work{MS: 60_000})
	a := r.start(t, "a", pool{})
	child := r.ledger.await(t, "a begun job", begun(1))[0].pid
	score := func(pid int) (n int) {
		text := got(os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid)))(t)
		fmt.Sscan(string(text), &n)
		return n
	}
	if ours, childs := score(a.pid()), score(child); childs < ours+300 {
		t.Errorf("oom_score_adj is %d of the supervisor and %d of a child: the child must go first", ours, childs)
	}
	syscall.Kill(child, syscall.SIGKILL) // as the kernel would
	r.ledger.await(t, "the job begun again", begun(2))
	r.check(t, allowed{twice: 1})
}

func nobodyReadsTheLog(t *testing.T, r *rig) {
	r.put(t, 100, work{MS: 10})
	a := r.start(t, "a", pool{})
	r.ledger.await(t, "10 done", ended(10))
	a.hangUp()
	r.put(t, 1000, work{MS: 10})
	r.finish(t, allowed{})
	a.stop(t)
}

// killedBeforeTheSettle: with locks that outlast the restart, only the start-up look gives the jobs back.
func killedBeforeTheSettle(t *testing.T, r *rig) {
	const children = 4
	a, _ := r.idle(t, pool{children: children}) // so that all begin together
	done := count(r.ledger.all(t), "end")
	r.put(t, children, work{MS: 300})
	r.ledger.await(t, "all begun", begun(done+children))
	r.proxy.Hold(faultproxy.Requests) // whatever is sent does not arrive
	r.ledger.await(t, "all ended", ended(done+children))
	a.kill(t)
	a.leftNothing(t)
	r.proxy.Cut()
	r.proxy.Release(faultproxy.Requests)
	r.start(t, "a", pool{children: children})
	r.finish(t, allowed{twice: children})
	if n := begunTwice(r.ledger.all(t)); n == 0 {
		t.Error("every verdict arrived: the row shows nothing")
	}
}

func killedBeforeTheReply(t *testing.T, r *rig) {
	const children = 1 // so that no other job's end waits behind the call
	r.put(t, children, work{MS: 1000})
	a := r.begins(t, pool{children: children}, children)
	next := r.put(t, children, work{MS: 5})
	r.proxy.Hold(faultproxy.Replies) // of the call that settles the first and takes the next
	await(t, func() error {
		leaked := inState(readJobs(t, r.db, next))["running"]
		if leaked == 0 {
			return errors.New("the take has not run")
		}
		return nil
	})
	r.note("leaked", inState(readJobs(t, r.db, next))["running"])
	a.kill(t)
	a.leftNothing(t)
	r.proxy.Cut()
	r.proxy.Release(faultproxy.Replies)
	r.start(t, "a", pool{children: children})
	r.ledger.within(t, 2*time.Second, "the leaked jobs begun", begun(2*children))
	r.finish(t, allowed{})
}
