package supervisor

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"oarlock/runner"
)

// TestMain lets the test binary stand for the program, parts of which run children.
func TestMain(m *testing.M) {
	runner.Hidden(os.Args)
	os.Setenv("GORACE", "atexit_sleep_ms=0") // or each shim and guard of ours ends a second late
	private, err := os.MkdirTemp("", "private")
	if err != nil {
		panic(err)
	}
	openHost = sync.OnceValues(func() (*runner.Host, error) {
		return runner.NewHost(runner.HostOptions{PrivateRoot: private})
	})
	code := m.Run()
	if h, err := openHost(); err == nil {
		h.Close()
	}
	os.RemoveAll(private)
	os.Exit(code)
}

// openHost returns the host of all tests: a process has one, and it would reap what others of this process start.
var openHost func() (*runner.Host, error)

// scaled returns the size of a test: whole in the long run, fast in the gate.
func scaled[T any](fast, whole T) T {
	if testing.Short() {
		return fast
	}
	return whole
}

// seeds are what a random test plays: seed 1 in the gate; in the long run so many, from $OARLOCK_SEED on or from a fresh one.
func seeds(t *testing.T, many uint64) []uint64 {
	t.Helper()
	if testing.Short() {
		t.Log("seed 1")
		return []uint64{1}
	}
	first, err := strconv.ParseUint(os.Getenv("OARLOCK_SEED"), 10, 64)
	if err != nil {
		first = uint64(time.Now().UnixNano() % 1e9)
	}
	t.Logf("seeds from %d on", first)
	var all []uint64
	for i := range many {
		all = append(all, first+i)
	}
	return all
}
