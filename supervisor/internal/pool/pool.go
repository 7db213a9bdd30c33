// Package pool works the jobs of some queues with some children: which child is given which job, when
// children come and go, and what Redis is told after. A [Pool] owns its attempts, its children and the
// locks it holds, all in one loop. It knows no other pool and not its supervisor: what they have in
// common comes as [Shared], and what it is to do as calls of its methods.
//
// The loop never waits: calls to Redis and starts of children run beside it and report
// to its inbox. What follows from each event is worked out anew in every turn of the
// loop, so that no order of events can leave something undone.
package pool

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/births"
	"oarlock/supervisor/internal/breaker"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/internal/inbox"
	"oarlock/supervisor/internal/lookout"
	"oarlock/supervisor/internal/menu"
	"oarlock/supervisor/internal/proof"
	"oarlock/supervisor/internal/scale"
	"oarlock/supervisor/internal/starts"
	"oarlock/supervisor/internal/statedir"
	"oarlock/supervisor/report"
)

// never is an alarm that does not ring.
const never = clock.Never

// Shared is what the pools of one supervisor have in common. It does not change while any runs.
type Shared struct {
	Clock      func() time.Duration
	Redis      Redis
	Starter    Starter
	Starts     *starts.Starts
	Places     *starts.Places
	Gate       *gate.Gate
	Complaints *lookout.Complaints
	Legacy     *statedir.Life
	Suspects   *statedir.Suspects
	Base       *slog.Logger
	Host       string                         // the supervisor's name
	Callback   func(klass, jid string) string // where a job is answered, "" for nowhere; nil: nowhere. Safe for concurrent use
	// Ask runs a retry_command for a pool: it is given input, and has AskTime. It returns what that printed; the error is a sentence.
	// Safe for concurrent use; nil: nobody is asked.
	Ask func(ctx context.Context, pool string, command []string, input []byte) ([]byte, error)
	// Awake lists the pools of all supervisors that answer just now, ours too. It waits no longer than ctx. Safe for concurrent use; nil: nobody knows them.
	Awake    func(ctx context.Context) []Working
	OnEvent  func(report.Event) // nil: nobody observes; it is called from the loops
	ChildLog func(report.Line)  // safe for concurrent use, and does not wait
	Poll     time.Duration
	Soon     func()        // asks the lookout not to wait until Poll is over
	InFlight *atomic.Int64 // attempts that are not over, of all pools, as of their last turns
}

