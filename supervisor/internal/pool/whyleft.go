package pool

import (
	"oarlock/runner"
	"oarlock/supervisor/report"
)

// Why a member is taken out of its slot, as the log says it. A child may have words of its own.
const (
	whyJobDone    = "it has had its job"
	whyGeneration = "a new generation takes over"
	whyAsked      = "it was asked for"
	whySick       = "it ended all its jobs badly, and others did not"
	whyMaxJobs    = "max_jobs"
	whyMaxAge     = "max_age"
	whyMaxMemory  = "max_memory"
	whyIdle       = "idle_timeout"
	whyReplaced   = "its replacement is ready"
	whyShrinks    = "the pool shrinks"
	whyEnds       = "the pool ends"
	whyOver       = "its generation is over"
	whyGivenUp    = "its generation was given up"
	whyPassed     = "its slot is busy, and another is not"
)

// leftFor are these as the observer is told them.
var leftFor = map[string]string{
	whyJobDone:    report.LeftJobDone,
	whyGeneration: report.LeftRoll,
	whyAsked:      report.LeftRoll,
	whySick:       report.LeftRoll, // it is recycled, though nobody asked
	whyMaxJobs:    report.LeftMaxJobs,
	whyMaxAge:     report.LeftMaxAge,
	whyMaxMemory:  report.LeftMaxMemory,
	whyIdle:       report.LeftIdle,
	whyReplaced:   report.LeftMaxJobs, // it was started because the jobs were running out
	whyShrinks:    report.LeftShrink,
	whyEnds:       report.LeftStop,
	whyOver:       report.LeftRoll,
	whyGivenUp:    report.LeftRoll,
	whyPassed:     report.LeftRoll,
}

// retiredFor is why a member was taken out of its slot, as the observer is told it.
func retiredFor(why string) string {
	if known, is := leftFor[why]; is {
		return known
	}
	return report.LeftJobDone // the child asked for it, in its own words
}

// reason is why the process of a member is gone, or was not started.
func (m *member) reason(exit runner.Exit) string {
	oneJob := m.first != nil || m.gen.spec.Mode == runner.Preload && m.jobs > 0
	switch {
	case exit.OOM != "":
		return report.LeftOOM
	case exit.Cause == runner.CauseMemory:
		return report.LeftMaxMemory
	case m.child == nil && m.pool.life.draining: // its start was given up
		return report.LeftStop
	case m.child == nil, !exit.Started, exit.Cause == runner.CauseStart:
		return report.LeftStart
	case m.wentFor != "":
		return m.wentFor
	case exit.Cause == runner.CauseProtocol:
		return report.LeftProtocol
	case exit.Cause == runner.CauseLinger, exit.Cause == runner.CauseNone && oneJob && exit.Signal == 0:
		return report.LeftJobDone
	case exit.Cause != runner.CauseNone:
		return report.LeftStop
	case !m.hasRead && !oneJob:
		return report.LeftStart
	}
	return report.LeftCrash
}
