package metrics

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"oarlock/internal/census"
	"oarlock/internal/must"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// snapshotOf makes Options of a supervisor that is as shot says.
func optionsOf(shot *supervisor.Snapshot) Options {
	return Options{
		Snapshot: func(context.Context) (supervisor.Snapshot, error) { return *shot, nil }, Version: "v1", Klasses: []string{"*"},
	}
}

// connected is a client that knows no way to Redis.
type connected struct{}

func (connected) Now() float64                  { return float64(time.Now().UnixNano())/1e9 + 2 }
func (connected) Connections() (used, idle int) { return 2, 6 }

// scraped is what a page says.
func scraped(t testing.TB, h *page) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("a scrape gets %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// values are the samples of ours in a page, by their names with labels.
func values(t testing.TB, text string) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "oarlock_") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			t.Errorf("no sample: %q", line)
		}
		if _, twice := found[line[:at]]; twice {
			t.Errorf("told twice: %q", line)
		}
		found[line[:at]] = n
	}
	return found
}

// busyPool lets m hear of everything that can happen in a pool, and returns its snapshot.
func busyPool(m *Metrics, name string) supervisor.PoolSnapshot {
	m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: name})
	job := &protocol.Job{JID: "j", Klass: "K", Queue: "q"}
	for kind := runner.Said; kind <= runner.BadArguments; kind++ {
		m.Note(supervisor.Event{Kind: supervisor.AttemptStarted, Pool: name, Job: job, Waited: time.Second})
		for _, action := range []queue.Action{queue.Complete, queue.Retry, queue.Fail, queue.Release, queue.Requeue, queue.Cancel, queue.Park, ""} {
			m.Note(supervisor.Event{Kind: supervisor.AttemptEnded, Pool: name, Job: job, Action: action,
				Ending: &runner.Ending{Kind: kind, Wall: 2 * time.Second, CPU: time.Second}})
		}
	}
	m.Note(supervisor.Event{Kind: supervisor.ChildStarted, Pool: name})
	m.Note(supervisor.Event{Kind: supervisor.ChildReady, Pool: name, Took: time.Second})
	for _, reason := range []string{supervisor.LeftJobDone, supervisor.LeftMaxJobs, supervisor.LeftMaxAge, supervisor.LeftMaxMemory, supervisor.LeftIdle,
		supervisor.LeftRoll, supervisor.LeftShrink, supervisor.LeftCrash, supervisor.LeftOOM, supervisor.LeftStart, supervisor.LeftProtocol, supervisor.LeftStop} {
		m.Note(supervisor.Event{Kind: supervisor.ChildExited, Pool: name, Exit: &runner.Exit{}, Reason: reason})
	}
	m.Note(supervisor.Event{Kind: supervisor.BreakerOpened, Pool: name})
	m.Note(supervisor.Event{Kind: supervisor.RollEnded, Pool: name, Reason: supervisor.RollDone})
	m.Note(supervisor.Event{Kind: supervisor.LockLost, Pool: name, Job: job, Cause: runner.CauseCanceled})
	m.Note(supervisor.Event{Kind: supervisor.Renewed, Pool: name, Locks: 3, Margin: 20 * time.Second})
	m.Note(supervisor.Event{Kind: supervisor.Renewed, Pool: name, Locks: 3, Margin: 12 * time.Second})
	m.Note(supervisor.Event{Kind: supervisor.Renewed, Pool: name, Reason: "busy"})
	m.Line(supervisor.Line{Pool: name})
	m.Line(supervisor.Line{Pool: name, LogLine: runner.LogLine{Dropped: 5}})
	p := supervisor.PoolSnapshot{
		Name: name, Mode: "reuse", Children: 8, Least: 2, Most: 8, Generation: 3, Rolling: true, Quiet: true, Breaker: "why", InDoubt: true,
		Ready: 5, Oldest: 3, Waiting: 1, Unsettled: 1,
		Counters: supervisor.Counters{Unheard: 1, Late: 1, Adopted: 1, Recovered: 1, Resolved: 1, Refused: 1, Halved: 1, Asked: 1, Unanswered: 1},
	}
	for i, state := range []string{"starting", "ready", "busy", "leaving", "staying", "backoff"} {
		p.Slots = append(p.Slots, supervisor.SlotSnapshot{Slot: i, State: state, Memory: int64(i)})
	}
	p.Slots[2].Runs = []supervisor.RunSnapshot{{Age: 7}}
	return p
}

