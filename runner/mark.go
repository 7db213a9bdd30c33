package runner

import (
	"fmt"
	"os"
	"sync"
)

// SupervisorEnv is the variable in the environment of every child that names its supervisor
// by the SupervisorMark, so that a successor can prove whose a process is.
const SupervisorEnv = "OARLOCK_SUPERVISOR"

// SupervisorMark names the process pid that was started at start, in clock ticks since boot:
// a number alone is given away again.
func SupervisorMark(pid int, start uint64) string { return fmt.Sprintf("%d-%d", pid, start) }

// ownMark is the mark of this process.
var ownMark = sync.OnceValue(func() string {
	me, _ := readStat(os.Getpid())
	return SupervisorMark(os.Getpid(), me.Start)
})
