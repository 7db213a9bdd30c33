package outcome

import (
	"math"
	"math/rand/v2"
	"time"
)

// Backoff names a rule for the wait between two attempts of a job.
type Backoff string

// The rules; n is how many attempts of the job have failed before this one, so
// 0 at its first failure.
const (
	Constant    Backoff = "constant"    // Delay
	Linear      Backoff = "linear"      // Delay × (n+1)
	Exponential Backoff = "exponential" // Delay × 2ⁿ
	Quartic     Backoff = "quartic"     // n⁴ seconds + Delay + up to 2 × Delay × (n+1), at random
	List        Backoff = "list"        // Delays[n], the last one for all that follow
)

// Retry says how long a job waits before its next attempt when its child named
// no delay of its own. The zero value retries at once.
type Retry struct {
	Backoff  Backoff         // "" is Constant
	Delay    time.Duration   // the unit of every rule but List
	Delays   []time.Duration // for List
	MaxDelay time.Duration   // no wait is longer; 0 means no limit
	Jitter   float64         // 0…1: the share of the wait that is drawn at random; Quartic brings its own
}

// after returns the wait that follows the failure of an attempt before which n
// others had failed.
func (r Retry) after(n int) time.Duration {
	least, most := r.between(n)
	if limit := r.limit(); least >= limit {
		return time.Duration(limit)
	}
	return time.Duration(min(least+(most-least)*rand.Float64(), r.limit()))
}

// between is where the rule draws a wait from, evenly, before it is cut.
func (r Retry) between(n int) (least, most float64) {
	n = max(n, 0)
	unit := float64(r.Delay)
	var wait float64
	switch r.Backoff {
	case Linear:
		wait = unit * float64(n+1)
	case Exponential:
		wait = unit * math.Pow(2, float64(n))
	case Quartic:
		least = math.Pow(float64(n), 4)*float64(time.Second) + unit
		return least, least + 2*unit*float64(n+1)
	case List:
		if len(r.Delays) > 0 {
			wait = float64(r.Delays[min(n, len(r.Delays)-1)])
		}
	default:
		wait = unit
	}
	return wait * (1 - r.Jitter/2), wait * (1 + r.Jitter/2)
}

// limit is what no wait exceeds.
func (r Retry) limit() float64 {
	if r.MaxDelay > 0 {
		return float64(r.MaxDelay)
	}
	return float64(maxWait)
}

// Wait is how long a job waits after a failure: the least that may be drawn, the mean, and the most.
type Wait struct{ Least, Mean, Most time.Duration }

// WaitAfter is the wait that follows the failure of an attempt before which n others had failed, 0 or more.
func (r Retry) WaitAfter(n int) Wait {
	least, most := r.between(n)
	limit := r.limit()
	mean := (least + most) / 2
	if most > limit && least < limit { // what is above it is drawn as it
		mean = ((limit-least)*(limit+least)/2 + (most-limit)*limit) / (most - least)
	}
	return Wait{time.Duration(min(least, limit)), time.Duration(min(mean, limit)), time.Duration(min(most, limit))}
}

// maxWait bounds a wait whose rule knows no limit, well inside of a Duration.
const maxWait = 100 * 365 * 24 * time.Hour
