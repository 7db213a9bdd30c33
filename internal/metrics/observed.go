package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"oarlock/protocol"
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

// observe takes one of an attempt, in seconds; of one whose trace somebody wants to see the scrape is told that as an exemplar.
func (o *observations) observe(seconds float64, of *protocol.Job) {
	if of == nil || !of.Trace.Sampled() {
		o.Observe(seconds)
		return
	}
	o.any.Store(true)
	o.Histogram.(prometheus.ExemplarObserver).ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": of.Trace.ID()})
}

// tell tells it to a scrape.
func (o *observations) tell(s *scrape) {
	if o.any.Load() {
		o.Collect(s.out)
	}
}
