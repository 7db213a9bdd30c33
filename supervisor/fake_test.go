package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/intake"
	"oarlock/supervisor/internal/pool"
	"oarlock/supervisor/outcome"
)

// fakeRedis is Redis as far as a supervisor sees it, on the clock of the bubble that
// the test runs in. It is strict: what a real one would refuse is refused, and a call
// with a context that has ended fails the test.
type fakeRedis struct {
	t     *testing.T
	lock  time.Duration // how long a lock locks
	ahead atomic.Int64  // by how much its clock is, in nanoseconds
	jump  atomic.Int64  // when it last stepped, by our clock; a session spares what seems to have expired for five seconds, as a real one does

	mu       sync.Mutex
	jobs     map[string]*fakeJob
	in       jobsByState
	order    []string                // waiting jobs, next first
	due      float64                 // no scheduled job is due before
	lacks    string                  // what the key space needs and nobody knows
	sent     map[string]int          // calls by name
	fault    func(call string) fault // of the next call; nil for none
	listener []chan queue.Notice
	log      []string // what happened to jobs, in order
}

// fault is what befalls a call.
type fault struct {
	delay time.Duration // before it runs
	away  error         // it does not run
	lost  error         // it runs, and the reply is lost
	after time.Duration // between running and answering
}

var (
	errAway  = fmt.Errorf("fake: %w", queue.ErrAway)
	errDoubt = fmt.Errorf("fake: %w", queue.ErrDoubt)
)

// jobsByState finds the few jobs of a state among thousands.
type jobsByState map[string]map[string]*fakeJob

type fakeJob struct {
	queue.Taken
	state      string      // set by enter
	in         jobsByState // of the Redis that has it
	time       float64     // when it was put, or last popped
	worker     string
	due        float64
	settlement queue.Settlement // the last accepted
	refusing   []string         // what is not accepted: settle, renew; or not now: settle now
}

func newFakeRedis(t *testing.T, lock time.Duration) *fakeRedis {
	return &fakeRedis{t: t, lock: lock, jobs: map[string]*fakeJob{}, in: jobsByState{}, sent: map[string]int{}}
}

// enter gives a job a state. The caller holds the mu of its Redis.
func (j *fakeJob) enter(state string) {
	delete(j.in[j.state], j.JID)
	if j.in[state] == nil {
		j.in[state] = map[string]*fakeJob{}
	}
	j.in[state][j.JID], j.state = j, state
}

// put adds n waiting jobs j0 … to the queue q.
func (f *fakeRedis) put(n int) { f.putOf("K", n) }

// putOf is put for jobs of a class.
func (f *fakeRedis) putOf(klass string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		jid := fmt.Sprintf("j%d", len(f.jobs))
		f.jobs[jid] = &fakeJob{in: f.in, time: f.Now(), Taken: queue.Taken{
			JID: jid, Klass: klass, Queue: "q", Data: []byte("{}"), Size: 2, Retries: 5, Remaining: 5,
		}}
		f.jobs[jid].enter("waiting")
		f.order = append(f.order, jid)
	}
	f.tell(queue.Notice{Kind: queue.NoticeWake, Queue: "q"})
}

// putFirst adds a waiting job before all others.
func (f *fakeRedis) putFirst() {
	f.put(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.order) - 1
	f.order = append([]string{f.order[last]}, f.order[:last]...)
}

// tell sends a notice to whoever listens. The caller holds mu.
func (f *fakeRedis) tell(n queue.Notice) {
	for _, l := range f.listener {
		select {
		case l <- n:
		default:
		}
	}
}

// note writes to the log. The caller holds mu.
func (f *fakeRedis) note(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

// lines is the log so far.
func (f *fakeRedis) lines() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// states counts jobs by state.
func (f *fakeRedis) states() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := map[string]int{}
	for state, jobs := range f.in {
		if len(jobs) > 0 {
			n[state] = len(jobs)
		}
	}
	return n
}

// job returns a copy of a job.
func (f *fakeRedis) job(jid string) fakeJob {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.jobs[jid]
}

// calls returns how often a call was sent.
func (f *fakeRedis) calls(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent[name]
}

// faults sets what befalls calls from now on.
func (f *fakeRedis) faults(of func(call string) fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = of
}

// needs makes the key space need a word that nobody knows, or none.
func (f *fakeRedis) needs(word string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lacks = word
}

// steal makes another worker hold a job, as if its lock had expired.
func (f *fakeRedis) steal(jid, worker string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.jobs[jid]
	j.pop(worker, f.Now(), f.lock)
	j.Remaining--
	f.note("stolen %s", jid)
}

// pop makes a worker hold the job. The caller holds mu.
func (j *fakeJob) pop(worker string, now float64, lock time.Duration) {
	j.Put = j.time
	j.time, j.Popped = now, now
	j.worker, j.Expires = worker, now+lock.Seconds()
	j.enter("running")
}

