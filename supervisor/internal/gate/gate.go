// Package gate is where a supervisor waits for Redis, and the one place that says what the
// error of a call to it means. It owns whether Redis is thought to be away, and the pace at
// which that is asked. It knows nothing of pools, children or what the calls are about.
package gate

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"oarlock/queue"
)

// While Redis is away one ping at a time asks for it, however many pools there are,
// after waits that grow from gateFirst to gateLimit, give or take gateSpread: fewer than
// forty a minute, and often enough that work goes on within two seconds of Redis' return.
const (
	gateFirst  = 50 * time.Millisecond
	gateLimit  = 1800 * time.Millisecond
	gateGrowth = 3
	gateSpread = 0.05
)

// Gate is the one place where a supervisor waits for Redis. It starts closed.
// Pools send nothing while it is closed; a call that finds Redis away closes it, see Sort, and
// its own loop opens it again when a ping was answered. Safe for concurrent use.
type Gate struct {
	ping func(context.Context) error
	log  *slog.Logger
	tell func(away error)

	mu     sync.Mutex
	opened chan struct{}    // Closed while the gate is open
	shut   chan struct{}    // closed while it is not
	trips  chan struct{}    // of size 1: wakes the loop
	err    error            // why it is closed
	last   queue.ErrorClass // of what closed it last
	since  time.Time        // when it was opened last
	flaps  bool             // it closes again as soon as it is open, for the same reason: that was said, and is not each time
	said   time.Time        // when the log was told last that it is closed
	full   error            // what it says while it has no memory left; the gate stays open then
	waits  *backoff.ExponentialBackOff
}

// New makes a gate that asks for Redis by ping, from Run, and tells log of outages. If tell is not nil,
// it is told of them too, of why Redis is away and, by nil, that it is back, one after the other; it must not block.
func New(ping func(context.Context) error, log *slog.Logger, tell func(away error)) *Gate {
	if tell == nil {
		tell = func(error) {}
	}
	g := &Gate{
		ping:   ping,
		log:    log,
		tell:   tell,
		opened: make(chan struct{}),
		shut:   make(chan struct{}),
		trips:  make(chan struct{}, 1),
		waits: &backoff.ExponentialBackOff{
			InitialInterval:     gateFirst,
			RandomizationFactor: gateSpread,
			Multiplier:          gateGrowth,
			MaxInterval:         gateLimit,
		},
	}
	close(g.shut)
	return g
}

// Open returns a channel that is closed while Redis is thought to be there.
func (g *Gate) Open() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

// closed returns a channel that is closed while Redis is thought to be away.
func (g *Gate) Closed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// IsOpen reports whether Redis is thought to be there.
func (g *Gate) IsOpen() bool {
	select {
	case <-g.Open():
		return true
	default:
		return false
	}
}

// trip closes the gate because a call found Redis away with err. Pools that find
// the same outage at the same time trip it once.
func (g *Gate) trip(err error) {
	shut, said := g.shutBy(err)
	if !shut {
		return
	}
	if !said {
		g.log.Warn("redis "+trouble(err), "err", err)
	} else {
		g.sayAgain(err)
	}
	g.tell(err)
	select {
	case g.trips <- struct{}{}: // after that is told: the loop may open the gate, and tell that, from here on
	default:
	}
}

// shutBy closes the gate, if it was open. said tells that the reason is none that is new.
func (g *Gate) shutBy(err error) (shut, said bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		return false, false
	}
	class := queue.Class(err)
	again := class == g.last && !g.settled()
	if said = g.flaps && again; !said {
		g.said = time.Now()
	}
	g.flaps, g.last = again, class
	g.opened = make(chan struct{})
	close(g.shut)
	g.err = err
	return true, said
}

// sayAgain tells the log once a minute that Redis is away still, or again and again.
func (g *Gate) sayAgain(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.said) >= time.Minute {
		g.said = time.Now()
		g.log.Warn("redis still "+trouble(err), "err", err)
	}
}

// settled reports whether the gate has been open for long enough that it may be believed to stay so. The caller holds mu.
func (g *Gate) settled() bool { return time.Since(g.since) >= gateLimit }

// Worked records that a call went through: the next outage waits shortly again.
// A ping alone does not say so, since some states of Redis answer a ping and
// refuse the rest; nor does a call while the gate was opened just now, since others may be refused.
func (g *Gate) Worked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.settled() {
		return
	}
	g.waits.Reset()
	if g.flaps {
		g.flaps = false
		g.log.Info("redis is back")
	}
}

// Run asks for Redis whenever the gate is closed, until ctx ends. It is called once.
func (g *Gate) Run(ctx context.Context) {
	wait := time.Duration(0) // the very first ping goes at once
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		err := g.ping(ctx)
		if err != nil {
			g.mu.Lock()
			first := g.err == nil
			if first || trouble(g.err) != trouble(err) {
				g.log.Warn("redis "+trouble(err), "err", err)
				g.said = time.Now()
			}
			g.err = err
			wait = g.waits.NextBackOff()
			g.mu.Unlock()
			g.sayAgain(err)
			if first {
				g.tell(err)
			}
			continue
		}
		g.reopen()
		select {
		case <-ctx.Done():
			return
		case <-g.trips:
		}
		g.mu.Lock()
		wait = g.waits.NextBackOff()
		g.mu.Unlock()
	}
}

// reopen lets everybody through.
func (g *Gate) reopen() {
	if g.Reason() != nil {
		g.tell(nil) // before anybody can find it away again
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch what := trouble(g.err); {
	case what == "" || g.flaps:
	case what == NoWrites:
		g.log.Info("redis takes writes again")
	default:
		g.log.Info("redis is back")
	}
	g.err, g.since = nil, time.Now()
	g.shut = make(chan struct{})
	close(g.opened)
}

// outOfMemory records that Redis refused something with err for want of memory. What frees
// some still works, so the gate stays open.
func (g *Gate) outOfMemory(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.full == nil {
		g.log.Error("redis "+NoMemory+": "+Means(NoMemory), "err", err)
	}
	g.full = err
}

// HasMemory records that Redis takes what needs memory.
func (g *Gate) HasMemory() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.full != nil {
		g.log.Info("redis has memory again")
	}
	g.full = nil
}

// Beginnings of what Describe returns that say of a Redis which is there what it lacks.
const (
	NoWrites = "takes no writes"
	NoMemory = "is out of memory"
)

// Means says what jobs cannot do while Redis is as NoWrites or NoMemory say, or away. Without memory a
// take still rides with what frees some: a settlement.
func Means(what string) string {
	if what == NoMemory {
		return "no job can be put; a child that ends a job still takes the next"
	}
	return "no jobs are taken"
}

// trouble says in a word or two what err means for Redis; "" of nil.
func trouble(err error) string {
	switch queue.Class(err) {
	case queue.Success:
		return ""
	case queue.ReadOnly, queue.Disk:
		return NoWrites
	case queue.Memory:
		return NoMemory
	}
	return "is away"
}

// Reason returns why the gate is closed, nil when it is open or was never tried.
func (g *Gate) Reason() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Describe says how Redis is: "ok", or why it is away, or NoWrites or NoMemory and why.
func (g *Gate) Describe() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.err
	if err == nil {
		err = g.full
	}
	switch what := trouble(err); what {
	case "":
		return "ok"
	case NoWrites, NoMemory:
		return what + ": " + err.Error()
	}
	return err.Error()
}
