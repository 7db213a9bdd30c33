package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"oarlock/internal/config"
	"oarlock/runner"
)

// WatchedMemory says of each pool whose children the kernel does not hold to limits.memory that they are
// only watched.
func (c Capacity) WatchedMemory(cfg config.Config) []string {
	var told []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		p := cfg.Pools[name]
		kill, _ := runner.ParseKillStrength(p.Sandbox.Kill) // validated
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

// MemoryNeeded tells how much memory the children of pools that bound it may hold in the
// middle of a roll, beside the bytes that the host has (0: not known); "" if none does.
func MemoryNeeded(cfg config.Config, host uint64) string {
	var children int
	var most uint64
	for name, p := range cfg.Pools {
		each := max(p.Sandbox.Limits.Memory, p.MaxMemory)
		if p.Sandbox.Limits.Memory > 0 {
			each = p.Sandbox.Limits.Memory
		}
		pool, err := Pool(name, p)
		if err != nil || each <= 0 {
			continue
		}
		children += pool.Crowd()
		most += uint64(pool.Crowd()) * uint64(each)
	}
	if most == 0 {
		return ""
	}
	told := fmt.Sprintf("While new code rolls in there may be %d children of pools with a limit of memory, with %s together", children, humanize.IBytes(most))
	switch {
	case host == 0:
	case most > host:
		told += fmt.Sprintf(": more than the %s of this host", humanize.IBytes(host))
	default:
		told += fmt.Sprintf("; this host has %s", humanize.IBytes(host))
	}
	return told + "."
}

// HostMemory is how much memory the host has, in bytes; 0 if it does not say.
func HostMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
