// Package inbox carries work into a loop that must not be waited for. It owns what was posted
// and not done yet. It does not know whose loop it is, nor what is posted.
package inbox

import (
	"math"
	"sync"
)

// Inbox carries work into a loop from goroutines that must not wait for it. What is
// posted runs in the loop, in order.
type Inbox struct {
	Wake chan struct{} // of size 1: the loop is to look

	mu       sync.Mutex
	posted   []func()
	spare    []func() // the slice that the loop has done with
	patience int      // how much must gather before slips wake the loop
}

// New makes an empty inbox, which must not be copied once it is in use.
func New() Inbox { return Inbox{Wake: make(chan struct{}, 1), patience: 1} }

// Post hands f to the loop and wakes it. It never waits. Safe for concurrent use.
func (b *Inbox) Post(f func()) {
	b.mu.Lock()
	b.posted = append(b.posted, f)
	b.mu.Unlock()
	b.rouse()
}

// Slip hands f to the loop without waking it, unless as much has gathered as the loop
// wants to be woken for. It never waits. Safe for concurrent use.
func (b *Inbox) Slip(f func()) {
	b.mu.Lock()
	b.posted = append(b.posted, f)
	enough := len(b.posted) >= b.patience
	b.mu.Unlock()
	if enough {
		b.rouse()
	}
}

func (b *Inbox) rouse() {
	select {
	case b.Wake <- struct{}{}:
	default: // it is awake, or will be
	}
}

// Await sets for how many slips the loop wants to be woken; posts wake it anyhow. Only the
// loop calls it, before it waits for Wake.
func (b *Inbox) Await(n int) {
	b.mu.Lock()
	b.patience = n
	enough := len(b.posted) >= n
	b.mu.Unlock()
	if enough {
		b.rouse()
	}
}

// ForEver is a patience that only a post ends.
const ForEver = math.MaxInt

// Work runs what was posted. Only the loop calls it.
func (b *Inbox) Work() {
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
