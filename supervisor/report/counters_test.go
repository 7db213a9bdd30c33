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
		c.Concluded(&runner.Ending{Kind: runner.Exited}, &retry, last)
	}
	if c.Retried != 1 || c.Failed != 1 {
		t.Errorf("one was retried and one failed, and counted are %d and %d", c.Retried, c.Failed)
	}
}
