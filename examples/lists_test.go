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

	"oarlock/internal/redistest"
)

// TestLists pushes by redis-cli and from Python, as the page says, to lists that a shell script works.
func TestLists(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	server := redistest.Start(t, "--bind", "127.0.0.1", "--port", port)
	filed := filepath.Join(t.TempDir(), "filed.txt")
	env := append(os.Environ(), "REDIS_PORT="+port, "FILED="+filed)
	run := exec.Command(program, "run", "-c", "oarlock.toml", "--redis", server.URL, "--state-dir", t.TempDir())
	run.Dir, run.Env = "lists", env
	var log strings.Builder
	run.Stderr = &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		run.Process.Signal(syscall.SIGTERM)
		if err := run.Wait(); err != nil || t.Failed() {
			t.Errorf("it ended as %v\n%s", err, log.String())
		}
	}()
	const letter = `{"to":"Zoë's \"cat\" $(id) \\n", "n":9007199254740993, "none":[]}`
	for _, command := range [][]string{
		{"sh", "push.sh", letter}, {"sh", "push.sh", "a plain text"},
		{"sh", "push.sh", `{"klass": "Order", "data": {"customer": 17}, "tags": ["vip"]}`, "new-orders"}, {"python3", "hworker.py", "mail", `{"n":1}`},
	} {
		need(t, command[0])
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir, cmd.Env = "lists", env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
	}
	want := []string{`"a plain text"`, letter, `{"n": 1}`, `{"customer": 17}`}
	slices.Sort(want)
	deadline := time.Now().Add(time.Minute)
	for {
		text, _ := os.ReadFile(filed)
		got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if slices.Sort(got); slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("filed are %q, want %q", got, want)
		}
		time.Sleep(10 * time.Millisecond) // a file tells nobody
	}
}
