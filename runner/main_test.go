package runner

import (
	"os"
	"testing"
)

// TestMain lets the test binary stand for the program: as the shim and as the guard of the children it
// starts, and as a supervisor that tests kill.
func TestMain(m *testing.M) {
	Hidden(os.Args)
	// Or whatever is started with our environment and was built with -race ends a second late.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	if len(os.Args) > 1 && os.Args[1] == doomedPreloadCommand {
		doomedPreload(os.Args[2], os.Args[3])
	}
	os.Exit(m.Run())
}
