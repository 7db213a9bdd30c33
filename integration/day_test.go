package integration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// The rows of a day are ordinary work: nothing is injected, nobody is hostile. Each
// says beforehand which share of the ideal it expects. The ideal is what the jobs
// themselves take on the children that are there, or what the same number of plain
// jobs took in the same minute. Less than half of what was expected is a collapse.

// shift is one pool of a day, which works for a living what its queues hold.
type shift struct {
	name     string
	queues   []string // default: its name
	worker   string   // a fixture; default worker.py
	mode     string   // default reuse
	children int      // default 4
	more     string   // further lines of the table
	retry    string   // delay of the first retry; default 1ms
}

// day starts a supervisor with these pools, as users configure them, and returns when
// their children are ready.
func (r *rig) day(t testing.TB, shifts ...shift) *supervisor {
	t.Helper()
	var c strings.Builder
	fmt.Fprintf(&c, "[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\n[log]\nformat = \"json\"\n", r.url, r.stateDir("day"))
	children := 0
	for _, s := range shifts {
		s = s.filled()
		argv := got(json.Marshal(command(t, s.worker)))(t)
		queues := got(json.Marshal(s.queues))(t)
		fmt.Fprintf(&c, "[pools.%s]\nqueues = %s\ncommand = %s\nmode = %q\n%s\n", s.name, queues, argv, s.mode, s.more)
		if s.children > 0 {
			fmt.Fprintf(&c, "children = %d\n", s.children)
		}
		fmt.Fprintf(&c, "[pools.%s.retry]\ndelay = %q\nbackoff = \"constant\"\njitter = 0.0\n[pools.%[1]s.sandbox]\nenv = { LEDGER = %[3]q }\n", s.name, s.retry, r.ledger.path)
		if s.mode != "once" {
			children += max(s.children, 1)
		}
	}
	a := r.startConfig(t, "day", c.String())
	a.said(t, `"msg":"ready"`)
	await(t, func() error {
		if ready := a.ready(t); ready < children {
			return fmt.Errorf("%d of %d children are ready", ready, children)
		}
		return nil
	})
	return a
}

func (s shift) filled() shift {
	if s.queues == nil {
		s.queues = []string{s.name}
	}
	s.worker, s.mode, s.retry = cmp.Or(s.worker, "worker.py"), cmp.Or(s.mode, "reuse"), cmp.Or(s.retry, "1ms")
	s.children = max(0, cmp.Or(s.children, 4)) // below 0 the lines say it
	return s
}

// ready counts the children that are ready or at work.
func (s *supervisor) ready(t testing.TB) (n int) {
	t.Helper()
	pools, _ := s.status(t)["pools"].([]any)
	for _, p := range pools {
		slots, _ := p.(map[string]any)["slots"].([]any)
		for _, slot := range slots {
			if state := slot.(map[string]any)["state"]; state == "ready" || state == "busy" {
				n++
			}
		}
	}
	return n
}

// task is what a job of a day is to do.
type task struct {
	queue string
	data  map[string]any
	more  func(*queue.Put)
}

// order puts tasks in one go and returns their jids and when that began.
func (r *rig) order(t testing.TB, tasks []task) (jids []string, at float64) {
	t.Helper()
	puts := make([]queue.Put, len(tasks))
	for i, task := range tasks {
		puts[i] = queue.Put{Queue: task.queue, Klass: "Work"}
		if task.data != nil {
			data := got(json.Marshal(task.data))(t)
			puts[i].Data = data
		}
		if task.more != nil {
			task.more(&puts[i])
		}
	}
	at = now()
	return r.putAll(t, puts), at
}

// many are n equal tasks for a queue.
func many(n int, queue string, ms int) []task {
	tasks := make([]task, n)
	for i := range tasks {
		tasks[i] = task{queue: queue, data: map[string]any{"ms": ms}}
	}
	return tasks
}

