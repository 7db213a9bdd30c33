package outcome

import (
	"math"
	"math/rand/v2"
	"time"

	"oarlock/supervisor/internal/clock"
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
	n = max(n, 0)
	unit := float64(r.Delay)
	var wait float64
	switch r.Backoff {
	case Linear:
		wait = unit * float64(n+1)
	case Exponential:
		wait = unit * math.Pow(2, float64(n))
	case Quartic:
		wait = math.Pow(float64(n), 4)*float64(time.Second) + unit + 2*unit*float64(n+1)*rand.Float64()
	case List:
		if len(r.Delays) > 0 {
			wait = float64(r.Delays[min(n, len(r.Delays)-1)])
		}
	default:
		wait = unit
	}
	if r.Backoff != Quartic {
		wait = clock.Spread(wait, r.Jitter)
	}
	limit := float64(maxWait)
	if r.MaxDelay > 0 {
		limit = float64(r.MaxDelay)
	}
	return time.Duration(min(wait, limit))
}

// maxWait bounds a wait whose rule knows no limit, well inside of a Duration.
const maxWait = 100 * 365 * 24 * time.Hour
