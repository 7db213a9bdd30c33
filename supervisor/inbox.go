package supervisor

import (
	"math"
	"sync"
)

// inbox carries work into a loop from goroutines that must not wait for it. What is
// posted runs in the loop, in order.
type inbox struct {
	wake chan struct{} // of size 1: the loop is to look

	mu       sync.Mutex
	posted   []func()
	spare    []func() // the slice that the loop has done with
	patience int      // how much must gather before slips wake the loop
}

func newInbox() inbox { return inbox{wake: make(chan struct{}, 1), patience: 1} }

// post hands f to the loop and wakes it. It never waits. Safe for concurrent use.
func (b *inbox) post(f func()) {
	b.mu.Lock()
	b.posted = append(b.posted, f)
	b.mu.Unlock()
	b.rouse()
}

// slip hands f to the loop without waking it, unless as much has gathered as the loop
// wants to be woken for. It never waits. Safe for concurrent use.
func (b *inbox) slip(f func()) {
	b.mu.Lock()
	b.posted = append(b.posted, f)
	enough := len(b.posted) >= b.patience
	b.mu.Unlock()
	if enough {
		b.rouse()
	}
}

func (b *inbox) rouse() {
	select {
	case b.wake <- struct{}{}:
	default: // it is awake, or will be
	}
}

// await sets for how many slips the loop wants to be woken; posts wake it anyhow. Only the loop calls it, before it waits.
func (b *inbox) await(n int) {
	b.mu.Lock()
	b.patience = n
	enough := len(b.posted) >= n
	b.mu.Unlock()
	if enough {
		b.rouse()
	}
}

// forEver is a patience that only a post ends.
const forEver = math.MaxInt

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