// lastOf waits until each of the jobs has been ended by a child at least times times,
// and returns when the last of these ends was.
func (r *rig) lastOf(t testing.TB, jids []string, times int) (at float64) {
	t.Helper()
	within(t, 5*patience, func() error {
		left := make(map[string]int, len(jids))
		for _, jid := range jids {
			left[jid] = times
		}
		missing := len(jids) * times
		for _, e := range r.ledger.all(t) {
			if e.what == "end" && left[e.jid] > 0 {
				left[e.jid]--
				missing--
				at = e.at
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d ends of %d jobs are missing", missing, len(jids))
		}
		return nil
	})
	return at
}

// reference is the fair time that n plain jobs take which a queue holds, from their put on.
func (r *rig) reference(t testing.TB, queue string, n int) float64 {
	t.Helper()
	jids, from := r.order(t, many(n, queue, 0))
	return fairly(from, r.lastOf(t, jids, 1))
}

// expect compares what something took with what it takes at best, both in seconds of
// fair time. share is what is expected to be had of the ideal.
func (r *rig) expect(t testing.TB, what string, took, ideal, share float64) {
	t.Helper()
	r.note(what, ideal/took)
	if ideal/took < share/2 {
		t.Errorf("%s: took %.2f s where %.2f s are ideal: %.0f %% of it, where %.0f %% were expected and less than half of that is a collapse",
			what, took, ideal, 100*ideal/took, 100*share)
	}
}

// TestDayOfManyQueues works jobs off that lie in a thousand queues, in each order, and
// compares that with as many jobs in one.
func TestDayOfManyQueues(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of many queues", rigOptions{alone: true}, func(t *testing.T, r *rig) {
		const queues, share = 1000, 0.5
		n := 10_000
		orders := []string{"ordered", "round-robin", "oldest"}
		shifts := []shift{{name: "one"}}
		for _, order := range orders {
			shifts = append(shifts, shift{name: order, queues: []string{order + "-*"}, more: fmt.Sprintf("order = %q", order)})
		}
		r.day(t, shifts...)
		for _, order := range orders {
			tasks := make([]task, n)
			for i := range tasks {
				tasks[i] = task{queue: fmt.Sprintf("%s-%d", order, i%queues)}
			}
			ideal, took := 0.0, 0.0
			for range 3 { // each lasts tenths of a second, in any of which a machine may have much else to do
				ideal = r.reference(t, "one", n)
				jids, from := r.order(t, tasks)
				if took = fairly(from, r.lastOf(t, jids, 1)); ideal/took >= share/2 {
					break
				}
			}
			r.expect(t, order, took, ideal, share)
		}
		allDone(t, r.settled(t))
	})
}

// TestDayOfLongAndShort has half of a pool's children work on something long while short
// jobs come: without writing ahead, and with.
func TestDayOfLongAndShort(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of long and short", rigOptions{}, func(t *testing.T, r *rig) {
		r.day(t, shift{name: "plain"}, shift{name: "ahead", more: "prefetch = 16"})
		for _, queue := range []string{"plain", "ahead"} {
			const each = 5 * time.Millisecond
			n := 2000
			long := time.Duration(n) * each // twice as long as all the short ones need on what is left
			first, _ := r.order(t, many(2, queue, int(long.Milliseconds())))
			r.ledger.await(t, "both long ones begun", func(es []entry) bool {
				begun := 0
				for _, e := range es {
					if e.what == "begin" && (e.jid == first[0] || e.jid == first[1]) {
						begun++
					}
				}
				return begun == 2
			})
			jids, from := r.order(t, many(n, queue, int(each.Milliseconds())))
			took := fairly(from, r.lastOf(t, jids, 1))
			r.expect(t, queue, took, long.Seconds()/2, 0.8)
			r.lastOf(t, first, 1)
		}
		allDone(t, r.settled(t))
	})
}

