package runner

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/tree"
)

// Errors that callers tell apart.
var (
	// ErrLeaving: the child takes no further job; give it to another.
	ErrLeaving = errors.New("the child is leaving")
	// ErrPayload: the payload is not JSON, so that no line can carry it.
	ErrPayload = errors.New("the payload is not JSON")
)

// Child is one process that works jobs. Its methods may be called by several
// goroutines, and none of them waits.
type Child struct {
	host    *Host
	spec    *Spec
	slot    int
	events  Events
	first   *protocol.Job // of mode Once: what it was started for
	started time.Time
	dir     string // private directory; empty: none
	filled  words  // arguments and variables, set before the process is started
	proc    tree.Process
	pid     int

	in       *stdin
	out, err *stream
	st       *stream // status lines; nil where the child has no descriptor for them
	kept     *transcript

	ready   chan struct{} // closed when it can take a job
	claimed chan struct{} // closed when somebody wants to hear of it; see listen
	exited  chan struct{} // closed when all is over, after exit is set

	listening sync.WaitGroup // a goroutine for each stream
	exit      Exit           // read only after exited is closed

	lastOut atomic.Int64 // when the child last gave a sign of life, as time since started

	mu        sync.Mutex
	state     State
	hello     *protocol.Hello
	runs      []*Run        // handed over and not ended, in order; only the first is known to the child
	jobs      int           // runs ended
	used      time.Duration // processor time by the end of its last run; 0: it had none
	stray     int           // status lines about runs it does not have
	named     bool          // a verdict of its named the run
	nameless  bool          // a line of its that was about a run, or would have been, named none
	cause     Cause         // why it is to leave; CauseNone: it is not
	why       string        // more about cause
	stopped   Cause         // why one of its runs was asked to stop, the last time
	termAt    time.Time
	trialEnds time.Time // when to see whether a child without hello is ready
	killAt    time.Time
	told      bool // Spec.DrainSignal was sent
	termed    bool // SIGTERM was sent
	killed    bool // SIGKILL was sent
}

// strayLimit is how many status lines about runs it does not have make a child
// unfit for more.
const strayLimit = 100

// Slot returns the slot of its pool that the child was started for.
func (c *Child) Slot() int { return c.slot }

// Spec returns what the child was started with.
func (c *Child) Spec() *Spec { return c.spec }

// PID returns the process id of the child, which is its process group as well.
func (c *Child) PID() int { return c.pid }

// PGID returns the process group that the child leads.
func (c *Child) PGID() int { return c.pid }

// Dir returns the private directory; empty if the child has none.
func (c *Child) Dir() string { return c.dir }

// Ready is closed when the child can take its first job. A child of mode Once is
// ready from the start.
func (c *Child) Ready() <-chan struct{} { return c.ready }

// Exited is closed when the child is gone, after Events.ChildExited.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit tells how the child ended. It must not be called before Exited is closed.
func (c *Child) Exit() Exit { return c.exit }

// Hello returns what the child said of itself, nil if it did not. The result must
// not be changed.
func (c *Child) Hello() *protocol.Hello {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello
}

// NamesRuns reports whether what the child says of a run names it, because it has to or because it always did, so that nothing
// it says of one is taken for a word on the next, however soon that is handed over.
func (c *Child) NamesRuns() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.mayBeNameless() || c.named && !c.nameless
}

// mayBeNameless reports whether lines about runs count that name none. The caller holds mu.
func (c *Child) mayBeNameless() bool { return c.hello == nil && !c.spec.Strict }

// State returns where the child stands.
func (c *Child) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Jobs returns how many runs the child ended.
func (c *Child) Jobs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobs
}

// Age returns how long ago the child was started.
func (c *Child) Age() time.Duration { return time.Since(c.started) }

// Silence returns how long ago the child last printed a line or said anything.
func (c *Child) Silence() time.Duration {
	return time.Since(c.started) - time.Duration(c.lastOut.Load())
}

// sign notes a sign of life.
func (c *Child) sign(now time.Time) { c.lastOut.Store(int64(now.Sub(c.started))) }