// again puts a job again, whatever its state, as put, requeue and a move do.
func (f *fakeRedis) again(jid, queueName, data string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.jobs[jid]
	j.Queue, j.Data, j.Size, j.Remaining = queueName, []byte(data), int64(len(data)), j.Retries
	j.Crashes, j.Interruptions, j.Spared, j.Deaths, j.Checkpoint = 0, 0, 0, 0, nil
	j.Unstarted, j.Unknown = queue.Standing{}, queue.Standing{}
	j.enter("waiting")
	j.time = f.Now()
	f.order = append(without(f.order, jid), jid)
	f.leaves(j)
}

// timeout takes a running job from its worker.
func (f *fakeRedis) timeout(jid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.jobs[jid]
	if j.state != "running" {
		f.t.Errorf("%s is %s and cannot be taken from its worker", jid, j.state)
	}
	j.enter("stalled")
	f.order = append([]string{jid}, f.order...)
	f.leaves(j)
}

// leaves tells the owner of a job that it is not his any more, and all that it is to be had.
// The caller holds mu.
func (f *fakeRedis) leaves(j *fakeJob) {
	if j.worker != "" {
		f.tell(queue.Notice{Kind: queue.NoticeLockLost, JID: j.JID, Worker: j.worker})
	}
	j.worker, j.Expires = "", 0
	f.tell(queue.Notice{Kind: queue.NoticeWake, Queue: j.Queue})
}

// refuse makes Redis refuse this for a job from now on, as if some key were of the wrong type.
func (f *fakeRedis) refuse(jid string, what ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs[jid].refusing = what
}

var errBroken = &queue.ScriptError{Command: "settle", Message: "WRONGTYPE"}

// call runs one call with the faults that befall it.
func (f *fakeRedis) call(ctx context.Context, name string, run func()) error {
	if ctx.Err() != nil {
		f.t.Errorf("%s was sent with a context that has ended", name)
		return ctx.Err()
	}
	f.mu.Lock()
	f.sent[name]++
	var x fault
	if f.fault != nil {
		x = f.fault(name)
	}
	f.mu.Unlock()
	time.Sleep(x.delay)
	if x.away != nil {
		return x.away
	}
	f.mu.Lock()
	f.expire()
	run()
	f.mu.Unlock()
	time.Sleep(x.after)
	return x.lost
}

// expire gives back due jobs. The caller holds mu.
func (f *fakeRedis) expire() {
	now := f.Now()
	if now < f.due {
		return
	}
	for _, jid := range f.those("scheduled", func(j *fakeJob) bool { return j.due <= now }) {
		f.jobs[jid].enter("waiting")
		f.line(jid)
	}
	f.due = math.Inf(1)
	for _, j := range f.in["scheduled"] {
		f.due = min(f.due, j.due)
	}
}

// line lines a waiting job up behind all of its priority. The caller holds mu.
func (f *fakeRedis) line(jid string) {
	at := len(f.order)
	for at > 0 && f.jobs[f.order[at-1]].Priority < f.jobs[jid].Priority {
		at--
	}
	f.order = slices.Insert(f.order, at, jid)
}

// rank gives jobs their priorities.
func (f *fakeRedis) rank(priority func(n int) float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	jids := f.order
	f.order = nil
	for n, jid := range jids {
		f.jobs[jid].Priority = priority(n)
		f.line(jid)
	}
}

// those returns the jids of the jobs of a state that are meant, sorted. The caller holds mu.
func (f *fakeRedis) those(state string, meant func(*fakeJob) bool) []string {
	var jids []string
	for jid, j := range f.in[state] {
		if meant(j) {
			jids = append(jids, jid)
		}
	}
	slices.Sort(jids)
	return jids
}

func (f *fakeRedis) Writable(ctx context.Context) error { return f.call(ctx, "writable", func() {}) }

func (f *fakeRedis) Ping(ctx context.Context) error { return f.call(ctx, "ping", func() {}) }

// step moves its clock.
func (f *fakeRedis) step(by time.Duration) {
	f.ahead.Add(int64(by))
	f.jump.Store(time.Now().UnixNano())
}

func (f *fakeRedis) Now() float64 {
	return float64(time.Now().UnixNano())/1e9 + time.Duration(f.ahead.Load()).Seconds()
}

func (f *fakeRedis) Notices(ctx context.Context, workers ...string) <-chan queue.Notice {
	l := make(chan queue.Notice, 100)
	locked(&f.mu, func() { f.listener = append(f.listener, l) })
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.listener = slices.DeleteFunc(f.listener, func(other chan queue.Notice) bool { return other == l })
		close(l)
	})
	return l
}

