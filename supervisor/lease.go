package supervisor

import (
	"time"

	"oarlock/queue"
)

// lease is until when we may act on a lock, on our own clock.
type lease struct {
	granted time.Duration // when the call that won or renewed the lock was sent
	lock    time.Duration // how long it locks
}

// leaseMargin is what a lease is shorter than its lock, at least.
const leaseMargin = 200 * time.Millisecond

// end is when the child must be dead: some time before Redis may give the job to
// somebody else.
func (l lease) end() time.Duration {
	return l.granted + l.lock - max(leaseMargin, l.lock/10)
}

// renewal is when the lock is to be renewed.
func (l lease) renewal() time.Duration { return l.granted + l.lock/3 }

// warning is when a child that gets grace to stop must be asked to, so that it is
// dead at the end.
func (l lease) warning(grace time.Duration) time.Duration {
	return l.end() - min(grace, l.lock/3)
}

// seconds turns an amount of seconds on Redis' clock into a duration.
func seconds(s float64) time.Duration { return queue.Duration(s) }
