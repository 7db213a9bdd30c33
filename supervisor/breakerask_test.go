package supervisor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/supervisor/outcome"
)

// A retry_command is asked about each attempt that failed, whatever the breaker does. What it decides counts in place of the ending.
func TestARetryCommandIsAskedWhateverTheBreakerDoes(t *testing.T) {
	broken := errors.New("again killed by SIGKILL")
	for _, tt := range []struct {
		name   string
		answer string // "": it does not answer
		jobs   map[string]int
		opens  bool
		spares bool
	}{
		{"it fails them", `{"do":"fail"}`, map[string]int{"failed": 200}, false, false},
		{"it acknowledges them", `{"do":"ack"}`, map[string]int{"complete": 200}, false, false},
		{"it gives them back", `{"do":"release","delay":3600}`, map[string]int{"scheduled": 200}, false, false},
		{"it tries them again", `{"do":"retry","delay":3600}`, map[string]int{"scheduled": 200}, false, false},
		{"it leaves them to the rules", `{"do":"retry"}`, nil, true, true},
		{"it does not answer", "", nil, true, true},
	} {
		runFaked(t, tt.name, func(t *testing.T, w *fakeWorld) {
			asked := w.asks(func(context.Context, string) (string, error) {
				time.Sleep(50 * time.Millisecond)
				if tt.answer == "" {
					return "", broken
				}
				return tt.answer, nil
			})
			w.cfg.Pools[0].Children, w.cfg.Pools[0].Retry = 4, outcome.Retry{Delay: time.Hour}
			w.runFor(30*time.Second, 200)
			if shot := w.s.Snapshot().Pools[0]; shot.Breaker != "" != tt.opens || shot.Counters.Spared > 0 != tt.spares {
				t.Errorf("the breaker says %q, and %d attempts were spared", shot.Breaker, shot.Counters.Spared)
			}
			for state, n := range tt.jobs {
				w.want(state, n)
			}
			begun := 0
			for jid := range w.redis.jobs {
				begun += w.host.begun(jid)
			}
			if n := int(asked.Load()); n < begun-10 || n < 200 {
				t.Errorf("it was asked %d times about %d attempts", n, begun)
			}
		})
	}
}

// What a retry_command decides closes the breaker.
func TestARetryCommandClosesTheBreaker(t *testing.T) {
	for _, answer := range []string{`{"do":"ack"}`, `{"do":"fail"}`} {
		runFaked(t, answer, func(t *testing.T, w *fakeWorld) {
			var answers atomic.Bool
			w.asks(func(context.Context, string) (string, error) {
				if !answers.Load() {
					return "", errors.New("again killed by SIGKILL")
				}
				return answer, nil
			})
			w.cfg.Pools[0].Children = 4
			w.runFor(10*time.Second, 1000)
			if w.s.Snapshot().Pools[0].Breaker == "" {
				t.Fatal("the breaker is closed while nothing ends well")
			}
			answers.Store(true)
			time.Sleep(time.Minute)
			if why := w.s.Snapshot().Pools[0].Breaker; why != "" {
				t.Errorf("the breaker is open: %s", why)
			}
			time.Sleep(time.Hour)
			w.want(map[string]string{`{"do":"ack"}`: "complete", `{"do":"fail"}`: "failed"}[answer], 1000)
		})
	}
}
