package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"

	"oarlock/internal/config"
	"oarlock/runner"
)

// WatchedMemory says of each pool whose children the kernel does not hold to limits.memory that they are
// only watched.
func (c Capacity) WatchedMemory(cfg config.Config) []string {
	var told []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		p := cfg.Pools[name]
		kill := runner.KillStrength(slices.Index(config.Kills, p.Sandbox.Kill))
		if kill == runner.KillAuto {
			kill = c.strength
		}
		if p.Sandbox.Limits.Memory <= 0 || kill == runner.KillCgroup && c.memory {
			continue
		}
		told = append(told, fmt.Sprintf("pool %s: the kernel does not limit the memory of its children here: one at work is looked at every %v, and killed if it holds more than %s (limits.memory) just then; "+
			"for a limit that holds, delegate a control group with the memory controller (Delegate=yes in the unit) and leave kill at auto", name, runner.MemoryWatch, humanize.IBytes(uint64(p.Sandbox.Limits.Memory))))
	}
	return told
}
