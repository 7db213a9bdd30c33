package integration

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// stretched is a bound of a row on this machine as it is. The bounds of FAULTS.md hold
// where there is a core for everybody; other packages' tests run beside ours, and with
// three times as many who want a core, all takes three times as long. What must never
// happen has no such bound.
func stretched(bound time.Duration) time.Duration {
	load := 0.0
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(text), &load)
	}
	const most = 10
	return time.Duration(float64(bound) * min(most, max(1, load/float64(runtime.NumCPU()))))
}
