package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
)

// TestOrders orders as the page says: what a customer ordered before anybody was there to pack is one job and one parcel, in its order.
func TestOrders(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the parts of it have short tests")
	}
	must.Have(t, "python3")
	program := must.Get(binary())(t)
	parcels := filepath.Join(t.TempDir(), "parcels.txt")
	env := append(os.Environ(), "REDIS_URL="+redistest.Start(t).URL, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "PARCELS="+parcels,
		"XDG_STATE_HOME="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
	call := func(command ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir, cmd.Env = "orders", env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	jobs := map[string][]string{}
	for _, order := range [][]string{{"ann", "tea", "2"}, {"ann", "cup", "1"}, {"bob", "tea", "1"}, {"-x é", "pot", "1"}, {"ann", "tea", "2"}} {
		jobs[order[0]] = append(jobs[order[0]], call(append([]string{"python3", "order.py"}, order...)...))
	}
	if ann := jobs["ann"]; ann[0] == jobs["bob"][0] || ann[1] != ann[0] || ann[2] != ann[0] {
		t.Errorf("the orders went to the jobs %q", jobs)
	}
	if said := call(program, "key", "show", "orders", "ann"); !strings.Contains(said, jobs["ann"][0]) {
		t.Errorf("key show says %s", said)
	}

	supervise(t, program, "orders", env)
	awaitLines(t, parcels, "-x é: 1 pot", "ann: 2 tea, 1 cup, 2 tea", "bob: 1 tea")
}

// supervise runs a supervisor by the configuration in dir until the test ends. It is to leave well.
func supervise(t *testing.T, program, dir string, env []string, args ...string) {
	t.Helper()
	run := exec.Command(program, append([]string{"run", "-c", "oarlock.toml"}, args...)...)
	run.Dir, run.Env = dir, env
	var log strings.Builder
	run.Stderr = &log
	must.Do(t, run.Start())
	t.Cleanup(func() {
		run.Process.Signal(syscall.SIGTERM)
		if err := run.Wait(); err != nil || t.Failed() {
			t.Errorf("it ended as %v\n%s", err, log.String())
		}
	})
}

// awaitLines waits until a file has these lines, and no other, in whatever order.
func awaitLines(t *testing.T, path string, want ...string) {
	t.Helper()
	slices.Sort(want)
	for deadline := time.Now().Add(time.Minute); ; {
		text, _ := os.ReadFile(path) // there is none before the first
		got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if slices.Sort(got); slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %q, want %q", filepath.Base(path), got, want)
		}
		time.Sleep(10 * time.Millisecond) // a file tells nobody
	}
}