// bounds are how many samples each metric may have: for a pool, for a class, and besides.
var bounds = map[string]struct{ pool, klass, fixed int }{
	"pool_children": {pool: 6}, "pool_children_target": {pool: 3}, "pool_rolls_total": {pool: 4}, "child_exits_total": {pool: 12},
	"child_start_seconds": {pool: 2}, "attempts_total": {pool: 11}, "attempt_actions_total": {pool: 8},
	"attempt_duration_seconds": {pool: 13}, "attempt_wait_seconds": {pool: 13}, "locks_lost_total": {pool: 2}, "renewals_total": {pool: 2},
	"klass_attempts_total": {klass: 2}, "klass_duration_seconds": {klass: 2},
	"config_reloads_total": {fixed: 2}, "redis_round_trip_seconds": {fixed: 65}, "redis_errors_total": {fixed: 10}, "redis_connections": {fixed: 4},
	"queue_ready_jobs": {fixed: 201}, "queue_lag_seconds": {fixed: 201}, "queue_paused": {fixed: 201}, "jobs_behind": {fixed: 201},
	"intake_moved_total": {fixed: 4}, "list_jobs": {fixed: 6}, "hook_jobs_total": {fixed: 2}, "list_requeued_total": {fixed: 3},
	"gate_started_total": {fixed: 51 * 5}, "gate_filed_total": {fixed: 51 * 5}, "window_moves_total": {fixed: 51}, "places_mended_total": {fixed: 51},
	"lanes_mended_total": {fixed: 6}, "puts_merged_total": {fixed: 4}, "run_payloads": {fixed: 13}, "responses_total": {fixed: 51 * 5},
	"park_timeouts_total": {fixed: 51}, "responses_read_total": {fixed: 2}, "window_open": {fixed: 100}, "window_opens_timestamp_seconds": {fixed: 100},
	"decider_failures_total": {fixed: 2}, "decider_verdicts_total": {fixed: 3},
	"web_requests_total": {fixed: 150}, "web_actions_total": {fixed: 90}, "web_request_seconds": {fixed: 13},
}

// A scrape of fifty pools in which everything has happened that can, of ten thousand classes of jobs: each metric is
// within its bound, all together are, promtool finds nothing wrong, and all that is defined is there.
func TestAFullScrape(t *testing.T) {
	const pools = 50
	shot := supervisor.Snapshot{Ready: true, Redis: "ok"}
	shot.Intake = []supervisor.IntakeSnapshot{{List: "new", Queue: "q", Moved: 9, Jobs: 5, Merged: 2, Broken: 1, Full: true, Waiting: 7, Aside: 3}}
	o := optionsOf(&shot)
	var served []queue.QueueOutlook
	for n := range 10_000 {
		served = append(served, queue.QueueOutlook{Queue: fmt.Sprint("q\"\n", n), Ready: n, ReadySince: 40, Paused: n%2 == 0, Keys: true, Behind: n})
	}
	o.Queues, o.Most = func() ([]queue.QueueOutlook, float64) { return served, 100 }, 200
	m := New(o)
	m.Clients(connected{}, connected{})
	m.Rules(func() (int, int) { return 3, 1 })
	m.Deciders(func() map[string]DeciderCount {
		return map[string]DeciderCount{"planner": {Asked: 9, Seconds: 3, Failed: map[string]int{"run": 1, "answer": 1}, Verdicts: map[string]int{"start": 7, "hold": 6, "delay": 5}}}
	})
	for n := range pools {
		shot.Pools = append(shot.Pools, busyPool(m, fmt.Sprint("pool", n)))
	}
	shot.Pools[3].List = &supervisor.ListSnapshot{Name: "outbox"}
	m.HookJob("died")
	m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "stuck"})
	shot.Stuck = []string{"stuck", "of which nothing was ever heard"}
	for n := range 10_000 {
		m.Note(supervisor.Event{Kind: supervisor.AttemptEnded, Pool: "pool0", Job: &protocol.Job{Klass: fmt.Sprint("Klass\n\xff", n)},
			Action: queue.Fail, Ending: &runner.Ending{Kind: runner.Said, Wall: time.Second}})
	}
	for class := queue.Success; class <= queue.Denied; class++ {
		for _, call := range []string{"exchange", "renew", "outlook", "sweep", "time", "put"} {
			m.JobCall(call, time.Millisecond, class)
		}
		m.WebCall("census", time.Millisecond, class)
	}
	markAll(m)
	m.Request("GET /status", "2xx", time.Millisecond)
	m.Denied()
	m.Action("pause queue", "done")
	m.Stream(1)
	m.Note(supervisor.Event{Kind: supervisor.Reloaded, Reason: "refused"})
	text := scraped(t, m.page)
	count := map[string]int{}
	for sample := range values(t, text) {
		name, _, _ := strings.Cut(strings.TrimPrefix(sample, "oarlock_"), "{")
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if cut, is := strings.CutSuffix(name, suffix); is {
				name = cut
			}
		}
		count[name]++
	}
	for _, row := range table {
		name := strings.TrimPrefix(row.name, "oarlock_")
		if row.queues && row != queueReady && row != queueLag && row != queuePaused && row != jobsBehind {
			continue
		}
		bound := bounds[name]
		if bound == (struct{ pool, klass, fixed int }{}) {
			bound.fixed = 1
			if slices.Contains(row.labels, "pool") {
				bound.pool, bound.fixed = 1, 0
			}
		}
		most := bound.pool*pools + bound.klass*(mostKlasses+1) + bound.fixed
		if count[name] == 0 || count[name] > most {
			t.Errorf("of %s there are %d samples, and may be %d", name, count[name], most)
		}
		delete(count, name)
	}
	if len(count) > 0 {
		t.Errorf("not in the table: %v", count)
	}
	all := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			all++
		}
	}
	if t.Logf("%d samples, where every word of every label has occurred in each of %d pools", all, pools); all > 5450+4*(o.Most+1)+marksAtMost {
		t.Errorf("a scrape has %d samples", all)
	}
	checked(t, text)
}

