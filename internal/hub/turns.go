package hub

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/supervisor"
)

const (
	// turnsPause is how long turns that end are summed up: of a queue one event is told in that time.
	turnsPause = time.Second
	// mostTurns is for how many queues, those where most of them ended; the others are told together.
	mostTurns = 20
)

// turns are how many jobs that had the turn of a key have ended since that was last told, by queue. They are summed up, for keys
// may end by the thousand a second.
type turns struct {
	some chan struct{} // of size 1: there are some, where there were none

	mu     sync.Mutex // for memory only
	queues map[string]supervisor.Event
}

// settled hears of a job of which Redis knows how it ended.
func (t *turns) settled(e *supervisor.Event) {
	if e.Job == nil || e.Job.Key == "" || !turnOver(e) {
		return
	}
	t.mu.Lock()
	first := len(t.queues) == 0
	if first {
		t.queues = map[string]supervisor.Event{}
	}
	t.queues[e.Job.Queue] = supervisor.Event{
		Kind: supervisor.TurnsEnded, Queue: e.Job.Queue, JID: e.Job.JID, Klass: e.Job.Klass, Name: e.Job.Key, Count: t.queues[e.Job.Queue].Count + 1,
	}
	t.mu.Unlock()
	if first {
		select {
		case t.some <- struct{}{}:
		default: // those of before are still to be told
		}
	}
}

// turnOver reports whether a job that was settled is over in its queue, and not to be tried again.
func turnOver(e *supervisor.Event) bool {
	switch e.Action {
	case queue.Complete, queue.Cancel, queue.Requeue:
		return true
	}
	return e.State == "failed"
}

// take returns what is to be told, and forgets it.
func (t *turns) take() (told []supervisor.Event) {
	t.mu.Lock()
	all := t.queues
	t.queues = nil
	t.mu.Unlock()
	for _, e := range all {
		told = append(told, e)
	}
	slices.SortFunc(told, func(a, b supervisor.Event) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Queue, b.Queue))
	})
	if len(told) <= mostTurns {
		return told
	}
	rest := supervisor.Event{Kind: supervisor.TurnsEnded}
	for _, e := range told[mostTurns:] {
		rest.Count += e.Count
	}
	return append(told[:mostTurns], rest)
}

// sumUp tells of turns that have ended, until ctx ends. While none do it waits.
func (h *Hub) sumUp(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.turns.some:
		}
		pause := time.NewTimer(turnsPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
		for _, e := range h.turns.take() {
			h.keep(&e)
		}
	}
}
