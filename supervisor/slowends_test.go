package supervisor

import (
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// A stop waits for children that end one after the other, however many they are, and gives up where they take too long.
func TestAStopWaitsWhileChildrenEnd(t *testing.T) {
	const children = 400
	tests := []struct {
		name        string
		each        time.Duration // from one end to the next
		least, most time.Duration
		back        bool
	}{
		{"each at once", 0, 5 * time.Second, 7 * time.Second, true},
		{"slowly", 80 * time.Millisecond, 37 * time.Second, 39 * time.Second, true},
		{"more slowly than the bound", 500 * time.Millisecond, 52 * time.Second, 55 * time.Second, false},
		{"one hangs", 20 * time.Second, 13 * time.Second, 14 * time.Second, false},
	}
	for _, tt := range tests {
		runFaked(t, tt.name, func(t *testing.T, w *fakeWorld) {
			turn := make(chan struct{}, 1)
			w.host.killed = func() {
				turn <- struct{}{}
				time.Sleep(tt.each)
				<-turn
			}
			w.host.work = func(_ *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
				time.Sleep(time.Hour)
				return nil
			}
			w.cfg.DrainTimeout = 100 * time.Millisecond
			w.cfg.Pools[0].Children = children
			w.runFor(30*time.Second, children)
			w.want("running", children)
			began := time.Now()
			w.stop()
			<-w.ended
			w.running = false
			between(t, time.Since(began), tt.least, tt.most, "it took %v to stop")
			if tt.back {
				w.want("waiting", children)
			} else if w.redis.states()["running"] == 0 {
				t.Error("all was given back, so nothing was given up")
			}
			time.Sleep(3 * time.Hour) // until the last has ended
		})
	}
}