// A scrape of fifty pools whose jobs go well, fail, time out and crash, and whose children come and go for several reasons,
// has 5,200 samples at most, those of Go itself among them.
func TestAnOrdinaryScrape(t *testing.T) {
	const pools = 50
	shot := supervisor.Snapshot{Ready: true, Redis: "ok"}
	m := New(optionsOf(&shot))
	m.Clients(connected{}, connected{})
	m.Rules(func() (int, int) { return 3, 1 })
	for n := range pools {
		name := fmt.Sprint("pool", n)
		m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: name})
		for kind, action := range map[runner.EndingKind]queue.Action{
			runner.Said: queue.Complete, runner.Exited: queue.Retry, runner.TimedOut: queue.Fail, runner.Died: queue.Release, runner.LockLost: "",
		} {
			job := &protocol.Job{Klass: fmt.Sprint("K", n)}
			m.Note(supervisor.Event{Kind: supervisor.AttemptStarted, Pool: name, Job: job, Waited: time.Second})
			m.Note(supervisor.Event{Kind: supervisor.AttemptEnded, Pool: name, Job: job, Action: action, Ending: &runner.Ending{Kind: kind, CPU: 1}})
		}
		m.Note(supervisor.Event{Kind: supervisor.ChildStarted, Pool: name})
		m.Note(supervisor.Event{Kind: supervisor.ChildReady, Pool: name})
		for _, reason := range []string{supervisor.LeftMaxJobs, supervisor.LeftRoll, supervisor.LeftShrink, supervisor.LeftStop} {
			m.Note(supervisor.Event{Kind: supervisor.ChildExited, Pool: name, Exit: &runner.Exit{}, Reason: reason})
		}
		m.Note(supervisor.Event{Kind: supervisor.Renewed, Pool: name, Locks: 1, Margin: time.Second})
		m.Line(supervisor.Line{Pool: name})
		slots := []supervisor.SlotSnapshot{{State: "ready", Memory: 1}, {State: "busy"}, {State: "starting"}, {State: "leaving"}}
		shot.Pools = append(shot.Pools, supervisor.PoolSnapshot{Name: name, Slots: slots, Children: 3, Waiting: 1, Unsettled: 1})
	}
	for _, call := range calls {
		m.JobCall(call, time.Millisecond, queue.Success)
	}
	all := 0
	for line := range strings.Lines(scraped(t, m.page)) {
		if !strings.HasPrefix(line, "#") {
			all++
		}
	}
	if t.Logf("%d samples of %d pools", all, pools); all > 5200 {
		t.Errorf("a scrape has %d samples", all)
	}
}

