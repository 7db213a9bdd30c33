// Package lookout looks what there is in the queues of a supervisor, for all of its pools in one
// call, and after what went wrong there. It owns when that is done, and what was last said of it. It
// knows of a pool which queues it serves, and takes nothing itself.
package lookout

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/internal/menu"
)

const (
	// sweepPause is how often locks that ran out are looked after, in all queues.
	sweepPause = 5 * time.Second
	// sweepLimit is how many of them per queue at a time.
	sweepLimit = 50
	// queuesPause is how often the list of queues is read, for pools with globs.
	queuesPause = 5 * time.Second
)

// Redis is what a lookout needs of a queue.Client, whose comments are its contract.
type Redis interface {
	Writable(context.Context) error
	Outlook(ctx context.Context, queues []string) ([]queue.QueueOutlook, float64, error)
	OddSettings(context.Context) ([]error, error)
	Tend(ctx context.Context, keyed, idle []string, pause time.Duration) (queue.Tended, error)
	Sweep(ctx context.Context, queues []string, limit int) (queue.Swept, error)
	QueueNames(context.Context) ([]string, error)
	RespondInbox(context.Context) (read, broken int, err error)
	ResponseLists() (pushed, broken string)
}

// Pool is who is told. Its methods must be safe for concurrent use.
type Pool interface {
	Patterns() []string             // the names and globs that it is configured for
	Serving() []string              // the queues that it takes from
	Idle() bool                     // it has a child for another job
	Found(queues []string)          // what its globs stand for now
	Tell(v View, due time.Duration) // what there is for it, and when the next job is due; Never if none is
}

// Lookout looks at all queues of a supervisor in one call per poll interval, and tells
// the pools what there is for them: that is what it costs to have many pools with
// nothing to do. What is put by our own commands is announced besides.
type Lookout struct {
	redis      Redis
	gate       *gate.Gate
	clock      func() time.Duration
	poll       time.Duration
	log        *slog.Logger
	asked      chan struct{} // of size 1: somebody wants to see soon
	missed     atomic.Bool   // puts, so there may be queues that nobody knows of
	complaints *Complaints

	tended func(queue.Tended)      // hears what was looked after; nil: nobody does
	came   func(taken, broken int) // hears of answers that were pushed; likewise

	damaged map[string]string // by queue: what is wrong with it, as last said; of the goroutine of Run

	mu    sync.Mutex
	pools []Pool

	trip atomic.Int64           // when the last look was answered, on the clock; 0 never
	last atomic.Pointer[lastly] // what it was
}

// New prepares a lookout, which does nothing before Run. It looks every poll, give or take, on that
// clock.
func New(redis Redis, gate *gate.Gate, clock func() time.Duration, poll time.Duration, complaints *Complaints, log *slog.Logger) *Lookout {
	return &Lookout{
		redis: redis, gate: gate, clock: clock, poll: poll, log: log,
		asked: make(chan struct{}, 1), complaints: complaints,
	}
}

// Hear has heard hear of turns and places that nobody had who lives, and that went on. It is called before Run, and heard from Run's goroutine.
func (o *Lookout) Hear(heard func(queue.Tended)) { o.tended = heard }

// HearAnswers has heard hear how many of the answers that were pushed to a list were taken in, and how many set aside, whenever there were any. It is called
// before Run, and heard from Run's goroutine.
func (o *Lookout) HearAnswers(heard func(taken, broken int)) { o.came = heard }

// lastly is what was seen last.
type lastly struct {
	queues   []queue.QueueOutlook
	now      float64 // on Redis' clock
	abstains string  // as of View
}

// Seen returns what the last look saw in all queues, and when on Redis' clock. The caller must not change it. It is nil before the first.
func (o *Lookout) Seen() (queues []queue.QueueOutlook, now float64) {
	if last := o.last.Load(); last != nil {
		return last.queues, last.now
	}
	return nil, 0
}

// Abstains is why nothing is to be taken from any queue, as the last look had it: the key space needs what this version does
// not know. It is "" where it does not.
func (o *Lookout) Abstains() string {
	if last := o.last.Load(); last != nil {
		return last.abstains
	}
	return ""
}

// Answered returns when the last look was answered, on the clock; 0 if none was.
func (o *Lookout) Answered() time.Duration { return time.Duration(o.trip.Load()) }

// View is what a pool was last told of its queues.
type View struct {
	At       time.Duration // when that was asked
	Now      float64       // the same on Redis' clock
	Ready    int           // jobs that could be taken
	Oldest   time.Duration // how long the oldest of those next in turn has been waiting
	Queues   []menu.Seen   // in which there are any
	Damaged  []string      // those that are left out, each with what is wrong with it
	Abstains string        // why nothing is to be taken though there may be something; "" where that is not so
}

