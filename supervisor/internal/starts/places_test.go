package starts

import "testing"

// waiter counts how often it was woken.
type waiter struct{ woken int }

func (w *waiter) Wake() { w.woken++ }

// What a dead supervisor left has its places until it is gone, and who asked is told of that.
func TestPlacesOfADeadSupervisor(t *testing.T) {
	p, w, at := NewPlaces(), new(waiter), Place{"p", 2}
	if p.Free(at, w) {
		t.Error("a place is free of which nobody knows")
	}
	if p.Clear(); w.woken != 1 || !p.Free(at, w) {
		t.Errorf("when all is gone, who waits was woken %d times", w.woken)
	}
	p.Take(at)
	p.Take(at) // a replacement beside it
	if p.Leave(at); p.Free(at, w) || w.woken != 1 {
		t.Errorf("a place is free while another is there; woken %d times", w.woken)
	}
	if p.Leave(at); w.woken != 2 || !p.Free(at, w) {
		t.Errorf("when the last is gone, who waits was woken %d times", w.woken)
	}
}