func (f *fakeRedis) Outlook(ctx context.Context, queues []string) (out []queue.QueueOutlook, now float64, err error) {
	err = f.call(ctx, "outlook", func() {
		for _, name := range queues {
			q := queue.QueueOutlook{Queue: name}
			for _, jid := range f.order {
				if j := f.jobs[jid]; j.Queue == name {
					q.Ready++
					q.HeadPut = cmp.Or(q.HeadPut, j.time)
				}
			}
			for _, j := range f.in["scheduled"] {
				if j.Queue == name && (q.NextDue == 0 || j.due < q.NextDue) {
					q.NextDue = j.due
				}
			}
			for _, j := range f.in["running"] {
				if j.Queue == name && j.Expires <= f.Now() {
					q.Ready++
				}
			}
			q.ReadySince = q.HeadPut
			if f.lacks != "" {
				q.Damage = "needs " + f.lacks
			}
			out = append(out, q)
		}
		now = f.Now()
	})
	return out, now, err
}

func (f *fakeRedis) RespondInbox(context.Context) (int, int, error) { return 0, 0, nil }

func (f *fakeRedis) ResponseLists() (string, string) {
	return "ql:oarlock:responses", "ql:oarlock:responses-broken"
}

func (f *fakeRedis) OddSettings(context.Context) ([]error, error) { return nil, nil }

func (f *fakeRedis) Tend(context.Context, []string, []string, time.Duration) (queue.Tended, error) {
	return queue.Tended{}, nil
}

func (f *fakeRedis) Sweep(context.Context, []string, int) (queue.Swept, error) {
	return queue.Swept{}, nil
}

func (f *fakeRedis) QueueNames(context.Context) ([]string, error) { return []string{"q"}, nil }

func (f *fakeRedis) Session(worker string) pool.Store { return &fakeSession{f, worker} }

// Lists are worked with a real Redis only.
func (f *fakeRedis) ListSession(string, queue.List) pool.ListStore { panic("a list") }

func (f *fakeRedis) CountLists(context.Context, []string) ([]queue.ListCounts, error) {
	return nil, nil
}

func (f *fakeRedis) MonitorList(context.Context, queue.List) (int, error) { return 0, nil }

func (f *fakeRedis) NextOfList(context.Context, string, int) ([]string, error) { return nil, nil }

func (f *fakeRedis) TakeIn(context.Context, string, string, int, []queue.Intake) (queue.TakenIn, error) {
	return queue.TakenIn{}, nil
}

func (f *fakeRedis) ListWaiter(string) intake.Waiter { return nil }

type fakeSession struct {
	*fakeRedis
	worker string
}

func (s *fakeSession) Exchange(ctx context.Context, settlements []queue.Settlement, take queue.Take) (r queue.Reply, err error) {
	err = s.call(ctx, "exchange", func() {
		r.Now = s.Now()
		for _, settlement := range settlements {
			r.Results = append(r.Results, s.settle(settlement))
		}
		for range take.Count {
			j := s.next(take)
			if j == nil {
				break
			}
			j.pop(s.worker, r.Now, s.lock)
			s.note("take %s", j.JID)
			r.Jobs = append(r.Jobs, j.Taken)
		}
	})
	if err != nil {
		return queue.Reply{}, err
	}
	return r, nil
}

// next removes the job that is next in turn: one whose lock ran out, unless these are
// spared, else a waiting one.
func (s *fakeSession) next(take queue.Take) *fakeJob {
	now := s.Now()
	for _, jid := range s.those("running", func(j *fakeJob) bool {
		return j.Expires <= now && !take.Spare && time.Since(time.Unix(0, s.fakeRedis.jump.Load())) >= 5*time.Second
	}) {
		if j := s.jobs[jid]; slices.Contains(take.Queues, j.Queue) {
			j.Remaining--
			return j
		}
	}
	for i, jid := range s.order {
		if j := s.jobs[jid]; slices.Contains(take.Queues, j.Queue) && !slices.Contains(take.Passes[j.Queue], j.Klass) {
			s.order = slices.Delete(s.order, i, i+1)
			return j
		}
	}
	return nil
}

// held finds the job that the session holds, popped then.
func (s *fakeSession) held(jid string, popped float64) *fakeJob {
	if j := s.jobs[jid]; j != nil && j.state == "running" && j.worker == s.worker && (popped == 0 || j.Popped == popped) {
		return j
	}
	return nil
}

