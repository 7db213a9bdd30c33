package tree

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/runner/internal/runnertest"
)

// testTrees returns what starts processes, closed when the test ends.
func testTrees(t testing.TB) *Starter {
	t.Helper()
	tr, err := Open()
	must(t, err)
	t.Cleanup(func() {
		for seen := tr.reaper.reap(nil); len(seen) > 0; { // what strength group has left, and we killed
			seen = tr.reaper.reap(seen)
		}
		tr.Close()
	})
	return tr
}

// strengths are those that this machine has; what it has not is said.
func strengths(t *testing.T, tr *Starter) []Strength {
	t.Helper()
	if tr.cgroups == nil {
		t.Logf("this machine cannot show strength cgroup: %s", tr.why)
		return []Strength{Guard, Group}
	}
	return []Strength{Cgroup, Guard, Group}
}

// command returns a command without input whose output goes to the pipe that is returned with it.
func command(t testing.TB, argv ...string) (*exec.Cmd, *bufio.Scanner, func()) {
	t.Helper()
	out, in, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { out.Close() })
	path, err := exec.LookPath(argv[0])
	must(t, err)
	cmd := &exec.Cmd{Path: path, Args: argv, Env: os.Environ(), Stdout: in, Stderr: in}
	return cmd, bufio.NewScanner(out), func() { in.Close() }
}

// startIn starts argv, and returns it with what it writes.
func startIn(t testing.TB, tr *Starter, strength Strength, s Settings, argv ...string) (Process, *bufio.Scanner) {
	t.Helper()
	cmd, out, started := command(t, argv...)
	defer started()
	s.Dir, cmd.Dir = "", s.Dir
	p, err := tr.Start(cmd, strength, s)
	must(t, err)
	return p, out
}

// expect reads lines until one is want.
func expect(t testing.TB, out *bufio.Scanner, want string) {
	t.Helper()
	var seen []string
	for out.Scan() {
		if out.Text() == want {
			return
		}
		seen = append(seen, out.Text())
	}
	t.Fatalf("no line %q in %q", want, seen)
}

func TestNothingIsLeft(t *testing.T) {
	tr := testTrees(t)
	tests := []struct {
		name string
		then string
		end  func(p Process)
		want func(Exit) bool
	}{
		{"exit", "exit", func(Process) {}, func(e Exit) bool { return e.Code == 0 && e.Signal == 0 }},
		{"crash", "crash", func(Process) {}, func(e Exit) bool { return e.Signal == syscall.SIGSEGV && e.Code == -1 }},
		{"term", "wait", func(p Process) { p.Signal(syscall.SIGTERM) }, func(e Exit) bool { return e.Signal == syscall.SIGTERM }},
		{"kill", "wait", func(p Process) { p.Kill() }, func(e Exit) bool { return e.Signal == syscall.SIGKILL }},
	}
	for _, strength := range strengths(t, tr) {
		for _, tt := range tests {
			if testing.Short() && strength == Group && tt.name != "kill" {
				continue // it is there to show what the others are for
			}
			t.Run(fmt.Sprintf("%v/%s", strength, tt.name), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "pids")
				p, out := startIn(t, tr, strength, Settings{}, python(), "../../testdata/leaves-escapees.py", file, strconv.Itoa(escapees), tt.then)
				expect(t, out, "ready")
				tt.end(p)
				exit := p.Wait()
				p.Release()
				if !tt.want(exit) || !exit.Started || exit.Lost {
					t.Errorf("exit is %+v", exit)
				}
				checkLeft(t, strength, file)
			})
		}
	}
}

func TestNothingIsLeftOfAChain(t *testing.T) {
	tr := testTrees(t)
	for _, strength := range strengths(t, tr) {
		if strength == Group {
			continue
		}
		t.Run(strength.String(), func(t *testing.T) {
			marker := t.TempDir() // an argument that no other process has, of another run of this test neither
			for range runnertest.Scaled(2, 20) {
				p, out := startIn(t, tr, strength, Settings{}, python(), "testdata/forks-on-and-on.py", "4", marker)
				expect(t, out, "ready")
				p.Kill()
				if exit := p.Wait(); exit.Signal != syscall.SIGKILL {
					t.Errorf("exit is %+v", exit)
				}
				p.Release()
				if left := running(marker); len(left) > 0 {
					killAll(left)
					t.Fatalf("%d left", len(left))
				}
			}
		})
	}
}

// TestNothingIsLeftOfABomb is row S15, with a number of processes that only the user's own limit bounds.
func TestNothingIsLeftOfABomb(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("S15 takes a user of its own, and so root")
		return
	}
	tr := testTrees(t)
	bomb := filepath.Join(runnertest.Readable(t, "runner/internal/tree", "testdata/forks-like-a-bomb.py"), "runner/internal/tree", "testdata", "forks-like-a-bomb.py")
	for _, strength := range strengths(t, tr) {
		if strength == Group {
			continue
		}
		t.Run(strength.String(), func(t *testing.T) {
			const most = 150
			p, out := startIn(t, tr, strength, Settings{User: &nobody, Dir: "/"}, runnertest.ReadablePython(t), bomb, strconv.Itoa(most))
			expect(t, out, "full")
			begin := time.Now()
			p.Kill()
			exit := p.Wait()
			p.Release()
			left := running(bomb)
			t.Logf("S15 %v: %d of %d processes are left after %v", strength, len(left), most, time.Since(begin).Round(time.Millisecond))
			if len(left) > 0 || exit.Signal != syscall.SIGKILL {
				killAll(left)
				t.Errorf("ends as %+v, with %d left", exit, len(left))
			}
		})
	}
}

