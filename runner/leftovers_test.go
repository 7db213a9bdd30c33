package runner

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

// sleeper starts a process group of its own, with env in its environment.
func sleeper(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

const childMark = protocolEnv + "=1"

// leftBy are the leftovers of a supervisor that died with these children.
func leftBy(t *testing.T, of Identity, children ...*exec.Cmd) *Leftovers {
	t.Helper()
	var list []Leftover
	for _, cmd := range children {
		l, there := LeftoverOf(cmd.Process.Pid, cmd.Process.Pid)
		if !there {
			t.Fatalf("%v is gone", cmd)
		}
		list = append(list, l)
	}
	return NewLeftovers(of, list)
}

func TestSurvivorsAreKilledAndStrangersAreNot(t *testing.T) {
	mine, theirs := sleeper(t, childMark), sleeper(t, childMark)
	elsewhere := Self()
	elsewhere.Boot = "another"
	if n, doubtful := leftBy(t, elsewhere, mine, theirs).Kill(); n != 0 || doubtful != nil {
		t.Errorf("by numbers of another boot %d are killed, %v doubtful", n, doubtful)
	}
	left := leftBy(t, Self(), mine, theirs)
	left.children[1].Start++ // as if the number had been given to a stranger since
	if n, doubtful := left.Kill(); n != 1 || doubtful != nil {
		t.Errorf("killed %d groups, want 1; doubtful %v", n, doubtful)
	}
	mine.Wait()
	if n, doubtful := left.Kill(); n != 0 || doubtful != nil {
		t.Errorf("still %d to kill, %v doubtful", n, doubtful)
	}
	if !Alive(theirs.Process.Pid) {
		t.Error("the stranger is dead")
	}
}

// A list of children is not enough to be killed by: whoever wrote it, the process must have
// the mark of our children. It may have it elsewhere in its environment, which proves nothing.
func TestWhatIsNotProvenToBeOursIsNotKilled(t *testing.T) {
	mine := sleeper(t, childMark)
	foreign, pretender := sleeper(t), sleeper(t, "NOTE="+childMark)
	n, doubtful := leftBy(t, Self(), foreign, mine, pretender).Kill()
	if want := []int{foreign.Process.Pid, pretender.Process.Pid}; n != 1 || !slices.Equal(doubtful, want) {
		t.Errorf("killed %d groups, want 1; doubtful are %v, want %v", n, doubtful, want)
	}
	mine.Wait()
	for _, cmd := range []*exec.Cmd{foreign, pretender} {
		if !Alive(cmd.Process.Pid) {
			t.Errorf("%v is dead", cmd.Env)
		}
	}
}

// Of a child that is gone, its group is ended if it has the mark of the dead supervisor, and
// not if it has that of another one.
func TestTheGroupOfAChildThatIsGoneMustHaveTheSupervisorsMark(t *testing.T) {
	later := Self()
	later.Start++
	for _, tt := range []struct {
		name, mark string
		killed     int
		doubtful   int
	}{
		{"ours", Self().entry(), 1, 0},
		{"of another supervisor", later.entry(), 0, 1},
		{"of one whose start begins alike", Self().entry() + "1", 0, 1},
		{"of nobody", "A=b", 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			leader := sleeper(t, childMark)
			rest := exec.Command("sleep", "60")
			rest.Env = []string{"PATH=/usr/bin:/bin", childMark, tt.mark}
			rest.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: leader.Process.Pid}
			must(t, rest.Start())
			defer rest.Wait()
			defer rest.Process.Kill()
			same(t, slices.Contains(Remaining([]Identity{Self()}), rest.Process.Pid), (tt.killed > 0), "it remains: %t")
			left := leftBy(t, Self(), leader)
			leader.Process.Kill()
			leader.Wait()
			if n, doubtful := left.Kill(); n != tt.killed || len(doubtful) != tt.doubtful {
				t.Errorf("killed %d groups, want %d; doubtful %v", n, tt.killed, doubtful)
			}
			if tt.killed > 0 {
				rest.Wait()
			} else if !Alive(rest.Process.Pid) {
				t.Error("it is dead")
			}
		})
	}
}
