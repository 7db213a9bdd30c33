package tree

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// granted are the capabilities with which a service manager lets us do, without being root,
// what sandboxes ask for: another user, a better nice or oom_score_adj. They come as ambient
// ones, for the shim and the guard are to have them too, and end there: a child that kept
// the right to change users would be root.
var granted = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_KILL,
	unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SYS_NICE, unix.CAP_SYS_RESOURCE,
}

// holdsAmbient tells whether programs that this process starts would have one of them.
var holdsAmbient = sync.OnceValue(func() bool {
	for _, capability := range granted {
		held, err := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, capability, 0, 0)
		if err == nil && held == 1 {
			return true
		}
	}
	return false
})

// dropAmbient keeps them from what this thread becomes or starts; it has them itself as before.
func dropAmbient() error {
	if !holdsAmbient() {
		return nil
	}
	for _, capability := range granted {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_LOWER, capability, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	return nil
}