func (s *fakeSession) settle(x queue.Settlement) queue.SettleResult {
	j := s.held(x.JID, x.Popped)
	if j == nil {
		return queue.SettleResult{Err: queue.ErrLockLost}
	}
	if slices.Contains(j.refusing, "settle now") {
		return queue.SettleResult{Err: errAway}
	}
	if slices.Contains(j.refusing, "settle") {
		return queue.SettleResult{Err: errBroken}
	}
	if x.Group == "refuse-me" {
		return queue.SettleResult{Err: &queue.ScriptError{Command: "settle", Message: "refused"}}
	}
	s.note("%s %s", x.Action, x.JID)
	j.worker, j.settlement = "", x
	if j.Unknown = (queue.Standing{}); x.Unknown != nil {
		j.Unknown = *x.Unknown
	}
	if x.Cleared {
		j.Deaths = 0
	}
	if j.Unstarted = (queue.Standing{}); x.Unstarted != nil {
		j.Unstarted = *x.Unstarted
	}
	back := func(front bool) {
		switch {
		case x.Delay > 0:
			j.enter("scheduled")
			j.due = s.Now() + x.Delay.Seconds()
			s.due = min(s.due, j.due)
		case front:
			j.enter("waiting")
			s.order = append([]string{j.JID}, s.order...)
			s.tell(queue.Notice{Kind: queue.NoticeWake, Queue: j.Queue})
		default:
			j.enter("waiting")
			s.line(j.JID)
		}
	}
	switch x.Action {
	case queue.Complete:
		j.enter("complete")
	case queue.Cancel:
		j.enter("canceled")
	case queue.Requeue:
		j.Remaining = j.Retries
		back(false)
	case queue.Fail:
		j.enter("failed")
	case queue.Retry:
		if j.Remaining--; j.Remaining < 0 {
			j.enter("failed")
		} else {
			back(false)
		}
	case queue.Release:
		j.Batch = x.Batch
		switch x.Counter {
		case queue.CountCrash:
			j.Crashes++
		case queue.CountInterruption:
			j.Interruptions++
			j.Standstill = x.Standstill
		case queue.CountSpared:
			j.Spared++
		case queue.CountDeath:
			j.Deaths++
		}
		if x.Counter == queue.CountCrash && j.Crashes > x.MaxCrashes {
			j.enter("failed")
		} else {
			back(x.Front)
		}
	default:
		s.t.Errorf("settlement %+v has no action", x)
	}
	return queue.SettleResult{State: j.state, Remaining: j.Remaining, Crashes: j.Crashes}
}

func (s *fakeSession) Renew(ctx context.Context, items []queue.RenewItem) (out []queue.Renewed, err error) {
	err = s.call(ctx, "renew", func() {
		for _, item := range items {
			r := queue.Renewed{JID: item.JID}
			if j := s.held(item.JID, item.Popped); j == nil {
				r.Err = queue.ErrLockLost
			} else if slices.Contains(j.refusing, "renew") {
				r.Err = errBroken
			} else {
				j.Expires = s.Now() + s.lock.Seconds()
				r.Expires = j.Expires
				if item.Checkpoint != nil {
					j.Checkpoint = item.Checkpoint
				}
			}
			out = append(out, r)
		}
	})
	return out, err
}

func (s *fakeSession) Wish(ctx context.Context, wishes []queue.Wish) (answers []error, err error) {
	err = s.call(ctx, "wish", func() {
		for _, w := range wishes {
			var answer error
			switch j := s.held(w.JID, w.Popped); {
			case j == nil:
				answer = queue.ErrLockLost
			case slices.Contains(j.refusing, "wish"):
				answer = errBroken
			default:
				s.note("%s %s %v", w.Verb, cmp.Or(w.Target, w.JID), w.Tags)
			}
			answers = append(answers, answer)
		}
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (s *fakeSession) Held(ctx context.Context, queues []string, _ ...queue.RenewItem) (held []queue.Taken, err error) {
	err = s.call(ctx, "held", func() {
		for _, jid := range s.those("running", func(j *fakeJob) bool { return j.worker == s.worker }) {
			t := s.jobs[jid].Taken
			t.Put = 0
			held = append(held, t)
		}
	})
	return held, err
}

func (s *fakeSession) Resolve(ctx context.Context, settlements []queue.Settlement) (out []queue.Resolution, err error) {
	err = s.call(ctx, "resolve", func() {
		for _, x := range settlements {
			r := queue.Took
			if s.held(x.JID, x.Popped) != nil {
				r = queue.NotRun
			} else if s.jobs[x.JID] == nil {
				r = queue.Gone
			}
			out = append(out, r)
		}
	})
	return out, err
}

func (s *fakeSession) Deregister(ctx context.Context) error {
	return s.call(ctx, "deregister", func() {})
}

func (s *fakeSession) Close() error { return nil }

// fakeHost starts fake children, and checks that no job is ever given to two of them
// at once.
type fakeHost struct {
	nameless bool  // what children say of a run need not name it
	batches  bool  // children read messages of several jobs
	messages []int // how many jobs were in each

	born       time.Time
	atWork     sync.WaitGroup // what children do, or did when they were killed
	leastLease time.Duration  // that was left at a renewal, on a clock that began when the host was made

	t *testing.T
	// work is what children do with a job; nil acknowledges it after a millisecond.
	work func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending
	// tired children say that they want to leave as soon as they are ready.
	tired bool
	// boot is what a starting child does before it is ready; an error ends it.
	boot func(spec *runner.Spec) error
	// slow is how long it takes until a process runs.
	slow time.Duration
	// dying is how long a child that has ended is not gone yet.
	dying time.Duration
	// killed is waited for between a kill of a child at work and the end of its job; nil: nothing is.
	killed func()
	// refuse is why a child is not started for its job; nil if it is.
	refuse func(first *protocol.Job) error
	// program is what the command of a child is when it starts; nil is the zero program.
	program func(spec *runner.Spec) program

	// memory is what a child of that age needs; nil: nothing.
	memory func(age time.Duration) int64

	// carries is how many children the host has processes for; 0: for any number.
	carries int

	mu       sync.Mutex
	started  int
	starting int // starts under way, and the most there were
	most     int
	refused  int // starts for which there was no process
	alive    map[*fakeChild]struct{}
	working  map[string]bool
	attempts map[string]int
	places   map[string]int             // children that are not gone, by pool and slot
	crowded  int                        // starts at places where one was
	wishes   map[string][]protocol.Wish // by jid: said at once when the job begins
	drained  []string                   // jids whose children were told that they drain, with the time left
}

// program is what a child runs. The zero value says no hello and does what its host says.
type program struct {
	greets bool          // it says hello
	hangs  bool          // it neither says hello nor reads a job
	lives  time.Duration // it exits after so long, without having read a job; 0: it does not
	work   func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending
}

func newFakeHost(t *testing.T) *fakeHost {
	return &fakeHost{t: t, born: time.Now(), leastLease: time.Hour, alive: map[*fakeChild]struct{}{}, places: map[string]int{}, working: map[string]bool{}, attempts: map[string]int{}}
}

// boots sets what starting children do from now on.
func (h *fakeHost) boots(boot func(*runner.Spec) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.boot = boot
}

// begun returns how often a job was begun.
func (h *fakeHost) begun(jid string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.attempts[jid]
}

// starts returns how many children were started, living how many of them live.
func (h *fakeHost) starts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.started
}

func (h *fakeHost) living() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.alive)
}

