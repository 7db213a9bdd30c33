// Package metrics turns what a supervisor does into the numbers that a scrape gets. It owns what is counted for that
// beside the supervisor's own counters, the names of all metrics, and the bounds on how many there are. It hears
// events and calls without making anybody wait, and a scrape asks Redis nothing; it must not know HTTP's doors, nor who scrapes.
package metrics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Redis is what is told of a connection; a queue.Client is one.
type Redis interface {
	Now() float64 // of the server, in seconds since the epoch
	Connections() (used, idle int)
}

// Options are what there is to be told of.
type Options struct {
	// Snapshot describes the supervisor as it was within the last second.
	Snapshot func(context.Context) (supervisor.Snapshot, error)
	// Queues is what there is in the queues that are worked here, and when that was on Redis' clock; nil where it is not known. It asks
	// nobody, and may be nil itself.
	Queues func() ([]queue.QueueOutlook, float64)
	Most   int // so many of them have a label of their own
	// Told says whether a job is put where one of that pool fails for good in that queue; nil: none ever is.
	Told    func(pool, queue string) bool
	Version string
	Klasses []string // globs: classes of jobs that have a label of their own, as far as that is 50; the rest is _other
}

// Metrics counts for scrapes. Its methods are safe for concurrent use, and wait for nothing but memory.
type Metrics struct {
	o       Options
	began   time.Time
	page    *page
	klasses *klassTallies
	marks   *marks
	trips   map[string]*observations  // by the word for the call
	lastOK  atomic.Pointer[time.Time] // when Redis last answered; nil before
	seconds *observations             // of requests

	mu       sync.Mutex // for memory only: the loops of the pools wait for it
	jobs     Redis      // nil until they are known
	web      Redis
	rules    func() (version, conflicts int) // nil until it is known
	windows  func() []Window                 // likewise
	deciders func() map[string]DeciderCount  // likewise
	pools    map[string]*tallies
	reloads  map[string]int
	reloaded time.Time // when the last one was taken on
	good     bool
	errors   map[string]int // of Redis, by class
	requests map[[2]string]int
	actions  map[[2]string]int
	hookJobs map[string]int // by event
	refused  int
	streams  int
	seen     map[series]bool // gauges that were not always zero
}

// New makes what counts.
func New(o Options) *Metrics {
	now := time.Now()
	m := &Metrics{
		o: o, began: now, reloaded: now, good: true,
		klasses: newKlassTallies(o.Klasses),
		trips:   map[string]*observations{},
		seconds: newObservations(webSeconds, quick, nil),
		pools:   map[string]*tallies{}, reloads: map[string]int{"ok": 0, "refused": 0}, errors: map[string]int{},
		requests: map[[2]string]int{}, actions: map[[2]string]int{}, hookJobs: map[string]int{}, seen: map[series]bool{},
	}
	m.marks = newMarks(m.klasses)
	for _, call := range calls {
		m.trips[call] = newObservations(roundTrip, quick, prometheus.Labels{"call": call})
	}
	m.page = newPage(collector(m.collect), true)
	return m
}

// Clients tells which connections there are: of those who work, and of those who look on; each may be nil.
func (m *Metrics) Clients(jobs, web Redis) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs, m.web = jobs, web
}

// Rules tells who knows of the rules that count: how many were installed so far, and how many of the file do not.
func (m *Metrics) Rules(state func() (version, conflicts int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = state
}

// Window is how a window of the rules stands.
type Window struct {
	Name  string
	Open  bool
	Opens time.Time // when it opens next; zero if it does not, as far as anybody can reckon
}

// Windows tells who knows how the windows of the rules stand, in an order that stays. It must not wait.
func (m *Metrics) Windows(all func() []Window) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows = all
}

// Deciders tells who counts what commands of throttles decided, by throttle.
func (m *Metrics) Deciders(counts func() map[string]DeciderCount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deciders = counts
}

var (
	// slow and quick are the bounds of buckets, in seconds: of what children do, and of what Redis and we do.
	slow  = []float64{0.01, 0.1, 1, 5, 15, 60, 300, 1800, 7200, 86400}
	quick = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1}
)

// histogramOpts are those of one histogram, classic and native.
func histogramOpts(m *metric, bounds []float64, labels prometheus.Labels) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: m.name, Help: m.help, ConstLabels: labels, Buckets: bounds,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}
}