// checked has promtool look at a page.
func checked(t *testing.T, text string) {
	t.Helper()
	must.Have(t, "promtool")
	cmd := exec.Command("promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// What is told is true.
func TestWhatIsTold(t *testing.T) {
	shot := supervisor.Snapshot{Ready: true, Redis: "ok"}
	m := New(optionsOf(&shot))
	m.Clients(connected{}, nil)
	shot.Pools = []supervisor.PoolSnapshot{busyPool(m, "mail")}
	m.JobCall("exchange", time.Millisecond, queue.Success)
	got := values(t, scraped(t, m.page))
	for sample, want := range map[string]float64{
		`oarlock_ready`: 1,
		`oarlock_pool_children{pool="mail",state="missing"}`:          1,
		`oarlock_pool_children{pool="mail",state="busy"}`:             1,
		`oarlock_pool_children_target{bound="now",pool="mail"}`:       8,
		`oarlock_child_memory_bytes{pool="mail"}`:                     15,
		`oarlock_child_memory_max_bytes{pool="mail"}`:                 5,
		`oarlock_attempts_started_total{pool="mail"}`:                 13,
		`oarlock_attempts_total{ending="timed-out",pool="mail"}`:      8,
		`oarlock_attempt_actions_total{action="none",pool="mail"}`:    11, // of what left early nothing counts
		`oarlock_attempt_duration_seconds_count{pool="mail"}`:         88,
		`oarlock_attempt_duration_seconds_bucket{pool="mail",le="5"}`: 88,
		`oarlock_attempt_wait_seconds_sum{pool="mail"}`:               13,
		`oarlock_pool_busy_seconds_total{pool="mail"}`:                88*2 + 7,
		`oarlock_attempt_cpu_seconds_total{pool="mail"}`:              88,
		`oarlock_klass_attempts_total{klass="K",outcome="ack"}`:       11,
		`oarlock_klass_attempts_total{klass="K",outcome="other"}`:     77,
		`oarlock_lease_margin_seconds{pool="mail"}`:                   12,
		`oarlock_locks_lost_total{cause="lost",pool="mail"}`:          0,
		`oarlock_locks_lost_total{cause="canceled",pool="mail"}`:      1,
		`oarlock_pool_rolls_total{pool="mail",result="given_up"}`:     0,
		`oarlock_child_log_lines_dropped_total{pool="mail"}`:          5,
		`oarlock_redis_connections{client="jobs",state="idle"}`:       6,
		`oarlock_redis_round_trip_seconds_count{call="exchange"}`:     1,
		`oarlock_config_reload_success`:                               1,
	} {
		if n, told := got[sample]; !told || n != want {
			t.Errorf("%s is %v (%v), want %v", sample, n, told, want)
		}
	}
	if n := got[`oarlock_redis_clock_offset_seconds`]; n < 1.9 || n > 2.1 {
		t.Errorf("the clock of Redis is ahead by %v", n)
	}
}

// again is a page that is made at once.
func again(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	clear(m.page.bodies)
	return values(t, scraped(t, m.page))
}

// What is zero and always was is left out; what was not is told when it is zero again; busy seconds never become less.
func TestZeroIsLeftOut(t *testing.T) {
	shot := supervisor.Snapshot{Pools: []supervisor.PoolSnapshot{{Name: "p"}}}
	m := New(optionsOf(&shot))
	m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"})
	quiet := `oarlock_pool_quiet{pool="p"}`
	if _, told := again(t, m)[quiet]; told {
		t.Error("what was always zero is told")
	}
	n := len(again(t, m))
	t.Logf("an idle pool and its process have %d samples", n)
	shot.Pools[0].Quiet = true
	shot.Pools[0].Slots = []supervisor.SlotSnapshot{{Runs: []supervisor.RunSnapshot{{Age: 100}}}}
	if got := again(t, m); got[quiet] != 1 || got[`oarlock_pool_busy_seconds_total{pool="p"}`] != 100 {
		t.Errorf("a quiet pool says %v", got)
	}
	shot.Pools[0].Quiet, shot.Pools[0].Slots = false, nil
	m.Note(supervisor.Event{Kind: supervisor.AttemptEnded, Pool: "p", Job: &protocol.Job{}, Ending: &runner.Ending{Kind: runner.Said, Wall: 99 * time.Second}})
	got := again(t, m)
	if n, told := got[quiet]; !told || n != 0 {
		t.Errorf("a pool that is not quiet any more says %v (%v)", n, told)
	}
	if n := got[`oarlock_pool_busy_seconds_total{pool="p"}`]; n != 100 {
		t.Errorf("busy seconds went from 100 to %v", n)
	}
}

// A pool that left has no series any more, and none of a pool that is named like it begins with what it had.
func TestAPoolThatLeftHasNoSeries(t *testing.T) {
	var shot supervisor.Snapshot
	m := New(optionsOf(&shot))
	shot.Pools = []supervisor.PoolSnapshot{busyPool(m, "p"), busyPool(m, "q")}
	if got := fmt.Sprint(again(t, m)); !strings.Contains(got, `pool="p"`) {
		t.Fatal("nothing is told of a pool")
	}
	m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"}) // of another mode
	m.Note(supervisor.Event{Kind: supervisor.PoolEnded, Pool: "p"})
	if got := fmt.Sprint(again(t, m)); !strings.Contains(got, `pool="p"`) {
		t.Error("nothing is told of a pool that has another's name")
	}
	m.Note(supervisor.Event{Kind: supervisor.PoolEnded, Pool: "p"})
	shot.Pools = shot.Pools[1:]
	if got := fmt.Sprint(again(t, m)); strings.Contains(got, `pool="p"`) || !strings.Contains(got, `pool="q"`) {
		t.Errorf("of a pool that left is told %s", got)
	}
	m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"})
	shot.Pools = append(shot.Pools, supervisor.PoolSnapshot{Name: "p"})
	if n, told := again(t, m)[`oarlock_attempts_started_total{pool="p"}`]; told {
		t.Errorf("a new pool begins with %v", n)
	}
}

// hostile are names that somebody may choose.
var hostile = []string{"", " ", "a b", `a"b\c`, "a\nb", "a\x00b", "\xff\xfe", "\u202eevil", "{}", "_other", strings.Repeat("ä", 40_000),
	strings.Repeat("ä", 40_000) + "x", "x~deadbeef", "</script>", "%s", "\x1b[2J"}

// Whatever a class, queue or group is named, the page can be read, and no two of them have the same label.
func TestHostileNames(t *testing.T) {
	labels := map[string]string{}
	for _, name := range append(slices.Clone(hostile), label(hostile[10]), label("\xff\xfe")) {
		l := label(name)
		if other, taken := labels[l]; taken || len(l) > mostLabel+9 {
			t.Errorf("%.40q has the label %q, as %.40q has", name, l, other)
		}
		labels[l] = name
	}
	var shot supervisor.Snapshot
	m := New(optionsOf(&shot))
	m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"})
	c := census.Census{At: time.Now(), Now: 100, Groups: map[string]int{}}
	for _, name := range hostile {
		m.Note(supervisor.Event{Kind: supervisor.AttemptEnded, Pool: "p", Job: &protocol.Job{Klass: name}, Ending: &runner.Ending{Kind: runner.Said}})
		c.Queues = append(c.Queues, queue.QueueCensus{QueueCounts: queue.QueueCounts{Name: name, Waiting: 1}})
		c.Groups[name] = 1
	}
	text := scraped(t, m.page)
	const long = 2 // which no glob matches: they are counted with the others
	if n := strings.Count(text, "oarlock_klass_attempts_total{"); n != len(hostile)-long {
		t.Errorf("%d of %d classes are told", n, len(hostile)-long)
	}
	queues := Queues(func(context.Context) (census.Census, error) { return c, nil }, 200).(*page)
	all := scraped(t, queues)
	if n := strings.Count(all, "oarlock_queue_ready_jobs{"); n != len(hostile) {
		t.Errorf("%d of %d queues are told", n, len(hostile))
	}
	if n := strings.Count(all, "oarlock_failed_jobs{"); n != len(hostile) {
		t.Errorf("%d of %d groups are told", n, len(hostile))
	}
	checked(t, text)
	checked(t, all)
}

// Of the queues that are worked here is told what the last look saw; nothing once that is not known, or of one whose keys are damaged.
func TestServedQueuesAreTold(t *testing.T) {
	shot := supervisor.Snapshot{Ready: true, Redis: "ok"}
	seen := []queue.QueueOutlook{{Queue: "few", Ready: 1, ReadySince: 90}, {Queue: "_other", Ready: 4, ReadySince: 95}, {Queue: "many", Ready: 9, ReadySince: 70, Paused: true, Keys: true, Behind: 6},
		{Queue: "none"}, {Queue: "held", Paused: true}, {Queue: "broken", Damage: "why"}, {Queue: "newer", Ready: 2, ReadySince: 80, Damage: "needs shards"}}
	o := optionsOf(&shot)
	o.Queues, o.Most = func() ([]queue.QueueOutlook, float64) { return seen, 100 }, 3
	m := New(o)
	told := func() map[string]float64 {
		got := values(t, scraped(t, newPage(collector(m.collect), false)))
		for name := range got {
			if !strings.HasPrefix(name, "oarlock_queue_") && !strings.HasPrefix(name, "oarlock_jobs_") {
				delete(got, name)
			}
		}
		return got
	}
	want := map[string]float64{
		`oarlock_queue_ready_jobs{queue="many"}`: 9, `oarlock_queue_lag_seconds{queue="many"}`: 30, `oarlock_queue_paused{queue="many"}`: 1, `oarlock_jobs_behind{queue="many"}`: 6,
		`oarlock_queue_ready_jobs{queue="newer"}`: 2, `oarlock_queue_lag_seconds{queue="newer"}`: 20, `oarlock_queue_paused{queue="newer"}`: 0,
		`oarlock_queue_ready_jobs{queue="few"}`: 1, `oarlock_queue_lag_seconds{queue="few"}`: 10, `oarlock_queue_paused{queue="few"}`: 0,
		`oarlock_queue_ready_jobs{queue="_other"}`: 4, `oarlock_queue_lag_seconds{queue="_other"}`: 5, `oarlock_queue_paused{queue="_other"}`: 0,
	}
	if got := told(); !maps.Equal(got, want) {
		t.Errorf("told is %v, want %v", got, want)
	}
	seen = nil
	if got := told(); len(got) != 0 {
		t.Errorf("of what is not known %v is told", got)
	}
}

// Of queues and groups the largest have a label, the rest is one; the age tells how old the numbers are, and they end when they
// are too old.
func TestQueuesAreTold(t *testing.T) {
	c := census.Census{At: time.Now().Add(-3 * time.Second), Now: 1000, Groups: map[string]int{"broken": -1}}
	for n := range 1000 {
		q := queue.QueueCensus{QueueCounts: queue.QueueCounts{Name: fmt.Sprint("q", n), Waiting: n, Scheduled: 1, Stalled: 1, Paused: n%2 == 0}}
		if n == 999 {
			q.Behind = 5 // whom nobody could take
			q.Keys = queue.KeysCensus{Ordered: true, All: 7, Blocked: 2, Since: 900}
		}
		if n == 3 {
			q.Keys = queue.KeysCensus{Ordered: true, All: 3}
		}
		q.ReadySince, q.Today = 1000-float64(n), queue.DayCounts{Completed: 2, Failures: 1, LocksRunOut: 1}
		c.Queues = append(c.Queues, q)
		c.Groups[fmt.Sprint("g", n)] = n + 1
	}
	c.Correlations = 4
	c.Loads = []queue.ThrottleLoad{{ID: "erp", Maximum: 4, Used: 3, Waiting: 7, Since: 2000}, {ID: "rate only"}, {ID: "slow", Since: 900}}
	c.Shares = []census.Share{{Throttle: "region", Value: "we\"st", Own: 3, Used: 2, Waiting: 1}, {Throttle: "unlimited", Value: "*"}}
	c.Fair = []queue.Fairness{{Queue: "q999", Values: 12, Longest: "acme", Since: 2000}, {Queue: "q998", Values: 3, Longest: "acme", Since: 500}, {Queue: "q2", Values: 4, Longest: "b", Since: 1}, {Queue: "q3", Values: 5}, {Queue: "q997", Damage: "x"}}
	get := func(context.Context) (census.Census, error) { return c, nil }
	got := values(t, scraped(t, Queues(get, 200).(*page)))
	if _, told := got[`oarlock_fair_waiting_values{queue="q997"}`]; told {
		t.Error("values are told of a queue whose turns cannot be read")
	}
	if _, told := got[`oarlock_throttle_share_limit{throttle="unlimited",value="*"}`]; told {
		t.Error("places are told of a share that has none")
	}
	if _, told := got[`oarlock_throttle_limit{throttle="rate only"}`]; told {
		t.Error("a limit is told of a throttle that has none")
	}
	for sample, want := range map[string]float64{
		`oarlock_throttle_limit{throttle="erp"}`:                                4,
		`oarlock_throttle_used{throttle="erp"}`:                                 3,
		`oarlock_throttle_waiting_jobs{throttle="erp"}`:                         7,
		`oarlock_throttle_oldest_seconds{throttle="erp"}`:                       0, // since a moment that has yet to come: clocks differ
		`oarlock_throttle_used{throttle="rate only"}`:                           0,
		`oarlock_throttle_share_limit{throttle="region",value="we\"st"}`:        3,
		`oarlock_throttle_share_used{throttle="region",value="we\"st"}`:         2,
		`oarlock_throttle_share_waiting_jobs{throttle="region",value="we\"st"}`: 1,
		`oarlock_throttle_share_used{throttle="unlimited",value="*"}`:           0,
		`oarlock_fair_waiting_values{queue="q999"}`:                             12,
		`oarlock_fair_oldest_seconds{queue="q999"}`:                             0,
		`oarlock_fair_waiting_values{queue="q998"}`:                             3,
		`oarlock_fair_oldest_seconds{queue="q998"}`:                             0, // it is paused
		`oarlock_fair_waiting_values{queue="_other"}`:                           9,
		`oarlock_keys{queue="q999"}`:                                            7,
		`oarlock_keys_busy{queue="q999"}`:                                       2,
		`oarlock_jobs_behind{queue="q999"}`:                                     5,
		`oarlock_keys{queue="_other"}`:                                          3,
		`oarlock_key_blocked_seconds{queue="_other"}`:                           0,
		`oarlock_correlations`:                                                  4,
		`oarlock_queues_known`:                                                  1000,
		`oarlock_queues_exported`:                                               200,
		`oarlock_queue_jobs{queue="q999",state="waiting"}`:                      999,
		`oarlock_queue_jobs{queue="_other",state="waiting"}`:                    799 * 800 / 2,
		`oarlock_queue_ready_jobs{queue="q999"}`:                                995,
		`oarlock_queue_paused{queue="q998"}`:                                    1,
		`oarlock_queue_paused{queue="_other"}`:                                  0,
		`oarlock_queue_completed_total{queue="_other"}`:                         1600,
		`oarlock_failed_jobs{group="g999"}`:                                     1000,
		`oarlock_failed_jobs{group="_other"}`:                                   950 * 951 / 2,
	} {
		if n, told := got[sample]; !told || n != want {
			t.Errorf("%s is %v (%v), want %v", sample, n, told, want)
		}
	}
	if oldest := got[`oarlock_throttle_oldest_seconds{throttle="slow"}`]; oldest < 102 || oldest > 104 {
		t.Errorf("a waitlist waits for %v", oldest)
	}
	if lag := got[`oarlock_queue_lag_seconds{queue="q999"}`]; lag < 1002 || lag > 1003 {
		t.Errorf("it lags by %v", lag)
	}
	if _, told := got[`oarlock_keys{queue="q998"}`]; told {
		t.Error("keys are told of a queue that has none")
	}
	if blocked := got[`oarlock_key_blocked_seconds{queue="q999"}`]; blocked < 102 || blocked > 104 {
		t.Errorf("a key is blocked for %v", blocked)
	}
	if n := len(got); n > 10*201+51+4+10+9+5 {
		t.Errorf("there are %d samples", n)
	}
	checked(t, scraped(t, Queues(get, 200).(*page)))
	c.At = time.Now().Add(-time.Hour)
	got = values(t, scraped(t, Queues(get, 200).(*page)))
	if len(got) != 1 || got["oarlock_queue_census_age_seconds"] < 3600 {
		t.Errorf("of an hour ago is told %v", got)
	}
	c = census.Census{}
	if got = values(t, scraped(t, Queues(get, 200).(*page))); len(got) != 0 {
		t.Errorf("of no census is told %v", got)
	}
}

// However many scrape at a time, the page is made once a second.
func TestAPageIsMadeOnce(t *testing.T) {
	var asked atomic.Int64
	m := New(Options{Snapshot: func(context.Context) (supervisor.Snapshot, error) {
		asked.Add(1)
		return supervisor.Snapshot{}, nil
	}})
	began := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { scraped(t, m.page) })
	}
	all.Wait()
	if n, most := asked.Load(), 1+int64(time.Since(began)/bodyLasts); n > most {
		t.Errorf("it was made %d times, and may be %d times", n, most)
	}
	for n := range 100 { // whatever they ask for
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", fmt.Sprint("text/x", n))
		m.page.ServeHTTP(httptest.NewRecorder(), r)
	}
	if n := len(m.page.bodies); n > mostBodies {
		t.Errorf("%d bodies are kept", n)
	}
}

