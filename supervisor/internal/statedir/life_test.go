package statedir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// files lists a directory.
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, filepath.Ext(e.Name()))
	}
	return strings.Join(names, " ")
}

func TestALifeFileIsLockedWhileItsOwnerLives(t *testing.T) {
	dir := t.TempDir()
	l, err := Begin(dir)
	must(t, err)
	must(t, l.Write([]Workers{{Name: "w1", Queues: []string{"q"}, MaxCrashes: 3}}))
	if left, held, err := heritages(opened(t, dir)); len(left) != 0 || held || err != nil {
		t.Errorf("the heritage of the living was found: %v, %v, %v", left, held, err)
	}
	l.Abandon()
	left, _, err := heritages(opened(t, dir))
	if err != nil || len(left) != 1 {
		t.Fatalf("%d heritages, %v; want one", len(left), err)
	}
	if h := left[0]; len(h.Workers) != 1 || h.Workers[0].Name != "w1" || h.Workers[0].Queues[0] != "q" || h.PID != os.Getpid() {
		t.Errorf("testament is %+v", h.testament)
	}
	if again, _, _ := heritages(opened(t, dir)); len(again) != 0 {
		t.Error("two successors share one heritage")
	}
	left[0].settled()
	if got := files(t, dir); got != "" {
		t.Errorf("left in the directory: %s", got)
	}
}

func TestALockThatOutlivesItsOwnerIsSeen(t *testing.T) {
	dir := t.TempDir()
	l, err := Begin(dir)
	must(t, err)
	// A process that the dead supervisor was starting holds its lock for a moment longer.
	cmd := sleeper(t)
	cmd.Process.Kill()
	cmd.Wait()
	dead := filepath.Join(dir, fmt.Sprintf("%d-x", cmd.Process.Pid))
	for _, suffix := range []string{lifeSuffix, childrenSuffix} {
		must(t, os.Rename(filepath.Join(dir, l.name)+suffix, dead+suffix))
	}
	if left, held, err := heritages(opened(t, dir)); len(left) != 0 || !held || err != nil {
		t.Errorf("heritages() = %v, %v, %v; want one that is held", left, held, err)
	}
	l.Abandon()
	if left, held, err := heritages(opened(t, dir)); len(left) != 1 || held || err != nil {
		t.Errorf("heritages() = %v, %v, %v; want one", left, held, err)
	}
}

func TestAnOrderlyEndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	l, err := Begin(dir)
	must(t, err)
	if _, err := l.Enter(os.Getpid(), os.Getpid()); err != nil {
		t.Fatal(err)
	}
	l.End()
	if got := files(t, dir); got != "" {
		t.Errorf("left in the directory: %s", got)
	}
}

func TestAShorterTestamentReplacesALongerOne(t *testing.T) {
	dir := t.TempDir()
	l, err := Begin(dir)
	must(t, err)
	for _, all := range [][]Workers{{{Name: "one"}, {Name: "two"}, {Name: "three"}}, {{Name: "two"}}} {
		must(t, l.Write(all))
	}
	l.Abandon()
	left, _, err := heritages(opened(t, dir))
	if err != nil || len(left) != 1 || len(left[0].Workers) != 1 || left[0].Workers[0].Name != "two" {
		t.Errorf("read %+v, %v", left, err)
	}
}

func TestBrokenLifeFilesAreReportedAndSkipped(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "1-x"+lifeSuffix), []byte("{"), 0o600))
	l, err := Begin(dir)
	must(t, err)
	l.Abandon()
	left, _, err := heritages(opened(t, dir))
	if len(left) != 1 || err == nil || !strings.Contains(err.Error(), "1-x") {
		t.Errorf("%d heritages, %v; want the sound one and the name of the broken one", len(left), err)
	}
}

// opened is dir as a state directory.
func opened(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := open(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

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

const childMark = "OARLOCK_PROTOCOL=1"

func TestTheTableHasALineForEachLivingChild(t *testing.T) {
	dir := t.TempDir()
	l, err := Begin(dir)
	must(t, err)
	gone, worker, heir := sleeper(t), sleeper(t), sleeper(t)
	var lines []int
	for i, cmd := range []*exec.Cmd{gone, worker, heir} {
		line, err := l.Enter(cmd.Process.Pid, cmd.Process.Pid)
		must(t, err)
		if lines = append(lines, line); i == 1 {
			l.Leave(lines[0]) // the third comes while the second is still at work
		}
	}
	l.Abandon()
	left, _, err := heritages(opened(t, dir))
	if err != nil || len(left) != 1 {
		t.Fatalf("read %+v, %v", left, err)
	}
	var found []int
	for _, p := range left[0].children {
		found = append(found, p.PID)
	}
	if want := []int{heir.Process.Pid, worker.Process.Pid}; !slices.Equal(found, want) {
		t.Errorf("children are %v, want those that live, %v", found, want)
	}
	left[0].settled()
}