// TestDayOfManyDueAtOnce has thousands of delayed jobs come due at one instant, an
// urgent one among them.
func TestDayOfManyDueAtOnce(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of many due at once", rigOptions{alone: true}, func(t *testing.T, r *rig) {
		const children, promoted = 4, 200
		n := 20_000
		r.day(t, shift{name: "one", children: children}, shift{name: "due", children: children})
		ideal := r.reference(t, "one", n)
		due := now() + 1 + float64(n)/4000
		urgent := 100.0
		tasks := many(n, "due", 0)
		tasks = append(tasks, task{queue: "due", more: func(p *queue.Put) { p.Priority = &urgent }})
		for i := range tasks {
			priority := tasks[i].more
			tasks[i].more = func(p *queue.Put) {
				p.Delay = time.Duration((due - now()) * float64(time.Second))
				if priority != nil {
					priority(p)
				}
			}
		}
		var jids []string
		for len(tasks) > 0 {
			part, _ := r.order(t, tasks[:min(queue.PutChunk, len(tasks))])
			jids = append(jids, part...)
			tasks = tasks[len(part):]
		}
		if now() > due {
			t.Fatal("putting took longer than the delay")
		}
		took := fairly(due, r.lastOf(t, jids, 1))
		r.expect(t, "due", took, ideal, 0.8)
		planned := map[string]bool{}
		for _, jid := range jids {
			planned[jid] = true
		}
		before := 0 // how many of the others began before the urgent one
		for _, e := range r.ledger.all(t) {
			if e.what == "begin" && e.at < due-0.1 && planned[e.jid] {
				t.Errorf("%s began %.1f s before its time", e.jid, due-e.at)
			}
			if e.what != "begin" || e.at < due-0.5 {
				continue
			}
			if e.jid == jids[n] {
				break
			}
			before++
		}
		r.note("before_the_urgent", before)
		if most := (n/promoted + 2) * children; before > most {
			t.Errorf("%d jobs began before the urgent one that was due with them, want %d at most", before, most)
		}
		allDone(t, r.settled(t))
	})
}

// TestDayOfChains runs forty jobs that wait for each other, in two pools that have
// nothing else to do, by turns.
func TestDayOfChains(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of chains", rigOptions{}, func(t *testing.T, r *rig) {
		const links = 40
		r.day(t, shift{name: "left", children: 1}, shift{name: "right", children: 1})
		chain := func(queues ...string) (took float64) {
			var before string
			from := now()
			var jids []string
			for i := range links {
				jid, _ := r.order(t, []task{{queue: queues[i%len(queues)], more: func(p *queue.Put) {
					if before != "" {
						p.Depends = []string{before}
					} else {
						p.Delay = time.Second // so that the whole chain is there before it begins
					}
				}}})
				before = jid[0]
				jids = append(jids, before)
			}
			return fairly(from+1, r.lastOf(t, jids, 1))
		}
		ideal := max(chain("left"), 0.1) // less cannot be told from chance
		r.expect(t, "chain", chain("left", "right"), ideal, 0.5)
		allDone(t, r.settled(t))
	})
}

// TestDayOfTenants puts the work of one tenant, who may have two jobs run at a time and whose
// first two are long, in front of that of twenty others.
func TestDayOfTenants(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of tenants", rigOptions{}, func(t *testing.T, r *rig) {
		const children, each = 8, 20
		long := 3 * time.Second
		limited := func(tenant string, tasks []task) []task {
			must(t, r.client.SetThrottle(t.Context(), queue.Throttle{ID: tenant, Maximum: 2}))
			for i := range tasks {
				tasks[i].more = func(p *queue.Put) { p.Throttles = []string{tenant} }
			}
			return tasks
		}
		ahead := limited("large", append(many(2, "work", int(long.Milliseconds())), many(4000, "work", 1)...))
		var others []task
		for tenant := range 20 {
			others = append(others, limited(fmt.Sprint("small-", tenant), many(10, "work", each))...)
		}
		r.day(t, shift{name: "work", children: children})
		first, from := r.order(t, ahead)
		jids, since := r.order(t, others)
		r.expect(t, "others", fairly(since, r.lastOf(t, jids, 1)), float64(len(others))*each/1000/(children-2), 0.5)
		ideal := long.Seconds() + float64(len(ahead))/1000 // two at a time, and what handing over costs
		r.expect(t, "large", fairly(from, r.lastOf(t, first, 1)), ideal, 0.8)
		allDone(t, r.settled(t))
	})
}

// TestDayOfRaising has nine jobs in ten raise an exception, each time they are tried.
func TestDayOfRaising(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of raising", rigOptions{}, func(t *testing.T, r *rig) {
		n := 2000
		r.day(t, shift{name: "work", worker: "uses-the-helper.py", retry: "200ms"})
		jids, from := r.order(t, many(n, "work", 2))
		ideal := fairly(from, r.lastOf(t, jids, 1))
		tasks := many(n, "work", 2)
		var good []int
		tries := 2
		for i := range tasks {
			if i%10 == 9 {
				good = append(good, i)
				continue
			}
			tasks[i].data["raise"] = true
			tasks[i].more = retries(tries)
		}
		jids, from = r.order(t, tasks)
		var fine []string
		for _, i := range good {
			fine = append(fine, jids[i])
		}
		r.expect(t, "good_jobs", fairly(from, r.lastOf(t, fine, 1)), ideal, 0.5)
		// The others end one after the other, slower and slower where nothing else is left.
		if by := inState(readJobs(t, r.db, jids)); by["complete"] > len(good) {
			t.Errorf("the jobs are %v, want no more than %d complete", by, len(good))
		}
	})
}

