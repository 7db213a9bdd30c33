// Package pace says when a call to Redis had better wait for more of what it is to tell. It owns what
// was learned of how fast calls are answered and how fast endings follow each other. It makes no
// calls, and knows neither jobs nor Redis.
package pace

import (
	"time"

	"oarlock/supervisor/internal/clock"
)

// Pace is what is known of a pool's calls and endings. Times are on the pool's clock. It belongs to
// the pool's loop.
type Pace struct {
	roundTrip time.Duration // of the last take; clock.Never before the first
	trippedAt time.Duration // when
	since     time.Duration // when the oldest of the endings came that are to be settled
	last      time.Duration // when the newest came
	pace      time.Duration // how fast endings follow each other, as a moving average
}

// New is a pace of which nothing is known.
func New() Pace { return Pace{roundTrip: clock.Never} }

// Tripped notes that a take was answered now, and how long that took.
func (p *Pace) Tripped(took, now time.Duration) { p.roundTrip, p.trippedAt = took, now }

// RoundTrip returns how long the last take was on its way, and when it was answered; known is false
// if none was.
func (p *Pace) RoundTrip() (took, at time.Duration, known bool) {
	return p.roundTrip, p.trippedAt, p.roundTrip != clock.Never
}

// Ended notes that an attempt has ended; first says that none waited to be settled.
func (p *Pace) Ended(now time.Duration, first bool) {
	if first {
		p.since = now
	}
	p.pace += (now - p.last - p.pace) / 8
	p.last = now
}

// Since returns when the oldest of the endings came that are to be settled.
func (p *Pace) Since() time.Duration { return p.since }

// Gather reports whether it is worth waiting for further endings before the next call is sent, and
// until when: they follow each other much faster than calls do, and since the last reply, and
// since the oldest of them came, not as much time has passed as a call takes.
func (p *Pace) Gather(now time.Duration) (until time.Duration, wait bool) {
	if p.roundTrip == clock.Never || p.pace > p.roundTrip/2 {
		return 0, false
	}
	until = max(p.since, p.trippedAt) + p.roundTrip
	return until, now < until
}

// Batch is how many endings, of so many attempts that are not over, are enough for a call. A call
// that waits for all costs Redis least, but leaves it idle while the last children work, and all of
// them idle during the call. With jobs prefetched, half of the work hides the call, or less: one of more than enough
// costs hardly less a job, and what it has not told yet is lost with a supervisor that is killed.
func Batch(attempts int, prefetched bool) int {
	if prefetched {
		return min((attempts+1)/2, enough)
	}
	return (9*attempts + 9) / 10
}

// enough is how many endings share what a call costs by itself, so that more would save hardly anything.
const enough = 32