// at returns the child that has a job, and what it was told of it; nil if none has.
func (h *fakeHost) at(jid string) (*fakeChild, *protocol.Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.alive {
		c.mu.Lock()
		i := slices.IndexFunc(c.runs, func(r *fakeRun) bool { return r.job.JID == jid })
		if i >= 0 {
			defer c.mu.Unlock()
			return c, c.runs[i].job
		}
		c.mu.Unlock()
	}
	return nil, nil
}

func (h *fakeHost) Start(ctx context.Context, spec *runner.Spec, slot int, first *protocol.Job, lease time.Duration, to pool.Sink) (pool.Child, error) {
	h.mu.Lock()
	h.starting++
	h.most = max(h.most, h.starting)
	h.mu.Unlock()
	time.Sleep(h.slow)
	if h.refuse != nil {
		if err := h.refuse(first); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starting--
	if h.carries > 0 && len(h.alive) >= h.carries {
		h.refused++
		return nil, fmt.Errorf("fork/exec: %w", syscall.EAGAIN)
	}
	h.started++
	at := fmt.Sprint(spec.Pool, slot)
	if h.places[at]++; h.places[at] > 1 {
		h.crowded++
	}
	c := &fakeChild{at: at, born: time.Now(), host: h, spec: spec, pid: 1000 + h.started, to: to, jobs: make(chan *fakeRun, 100), gone: make(chan runner.Cause, 1)}
	if h.program != nil {
		c.program = h.program(spec)
	}
	h.alive[c] = struct{}{}
	go c.live()
	return c, nil
}

// fakeChild works its runs one after the other.
type fakeChild struct {
	host *fakeHost
	spec *runner.Spec
	pid  int
	born time.Time
	at   string // its place
	to   pool.Sink
	program
	jobs chan *fakeRun
	gone chan runner.Cause // of size 1: somebody ends it

	mu     sync.Mutex
	closed bool
	runs   []*fakeRun // given and not ended or withdrawn
}

type fakeRun struct {
	child *fakeChild
	job   *protocol.Job
	stop  chan runner.Cause // of size 1
	kill  *time.Timer

	mu    sync.Mutex
	cause runner.Cause
}

// Withdraw is runner.Run.Withdraw.
func (r *fakeRun) Withdraw() bool {
	c := r.child
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.runs, r)
	if i > 0 {
		c.runs = slices.Delete(c.runs, i, i+1)
	}
	return i > 0
}

// Told is runner.Run.Told.
func (r *fakeRun) Told() bool {
	r.child.mu.Lock()
	defer r.child.mu.Unlock()
	return slices.Index(r.child.runs, r) <= 0
}

// over takes a run off the child, and reports whether it had it.
func (c *fakeChild) over(r *fakeRun) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.runs, r)
	if i >= 0 {
		c.runs = slices.Delete(c.runs, i, i+1)
	}
	return i >= 0
}

// has reports whether the child has a run that was not withdrawn.
func (c *fakeChild) has(r *fakeRun) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.runs, r)
}

func (c *fakeChild) PID() int                 { return c.pid }
func (c *fakeChild) PGID() int                { return 1 } // never signalled by anybody
func (c *fakeChild) Silence() time.Duration   { return 0 }
func (c *fakeChild) Kill(cause runner.Cause)  { c.end(cause) }
func (c *fakeChild) Shutdown(d time.Duration) { c.end(runner.CauseShutdown) }

// Memory is what the host says of the child.
func (c *fakeChild) Memory() int64 {
	if c.host.memory == nil {
		return 0
	}
	return c.host.memory(time.Since(c.born))
}

