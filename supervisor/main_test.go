package supervisor

import (
	"os"
	"testing"

	"oarlock/runner"
)

// TestMain lets the test binary stand for the program, parts of which run children.
func TestMain(m *testing.M) {
	runner.Hidden(os.Args)
	os.Exit(m.Run())
}
