package integration

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
)

// scratch is gone when the tests have run.
var scratch string

// rowsAtOnce is how many rows run beside each other: they mostly wait for locks to run out.
const rowsAtOnce = "4"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", rowsAtOnce) // the command line, read in m.Run, is stronger
	dir, err := os.MkdirTemp("", "oarlock-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	watchPace()
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// raced reports whether the program under test has the race detector: with -race, in the long run. It then needs many times the processor time.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return !testing.Short() && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// binary returns the path of the program under test, built from this module once.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "oarlock")
	if !raced() {
		return path, build(path)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // of supervisors; guards do not get it
	return path, build(path, "-race")
})

// build builds the program, without flags as it is released: for which the C library is not linked, as the race detector needs it.
func build(path string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "oarlock")...)
	if len(flags) == 0 {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// oarlock returns the path of the program under test.
func oarlock(t testing.TB) string {
	t.Helper()
	path := got(binary())(t)
	return path
}

// ran runs a command and returns what it printed. It fails the test if the command fails.
func ran(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// begin starts a supervisor that warns of nothing. It is killed when the test ends, if it is still there.
func begin(t testing.TB, config string) *exec.Cmd {
	t.Helper()
	run := exec.Command(oarlock(t), "run", "-c", config, "--log-level", "error")
	run.Stderr = t.Output()
	must(t, run.Start())
	t.Cleanup(func() { endNow(run) })
	return run
}

// python returns the path of the interpreter itself: a wrapper that looks for it
// first costs ten times its start.
var python = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-I", "-S", "-c", "import sys; sys.stdout.write(sys.executable)").Output()
	return string(out), err
})

// fixture returns the absolute path of a file in testdata.
func fixture(t testing.TB, name string) string {
	t.Helper()
	path := got(filepath.Abs(filepath.Join("testdata", name)))(t)
	got(os.Stat(path))(t)
	return path
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	text := got(os.ReadFile(from))(t)
	must(t, os.WriteFile(to, text, 0o755))
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got is used as got(f())(t): it returns what f returned first, and fails the test if f returned an error.
func got[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}