// A scraper that asks for it gets native histograms.
func TestNativeHistograms(t *testing.T) {
	var shot supervisor.Snapshot
	m := New(optionsOf(&shot))
	shot.Pools = []supervisor.PoolSnapshot{busyPool(m, "p")}
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	w := httptest.NewRecorder()
	m.page.ServeHTTP(w, r)
	if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "application/vnd.google.protobuf") || w.Code != 200 {
		t.Errorf("%d, %s", w.Code, kind)
	}
}

// An attempt of a trace that somebody wants to see is an exemplar, for who asks for OpenMetrics.
func TestExemplarsNameTraces(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, tt := range []struct {
		flags string
		told  int
	}{{"01", 2}, {"00", 0}} {
		var shot supervisor.Snapshot
		m := New(optionsOf(&shot))
		shot.Pools = []supervisor.PoolSnapshot{busyPool(m, "p")}
		for _, e := range ordinary() {
			e.Job.Trace = &protocol.Trace{Parent: "00-" + trace + "-00f067aa0ba902b7-" + tt.flags}
			m.Note(e)
		}
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
		w := httptest.NewRecorder()
		m.page.ServeHTTP(w, r)
		if n := strings.Count(w.Body.String(), `# {trace_id="`+trace+`"}`); n != tt.told {
			t.Errorf("with flags %s there are %d exemplars", tt.flags, n)
		}
	}
}

