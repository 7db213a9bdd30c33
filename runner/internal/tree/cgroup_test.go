package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
	"oarlock/runner/internal/runnertest"
)

// fakeCgroup makes a directory that looks like a control group with these processes in it.
func fakeCgroup(t *testing.T, controllers string, pids ...int) string {
	t.Helper()
	dir := t.TempDir()
	var procs strings.Builder
	for _, pid := range pids {
		fmt.Fprintln(&procs, pid)
	}
	must(t, os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte(controllers+"\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(procs.String()), 0o600))
	return dir
}

func TestControllersAreHandedDown(t *testing.T) {
	read := func(path ...string) string {
		text, _ := os.ReadFile(filepath.Join(path...))
		return string(text)
	}
	me := os.Getpid()
	tests := []struct {
		name        string
		controllers string
		pids        []int
		moved       bool
		last        string // of what was written to subtree_control: a plain file keeps just that
	}{
		{"alone", "cpu memory pids", []int{me}, true, "+pids"},
		{"only memory", "cpuset memory", []int{me}, true, "+memory"},
		{"with others", "memory", []int{me, 1}, false, "+memory"},
		{"nothing offered", "hugetlb", []int{me}, false, ""},
		{"a longer name", "mymemory", []int{me}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			own, below := fakeCgroup(t, tt.controllers, tt.pids...), t.TempDir()
			enableControllers(own, below)
			if got := read(own, "supervisor", "cgroup.procs"); (got == strconv.Itoa(me)) != tt.moved {
				t.Errorf("in the leaf there is %q", got)
			}
			for _, dir := range []string{own, below} {
				if got := read(dir, "cgroup.subtree_control"); got != tt.last {
					t.Errorf("%q is handed down, want %q", got, tt.last)
				}
			}
		})
	}
}

func TestGroupOfAServiceManagerMustBeDelegated(t *testing.T) {
	dir := t.TempDir()
	unit := filepath.Join(dir, "oarlock.service")
	must(t, os.Mkdir(unit, 0o755))
	if err := delegated(dir); err != nil {
		t.Errorf("nobody's group: %v", err)
	}
	if err := delegated(unit); err == nil || !strings.Contains(err.Error(), "Delegate=yes") {
		t.Errorf("a unit without delegation: %v", err)
	}
	attribute := "user.delegate"
	if os.Getuid() == 0 {
		attribute = "trusted.delegate"
	}
	if err := unix.Setxattr(unit, attribute, []byte("1"), 0); err != nil {
		t.Logf("the file system of %s keeps no %s: %v", dir, attribute, err)
		return
	}
	if err := delegated(unit); err != nil {
		t.Errorf("a unit with delegation: %v", err)
	}
}

func TestCgroupsOfTheDeadAreSwept(t *testing.T) {
	tr := testTrees(t)
	if tr.cgroups == nil {
		t.Logf("this machine cannot show strength cgroup: %s", tr.why)
		return
	}
	own := filepath.Join(filepath.Dir(tr.cgroups.path), fmt.Sprint("test-", os.Getpid())) // other tests sweep, too
	living := filepath.Join(own, filepath.Base(tr.cgroups.path))
	must(t, os.MkdirAll(living, 0o755))
	t.Cleanup(func() { os.Remove(living); os.Remove(own) })
	// As a supervisor leaves it whose guard was killed as well: a process in the group of a child.
	left := filepath.Join(own, cgroupPrefix+"1073741824-1-"+pidNamespace()+"-test", "jobs", "1")
	must(t, os.MkdirAll(left, 0o755))
	// A pid that is not to be seen here may be somebody's in another namespace.
	elsewhere := filepath.Join(own, cgroupPrefix+"1073741824-1-1"+pidNamespace()+"-test")
	must(t, os.Mkdir(elsewhere, 0o755))
	defer os.Remove(elsewhere)
	p, out := startIn(t, tr, Group, Settings{}, "sh", "-c", "echo ready; sleep 600")
	expect(t, out, "ready")
	must(t, os.WriteFile(filepath.Join(left, "cgroup.procs"), fmt.Append(nil, p.PID()), 0))
	sweepCgroups(own)
	if exit := p.Wait(); exit.Signal != unix.SIGKILL {
		t.Errorf("the process in it ended as %+v", exit)
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(left))); !os.IsNotExist(err) {
		t.Errorf("the group of the dead is there: %v", err)
	}
	if _, err := os.Stat(living); err != nil {
		t.Errorf("the group of the living is gone: %v", err)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Errorf("the group of a supervisor in another pid namespace is gone: %v", err)
	}
}

