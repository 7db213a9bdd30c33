package pool

import (
	"log/slog"
	"testing"
	"time"

	"oarlock/queue"
)

// silent is a Redis that is asked nothing.
type silent struct{}

func (silent) Now() float64 { return 0 }

func (silent) Session(string) Store { return nil }

func (silent) ListSession(string, queue.List) ListStore { return nil }

// TestSlotsComeInSlices grows and shrinks a pool by more than a turn of its loop may.
func TestSlotsComeInSlices(t *testing.T) {
	clock := func() time.Duration { return time.Minute }
	shared := &Shared{Clock: clock, Redis: silent{}, Base: slog.New(slog.DiscardHandler)}
	p := New(shared, Config{Name: "p", Queues: []string{"q"}, Children: 2}, "w")
	size := 0
	for _, target := range []int{20000, 7, 5000, 0, 3} {
		p.target = target
		for turns := 0; len(p.slots) != target; turns++ {
			if p.resize(); max(len(p.slots)-size, size-len(p.slots)) > resizeStep || turns > 20000/resizeStep {
				t.Fatalf("%d slots after %d, on the way to %d in turn %d", len(p.slots), size, target, turns)
			}
			size = len(p.slots)
		}
		for i, s := range p.slots {
			if s.n != i {
				t.Fatalf("slot %d has the number %d", i, s.n)
			}
		}
	}
}
