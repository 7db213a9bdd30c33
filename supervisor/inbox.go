package supervisor

import "sync"

// inbox carries work into a loop from goroutines that must not wait for it. What is
// posted runs in the loop, in order.
type inbox struct {
	wake chan struct{} // of size 1: something was posted

	mu     sync.Mutex
	posted []func()
	spare  []func() // the slice that the loop has done with
}

func newInbox() inbox { return inbox{wake: make(chan struct{}, 1)} }

// post hands f to the loop. It never waits. Safe for concurrent use.
func (b *inbox) post(f func()) {
	b.mu.Lock()
	b.posted = append(b.posted, f)
	first := len(b.posted) == 1
	b.mu.Unlock()
	if first { // else the loop has not looked since somebody woke it
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// work runs what was posted. Only the loop calls it.
func (b *inbox) work() {
	b.mu.Lock()
	posted := b.posted
	b.posted = b.spare[:0]
	b.mu.Unlock()
	for i, f := range posted {
		f()
		posted[i] = nil // what f held may go
	}
	b.spare = posted
}