// Watch replaces the pools that are told.
func (o *Lookout) Watch(pools []Pool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pools = slices.Clone(pools)
}

func (o *Lookout) watched() []Pool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.pools)
}

// Run looks until ctx ends.
func (o *Lookout) Run(ctx context.Context) {
	var sweepAt, queuesAt time.Duration
	for looked := o.clock(); ; looked = o.clock() {
		select {
		case <-ctx.Done():
			return
		case <-o.gate.Open():
		}
		if ctx.Err() != nil {
			return
		}
		now, pools := o.clock(), o.watched()
		if now-looked > 2*o.poll {
			// We stood still, or Redis was away: locks that ran out meanwhile may be our own,
			// and are to be renewed rather than swept.
			sweepAt = now + sweepPause
		}
		err := error(nil)
		if o.missed.Swap(false) || now >= queuesAt {
			queuesAt = now + clock.Jittered(queuesPause)
			err = o.resolveGlobs(ctx, pools)
		}
		queues := served(pools)
		if err == nil && now >= sweepAt && o.Answered() > 0 && o.Abstains() == "" {
			sweepAt = now + clock.Jittered(sweepPause)
			err = o.sweep(ctx, queues)
		}
		if err == nil {
			err = o.answers(ctx)
		}
		if err == nil && ctx.Err() == nil {
			err = o.look(ctx, pools, queues)
		}
		if ctx.Err() == nil && err != nil {
			o.failed(err)
		}
		if !o.rest(ctx) {
			return
		}
	}
}

// sweep looks after what may have gone wrong in the queues, and at the settings.
func (o *Lookout) sweep(ctx context.Context, queues []string) error {
	err := o.redis.Writable(ctx)
	switch o.gate.SortHarmless(err) {
	case gate.Done:
		o.gate.HasMemory()
	case gate.Full:
	default: // found before a job is, of which the end could not be written
		return err
	}
	swept, err := o.redis.Sweep(ctx, queues, sweepLimit)
	if err != nil {
		return err
	}
	o.complaints.LeftOut("", swept.Broken)
	odd, err := o.redis.OddSettings(ctx)
	switch gate.Of(err) {
	case gate.Done:
	case gate.Refused:
		odd = []error{err} // they are no hash
	default:
		return err
	}
	o.complaints.odd(odd)
	return nil
}

// answers takes in what was pushed for jobs that wait for answers.
func (o *Lookout) answers(ctx context.Context) error {
	read, broken, err := o.redis.RespondInbox(ctx)
	if read > 0 && o.came != nil {
		o.came(read-broken, broken)
	}
	pushed, aside := o.redis.ResponseLists()
	switch gate.Of(err) {
	case gate.Done:
	case gate.Refused: // it is no list, or the like: nothing else waits for that
		o.log.Error("answers not taken in", "key", pushed, "err", err)
		return nil
	default:
		return err
	}
	if broken > 0 {
		o.log.Warn("answers set aside: they are not class, correlation and JSON, each on a line, or nothing takes them", "key", aside, "answers", broken, "read", read)
	}
	return nil
}

// soonPause is how long the lookout waits when it is asked to look soon: more may be
// about to come, and more pools may ask.
const soonPause = 100 * time.Millisecond

// rest waits until it is time to look again, and reports whether that came before the
// end of ctx.
func (o *Lookout) rest(ctx context.Context) bool {
	next := time.NewTimer(clock.Jittered(o.poll))
	defer next.Stop()
	select {
	case <-ctx.Done():
	case <-next.C:
	case <-o.asked:
		next.Reset(soonPause)
		select {
		case <-ctx.Done():
		case <-next.C:
		}
	}
	return ctx.Err() == nil
}

// Soon asks for a look before the poll interval is over. Safe for concurrent use.
func (o *Lookout) Soon() {
	select {
	case o.asked <- struct{}{}:
	default: // somebody has asked
	}
}

// MissedPuts hears that puts were not heard of, into queues unknown. Safe for concurrent use.
func (o *Lookout) MissedPuts() {
	o.missed.Store(true)
	o.Soon()
}

// failed hears that a look failed, which may be repeated.
func (o *Lookout) failed(err error) {
	switch o.gate.SortHarmless(err) {
	case gate.Away, gate.Full: // the gate has said so
	default:
		o.log.Error("queues not looked at", "err", err)
	}
}

