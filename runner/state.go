package runner

import "fmt"

// State is where a child stands in its life.
type State uint8

// States.
const (
	Starting State = iota // started, not ready
	Ready                 // idle
	Busy                  // has at least one run
	Draining              // takes no more jobs, finishes what it has
	Killing               // SIGKILL was sent
	Gone
	states = iota
)

// String returns the state as it is shown.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

var stateNames = [states]string{"starting", "ready", "busy", "draining", "killing", "gone"}

// moves lists the states that may follow each. How long a child stays in one is
// bounded by its agenda: Starting by StartTimeout, Busy by the run's limits,
// Draining by the grace it was given or the limits of its last runs. Killing ends
// when the kernel has ended the tree, which nothing of ours can hasten.
var moves = [states][]State{
	Starting: {Ready, Draining, Killing, Gone},
	Ready:    {Busy, Draining, Killing, Gone},
	Busy:     {Ready, Draining, Killing, Gone},
	Draining: {Killing, Gone},
	Killing:  {Gone},
}

// move changes the state; a move that the table does not have is a mistake of
// ours, and is said loudly. The caller holds mu.
func (c *Child) move(to State) {
	if c.state == to {
		return
	}
	for _, may := range moves[c.state] {
		if may == to {
			c.state = to
			return
		}
	}
	c.host.log.Error("illegal state of a child", "pool", c.spec.Pool, "pid", c.pid, "from", c.state, "to", to)
}
