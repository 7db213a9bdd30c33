package service

import (
	"os"
	"runtime/debug"

	"oarlock/supervisor"
)

// Where there are many children, what is in use is large, and so is the garbage that Go lets lie beside it: as much again. It is collected
// sooner there, for a fiftieth of our processor time; where there are few it is small, and collecting it would cost more. GOGC in the
// environment is obeyed.
const (
	manyChildren = 50
	muchGarbage  = 100 // percent of what is in use, as Go has it
	lessGarbage  = 70
)

// limitGarbage sets how much garbage may lie about, of a supervisor with these pools.
func limitGarbage(pools []supervisor.Pool) {
	if os.Getenv("GOGC") != "" {
		return
	}
	children := 0
	for _, p := range pools {
		children += max(p.Children, p.MaxChildren)
	}
	if children < manyChildren {
		debug.SetGCPercent(muchGarbage)
	} else {
		debug.SetGCPercent(lessGarbage)
	}
}
