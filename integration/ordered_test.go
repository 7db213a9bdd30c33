package integration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"oarlock/queue"
)

// orderPerKeyUnderKills works many keys by two supervisors, of which, and of whose children, one after another is
// killed: in each key the jobs begin in the order in which they were put, none while another of the key lives, and all are done.
func orderPerKeyUnderKills(t *testing.T, r *rig) {
	keys, each, kills := scaled(60, 1000), scaled(6, 20), scaled(4, 30)
	var puts []queue.Put
	for n := range each {
		for k := range keys {
			put := r.describe(t, work{MS: r.random.IntN(4)})
			put.Key, put.JID = fmt.Sprintf("key %d", k), fmt.Sprintf("%d:%d", k, n)
			puts = append(puts, put)
		}
	}
	r.putAll(t, puts)
	p := pool{children: 4, more: "max_crashes = 100\n" + exact}
	supervisors := map[string]*supervisor{"a": r.start(t, "a", p), "b": r.start(t, "b", p)}
	supervisorKills, childKills := 0, 0
	for i := range kills {
		entries := r.ledger.await(t, "more jobs ended", ended((i+1)*keys*each/(kills+2)))
		if r.random.IntN(3) > 0 {
			syscall.Kill(entries[len(entries)-1].pid, syscall.SIGKILL)
			childKills++
			continue
		}
		name := []string{"a", "b"}[r.random.IntN(2)]
		supervisors[name].kill(t)
		supervisors[name] = r.start(t, name, p)
		supervisorKills++
	}
	allDone(t, r.settled(t))
	r.check(t, allowed{twice: supervisorKills*p.children + childKills})
	inOrder(t, r.ledger.all(t), each, 0)
	r.nothingOfKeys(t)
	r.note("keys", keys, "jobs", len(puts), "supervisor_kills", supervisorKills, "child_kills", childKills, "twice", begunTwice(r.ledger.all(t)))
	for _, s := range supervisors {
		s.stop(t)
	}
}

// inOrder checks runs of jobs whose jids are a key, a colon and their number in it: in each key there are so many, each begins
// after the one before it, and none while another lives, but for so many seconds. Where some may, a job may have been taken over on its way to its child: such a
// run begins when a later attempt of its job has.
func inOrder(t testing.TB, entries []entry, each int, beside float64) {
	t.Helper()
	if longest, key := overlap(byKey(entries)); longest > beside {
		t.Errorf("two jobs of key %s lived side by side for %.3f s", key, longest)
	}
	if beside > 0 {
		entries = slices.DeleteFunc(slices.Clone(entries), takenOver(entries))
	}
	for key, began := range beginnings(entries) {
		if back, skipped := steps(began, each); back > 0 || skipped {
			t.Errorf("the %d jobs of key %s began in the order %v", each, key, began)
		}
	}
}

// takenOver tells which entries are of runs that began when a later attempt of their job had.
func takenOver(entries []entry) func(entry) bool {
	byJob := runs(entries)
	return func(e entry) bool {
		rs := byJob[e.jid]
		at := slices.IndexFunc(rs, func(run ledgerRun) bool { return run.run == e.run })
		return slices.ContainsFunc(rs[:at], func(earlier ledgerRun) bool { return earlier.attempt > e.attempt })
	}
}

// A run that is late, and one that is out of turn.
func TestTakenOver(t *testing.T) {
	at := func(jid, run string, attempt int, at float64) entry {
		return entry{jid: jid, run: run, attempt: attempt, what: "begin", at: at}
	}
	entries := []entry{at("k:0", "a", 2, 1), at("k:1", "b", 1, 2), at("k:0", "late", 1, 3), at("k:0", "out of turn", 3, 4)}
	is := takenOver(entries)
	for _, e := range entries {
		if is(e) != (e.run == "late") {
			t.Errorf("run %s was taken over: %t", e.run, is(e))
		}
	}
}

// byKey are the entries with keys in place of jids.
func byKey(entries []entry) []entry {
	all := slices.Clone(entries)
	for i := range all {
		all[i].jid, _, _ = strings.Cut(all[i].jid, ":")
	}
	return all
}

// beginnings are, by key, the numbers of jobs in the order in which they began.
func beginnings(entries []entry) map[string][]int {
	numbers := map[string][]int{}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	for _, e := range entries {
		if e.what == "begin" {
			var n int
			key, number, _ := strings.Cut(e.jid, ":")
			fmt.Sscan(number, &n)
			numbers[key] = append(numbers[key], n)
		}
	}
	return numbers
}

// steps is how often the numbers of a key go back, and whether one of so many is passed over. One may come several times.
func steps(began []int, each int) (back int, skipped bool) {
	at := -1
	for _, n := range began {
		if n < at {
			back++
		}
		skipped = skipped || n > at+1
		at = n
	}
	return back, skipped || at != each-1
}

// A measure that finds nothing shows nothing.
func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		began   []int
		back    int
		skipped bool
	}{
		{[]int{0, 1, 2}, 0, false}, {[]int{0, 1, 1, 2}, 0, false}, {[]int{0, 2}, 0, true}, {[]int{1, 2}, 0, true}, {[]int{0, 1}, 0, true}, {nil, 0, true},
		{[]int{0, 1, 0, 1, 2}, 1, false}, {[]int{0, 2, 1, 2}, 1, true},
	} {
		if back, skipped := steps(tt.began, 3); back != tt.back || skipped != tt.skipped {
			t.Errorf("%v goes back %d times and passes one over: %v", tt.began, back, skipped)
		}
	}
}

// aFailedJobHoldsItsKey: with after_fail = "hold" in the file a key waits behind a job that failed, until somebody lets it pass.
func aFailedJobHoldsItsKey(t *testing.T, r *rig) {
	s := r.startConfig(t, "a", r.config(t, "a", pool{})+"[queues.work]\norder = \"key\"\nafter_fail = \"hold\"\n")
	await(t, func() error {
		if is := r.db.HGet(t.Context(), "ql:oarlock:rules", "o:work").Val(); is != "order=key after_fail=hold" {
			return fmt.Errorf("the order of the queue is %q", is)
		}
		return nil
	})
	key := func(p *queue.Put) { p.Key = "k" }
	fails := r.putOne(t, work{Say: map[string]any{"@": "fail"}}, key)
	next := r.putOne(t, work{}, key)
	other := r.putOne(t, work{}, func(p *queue.Put) { p.Key = "other" })
	r.awaitState(t, fails, "failed")
	r.awaitState(t, other, "complete")
	r.awaitState(t, next, "waiting")
	if from, err := r.client.PassTurn(t.Context(), "work", "k"); err != nil || from != fails {
		t.Errorf("passed from %q, %v", from, err)
	}
	r.awaitState(t, next, "complete")
	s.stop(t)
}
