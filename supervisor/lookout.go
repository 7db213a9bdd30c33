package supervisor

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
)

const (
	// sweepPause is how often locks that ran out are looked after, in all queues.
	sweepPause = 5 * time.Second
	// sweepLimit is how many of them per queue at a time.
	sweepLimit = 50
	// queuesPause is how often the list of queues is read, for pools with globs.
	queuesPause = 5 * time.Second
)

// lookout looks at all queues of a supervisor in one call per poll interval, and tells
// the pools what there is for them: that is what it costs to have many pools with
// nothing to do. What is put by our own commands is announced besides.
type lookout struct {
	redis      redis
	gate       *gate.Gate
	clock      func() time.Duration
	poll       time.Duration
	log        *slog.Logger
	asked      chan struct{} // of size 1: somebody wants to see soon
	missed     atomic.Bool   // puts, so there may be queues that nobody knows of
	complaints *complaints

	damaged map[string]string // by queue: what is wrong with it, as last said; of the goroutine of run

	mu    sync.Mutex
	pools []*pool

	trip atomic.Int64 // when the last look was answered, on the clock; 0 never
}

// view is what a pool was last told of its queues.
type view struct {
	at      time.Duration // when that was asked
	now     float64       // the same on Redis' clock
	ready   int           // jobs that could be taken
	oldest  time.Duration // how long the oldest of those next in turn has been waiting
	queues  []seenQueue   // in which there are any
	damaged []string      // those that are left out, each with what is wrong with it
}

// watch replaces the pools that are told.
func (o *lookout) watch(pools []*pool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pools = slices.Clone(pools)
}

func (o *lookout) watched() []*pool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.pools)
}

// run looks until ctx ends.
func (o *lookout) run(ctx context.Context) {
	var sweepAt, queuesAt time.Duration
	for looked := o.clock(); ; looked = o.clock() {
		select {
		case <-ctx.Done():
			return
		case <-o.gate.Open():
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
		if err == nil && now >= sweepAt {
			sweepAt = now + clock.Jittered(sweepPause)
			err = o.sweep(ctx, queues)
		}
		if err == nil {
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
func (o *lookout) sweep(ctx context.Context, queues []string) error {
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
	o.complaints.leftOut("", swept.Broken)
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

// soonPause is how long the lookout waits when it is asked to look soon: more may be
// about to come, and more pools may ask.
const soonPause = 100 * time.Millisecond

// rest waits until it is time to look again, and reports whether that came before the
// end of ctx.
func (o *lookout) rest(ctx context.Context) bool {
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

// soon asks for a look before the poll interval is over. Safe for concurrent use.
func (o *lookout) soon() {
	select {
	case o.asked <- struct{}{}:
	default: // somebody has asked
	}
}

// missedPuts hears that puts were not heard of, into queues unknown. Safe for concurrent use.
func (o *lookout) missedPuts() {
	o.missed.Store(true)
	o.soon()
}

// failed hears that a look failed, which may be repeated.
func (o *lookout) failed(err error) {
	switch o.gate.SortHarmless(err) {
	case gate.Away, gate.Full: // the gate has said so
	default:
		o.log.Error("queues not looked at", "err", err)
	}
}

// look asks what there is in the queues and tells the pools.
func (o *lookout) look(ctx context.Context, pools []*pool, queues []string) error {
	asked := o.clock()
	outlook, now, err := o.redis.Outlook(ctx, queues)
	if err != nil {
		return err
	}
	at := o.clock()
	o.trip.Store(int64(at))
	byName := make(map[string]*queue.QueueOutlook, len(outlook))
	for i := range outlook {
		byName[outlook[i].Queue] = &outlook[i]
	}
	o.name(outlook)
	for _, p := range pools {
		v, due := view{at: asked, now: now}, never
		for _, name := range p.serving() {
			q := byName[name]
			if q != nil && q.Damage != "" {
				v.damaged = append(v.damaged, name+": "+q.Damage)
			}
			if q == nil || q.Paused {
				continue
			}
			if q.Ready > 0 {
				v.ready += q.Ready
				v.queues = append(v.queues, seenQueue{name, q.Oldest(now)})
			}
			if q.HeadPut > 0 {
				v.oldest = max(v.oldest, queue.Duration(now-q.HeadPut))
			}
			if q.NextDue > now {
				due = min(due, at+queue.Duration(q.NextDue-now))
			}
		}
		p.tell(v, due)
	}
	return nil
}

// name says which queues are left out because one of their keys is not what it should be,
// and which are not any more, each once.
func (o *lookout) name(outlook []queue.QueueOutlook) {
	damaged := map[string]string{}
	for _, q := range outlook {
		switch was := o.damaged[q.Queue]; {
		case q.Damage == "" && was != "":
			o.log.Info("queue is worked again", "queue", q.Queue)
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
func (o *lookout) resolveGlobs(ctx context.Context, pools []*pool) error {
	if !slices.ContainsFunc(pools, (*pool).globs) {
		return nil
	}
	known, err := o.redis.QueueNames(ctx)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if p.globs() {
			names := expand(p.patterns(), known)
			p.post(func() { p.serve(names) })
		}
	}
	return nil
}

// served lists the queues of all pools, each once.
func served(pools []*pool) []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range pools {
		for _, name := range p.serving() {
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

// expand replaces globs by the queues they match, in the place of the glob; a queue is
// named once, where it comes first.
func expand(patterns, known []string) []string {
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

// serve sets the queues that the pool takes from. It belongs to the loop.
func (p *pool) serve(queues []string) {
	if slices.Equal(queues, p.queues) {
		return
	}
	p.queues = queues // calls that are out keep the slice before
	p.menu.serve(queues, p.cfg.Order)
	p.exchanges.wake()
	p.named.Store(&queues)
}

// patterns are the names and globs that the pool is configured for. Safe for
// concurrent use.
func (p *pool) patterns() []string { return *p.asked.Load() }

// globs reports whether there are globs among them. Safe for concurrent use.
func (p *pool) globs() bool { return slices.ContainsFunc(p.patterns(), queue.IsGlob) }

// serving lists the queues that the pool takes from. Safe for concurrent use.
func (p *pool) serving() []string {
	if names := p.named.Load(); names != nil {
		return *names
	}
	return nil
}

// tell passes on what there is in the pool's queues, and when the next job is due. It
// does not wake the pool if that changes nothing. Safe for concurrent use.
func (p *pool) tell(v view, due time.Duration) {
	if last := p.told.Swap(&v); v.ready == 0 && due == never && last != nil && last.ready == 0 && slices.Equal(v.damaged, last.damaged) {
		return
	}
	p.post(func() {
		p.view = v
		p.saw(v)
		p.menu.see(v.queues, v.now)
		if v.ready > 0 {
			p.exchanges.wake()
		}
		p.exchanges.wakeAt(due)
	})
}
