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
	bytes     int64         // how many bytes of data the next take asks for; 0: as many as a call brings
	fast      int           // takes in a row that were fast since that was set
	trust     int           // how many of these it takes to ask for more; it doubles each time that was too much
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

// Bytes returns how many bytes of data a take should ask for; 0 is as many as a call brings at most.
func (p *Pace) Bytes() int64 { return p.bytes }

const (
	// sizable is from how many bytes on it may be their size that makes a call slow.
	sizable = 64 << 10
	// usualBytes is what a call brings at most where it is not asked for less.
	usualBytes = 4 << 20
	// leastTrust and mostTrust bound the number of fast takes that let the next ask for more.
	leastTrust, mostTrust = 4, 256
	// timeout is how long a call in doubt was on its way at least, if it was not just cut off.
	timeout = time.Second
)

// Brought learns from a take that brought that many bytes of jobs; lock is the shortest of their locks. If it took more than a quarter of
// lock, the next take asks for half as much, down to one job, and reduced is true. When takes are fast again, they bring more again.
func (p *Pace) Brought(bytes int64, took, lock time.Duration) (reduced bool) {
	switch {
	case bytes >= sizable && took > lock/4:
		p.reduce(bytes)
		return true
	case took > lock/16:
		p.fast = 0
	default:
		p.fast++
	}
	switch {
	case p.bytes == 0 && p.fast > mostTrust:
		p.trust = 0
	case p.bytes > 0 && p.fast >= p.trust:
		p.fast = 0
		if p.bytes = max(2*p.bytes, sizable); p.bytes >= usualBytes {
			p.bytes = 0
		}
	}
	return false
}

// reduce asks for half of bytes, and waits longer before it asks for more.
func (p *Pace) reduce(bytes int64) {
	p.bytes, p.fast = max(bytes/2, 1), 0
	p.trust = min(max(leastTrust, 2*p.trust), mostTrust)
}

// Doubted learns from a take that was in doubt after that time and had taken that many bytes of jobs.
func (p *Pace) Doubted(bytes int64, took time.Duration) (reduced bool) {
	if bytes < sizable || took < timeout {
		return false
	}
	p.reduce(bytes)
	return true
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
