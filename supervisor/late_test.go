package supervisor

import (
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// A job is done when Redis has it that it is: a verdict that it refuses, for the lock is gone, counts as too late, and as nothing else.
func TestAVerdictThatRedisRefusesIsNotCountedAsDone(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(time.Second)
			return said(protocol.Ack)
		}
		w.runFor(500*time.Millisecond, 2)
		w.redis.steal("j0", "other")
		time.Sleep(5 * time.Second)
		if n := w.s.Snapshot().Pools[0].Counters; n.Acked != 1 || n.Late != 1 {
			t.Errorf("%d are done and %d verdicts came too late, of two jobs of which one was taken away", n.Acked, n.Late)
		}
	})
}