// look asks what there is in the queues and tells the pools.
func (o *Lookout) look(ctx context.Context, pools []Pool, queues []string) error {
	asked := o.clock()
	outlook, now, err := o.redis.Outlook(ctx, queues)
	if err != nil {
		return err
	}
	at := o.clock()
	abstains := o.lacking(outlook)
	o.last.Store(&lastly{outlook, now, abstains})
	o.trip.Store(int64(at)) // who finds that fresh finds the rest
	if abstains == "" {
		o.name(outlook)
	}
	byName := make(map[string]*queue.QueueOutlook, len(outlook))
	for i := range outlook {
		byName[outlook[i].Queue] = &outlook[i]
	}
	for _, p := range pools {
		v, due := View{At: asked, Now: now, Abstains: abstains}, clock.Never
		for _, name := range p.Serving() {
			q := byName[name]
			if q != nil && q.Damage != "" && abstains == "" {
				v.Damaged = append(v.Damaged, name+": "+q.Damage)
			}
			if q == nil || q.Paused {
				continue
			}
			if q.Ready > 0 {
				v.Ready += q.Ready
				v.Queues = append(v.Queues, menu.Seen{Name: name, Head: q.Oldest(now)})
			}
			v.Oldest = max(v.Oldest, queue.Duration(q.Lag(now)))
			if q.NextDue > now {
				due = min(due, at+queue.Duration(q.NextDue-now))
			}
		}
		p.Tell(v, due)
	}
	if abstains != "" {
		return nil
	}
	return o.tend(ctx, pools, outlook)
}

// lacking says why nothing is to be taken and nothing looked after: the key space needs words that are not known here. It is
// "" where all are.
func (o *Lookout) lacking(outlook []queue.QueueOutlook) string {
	if len(outlook) == 0 || outlook[0].Lacks() == "" {
		return ""
	}
	words := outlook[0].Lacks()
	o.complaints.LeftOut("", []queue.Broken{{Reason: outlook[0].Damage}})
	return "the key space needs " + words + ", which this version does not know; upgrade it"
}

// tend looks after the turns of the queues that have keys, and the places of those that have rules: where something was
// amiss, again soon, for there may be more.
func (o *Lookout) tend(ctx context.Context, pools []Pool, outlook []queue.QueueOutlook) error {
	var keyed, idle []string
	worked := served(slices.DeleteFunc(slices.Clone(pools), func(p Pool) bool { return !p.Idle() }))
	ruled := false
	for _, q := range outlook {
		if q.Keys {
			keyed = append(keyed, q.Queue)
		}
		if ruled = ruled || q.Ruled; q.Ruled && !q.Paused && slices.Contains(worked, q.Queue) {
			idle = append(idle, q.Queue)
		}
	}
	if len(keyed) == 0 && !ruled {
		return nil
	}
	tended, err := o.redis.Tend(ctx, keyed, idle, o.poll/2)
	if err != nil {
		return err
	}
	o.complaints.LeftOut("", tended.Broken)
	if o.tended != nil && len(tended.Mended)+len(tended.Places) > 0 {
		o.tended(tended)
	}
	if tended.More {
		o.Soon()
	}
	return nil
}

// name says which queues are left out because one of their keys is not what it should be,
// and which are not any more, each once.
func (o *Lookout) name(outlook []queue.QueueOutlook) {
	damaged := map[string]string{}
	for _, q := range outlook {
		switch was := o.damaged[q.Queue]; {
		case q.Damage == "" && was != "":
			o.log.Info("queue is worked again", "queue", q.Queue)
		case q.Damage != was && queue.Broken{Reason: q.Damage}.Refused():
			o.log.Error("queue left out: Redis does not let us look into it", "queue", q.Queue, "damage", q.Damage)
		case q.Damage != was:
			o.log.Error("queue left out: one of its keys is of the wrong type; rename or delete it", "queue", q.Queue, "damage", q.Damage)
		}
		if q.Damage != "" {
			damaged[q.Queue] = q.Damage
		}
	}
	o.damaged = damaged
}

// resolveGlobs tells pools which queues their globs stand for.
func (o *Lookout) resolveGlobs(ctx context.Context, pools []Pool) error {
	if !slices.ContainsFunc(pools, globs) {
		return nil
	}
	known, err := o.redis.QueueNames(ctx)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if globs(p) {
			p.Found(Expand(p.Patterns(), known))
		}
	}
	return nil
}

// globs reports whether a pool is configured for globs.
func globs(p Pool) bool { return slices.ContainsFunc(p.Patterns(), queue.IsGlob) }

// served lists the queues of all pools, each once.
func served(pools []Pool) []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range pools {
		for _, name := range p.Serving() {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
	}
	return all
}

// maxQueues bounds how many queues the globs of a pool may stand for.
const maxQueues = 10_000

// Expand replaces globs by the queues they match, in the place of the glob; a queue is
// named once, where it comes first.
func Expand(patterns, known []string) []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] && len(names) < maxQueues {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, pattern := range patterns {
		if !queue.IsGlob(pattern) {
			add(pattern)
			continue
		}
		for _, name := range known {
			if queue.Match(pattern, name) {
				add(name)
			}
		}
	}
	return names
}