// Hearing an event costs no memory of its own.
func TestAnEventCostsNoAllocation(t *testing.T) {
	var shot supervisor.Snapshot
	m := New(optionsOf(&shot))
	busyPool(m, "p")
	for _, e := range ordinary() {
		if n := testing.AllocsPerRun(1000, func() { m.Note(e) }); n > 0 {
			t.Errorf("%v allocations at %s", n, e.Kind)
		}
	}
}

// ordinary are the events of a job that goes well.
func ordinary() []supervisor.Event {
	job := &protocol.Job{JID: "j", Klass: "K", Queue: "q"}
	return []supervisor.Event{
		{Kind: supervisor.AttemptStarted, Pool: "p", Job: job, Waited: time.Second},
		{Kind: supervisor.AttemptEnded, Pool: "p", Job: job, Action: queue.Complete, Ending: &runner.Ending{Kind: runner.Said, Wall: 2 * time.Second}},
		{Kind: supervisor.Settled, Pool: "p", Job: job, Action: queue.Complete},
	}
}

// Of a list that two pools work is told once: what there is in it as whoever looked has seen it, and what both did; of one that nobody has
// looked at, or that cannot be counted, is not told what is in it; and of no list how long its next entry has been waiting.
func TestWhatIsToldOfLists(t *testing.T) {
	shot := supervisor.Snapshot{Ready: true, Redis: "ok"}
	m := New(optionsOf(&shot))
	pool := func(name, list string, seen bool, change func(*supervisor.ListSnapshot)) {
		p := busyPool(m, name)
		p.List = &supervisor.ListSnapshot{Name: list, Unseen: !seen, PutBack: 1, Retried: 2, Crashed: 3}
		change(p.List)
		shot.Pools = append(shot.Pools, p)
	}
	pool("a", "hworker:mail", true, func(l *supervisor.ListSnapshot) { l.Waiting, l.Progress, l.Failed, l.Broken = 4, 5, 6, 7 })
	pool("b", "hworker:mail", false, func(*supervisor.ListSnapshot) {})
	pool("c", "new", false, func(*supervisor.ListSnapshot) {})
	pool("d", "odd\n", true, func(l *supervisor.ListSnapshot) { l.Damage = "WRONGTYPE" })
	got := values(t, scraped(t, m.page))
	for sample, want := range map[string]float64{
		`oarlock_list_jobs{list="hworker:mail",state="waiting"}`:        4,
		`oarlock_list_jobs{list="hworker:mail",state="progress"}`:       5,
		`oarlock_list_jobs{list="hworker:mail",state="failed"}`:         6,
		`oarlock_list_jobs{list="hworker:mail",state="broken"}`:         7,
		`oarlock_list_requeued_total{by="retry",list="hworker:mail"}`:   4,
		`oarlock_list_requeued_total{by="crash",list="hworker:mail"}`:   6,
		`oarlock_list_requeued_total{by="monitor",list="hworker:mail"}`: 2,
		`oarlock_stale_acks_total{list="hworker:mail"}`:                 2,
		`oarlock_stale_acks_total{list="new"}`:                          1,
	} {
		if n, told := got[sample]; !told || n != want {
			t.Errorf("%s is %v (%v), want %v", sample, n, told, want)
		}
	}
	for sample := range got {
		if strings.HasPrefix(sample, "oarlock_pool_oldest") || strings.HasPrefix(sample, "oarlock_list_jobs") && !strings.Contains(sample, "hworker:mail") {
			t.Errorf("nobody knows %s", sample)
		}
	}
}

// A job that fails for good is counted as told where somebody is told of it, and nowhere else.
func TestWhatIsToldOfHooks(t *testing.T) {
	o := optionsOf(&supervisor.Snapshot{})
	o.Told = func(pool, queue string) bool { return pool == "p" && queue == "q" }
	m := New(o)
	for _, e := range []struct{ pool, queue, state string }{{"p", "q", "failed"}, {"p", "q", "failed"}, {"p", "q", "complete"}, {"p", "other", "failed"}, {"list", "q", "failed"}} {
		m.Note(supervisor.Event{Kind: supervisor.Settled, Pool: e.pool, State: e.state, Job: &protocol.Job{Queue: e.queue}})
	}
	m.Note(supervisor.Event{Kind: supervisor.Settled, Pool: "p", State: "waiting", Part: "j-1", Job: &protocol.Job{Queue: "q"}}) // the oldest of its payloads failed
	m.HookJob("died")
	got := values(t, scraped(t, m.page))
	if dead, died := got[`oarlock_hook_jobs_total{event="dead"}`], got[`oarlock_hook_jobs_total{event="died"}`]; dead != 3 || died != 1 {
		t.Errorf("told are %v failures and %v deaths", dead, died)
	}
}
