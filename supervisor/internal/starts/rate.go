package starts

import "time"

// maxRate is how many resident children a pool starts in a second, besides those that
// take the place of one that has worked a job.
const maxRate = 32

// Rate keeps one pool from starting too many children at once. The zero value is ready. It
// belongs to one goroutine.
type Rate struct {
	since time.Duration
	n     int // starts since then that no child has earned
}

// Next returns when the next start may be.
func (r *Rate) Next(now time.Duration) time.Duration {
	if now-r.since < time.Second && r.n >= maxRate {
		return r.since + time.Second
	}
	return now
}

// Note notes that a child is being started.
func (r *Rate) Note(now time.Duration) {
	if now-r.since >= time.Second {
		r.since, r.n = now, 0
	}
	r.n++
}

// Earned notes that a child worked its first job, by which it earns its successor's start:
// children that are replaced often are not to wait for each other.
func (r *Rate) Earned() { r.n = max(r.n-1, 0) }
