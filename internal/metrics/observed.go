package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// observations are a histogram that knows whether anything was observed: one of which nothing was is left out.
type observations struct {
	prometheus.Histogram
	any atomic.Bool
}

func newObservations(m *metric, bounds []float64, labels prometheus.Labels) *observations {
	return &observations{Histogram: prometheus.NewHistogram(histogramOpts(m, bounds, labels))}
}

// Observe takes one, in seconds.
func (o *observations) Observe(seconds float64) {
	if !o.any.Load() {
		o.any.Store(true)
	}
	o.Histogram.Observe(seconds)
}

// tell tells it to a scrape.
func (o *observations) tell(s *scrape) {
	if o.any.Load() {
		o.Collect(s.out)
	}
}
