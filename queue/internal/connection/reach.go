package connection

import (
	"sync"
	"sync/atomic"
)

// Reach is whether Redis can be reached, as calls find it. The zero value believes that it can.
// It is safe for concurrent use.
type Reach struct {
	away atomic.Bool // the last call that told found Redis away

	mu   sync.Mutex
	back chan struct{} // closed when Redis is back; nil if nobody waits for it
}

// Lost notes a call that did not get through.
func (r *Reach) Lost() { r.away.Store(true) }

// Found notes a call that did.
func (r *Reach) Found() {
	if !r.away.Load() || !r.away.CompareAndSwap(true, false) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.back != nil {
		close(r.back)
		r.back = nil
	}
}

// returned is closed when a call gets through after one that did not.
func (r *Reach) returned() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.back == nil {
		r.back = make(chan struct{})
	}
	return r.back
}
