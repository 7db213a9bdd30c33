// Package hub tells whoever looks on what just happened in this process: events, what children printed last, how
// it went over the last day, and the views that are being watched. It owns the memory of that, all of it bounded, and
// hears the supervisor's events and lines without ever making it wait: who listens too slowly misses something and is
// told so. It must not know who looks on, nor Redis, nor how anything is shown.
package hub

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"oarlock/queue"
	"oarlock/supervisor"
)

// Options are what a hub is told.
type Options struct {
	// Snapshot describes the supervisor as it is now. It may take a second.
	Snapshot func() supervisor.Snapshot
	// Events and Lines hear everything that the hub does, from the same goroutines, after it. They must not block.
	Events []func(supervisor.Event)
	Lines  []func(supervisor.Line)
	// Logger hears of views that cannot be computed; nil discards it.
	Logger *slog.Logger
}

// Hub is where a supervisor's events and lines go, and where any number of readers find them. New makes one;
// its methods are safe for concurrent use, those that wait end when Run has returned.
type Hub struct {
	o       Options
	log     *slog.Logger
	ctx     context.Context // ends with Run
	end     context.CancelFunc
	topics  topics
	shots   shots
	logs    logs
	history history
	turns   turns

	listened atomic.Bool // somebody listens to events, or did so a while ago

	mu     sync.Mutex // for memory only: the loops of the pools wait for it
	events events
	pulse  chan struct{} // of size 1: somebody waits for events, and there are some
}

// New makes a hub. It hears and answers at once; waking who waits, and sampling, take Run.
func New(o Options) *Hub {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Hub{o: o, log: o.Logger, pulse: make(chan struct{}, 1), turns: turns{some: make(chan struct{}, 1)}}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.events.begin(time.Now())
	h.topics.all = map[string]*topic{}
	h.logs.rings = map[slotKey]*ring{}
	h.history.begin()
	h.shots = shots{ask: o.Snapshot, asking: make(chan struct{}, 1)}
	return h
}

// Run wakes who waits, and takes samples, until ctx ends. It is called once, and returns nil when nothing of it is left;
// then every wait of a reader is over.
func (h *Hub) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() { h.wake(ctx) })
	parts.Go(func() { h.sample(ctx) })
	parts.Go(func() { h.sumUp(ctx) })
	<-ctx.Done()
	h.end()
	parts.Wait()
	h.topics.wait()
	return nil
}

// Note hears an event of the supervisor, from the loop of a pool. It copies what it keeps, and waits for nothing.
func (h *Hub) Note(e supervisor.Event) {
	h.history.count(&e)
	if e.Kind == supervisor.Settled && h.listened.Load() {
		h.turns.settled(&e)
	}
	if h.keeps(&e) {
		h.keep(&e)
	}
	if e.Kind == supervisor.PoolEnded && !h.history.lives(e.Pool) {
		h.logs.forget(e.Pool)
	}
	for _, hear := range h.o.Events {
		hear(e)
	}
}

// keep keeps an event, for who listens.
func (h *Hub) keep(e *supervisor.Event) {
	now := time.Now()
	h.mu.Lock()
	h.events.add(e, now)
	awaited := h.events.more != nil
	h.mu.Unlock()
	if awaited {
		select {
		case h.pulse <- struct{}{}:
		default: // Run will hear of it
		}
	}
}

// Listened reports whether somebody listens to events, or did so a while ago: what is told to nobody else need not be found out for anybody.
func (h *Hub) Listened() bool { return h.listened.Load() }

// Missed is the kind of what is told in place of events that are no longer remembered, or were too many for who reads: look anew.
const Missed supervisor.EventKind = "missed"

// kinds are the kinds of events that listeners may be told of. Others come with every call and every job, and are told otherwise.
var kinds = []supervisor.EventKind{
	supervisor.ChildStarted, supervisor.ChildReady, supervisor.ChildExited, supervisor.AttemptStarted, supervisor.Progressed, supervisor.AttemptEnded,
	supervisor.SetAside, supervisor.Parked, supervisor.ParkTimedOut, supervisor.TurnsEnded, supervisor.LockLost, supervisor.BreakerOpened, supervisor.BreakerClosed, supervisor.RollBegan, supervisor.RollEnded, supervisor.Scaled,
	supervisor.PoolBegan, supervisor.PoolEnded, supervisor.RedisAway, supervisor.RedisBack, supervisor.Reloaded, supervisor.RulesChanged,
	supervisor.Tended, supervisor.Answered, supervisor.AnswersRead, supervisor.WindowOpened, supervisor.WindowShut, supervisor.ThrottleFull, supervisor.ThrottleFree,
}

// KindNames are the kinds of events that listeners may be told of, Missed first.
func KindNames() []string {
	names := []string{string(Missed)}
	for _, kind := range kinds {
		names = append(names, string(kind))
	}
	return names
}

// keeps reports whether an event is to be kept. What happens to jobs that go well fills the memory of many events, for
// nobody while nobody listens: it is kept from when somebody does.
func (h *Hub) keeps(e *supervisor.Event) bool {
	switch e.Kind {
	case supervisor.Settling, supervisor.RoundTrip, supervisor.Settled, supervisor.Renewed: // too many, and told otherwise
		return false
	case supervisor.AttemptStarted, supervisor.Progressed, supervisor.Answered, supervisor.AnswersRead, supervisor.Parked:
		return h.listened.Load()
	case supervisor.AttemptEnded:
		return e.Action != queue.Complete || h.listened.Load()
	}
	return true
}

// Line hears what a child printed. It copies what it keeps, and waits for nothing.
func (h *Hub) Line(l supervisor.Line) {
	h.logs.add(&l, time.Now())
	for _, hear := range h.o.Lines {
		hear(l)
	}
}

// wakePause is how long listeners are left alone after they were woken: what comes meanwhile comes together.
const wakePause = 20 * time.Millisecond

// wake wakes listeners, so that no loop of a pool has to.
func (h *Hub) wake(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.pulse:
		}
		h.mu.Lock()
		more := h.events.more
		h.events.more = nil
		h.mu.Unlock()
		if more != nil {
			close(more)
		}
		pause.Reset(wakePause)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}