// Pool decides which job runs on which of its children, and what Redis is told
// after. All that happens reaches its loop through the inbox; what takes time runs
// in goroutines of its own, which report there. Its methods are safe for concurrent use.
type Pool struct {
	*Shared
	name     string
	worker   string // the name under which Redis knows who holds its locks
	listed   *queue.List
	store    Store
	log      *slog.Logger
	inbox    inbox.Inbox
	calls    chan func()   // for the caller
	done     chan struct{} // closed when the loop has ended
	ctx      context.Context
	giveUp   context.CancelFunc // ends calls that are still out; the very last resort
	resident context.Context    // of starts for no job in particular
	cease    context.CancelFunc // gives up those that have not begun

	maxCrashes atomic.Int64                 // cfg.MaxCrashes
	asked      atomic.Pointer[[]string]     // cfg.Queues
	named      atomic.Pointer[[]string]     // queues
	told       atomic.Pointer[lookout.View] // the last view posted
	idle       atomic.Bool                  // it has a child for another job, as of its last turn without a call on its way
	wakes      inbox.Names                  // queues into which something came
	slow       clock.Seldom                 // takes after which less is asked for
	unheard    clock.Seldom                 // verdicts of its children that were refused
	looked     atomic.Pointer[looked]       // what was last seen of its list; nil: nothing yet, or it has none

	// All below belongs to the loop.
	cfg    Config
	queues []string      // what cfg.Queues names, with globs replaced by queues that exist
	now    time.Duration // on the clock, when this turn began
	alarm  time.Duration // when the next turn is due even if nothing happens

	flight   map[string]*attempt // all attempts that are not over, by jid
	flying   int64               // how many of them InFlight counts
	waiting  []*attempt          // those without a child, by their turns
	held     []*attempt          // suspects that wait for their turn, oldest first
	turns    int64               // given out so far
	endings  []*attempt          // those to be settled, oldest first
	departed []queue.Settlement  // of attempts with a key, or with places, that were taken from us and are over, to be told
	closing  []*attempt          // those that end when a window shuts, as they came
	withheld []*attempt          // those whose ending is judged a little later, oldest first
	asking   asking              // those about whose ending a command is asked
	refused  []*attempt          // those whose settlement was refused for good, as far as we know

	slots        []*slot
	leavers      map[*member]struct{} // members that gave up their slot and are not gone yet
	gen          *generation          // what new members are started from
	generations  int                  // so many there were
	past         proof.Past           // how jobs ended on code that is not on trial
	roll         *roll                // a change of generation under way; nil if none
	givenUp      *givenUp             // the last one, if it was; nil again with the next
	pastRolls    pastRolls            // the last that ended
	target       int                  // how many slots there should be
	spawns       starts.Rate
	births       births.Births[*slot, *member]
	boot         time.Duration // how long a child takes to be ready: the longest of late
	failedStarts int           // in a row: their children died before they read a job
	lastFailure  string        // what the last of them left to say
	memoryAt     time.Duration // when to look at their memory again
	view         lookout.View  // what there is to take, as last seen
	breaker      breaker.Breaker
	usual        breaker.Usual
	wellAt       time.Duration // when a job last ended well; 0: none has
	scaling      scale.Scale
	size         int           // of the data of a job, in bytes, as a moving average
	thrifty      time.Duration // until when nothing is kept ready by itself
	idleAt       time.Duration // when to look again whether a child is idle
	menu         menu.Menu     // what takes choose from
	list         ListStore     // store, if it is that of a list
	listening    bool          // to the list
	entries      returned      // to the list
	exchanges    exchanges
	renewals     renewals
	releases     releases
	wishing      wishing
	unknowns     unknowns
	life         lifetime
	count        report.Counters
}

// takesNothing tells whether the pool takes nothing, though it stays.
func (p *Pool) takesNothing() bool { return p.life.quiet || p.life.alone || p.abstains() != "" }

// abstains is why the pool takes nothing, though nobody wants it to be quiet; "" where that is not so.
func (p *Pool) abstains() string { return cmp.Or(p.view.Abstains, p.life.abstains) }

// lifetime is how far a pool is on its way out.
type lifetime struct {
	quiet    bool          // takes nothing until told otherwise, with all pools
	alone    bool          // likewise, by itself
	abstains string        // why it takes nothing, for what must count for its jobs does not count yet; "": it does
	draining bool          // takes nothing any more, and ends when nothing is in flight
	drainBy  time.Duration // when jobs still at work are interrupted; never without a limit
	stopped  bool          // they were
	killed   bool          // everything was killed
	together time.Duration // children that end by themselves before were sent the signal that ends us
	endBy    time.Duration // when to leave whatever Redis has not been told
	toEnd    int           // children and jobs that there were when it began to drain,
	least    int           // the fewest since,
	endedAt  time.Duration // and when there came to be so few
	freeAt   time.Duration // since when nothing is at work; never if something is
	over     bool
	owing    bool // it left jobs about which Redis was told nothing
}