// doomedCommand makes the test binary a supervisor with one child, to be killed.
const doomedCommand = "doomed-supervisor"

// doomed starts a child that waits, in the strength of the first argument, and waits too.
func doomed(args []string) {
	starter, err := Open()
	if err != nil {
		panic(err)
	}
	strength, err := ParseStrength(args[0])
	if err != nil {
		panic(err)
	}
	cmd := &exec.Cmd{Path: args[1], Args: args[1:], Env: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}
	if _, err := starter.Start(cmd, strength, Settings{NoNewPrivs: true}); err != nil {
		panic(err)
	}
	select {}
}

func TestNothingIsLeftOfAKilledSupervisor(t *testing.T) {
	tr := testTrees(t)
	for _, strength := range strengths(t, tr) {
		t.Run(strength.String(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pids")
			cmd, out, started := command(t, os.Args[0], doomedCommand, strength.String(), python(), "../../testdata/leaves-escapees.py", file, strconv.Itoa(escapees), "wait")
			must(t, cmd.Start())
			started()
			expect(t, out, "ready")
			cmd.Process.Kill()
			cmd.Wait()
			checkLeft(t, strength, file)
		})
	}
}

func TestStrengthThatCannotBeHad(t *testing.T) {
	tr := &Starter{strength: Guard, why: "no such thing"}
	if got, err := tr.Resolve(Auto); got != Guard || err != nil {
		t.Errorf("auto gives %v, %v", got, err)
	}
	if got, err := tr.Resolve(Group); got != Group || err != nil {
		t.Errorf("group gives %v, %v", got, err)
	}
	if _, err := tr.Resolve(Cgroup); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("cgroup gives %v", err)
	}
	tr.blind = "no eyes"
	if _, err := tr.Resolve(Guard); err == nil || !strings.Contains(err.Error(), "no eyes") {
		t.Errorf("guard gives %v", err)
	}
}

// TestChildrenTakeNoThreads: waiting for a child keeps no thread of ours.
func TestChildrenTakeNoThreads(t *testing.T) {
	tr := testTrees(t)
	threads := func() int {
		tasks, err := os.ReadDir("/proc/self/task")
		must(t, err)
		return len(tasks)
	}
	const many = 40
	before := threads()
	var ended []Process
	exits := make(chan Exit, many)
	for range many {
		p, out := startIn(t, tr, Group, Settings{}, "sh", "-c", "echo ready; exec sleep 600")
		expect(t, out, "ready")
		ended = append(ended, p)
		go func() { exits <- p.Wait() }()
	}
	if grown := threads() - before; grown > many/2 {
		t.Errorf("%d threads more with %d children", grown, many)
	}
	for _, p := range ended {
		p.Kill()
	}
	for range many {
		if exit := <-exits; exit.Signal != syscall.SIGKILL {
			t.Errorf("exit is %+v", exit)
		}
	}
}

// checkLeft fails the test if anything in file lives on; or, with strength group, if anything does not: what leaves the group is out of its reach, and the other strengths are for that.
func checkLeft(t *testing.T, strength Strength, file string) {
	t.Helper()
	runnertest.CheckLeft(t, strength == Group, file)
}

func TestStrengthsHaveNames(t *testing.T) {
	for strength := Auto; strength <= Group; strength++ {
		if read, err := ParseStrength(strength.String()); read != strength || err != nil {
			t.Errorf("%d is called %q, which is read as %d (%v)", strength, strength, read, err)
		}
	}
	for _, name := range []string{"", "Auto", "unknown", "none"} {
		if read, err := ParseStrength(name); err == nil {
			t.Errorf("%q is read as %v", name, read)
		}
	}
	if name := (Group + 1).String(); name != "unknown" {
		t.Errorf("no strength is called %q", name)
	}
}

// A program may say that it forked a process that has ended, for a fork may end at once. It must not make us kill by that what a stranger's
// process group still has.
func TestAForkThatHasEndedLeavesNoGroup(t *testing.T) {
	tr := testTrees(t)
	for _, strength := range strengths(t, tr) {
		t.Run(strength.String(), func(t *testing.T) {
			parent, _ := startIn(t, tr, strength, Settings{}, "sleep", "1000")
			t.Cleanup(func() { parent.Kill(); parent.Wait(); parent.Release() })
			leader, out, started := command(t, "sh", "-c", `(trap "echo alive; exit" USR1; echo ready; while :; do sleep 0.1; done) &`)
			leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			err := leader.Run()
			started()
			must(t, err)
			expect(t, out, "ready")
			fork, err := tr.Forked(parent, leader.Process.Pid)
			must(t, err)
			must(t, fork.Equip(strength, Settings{}))
			fork.Lease(1) // long over
			fork.Ended(Exit{Started: true})
			fork.Wait()
			fork.Kill()
			fork.Release()
			must(t, syscall.Kill(-leader.Process.Pid, syscall.SIGUSR1))
			expect(t, out, "alive")
		})
	}
}