// TestDayOfNotYet has most jobs ask for another try a little later, twice each.
func TestDayOfNotYet(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of not yet", rigOptions{}, func(t *testing.T, r *rig) {
		const tries, wait = 2, 0.5
		n := 1800
		r.day(t, shift{name: "work", worker: "uses-the-helper.py"})
		jids, from := r.order(t, many(n, "work", 1))
		plain := fairly(from, r.lastOf(t, jids, 1))
		tasks := many(n, "work", 1)
		for i := range tasks {
			if i%10 != 0 {
				tasks[i].data["notyet"] = []float64{wait, tries}
			}
		}
		jids, from = r.order(t, tasks)
		r.lastOf(t, jids, 1)
		allDone(t, r.settled(t))
		var last float64
		for _, e := range r.ledger.all(t) {
			last = max(last, e.at)
		}
		r.expect(t, "all", fairly(from, last), tries*wait+(tries+1)*plain, 0.7)
	})
}

// TestDayOfPuttingAgain puts customers' jobs again while they run, where children are idle
// and where they are not: the latest data are worked, always.
func TestDayOfPuttingAgain(t *testing.T) {
	row(t, "day of putting again", rigOptions{}, func(t *testing.T, r *rig) {
		alone, together := scaled(12, 40), scaled(20, 100)
		r.day(t, shift{name: "work", worker: "uses-the-helper.py"})
		put := func(customer, version int) {
			t.Helper()
			p := queue.Put{Queue: "work", JID: fmt.Sprint("customer-", customer), Klass: "Work", Data: fmt.Appendf(nil, `{"ms":150,"version":%d}`, version)}
			got(r.client.Put(t.Context(), p))(t)
		}
		begun := func(version int) func([]entry) bool {
			return func(es []entry) bool { return len(versions(es, "begin", version)) == len(r.jids) }
		}
		for customer := range alone { // one at a time: most children are idle
			put(customer, 1)
			r.jids = append(r.jids, fmt.Sprint("customer-", customer))
			r.ledger.await(t, "version 1 begun", begun(1))
			put(customer, 2)
			r.ledger.await(t, "version 2 begun", begun(2))
		}
		for customer := alone; customer < alone+together; customer++ {
			put(customer, 1)
			r.jids = append(r.jids, fmt.Sprint("customer-", customer))
		}
		r.ledger.await(t, "some begun", func(es []entry) bool { return len(versions(es, "begin", 1)) >= alone+4 })
		for customer := alone; customer < alone+together; customer++ {
			put(customer, 2)
		}
		allDone(t, r.settled(t))
		worked := len(versions(r.ledger.all(t), "end", 2))
		r.note("latest_worked", worked)
		if worked != alone+together {
			t.Errorf("the latest data of %d of %d customers were worked", worked, alone+together)
		}
	})
}

// versions are the jobs of which entries of that kind say that they were worked with that
// version of their data.
func versions(entries []entry, what string, version int) map[string]bool {
	jids, prefix := make(map[string]bool), fmt.Sprint(version, "-")
	for _, e := range entries {
		if e.what == what && strings.HasPrefix(e.run, prefix) {
			jids[e.jid] = true
		}
	}
	return jids
}

// TestDayOfNewestFirst has each job be more urgent than the one before, in a pool that
// grows by itself.
func TestDayOfNewestFirst(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of newest first", rigOptions{}, func(t *testing.T, r *rig) {
		const each, pause = 200 * time.Millisecond, 40 * time.Millisecond // five children are needed
		n := 1000
		r.day(t, shift{name: "work", children: -1, more: "min_children = 1\nmax_children = 12"})
		var jids []string
		from := now()
		ticks := time.NewTicker(pause)
		defer ticks.Stop()
		for i := range n {
			urgency := float64(i)
			jid, _ := r.order(t, []task{{queue: "work", data: map[string]any{"ms": each.Milliseconds()}, more: func(p *queue.Put) { p.Priority = &urgency }}})
			jids = append(jids, jid...)
			<-ticks.C
		}
		ideal := fairly(from, now()) + each.Seconds()
		r.expect(t, "all", fairly(from, r.lastOf(t, jids, 1)), ideal, 0.8)
		allDone(t, r.settled(t))
	})
}

