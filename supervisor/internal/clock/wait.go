package clock

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Never is a moment that does not come.
const Never = time.Duration(math.MaxInt64)

// Spread draws from v × (1 ± jitter/2), so that the mean stays v.
func Spread(v, jitter float64) float64 {
	return v * (1 + jitter*(rand.Float64()-0.5))
}

// Jittered draws from d ± 10 %.
func Jittered(d time.Duration) time.Duration {
	return time.Duration(Spread(float64(d), 0.2))
}

// Growing returns waits that double from first up to limit, each drawn from its
// upper and lower half around it. Reset makes the next wait the first again.
func Growing(first, limit time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     first,
		RandomizationFactor: 0.5,
		Multiplier:          2,
		MaxInterval:         limit,
	}
}