// oneJob tells whether the child works one job in its life.
func (c *Child) oneJob() bool { return c.spec.Mode != Reuse }

// front returns the run that the child is at work on, nil if there is none, or several that came
// in one message.
func (c *Child) front() *Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.runs) == 0 || c.runs[0].since.IsZero() {
		return nil
	}
	if b := c.runs[0].batch; b != nil {
		return b.only("")
	}
	return c.runs[0]
}

// holds tells whether r has not ended. The caller holds mu.
func (c *Child) holds(r *Run) bool {
	for _, have := range c.runs {
		if have == r {
			return true
		}
	}
	return false
}

// Run hands job to the child. It does not wait: where the pipe has room the line
// is written at once, else behind the scenes. Several runs may be outstanding in
// mode Reuse; the child works them in order. The line of each is kept back until the
// one before it has ended, for a child may read on as far as it finds something, and what
// it has read cannot be given to another any more: see Run.Withdraw. job must not be
// changed until the run has ended; its Dir is filled in for the child where it is empty.
//
// A child of mode Once is given the job it was started for, once, also when it
// has ended meanwhile: the ending follows.
//
// It returns ErrLeaving if the child is not ready or takes no job any more, and
// ErrPayload if the payload is not JSON; nothing was written then and nothing
// follows. Otherwise Events.RunEnded follows, possibly before Run returns.
func (c *Child) Run(job *protocol.Job, limits RunLimits) (*Run, error) {
	if len(job.Data) > 0 && !protocol.Valid(job.Data) {
		return nil, ErrPayload
	}
	r := &Run{Job: job, child: c, limits: limits, lease: limits.Lease}
	first, err := c.accept(r)
	if err != nil {
		return nil, err
	}
	if first {
		c.send(r)
	}
	if c.spec.Mode == Once {
		c.claim()
	}
	c.host.clock.arm(c.firstLook(r))
	return r, nil
}

// accept takes r on as the last of the runs, and tells whether it is the first as well.
func (c *Child) accept(r *Run) (first bool, err error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Ready && (c.state != Busy || c.oneJob()) {
		return false, ErrLeaving
	}
	c.move(Busy)
	c.runs = append(c.runs, r)
	c.relet()
	if len(c.runs) == 1 {
		c.toFront(r, now)
	}
	return len(c.runs) == 1, nil
}

// toFront notes that the child can be at work on r from now on. The caller holds mu.
func (c *Child) toFront(r *Run, now time.Time) {
	r.since = now
	r.sampleAt = now.Add(sampling)
	// What it used since its last run is that of the next, to save a question.
	if r.cpu = c.used; r.cpu == 0 {
		r.cpu = cpuTime(c.pid)
	}
}

// send writes the line of r, which has come to the front. Only who brought it there
// does, and no other run can come there before this one has ended.
func (c *Child) send(r *Run) {
	job := *r.Job
	if job.Dir == "" {
		job.Dir = c.dir
	}
	c.in.send(func(buf []byte) []byte {
		switch c.spec.Input {
		case InputData:
			return protocol.AppendData(buf, &job)
		case InputNone:
			return buf
		}
		return protocol.AppendJob(buf, &job)
	}, r.placed)
	c.mu.Lock()
	r.sent = true
	if r.drained && c.can(protocol.CapDraining) {
		var left time.Duration
		if !r.drainBy.IsZero() {
			left = max(time.Until(r.drainBy), time.Millisecond)
		}
		c.tellDraining(r, left)
	}
	c.mu.Unlock()
	if c.spec.Mode == Once {
		c.in.finish()
	}
}

// claim begins to listen to the child. A child of mode Once is not listened to
// before it is given its run: what it says before that is kept in its pipes, and
// its end waits. Others are listened to from the start.
func (c *Child) claim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.claimed:
	default:
		close(c.claimed)
	}
}

// can tells whether the child takes lines of that capability. The caller holds mu.
func (c *Child) can(capability string) bool {
	return c.hello != nil && c.talks() && c.hello.Can(capability)
}

// talks tells whether the child is sent lines besides its jobs.
func (c *Child) talks() bool { return c.spec.Mode != Once && c.spec.Input == InputJob }