// Whatever removes the control groups of a supervisor that lives: it makes them anew.
func TestRemovedCgroupsAreMadeAnew(t *testing.T) {
	tr := testTrees(t)
	if tr.cgroups == nil {
		t.Logf("this machine cannot show strength cgroup: %s", tr.why)
		return
	}
	endCgroup(tr.cgroups.path, time.Second) // with its guard
	p, out := startIn(t, tr, Cgroup, Settings{}, "sh", "-c", "echo ready; sleep 600")
	expect(t, out, "ready")
	p.Kill()
	if exit := p.Wait(); exit.Signal != unix.SIGKILL {
		t.Errorf("it ended as %+v", exit)
	}
	p.Release()
}

// TestGuardIsKilled: whoever runs as our user can kill a guard. Its child goes with it, and nothing is
// claimed about how that ended.
func TestGuardIsKilled(t *testing.T) {
	tr := testTrees(t)
	p, out := startIn(t, tr, Guard, Settings{NoNewPrivs: true}, "sh", "-c", "echo ready; sleep 600")
	expect(t, out, "ready")
	guard := p.(*guarded).leader.PID()
	unix.Kill(guard, unix.SIGKILL)
	exit := p.Wait()
	p.Release()
	if !exit.Lost || !exit.Started {
		t.Errorf("ends as %+v", exit)
	}
	until(t, "end of the child", func() bool {
		return !proc.Alive(p.PID())
	})
	if err := p.Signal(unix.SIGTERM); err == nil {
		t.Error("a signal was sent to what is gone")
	}
}

// TestNothingIsLeftOfAKilledGuard: what had escaped to a guard that is killed is found by its marks.
func TestNothingIsLeftOfAKilledGuard(t *testing.T) {
	tr := testTrees(t)
	t.Setenv("OARLOCK_POOL", "test")
	t.Setenv("OARLOCK_SLOT", "7")
	file := filepath.Join(t.TempDir(), "pids")
	p, out := startIn(t, tr, Guard, Settings{}, python(), "../../testdata/leaves-escapees.py", file, strconv.Itoa(escapees), "wait")
	expect(t, out, "ready")
	t.Setenv("OARLOCK_SLOT", "8")
	other, out := startIn(t, tr, Group, Settings{}, "sh", "-c", "setsid sh -c 'echo $$; exec sleep 600' & wait")
	out.Scan()
	daemon, err := strconv.Atoi(out.Text())
	must(t, err)
	other.Kill()
	other.Wait()

	unix.Kill(p.(*guarded).leader.PID(), unix.SIGKILL)
	if exit := p.Wait(); !exit.Lost {
		t.Errorf("ends as %+v", exit)
	}
	p.Release()
	checkLeft(t, Guard, file)
	if !proc.Alive(daemon) {
		t.Error("what another child had left is gone, too")
	}
	runnertest.KillAll([]int{daemon})
}

// TestStoppedGuardKills: a guard that was stopped goes on when it is to kill.
func TestStoppedGuardKills(t *testing.T) {
	tr := testTrees(t)
	p, out := startIn(t, tr, Guard, Settings{}, "sh", "-c", "echo ready; sleep 600")
	expect(t, out, "ready")
	unix.Kill(p.(*guarded).leader.PID(), unix.SIGSTOP)
	p.Kill()
	exit := p.Wait()
	p.Release()
	if exit.Signal != unix.SIGKILL || exit.Lost {
		t.Errorf("ends as %+v", exit)
	}
}
