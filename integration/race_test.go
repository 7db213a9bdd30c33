//go:build race

package integration

import "os"

func init() {
	// A binary with the race detector needs many times the processor time; the fast
	// set has two cores and locks of two seconds.
	if wholeMatrix {
		buildFlags = append(buildFlags, "-race")
		os.Setenv("GORACE", "atexit_sleep_ms=0") // of supervisors; guards do not get it
	}
}
