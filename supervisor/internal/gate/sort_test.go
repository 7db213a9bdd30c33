package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"oarlock/queue"
)

// What an error means depends on whether its call may be repeated, and only Redis that is away
// closes the gate.
func TestErrorsAreSorted(t *testing.T) {
	unknown := errors.New("what is this")
	for _, tt := range []struct {
		name              string
		err               error
		once, harmless    Meaning
		shutBy, shutByAsk bool
	}{
		{"none", nil, Done, Done, false, false},
		{"away", fmt.Errorf("take: %w", queue.ErrAway), Away, Away, true, true},
		{"doubt", fmt.Errorf("take: %w", queue.ErrDoubt), Doubtful, Away, false, true},
		{"a refusal", &queue.ScriptError{Command: "settle", Message: "no"}, Refused, Refused, false, false},
		{"a lost lock", queue.ErrLockLost, Refused, Refused, false, false},
		{"not one of the queue's", unknown, Doubtful, Refused, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, call := range []struct {
				sort func(*Gate, error) Meaning
				want Meaning
				shut bool
			}{{(*Gate).Sort, tt.once, tt.shutBy}, {(*Gate).SortHarmless, tt.harmless, tt.shutByAsk}} {
				g := New(func(context.Context) error { return nil }, slog.New(slog.DiscardHandler), nil)
				g.reopen()
				if got := call.sort(g, tt.err); got != call.want {
					t.Errorf("it means %v, want %v", got, call.want)
				}
				if shut := !g.IsOpen(); shut != call.shut {
					t.Errorf("the gate is shut: %v, want %v", shut, call.shut)
				}
			}
		})
	}
}
