package runner

import (
	"fmt"
	"time"

	"oarlock/protocol"
)

// held is the latest of the values that a child sends too often to be passed on
// each time.
type held[T any] struct {
	value T
	any   bool      // there was one
	due   time.Time // when value is to be passed on; zero: it was
	next  time.Time // when one may be passed on again
}

// interval is the time between two values that are passed on.
const interval = time.Second

// set keeps v. It tells whether to pass it on at once.
func (h *held[T]) set(v T, now time.Time) bool {
	h.value, h.any = v, true
	if now.Before(h.next) {
		h.due = h.next
		return false
	}
	h.due, h.next = time.Time{}, now.Add(interval)
	return true
}

// passed notes that the value is passed on at now, when it was due.
func (h *held[T]) passed(now time.Time) { h.due, h.next = time.Time{}, now.Add(interval) }

// progress keeps how far r is.
func (c *Child) progress(r *Run, st *protocol.Status, now time.Time) {
	c.mu.Lock()
	passOn := r.progress.set(*st.Progress, now)
	due := r.progress.due
	c.mu.Unlock()
	if passOn {
		c.events.Progress(c, r, *st.Progress)
	} else {
		c.host.clock.arm(due)
	}
}

// checkpoint keeps what the next attempt of r's job is to get.
func (c *Child) checkpoint(r *Run, st *protocol.Status, now time.Time) {
	c.mu.Lock()
	passOn := r.checkpoint.set(st.Data, now)
	due := r.checkpoint.due
	c.mu.Unlock()
	if passOn {
		c.events.Checkpoint(c, r, st.Data)
	} else {
		c.host.clock.arm(due)
	}
}

// put keeps a job that r wants to be put. One that cannot be kept breaks the
// protocol: the run must not be acknowledged without it.
func (c *Child) put(s *stream, r *Run, st *protocol.Status, now time.Time) {
	why := ""
	c.mu.Lock()
	r.putBytes += len(st.Put.Data)
	switch {
	case st.Err != nil:
		why = "its put cannot be understood: " + st.Err.Error()
	case len(r.puts) == protocol.MaxPuts:
		why = fmt.Sprintf("it puts more than %d jobs", protocol.MaxPuts)
	case r.putBytes > protocol.MaxPutBytes:
		why = fmt.Sprintf("it puts more than %d bytes", protocol.MaxPutBytes)
	default:
		r.puts = append(r.puts, *st.Put)
	}
	c.mu.Unlock()
	if why != "" {
		c.breach(s, r, BrokeProtocol, "protocol", why, now)
	}
}
