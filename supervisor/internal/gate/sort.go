package gate

import (
	"errors"

	"oarlock/queue"
)

// Meaning is what the error of a call means for whoever made it.
type Meaning uint8

const (
	Done     Meaning = iota // there is none
	Away                    // nothing ran: Redis is away, and the gate is closed
	Busy                    // nothing ran: Redis is there and at work on something else; ask again after a pause
	Full                    // nothing ran, for want of memory; what frees some still works
	Doubtful                // nobody knows whether it ran
	Refused                 // Redis will not do it, or nobody could
)

// NotRun reports whether the call certainly did not run and may be sent again.
func (m Meaning) NotRun() bool { return m == Away || m == Busy || m == Full }

// Of says what an error of package queue means, of a call or of one of the things that were
// asked by it.
func Of(err error) Meaning {
	switch class := queue.Class(err); {
	case class == queue.Success:
		return Done
	case class == queue.Refused:
		return Refused
	case class == queue.Busy:
		return Busy
	case class == queue.Memory:
		return Full
	case errors.Is(err, queue.ErrAway):
		return Away
	}
	return Doubtful // what is not proven not to have run may have run
}

// Sort says what the error of a call means, which must not be repeated in doubt, and closes
// the gate if Redis is away.
func (g *Gate) Sort(err error) Meaning {
	m := Of(err)
	switch m {
	case Away:
		g.trip(err)
	case Full:
		g.outOfMemory(err)
	}
	return m
}

// SortHarmless is Sort for a call that changes nothing, or nothing when it is repeated: that
// it was not answered is an outage like any other. It is never Doubtful.
func (g *Gate) SortHarmless(err error) Meaning {
	m := g.Sort(err)
	switch {
	case m != Doubtful:
		return m
	case errors.Is(err, queue.ErrDoubt):
		g.trip(err)
		return Away
	}
	return Refused // it was not even sent
}
