package supervisor

import (
	"sync"
	"time"
)

// warnEvery is the least time between two warnings about the same thing in one pool.
const warnEvery = 10 * time.Second

// unheard counts the lines of a pool's children that would have been verdicts and were
// refused. It is safe for concurrent use: those who listen to children count in it.
type unheard struct {
	mu     sync.Mutex
	n      int
	warnAt time.Duration // on the clock: when the next one is worth a warning
}

// add counts one at now. It returns how many there were, and whether to warn of it: of
// the first, and then once in a while, for a child may print them by the million.
func (u *unheard) add(now time.Duration) (n int, warn bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
	if u.n > 1 && now < u.warnAt {
		return u.n, false
	}
	u.warnAt = now + warnEvery
	return u.n, true
}

func (u *unheard) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n
}