func (c *fakeChild) end(cause runner.Cause) {
	locked(&c.mu, func() { c.closed = true })
	select {
	case c.gone <- cause:
	default:
	}
}

func (c *fakeChild) Give(job *protocol.Job, limits runner.RunLimits) (pool.Run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, runner.ErrLeaving
	}
	if !json.Valid(job.Data) {
		return nil, fmt.Errorf("%w: no JSON", runner.ErrPayload)
	}
	r := &fakeRun{child: c, job: job, stop: make(chan runner.Cause, 1)}
	c.jobs <- r
	c.runs = append(c.runs, r)
	return r, nil
}

func (c *fakeChild) Batches() bool { return c.host.batches }

// GiveBatch gives the child several jobs, which it works one after the other.
func (c *fakeChild) GiveBatch(jobs []*protocol.Job, limits []runner.RunLimits) ([]pool.Run, error) {
	locked(&c.host.mu, func() { c.host.messages = append(c.host.messages, len(jobs)) })
	runs := make([]pool.Run, len(jobs))
	for i, job := range jobs {
		if !json.Valid(job.Data) {
			return nil, fmt.Errorf("%w: no JSON", runner.ErrPayload)
		}
		r, err := c.Give(job, limits[i])
		if err != nil {
			return nil, err
		}
		runs[i] = r
	}
	return runs, nil
}

// Wishes hands over what the host says that the job wishes, once.
func (r *fakeRun) Wishes() []protocol.Wish {
	h := r.child.host
	h.mu.Lock()
	defer h.mu.Unlock()
	wishes := h.wishes[r.job.JID]
	delete(h.wishes, r.job.JID)
	return wishes
}

func (r *fakeRun) Begun() bool { return !r.child.idles() }

// idles reports whether the child reads no job at all.
func (c *fakeChild) idles() bool { return c.hangs || c.lives > 0 }

func (c *fakeChild) Greeted() bool { return c.greets }

func (c *fakeChild) NamesRuns() bool { return !c.host.nameless }

func (r *fakeRun) Renew(lease time.Duration) {
	h := r.child.host
	locked(&h.mu, func() { h.leastLease = min(h.leastLease, lease-time.Since(h.born)) })
}

func (r *fakeRun) Drain(left time.Duration) {
	r.child.host.mu.Lock()
	defer r.child.host.mu.Unlock()
	r.child.host.drained = append(r.child.host.drained, fmt.Sprintf("%s %v", r.job.JID, left))
}

func (r *fakeRun) Cancel(cause runner.Cause, grace time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cause = cause
	select {
	case r.stop <- cause:
	default:
	}
	if r.kill == nil {
		r.kill = time.AfterFunc(grace, func() { r.child.end(cause) })
	} else {
		r.kill.Reset(grace)
	}
}

// live is the life of a child, and tells its sink of everything.
func (c *fakeChild) live() {
	exit := runner.Exit{Started: true}
	if c.spec.Mode == runner.Once { // nothing is told before the job was handed over
		select {
		case exit.Cause = <-c.gone:
			c.die(exit, nil)
			return
		case r := <-c.jobs:
			c.jobs <- r
		}
	}
	c.host.mu.Lock()
	boot := c.host.boot
	c.host.mu.Unlock()
	if boot != nil {
		if err := boot(c.spec); err != nil {
			exit.Code, exit.Message = 1, err.Error()
			c.die(exit, nil)
			return
		}
	}
	if c.spec.Mode != runner.Once && c.idles() {
		c.idle(&exit)
		return
	}
	if c.spec.Mode != runner.Once {
		c.to.Ready()
		if c.host.tired {
			c.to.Bye("tired")
		}
	}
	for {
		select {
		case exit.Cause = <-c.gone:
			c.die(exit, nil)
			return
		case r := <-c.jobs:
			if !c.has(r) {
				continue
			}
			if !c.work(r) {
				exit.Code = -1
				c.die(exit, r)
				return
			}
			if c.spec.Mode != runner.Reuse {
				c.die(exit, nil)
				return
			}
		}
	}
}

// idle is the life of a child that reads no job.
func (c *fakeChild) idle(exit *runner.Exit) {
	ends := clock.Never
	if c.lives > 0 {
		ends = c.lives
	}
	end := time.After(ends)
	if c.spec.Hello == runner.HelloRequired && !c.greets {
		select {
		case exit.Cause = <-c.gone:
		case <-end:
			exit.Code = 1
		case <-time.After(30 * time.Second):
			exit.Code, exit.Cause, exit.Message = -1, runner.CauseStart, "it did not say hello within 30s"
		}
		c.die(*exit, nil)
		return
	}
	time.Sleep(200 * time.Millisecond)
	c.to.Ready()
	var given *fakeRun
	var unread <-chan time.Time
	select {
	case exit.Cause = <-c.gone:
		c.die(*exit, nil)
		return
	case <-end:
		exit.Code = 1
		c.die(*exit, nil)
		return
	case given = <-c.jobs:
		unread = time.After(10 * time.Second)
	}
	e := &runner.Ending{Kind: runner.LeftEarly, ExitCode: 1}
	select {
	case cause := <-given.stop:
		e = &runner.Ending{Kind: stoppedKinds[cause], SentByUs: cause, ExitCode: -1}
	case exit.Cause = <-c.gone:
		e = &runner.Ending{Kind: runner.BrokeProtocol, SentByUs: exit.Cause, ExitCode: -1}
	case <-end:
		exit.Code = 1
	case <-unread:
		exit.Cause = runner.CauseProtocol
		e = &runner.Ending{Kind: runner.BrokeProtocol, SentByUs: exit.Cause, ExitCode: -1, Message: "it did not read its job within 10s"}
	}
	c.over(given)
	c.to.Ended(given.job, e)
	c.die(*exit, given)
}