// calls are the words for what Redis is asked; of other calls the time is not told.
var calls = []string{"exchange", "renew", "outlook", "sweep", "web"}

// JobCall hears of a call of those who work, as queue.Options.OnCall.
func (m *Metrics) JobCall(command string, took time.Duration, class queue.ErrorClass) {
	m.call(command, took, class)
}

// WebCall is JobCall of those who look on.
func (m *Metrics) WebCall(_ string, took time.Duration, class queue.ErrorClass) {
	m.call("web", took, class)
}

func (m *Metrics) call(word string, took time.Duration, class queue.ErrorClass) {
	if h := m.trips[word]; h != nil {
		h.Observe(took.Seconds())
	}
	if class == queue.Success || class == queue.Refused {
		now := time.Now()
		m.lastOK.Store(&now)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.errors[class.String()]++
}

// Note hears an event of the supervisor, as hub.Options.Events.
func (m *Metrics) Note(e supervisor.Event) {
	m.marks.note(&e)
	switch e.Kind {
	case supervisor.Settled:
		if (e.State == "failed" || e.Part != "") && m.o.Told != nil && m.o.Told(e.Pool, e.Job.Queue) {
			m.HookJob("dead")
		}
		return
	case supervisor.Settling, supervisor.RoundTrip, supervisor.Progressed: // told otherwise
		return
	case supervisor.Reloaded:
		m.reload(e.Reason)
		return
	case supervisor.RedisAway, supervisor.RedisBack, supervisor.Tended, supervisor.Answered, supervisor.AnswersRead, supervisor.WindowOpened, supervisor.WindowShut,
		supervisor.Parked, supervisor.ParkTimedOut, supervisor.ThrottleFull, supervisor.ThrottleFree:
		return
	case supervisor.PoolEnded:
		m.ended(e.Pool)
		return
	}
	t := m.of(e.Pool, e.Kind == supervisor.PoolBegan)
	if t == nil {
		return
	}
	t.note(&e)
	if e.Kind == supervisor.AttemptEnded && counts(&e) {
		m.klasses.add(e.Job.Klass, e.Action == queue.Complete, e.Ending.Wall)
	}
}

// counts reports whether an attempt was one: its child may have left before it could begin.
func counts(e *supervisor.Event) bool {
	return e.Ending != nil && !e.Redo && e.Ending.Kind != runner.LeftEarly && e.Ending.Kind != runner.Innocent
}

// of finds the tallies of a pool. begun says that it begins; nil is returned of one that has not.
func (m *Metrics) of(pool string, begun bool) *tallies {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.pools[pool]
	if t == nil && begun {
		t = newTallies(pool)
		m.pools[pool] = t
	}
	if begun {
		t.living++
	}
	return t
}

// ended forgets a pool that left: its series end.
func (m *Metrics) ended(pool string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.pools[pool]
	if t == nil {
		return
	}
	if t.living--; t.living > 0 { // another of its name, of another mode, is there already
		return
	}
	delete(m.pools, pool)
	for s := range m.seen {
		if s.first == pool {
			delete(m.seen, s)
		}
	}
}

// reload counts a reload that was taken on, or refused.
func (m *Metrics) reload(refused string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.good = refused == ""; m.good {
		m.reloaded = time.Now()
		m.reloads["ok"]++
	} else {
		m.reloads["refused"]++
	}
}

// Line counts a line of a child, as hub.Options.Lines.
func (m *Metrics) Line(l supervisor.Line) {
	t := m.of(l.Pool, false)
	if t == nil {
		return
	}
	if l.Dropped > 0 {
		t.dropped.Add(int64(l.Dropped))
		return
	}
	t.lines.Add(1)
}

// Request counts a request over HTTP, by the pattern of its route and the class of its status, as "2xx". took is negative of
// one that streamed.
func (m *Metrics) Request(route, code string, took time.Duration) {
	if took >= 0 {
		m.seconds.Observe(took.Seconds())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[[2]string{route, code}]++
}

// HookJob counts a job that tells of an event.
func (m *Metrics) HookJob(event string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hookJobs[event]++
}

// Denied counts a request of somebody who may not.
func (m *Metrics) Denied() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused++
}

// Action counts what was done by hand, and what came of it: done, or a code.
func (m *Metrics) Action(action, result string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.actions[[2]string{action, result}]++
}

// Stream counts a stream that begins (1) or ends (-1).
func (m *Metrics) Stream(by int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams += by
}