// New prepares a pool, which does nothing before Run. Its worker's name is one that no other pool,
// here or anywhere, has or ever had; cfg is valid.
func New(s *Shared, cfg Config, worker string) *Pool {
	p := &Pool{
		Shared:  s,
		name:    cfg.Name,
		worker:  worker,
		listed:  cfg.List,
		log:     s.Base.With("pool", cfg.Name),
		inbox:   inbox.New(),
		calls:   make(chan func()),
		done:    make(chan struct{}),
		cfg:     cfg,
		flight:  map[string]*attempt{},
		leavers: map[*member]struct{}{},
		births:  births.New[*slot, *member](),
		breaker: breaker.New(),
		life:    lifetime{drainBy: never, endBy: never, freeAt: never},
	}
	p.ctx, p.giveUp = context.WithCancel(context.Background())
	p.resident, p.cease = context.WithCancel(p.ctx)
	p.generations = 1
	p.gen = newGeneration(1, cfg.Child, worker)
	p.target, _ = cfg.bounds()
	p.now = s.Clock()
	p.renewals = newRenewals()
	p.exchanges = newExchanges(p.now + clock.Jittered(p.renewals.interval()))
	p.asked.Store(&cfg.Queues)
	p.maxCrashes.Store(int64(cfg.MaxCrashes))
	if cfg.List != nil {
		p.serveList(*cfg.List)
		return p
	}
	p.store = s.Redis.Session(worker)
	p.serve(lookout.Expand(cfg.Queues, nil))
	return p
}

// post hands work to the loop. Safe for concurrent use; work that comes after the
// loop has ended is dropped.
func (p *Pool) post(f func()) { p.inbox.Post(f) }

// Wake makes the loop take another turn. Safe for concurrent use.
func (p *Pool) Wake() { p.inbox.Post(func() {}) }

// Run works until the pool was drained and nothing of it is left. It must be called once.
func (p *Pool) Run() {
	defer close(p.done)
	var caller sync.WaitGroup
	caller.Go(p.call)
	defer caller.Wait()
	defer close(p.calls)
	defer p.giveUp()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var reopened <-chan struct{}
		if !p.Gate.IsOpen() {
			reopened = p.Gate.Open()
		}
		select {
		case <-p.inbox.Wake:
		case <-reopened:
		case <-timer.C:
		}
		p.turn()
		if p.life.over {
			p.farewell()
			return
		}
		timer.Reset(p.alarm - p.now)
	}
}

// call makes the exchanges, of which at most one is on its way. This goroutine stays, because
// the stack that a call needs is large, and would have to grow anew for each.
func (p *Pool) call() {
	for f := range p.calls {
		f() // reports to the loop
	}
}

// turn does everything that can be done now. Each part may be called at any time and
// does nothing if there is nothing to do; it notes by alert when it wants to be
// called again.
func (p *Pool) turn() {
	p.now = p.Clock()
	p.alarm = never
	p.inbox.Work()
	p.watchLeases()
	p.shutWindows()
	p.finishWithheld()
	p.tendSuspects()
	p.tendSlots()
	p.share()
	if len(p.waiting) > 0 {
		p.converse() // Redis can settle while we hand out
	}
	p.handOut()
	p.renew()
	p.release()
	p.grant()
	p.converse()
	p.renew() // what has just been found to be needed first
	p.leave()
	if n := int64(len(p.flight)); n != p.flying {
		p.InFlight.Add(n - p.flying)
		p.flying = n
	}
	p.inbox.Await(p.patience())
}

// patience is for how many endings together the loop wants to be woken. Each would be
// one turn otherwise, in which nothing can be done while a call is out, or while it
// is worth waiting for more.
func (p *Pool) patience() int {
	switch {
	case len(p.waiting) > 0:
		return 1
	case p.exchanges.out:
		return inbox.ForEver // the reply wakes the loop
	case p.exchanges.gathering:
		return max(min(p.atWork(), p.batch()-len(p.endings)), 1)
	}
	return 1
}

// alert makes sure that there is a turn at the time t.
func (p *Pool) alert(t time.Duration) { p.alarm = min(p.alarm, max(t, p.now)) }

// event tells the observer, if there is one.
func (p *Pool) event(e report.Event) {
	if p.OnEvent != nil {
		e.Pool = p.name
		p.OnEvent(e)
	}
}
