package report

import (
	"testing"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/outcome"
)

// A job whose last attempt is to be tried again fails, and is counted as that.
func TestTheLastRetryCountsAsAFailure(t *testing.T) {
	var c Counters
	retry := outcome.Outcome{Settlement: queue.Settlement{Action: queue.Retry}}
	for _, last := range []bool{false, true} {
		c.Concluded(&runner.Ending{Kind: runner.Exited}, &retry)
		c.Settled(retry.Settlement.Action, last)
	}
	if c.Retried != 1 || c.Failed != 1 {
		t.Errorf("one was retried and one failed, and counted are %d and %d", c.Retried, c.Failed)
	}
}

// A job that crashes once too often fails, and is counted as that.
func TestTheLastCrashCountsAsAFailure(t *testing.T) {
	var c Counters
	crash := outcome.Outcome{Settlement: queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 1}}
	for crashes := range 2 {
		c.Concluded(&runner.Ending{Kind: runner.Died}, &crash)
		c.Settled(crash.Settlement.Action, crash.Settlement.Fails(&queue.Taken{Crashes: crashes}))
	}
	if c.Crashed != 2 || c.Released != 1 || c.Failed != 1 {
		t.Errorf("of two crashes the second failed the job, and counted are %d crashes, %d given back, %d failed", c.Crashed, c.Released, c.Failed)
	}
}