// work works one run and reports whether the child lives on.
func (c *fakeChild) work(r *fakeRun) bool {
	h, began := c.host, time.Now()
	h.mu.Lock()
	if h.working[r.job.JID] {
		h.t.Errorf("%s was given to two children at once", r.job.JID)
	}
	h.working[r.job.JID] = true
	h.attempts[r.job.JID]++
	h.mu.Unlock()
	done := make(chan *runner.Ending, 1)
	stop := make(chan runner.Cause, 1)
	tell := func(cause runner.Cause) {
		select {
		case stop <- cause:
		default:
		}
	}
	h.mu.Lock()
	wishes := len(h.wishes[r.job.JID]) > 0
	h.mu.Unlock()
	if wishes {
		c.to.Wished(r.job)
	}
	h.atWork.Add(1)
	go func() { // a killed child does not wait for it, but it is told
		defer h.atWork.Done()
		if c.program.work != nil {
			done <- c.program.work(r.job, stop)
			return
		}
		if h.work == nil {
			time.Sleep(time.Millisecond)
			done <- said(protocol.Ack)
			return
		}
		done <- h.work(r.job, stop)
	}()
	var e *runner.Ending
	lives := true
	for over := false; !over; {
		select {
		case cause := <-r.stop:
			tell(cause)
		case e = <-done:
			over = true
		case cause := <-c.gone:
			tell(cause)
			if h.killed != nil {
				h.killed()
			}
			e = &runner.Ending{Kind: runner.Interrupted, SentByUs: cause, ExitCode: -1}
			lives, over = false, true
		}
	}
	if e == nil { // work that was stopped may say nothing
		e = &runner.Ending{Kind: runner.Interrupted, ExitCode: -1}
	}
	r.mu.Lock()
	if r.kill != nil {
		r.kill.Stop()
	}
	if kind, stopped := stoppedKinds[r.cause]; stopped {
		e = &runner.Ending{Kind: kind, SentByUs: r.cause, Verdict: e.Verdict, ExitCode: -1}
	}
	r.mu.Unlock()
	switch e.Kind {
	case runner.Died, runner.Exited, runner.CouldNotStart, runner.LeftEarly, runner.BrokeProtocol:
		lives = false
	}
	locked(&h.mu, func() { delete(h.working, r.job.JID) })
	c.over(r)
	timed := *e // tests return one for many
	timed.Wall = time.Since(began)
	c.to.Ended(r.job, &timed)
	return lives
}

var stoppedKinds = map[runner.Cause]runner.EndingKind{
	runner.CauseCanceled: runner.Canceled,
	runner.CauseLockLost: runner.LockLost,
	runner.CauseShutdown: runner.Interrupted,
}

// die ends what the child still had, and tells of its end.
func (c *fakeChild) die(exit runner.Exit, at *fakeRun) {
	locked(&c.mu, func() { c.closed = true })
	for {
		select {
		case r := <-c.jobs:
			kind := runner.Innocent
			if at == nil {
				kind = runner.LeftEarly
			}
			if exit.Code == 1 && c.spec.Mode == runner.Once {
				kind = runner.CouldNotStart
			}
			at = r
			if !c.over(r) {
				continue
			}
			c.to.Ended(r.job, &runner.Ending{Kind: kind, ExitCode: exit.Code, Message: exit.Message})
			continue
		default:
		}
		break
	}
	time.Sleep(c.host.dying)
	c.host.mu.Lock()
	delete(c.host.alive, c)
	c.host.places[c.at]--
	c.host.mu.Unlock()
	c.to.Exited(exit)
}

// said is the ending of a run whose child gave a verdict.
func said(kind protocol.Kind) *runner.Ending {
	return &runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: kind}}
}

// stage is a supervisor in a bubble, with all around it fake.
type fakeWorld struct {
	t     *testing.T
	redis *fakeRedis
	host  *fakeHost
	cfg   Config
	s     *Supervisor
	stop  context.CancelFunc
	ended chan error

	running bool          // ended is still to come
	skip    time.Duration // by how much the clock was put forward
	mu      sync.Mutex
}

// same fails the test unless got is want; format says what was got, after args.
func same[T comparable](t testing.TB, got, want T, format string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf(format+"; want %v", append(args, got, want)...)
	}
}

