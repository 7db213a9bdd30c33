package clock

import "time"

// Lease is until when we may act on a lock, on our own clock.
type Lease struct {
	Granted time.Duration // when the call that won or renewed the lock was sent
	Lock    time.Duration // how long it locks
}

// leaseMargin is what a lease is shorter than its lock, at least.
const leaseMargin = 200 * time.Millisecond

// End is when the child must be dead: some time before Redis may give the job to
// somebody else.
func (l Lease) End() time.Duration {
	return l.Granted + l.Lock - max(leaseMargin, l.Lock/10)
}

// Renewal is when the lock is to be renewed.
func (l Lease) Renewal() time.Duration { return l.Granted + l.Lock/3 }

// Warning is when a child that gets grace to stop must be asked to, so that it is
// dead at the end.
func (l Lease) Warning(grace time.Duration) time.Duration {
	return l.End() - min(grace, l.Lock/3)
}
