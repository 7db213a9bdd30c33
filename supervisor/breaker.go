package supervisor

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// A pool whose jobs all fail is broken more likely than its jobs are. This many
// endings in a row that are no ack, over at least so many different jobs, open
// its breaker.
const (
	breakerEndings = 20
	breakerJobs    = 5
)

// The wait before a probe grows from breakerFirst to breakerLimit.
const (
	breakerFirst = time.Second
	breakerLimit = 30 * time.Second
)

// breaker keeps a pool from burning its queue: while it is open the pool takes
// nothing, except a single job now and then as a probe, and the first ack closes
// it again. The zero value is not usable; newBreaker makes one. It belongs to
// its pool's loop.
type breaker struct {
	row    int                 // endings without an ack since the last one
	jobs   map[string]struct{} // the jobs they were about, up to breakerJobs
	reason string              // why it is open; "" when closed
	until  time.Duration       // on the pool's clock: when the next probe may go
	probe  bool                // a probe is out
	waits  *backoff.ExponentialBackOff
}

func newBreaker() breaker {
	return breaker{jobs: map[string]struct{}{}, waits: growing(breakerFirst, breakerLimit)}
}

// acked records that a job was acknowledged. It reports whether that closed an
// open breaker.
func (b *breaker) acked() (closed bool) {
	closed = b.reason != ""
	b.row, b.reason, b.probe = 0, "", false
	clear(b.jobs)
	b.waits.Reset()
	return closed
}

// failed records an ending that is no ack, of the job jid, at the time now; why
// is a few words on it. It reports whether that opened a closed breaker.
func (b *breaker) failed(jid, why string, now time.Duration) (opened bool) {
	b.row++
	if len(b.jobs) < breakerJobs {
		b.jobs[jid] = struct{}{}
	}
	if b.reason == "" && (b.row < breakerEndings || len(b.jobs) < breakerJobs) {
		return false
	}
	return b.open(why, now)
}

// open stops the pool's takes until a wait from now, whatever was counted. It
// reports whether the breaker was closed before.
func (b *breaker) open(why string, now time.Duration) (opened bool) {
	opened = b.reason == ""
	if opened || b.probe {
		b.until = now + b.waits.NextBackOff()
	}
	b.reason, b.probe = why, false
	return opened
}

// allows returns how many of want jobs may be taken now: all when the breaker is
// closed, one when a probe is due, else none.
func (b *breaker) allows(want int, now time.Duration) int {
	switch {
	case b.reason == "" || want == 0:
		return want
	case b.probe || now < b.until:
		return 0
	}
	return 1
}

// probing records that a job is out while the breaker is open.
func (b *breaker) probing() {
	b.probe = b.reason != ""
}

// unanswered records that the probe ended without a word on the pool, as when
// its job was canceled; the next may go at once.
func (b *breaker) unanswered() { b.probe = false }