// between is same for a range, its ends included.
func between[T cmp.Ordered](t testing.TB, got, least, most T, format string) {
	t.Helper()
	if got < least || got > most {
		t.Errorf(format+"; want %v to %v", got, least, most)
	}
}

// errOf is the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }

// locked does what takes mu.
func locked(mu *sync.Mutex, do func()) {
	mu.Lock()
	defer mu.Unlock()
	do()
}

// bubble plays a test on a clock of its own, beside others.
func bubble(t *testing.T, play func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, play)
}

// faked plays a test on a clock of its own with a fake Redis and a fake host, beside others.
func faked(t *testing.T, play func(t *testing.T, w *fakeWorld)) {
	t.Helper()
	bubble(t, func(t *testing.T) { play(t, newFakeWorld(t)) })
}

// runBubble is bubble as a subtest.
func runBubble(t *testing.T, name string, play func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, play) })
}

// runFaked is faked as a subtest.
func runFaked(t *testing.T, name string, play func(t *testing.T, w *fakeWorld)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { faked(t, play) })
}

// newFakeWorld prepares a supervisor with one pool of two reused children. The test
// may change cfg before it calls run. If the test
// does not end the supervisor, the end of the test does.
func newFakeWorld(t *testing.T) *fakeWorld {
	w := &fakeWorld{t: t, redis: newFakeRedis(t, time.Minute), host: newFakeHost(t), ended: make(chan error, 1)}
	start := time.Now()
	w.cfg = Config{
		Name:         "host",
		DrainTimeout: 10 * time.Second,
		Logger:       slog.New(slog.NewTextHandler(cmp.Or[io.Writer](verbose(t), io.Discard), nil)),
		Clock: func() time.Duration {
			w.mu.Lock()
			defer w.mu.Unlock()
			return time.Since(start) + w.skip
		},
		Pools: []Pool{{
			Name:     "p",
			Queues:   []string{"q"},
			Children: 2,
			Policy:   outcome.Policy{MaxCrashes: 3},
			Child:    runner.Spec{Pool: "p", Mode: runner.Reuse, Command: []string{"fake"}, KillGrace: 5 * time.Second},
		}},
	}
	t.Cleanup(func() {
		if w.running {
			w.end()
		}
	})
	return w
}

func verbose(t *testing.T) io.Writer {
	if testing.Verbose() {
		return t.Output()
	}
	return nil
}

// run starts the supervisor.
func (w *fakeWorld) run() { w.runOn(w.redis) }

// runOn starts the supervisor on another Redis than the world's.
func (w *fakeWorld) runOn(r redis) {
	w.cfg.Logger = strictly(w.t, w.cfg.Logger)
	w.s = build(w.cfg, r, w.host)
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	w.running = true
	go func() { w.ended <- w.s.Run(ctx) }()
}

// runFor puts so many jobs, starts the supervisor and returns after a while.
func (w *fakeWorld) runFor(d time.Duration, jobs int) {
	if jobs > 0 {
		w.redis.put(jobs)
	}
	w.run()
	time.Sleep(d)
}

// putFor puts so many jobs and returns after a while.
func (w *fakeWorld) putFor(d time.Duration, jobs int) {
	w.redis.put(jobs)
	time.Sleep(d)
}

// change reloads with the first pool alone, changed.
func (w *fakeWorld) change(how func(p *Pool)) {
	w.t.Helper()
	next := w.cfg
	next.Pools = []Pool{w.cfg.Pools[0]}
	how(&next.Pools[0])
	must(w.t, errOf(w.s.Reload(next)))
}

// end stops the supervisor and waits for its end.
func (w *fakeWorld) end() {
	w.t.Helper()
	w.stop()
	w.wait()
}

// stopNow has the supervisor leave its jobs, and waits for its end.
func (w *fakeWorld) stopNow() {
	w.t.Helper()
	w.s.StopNow()
	w.wait()
}

func (w *fakeWorld) wait() {
	w.t.Helper()
	w.running = false
	select {
	case err := <-w.ended:
		if err != nil {
			w.t.Errorf("Run() = %v", err)
		}
	case <-time.After(10 * time.Minute):
		w.t.Fatal("the supervisor does not end")
	}
	same(w.t, w.host.living(), 0, "%d children are left")
	w.host.atWork.Wait()
}

// want fails the test unless so many jobs are in a state.
func (w *fakeWorld) want(state string, n int) {
	w.t.Helper()
	if states := w.redis.states(); states[state] != n {
		w.t.Errorf("jobs are %v, want %d %s", states, n, state)
	}
}

// after is want after a while.
func (w *fakeWorld) after(d time.Duration, state string, n int) {
	w.t.Helper()
	time.Sleep(d)
	w.want(state, n)
}

var errBoot = errors.New("it cannot be")

// without returns jids without one.
func without(jids []string, jid string) []string {
	return slices.DeleteFunc(jids, func(other string) bool { return other == jid })
}
