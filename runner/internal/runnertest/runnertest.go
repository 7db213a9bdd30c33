// Package runnertest has what the tests of runner and of the packages below it share: waiting for what
// nothing tells of, looking at processes that were left, standing for another user. It is for tests only
// and keeps nothing.
package runnertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
)

// Nobody is the number of a user, and of a group, without rights.
const Nobody = 65534

// Must fails the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Scaled returns the size of a test: whole in the long run, fast in the gate.
func Scaled(fast, whole int) int {
	if testing.Short() {
		return fast
	}
	return whole
}

// patience is how long Until waits for what must happen.
const patience = 120 * time.Second

// Until returns when condition holds, of which nothing tells.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatalf("no %s within %v", what, patience)
		}
	}
}

// Python is the interpreter itself, without the wrappers that a PATH may put in front of it.
var Python = sync.OnceValue(func() string {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return "python3"
	}
	return strings.TrimSpace(string(out))
})

// ReadablePython is a Python that any user may run.
func ReadablePython(t testing.TB) string {
	t.Helper()
	for _, path := range []string{"/usr/bin/python3", Python()} {
		cmd := exec.Command(path, "-c", "print(1)")
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Nobody, Gid: Nobody}}
		if out, err := cmd.Output(); err == nil && string(out) == "1\n" {
			return path
		}
	}
	t.Log("no python3 here that user nobody may run")
	return "/usr/bin/python3"
}

// Readable copies files, whose paths are as seen from the directory dir of the module, in which the test
// runs, to where anybody may read them, and returns the directory that stands for the module's.
func Readable(t testing.TB, dir string, files ...string) string {
	t.Helper()
	module, err := os.MkdirTemp("/tmp", "runner-test-")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(module) })
	Must(t, os.Chmod(module, 0o755))
	for _, file := range files {
		text, err := os.ReadFile(file)
		Must(t, err)
		to := filepath.Join(module, dir, file)
		Must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		Must(t, os.WriteFile(to, text, 0o644))
	}
	return module
}

// AsNobody runs the test that name begins with as user nobody, from a copy of the test binary that it
// may read.
func AsNobody(t *testing.T, name string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "runner-test-")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	Must(t, os.Chmod(dir, 0o777))
	binary, err := os.ReadFile("/proc/self/exe")
	Must(t, err)
	copied := filepath.Join(dir, "runner.test")
	Must(t, os.WriteFile(copied, binary, 0o755))
	name, _, _ = strings.Cut(name, "/")
	cmd := exec.Command(copied, "-test.run", "^"+name+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Nobody, Gid: Nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// Running returns the living processes with argument among their arguments.
func Running(argument string) (pids []int) {
	for _, pid := range proc.All() {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err == nil && proc.Alive(pid) && strings.Contains(string(text), argument+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// IsWarden tells whether a process is a guard that serves many children: unlike that of a single child,
// it leads a session.
func IsWarden(pid int) bool {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	session, _ := unix.Getsid(pid)
	return strings.HasPrefix(string(text), "oarlock\x00guard-child\x00") && session == pid
}

// KillAll sends each of pids SIGKILL.
func KillAll(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Alive returns those of the processes in file that have not ended.
func Alive(t testing.TB, file string) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(file)
	Must(t, err)
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		Must(t, err)
		if proc.Alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Escapees is how many processes a test lets escape.
const Escapees = 24

// CheckLeft fails the test if any of the Escapees in file lives on; or, if they are out of reach, if anyone does
// not. It kills what is left.
func CheckLeft(t *testing.T, outOfReach bool, file string) {
	t.Helper()
	if outOfReach {
		left := Alive(t, file)
		t.Logf("B14 %d of %d escapees are left, as they must be", len(left), Escapees)
		if len(left) != Escapees {
			t.Errorf("%d of %d escapees are left", len(left), Escapees)
		}
		KillAll(left)
		return
	}
	begin := time.Now()
	left := Alive(t, file)
	for ; len(left) > 0 && time.Since(begin) < patience; left = Alive(t, file) {
		time.Sleep(time.Millisecond)
	}
	t.Logf("B14 %d of %d escapees are left after %v", len(left), Escapees, time.Since(begin).Round(time.Millisecond))
	if len(left) > 0 {
		t.Errorf("%d of %d escapees are left", len(left), Escapees)
		KillAll(left)
	}
}
