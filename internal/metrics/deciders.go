package metrics

import "oarlock/internal/decider"

// DeciderCount is how often the command of a throttle was asked, and what came of it.
type DeciderCount = decider.Count

// decided tells of the commands of throttles.
func (s *scrape) decided(counts map[string]DeciderCount) {
	for throttle, c := range counts {
		name := label(throttle)
		s.number(deciderAsked, float64(c.Asked), name)
		s.number(deciderTook, c.Seconds, name)
		for cause, n := range c.Failed {
			s.number(deciderFailed, float64(n), name, cause)
		}
		for verb, n := range c.Verdicts {
			s.number(deciderSaid, float64(n), name, verb)
		}
	}
}
