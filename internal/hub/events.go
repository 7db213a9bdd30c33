package hub

import (
	"context"
	"errors"
	"time"

	"oarlock/supervisor"
)

const (
	// chunkSize is how many events are kept, and forgotten, together.
	chunkSize = 250
	// mostChunks bounds those that are kept: 10,000 events, and the chunk that is being filled.
	mostChunks = 41
	// mostAge is how long an event can be asked for.
	mostAge = 5 * time.Minute
)

// chunk is a run of events. Those below its length do not change any more, so that they are read without a lock.
type chunk [chunkSize]Event

// events are the last that happened, under the hub's lock. Readers are cursors into them: one that is slow finds
// that what it wants next is gone, and nobody waits for it.
type events struct {
	chunks  []*chunk // oldest first; all but the last are full
	filled  int      // of the last
	first   uint64   // id of the oldest event
	next    uint64   // id of the next to come
	readers int
	began   time.Time
	left    time.Time     // when the last reader did
	more    chan struct{} // closed when there are more; nil while nobody waits
}

// begin sets the ids to those that no process before had, as long as the clock of the host does not go back.
func (s *events) begin(now time.Time) {
	s.first = uint64(now.UnixMicro())
	s.next, s.began = s.first, now
}

// add keeps an event. Memory is made for 250 at once, and used again while nobody reads.
func (s *events) add(e *supervisor.Event, now time.Time) {
	if len(s.chunks) == 0 || s.filled == chunkSize {
		fresh := (*chunk)(nil)
		if len(s.chunks) == mostChunks {
			if s.readers == 0 {
				fresh = s.chunks[0]
			}
			s.chunks = append(s.chunks[:0], s.chunks[1:]...)
			s.first += chunkSize
		}
		if fresh == nil {
			fresh = new(chunk)
		}
		s.chunks, s.filled = append(s.chunks, fresh), 0
	}
	one := &s.chunks[len(s.chunks)-1][s.filled]
	one.set(e, s.next, now)
	one.kept = now.Sub(s.began)
	s.filled++
	s.next++
}

// from returns events from an id on, as many as lie together; none if there are none yet. The id is not below first.
func (s *events) from(id uint64) []Event {
	if id >= s.next {
		return nil
	}
	at := int(id - s.first)
	c, end := at/chunkSize, chunkSize
	if c == len(s.chunks)-1 {
		end = s.filled
	}
	return s.chunks[c][at%chunkSize : end]
}

// oldest is the id of the oldest event that is not older than a moment.
func (s *events) oldest(since time.Time) uint64 {
	limit := since.Sub(s.began)
	low, high := s.first, s.next
	for low < high { // they are in order
		middle := low + (high-low)/2
		if s.from(middle)[0].kept < limit {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Listener reads events, at its own pace. It is for one goroutine.
type Listener struct {
	hub    *Hub
	next   uint64
	missed bool
	closed bool
}

// ErrOver says that the hub has ended.
var ErrOver = errors.New("the supervisor has left")

// Listen reads the events that come from now on. The caller closes what it returns.
func (h *Hub) Listen() *Listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events.readers++
	h.listened.Store(true)
	return &Listener{hub: h, next: h.events.next}
}

// ListenAfter reads the events after the one of that id, as far as they are kept: 10,000, for five minutes; of jobs that go
// well only since somebody listens, and for five minutes after the last did. Where
// some in between are gone, or the id is of none that this process knows, what Next returns first says so.
func (h *Hub) ListenAfter(id uint64) *Listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events.readers++
	h.listened.Store(true)
	oldest := h.events.oldest(time.Now().Add(-mostAge))
	l := &Listener{hub: h, next: id + 1}
	if id+1 < oldest || id+1 > h.events.next {
		l.next, l.missed = oldest, true
	}
	return l
}

// Next waits for events and returns some, oldest first. They are the caller's to read until the next call of Next or
// Close. missed says that some before them are gone: whoever shows them should look anew. The error is that of ctx,
// or ErrOver.
func (l *Listener) Next(ctx context.Context) (batch []Event, missed bool, err error) {
	h := l.hub
	for {
		h.mu.Lock()
		if l.next < h.events.first {
			l.next, l.missed = h.events.first, true
		}
		batch = h.events.from(l.next)
		var more chan struct{}
		if len(batch) == 0 {
			if h.events.more == nil {
				h.events.more = make(chan struct{})
			}
			more = h.events.more
		}
		h.mu.Unlock()
		if len(batch) > 0 || l.missed {
			missed, l.missed = l.missed, false
			l.next += uint64(len(batch))
			return batch, missed, nil
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-h.ctx.Done():
			return nil, false, ErrOver
		case <-more:
		}
	}
}

// Close ends the reading. It may be called more than once.
func (l *Listener) Close() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.hub.events.readers--
		l.hub.events.left = time.Now()
	}
}

// unheard notes if nobody has listened for as long as anybody could come back and go on where he was.
func (h *Hub) unheard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.events.readers == 0 && time.Since(h.events.left) > mostAge {
		h.listened.Store(false)
	}
}