// TestDayOfLargePayloads works payloads of 1 and 16 MB beside small jobs: however many of
// them there are to be taken, no single call of Redis grows with their number.
func TestDayOfLargePayloads(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of large payloads", rigOptions{alone: true}, func(t *testing.T, r *rig) {
		children := 20
		a := r.day(t, shift{name: "work", children: children}, shift{name: "small"})
		must(t, r.db.ConfigSet(t.Context(), "slowlog-log-slower-than", "1000").Err())
		single := r.takeHeld(t, "work", payloads(1, "work"))
		together := r.takeHeld(t, "work", payloads(children, "work"))
		for range 7 { // a busy machine makes a call longer, and never shorter
			if together > 4*single {
				together = min(together, r.takeHeld(t, "work", payloads(children, "work")))
			}
		}
		r.note("slowest_of_one_ms", 1000*single, "slowest_of_all_ms", 1000*together)
		if together > 4*single {
			t.Errorf("the longest call took %.0f ms with %d large payloads to be had, %.0f with one", 1000*together, children, 1000*single)
		}
		peak := a.peak(t)
		r.note("peak_MiB", peak>>20)
		if most := int64(64+children*3*16) << 20; peak > most {
			t.Errorf("the supervisor had %d MiB, want %d at most", peak>>20, most>>20)
		}
		allDone(t, r.settled(t))
	})
}

// payloads are n tasks of 16 MB, and two of 1 MB for each.
func payloads(n int, queue string) (tasks []task) {
	const megabyte = 1_000_000
	for range n {
		for _, size := range []int{16 * megabyte, megabyte, megabyte} {
			tasks = append(tasks, task{queue: queue, data: map[string]any{"ms": 50, "text": strings.Repeat("x", size)}})
		}
	}
	return tasks
}

// takeHeld puts tasks into a paused queue, lets them go, waits for their ends, and returns
// what the longest script took that Redis ran meanwhile, in seconds.
func (r *rig) takeHeld(t testing.TB, queue string, tasks []task) (longest float64) {
	t.Helper()
	must(t, r.client.Pause(t.Context(), queue))
	var jids []string
	for _, one := range tasks { // one by one: it is not putting that is looked at
		jid, _ := r.order(t, []task{one})
		jids = append(jids, jid...)
	}
	must(t, r.db.Do(t.Context(), "SLOWLOG", "RESET").Err())
	must(t, r.client.Resume(t.Context(), queue))
	r.lastOf(t, jids, 1)
	entries := got(r.db.SlowLogGet(t.Context(), -1).Result())(t)
	for _, e := range entries {
		if strings.EqualFold(e.Args[0], "evalsha") {
			longest = max(longest, e.Duration.Seconds())
		}
	}
	if longest == 0 {
		t.Fatal("Redis wrote down no call, so nothing is compared")
	}
	return longest
}

// peak is the most memory that the supervisor's process has had, in bytes.
func (s *supervisor) peak(t testing.TB) int64 {
	t.Helper()
	status := got(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid())))(t)
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	got(fmt.Sscan(line, &kilobytes))(t)
	return kilobytes << 10
}

// TestDayOfRecycling replaces a reused child after each job, which should cost no more than
// starting a fresh one for each.
func TestDayOfRecycling(t *testing.T) {
	long(t, "a day: it compares speeds")
	row(t, "day of recycling", rigOptions{}, func(t *testing.T, r *rig) {
		n := 1000
		r.day(t,
			shift{name: "once", worker: "uses-the-helper.py", mode: "once"},
			shift{name: "recycled", worker: "uses-the-helper.py", more: "max_jobs = 1"})
		jids, from := r.order(t, many(n, "once", 1))
		ideal := fairly(from, r.lastOf(t, jids, 1))
		jids, from = r.order(t, many(n, "recycled", 1))
		r.expect(t, "recycled", fairly(from, r.lastOf(t, jids, 1)), ideal, 0.8)
		allDone(t, r.settled(t))
	})
}
