package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/runner"
)

// pidsGroup makes a control group that limits processes, of version 1 or 2, until the test
// ends. The error says why this machine cannot.
func pidsGroup(t testing.TB, most int) (string, error) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	err = errors.New("no control group of ours limits processes")
	for line := range strings.Lines(string(mounts)) {
		head, tail, _ := strings.Cut(line, " - ")
		kind := strings.Fields(tail)
		if len(kind) < 3 || !strings.HasPrefix(kind[0], "cgroup") {
			continue
		}
		dir, failed := os.MkdirTemp(strings.Fields(head)[4], "oarlock-test-")
		if failed != nil {
			continue
		}
		if failed := setPids(dir, most); failed == nil {
			t.Cleanup(func() { removeGroup(t, dir) })
			return dir, nil
		}
		os.Remove(dir)
	}
	return "", err
}

// setPids sets how many processes there may be in the group.
func setPids(group string, most int) error {
	file, err := os.OpenFile(filepath.Join(group, "pids.max"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, most)
	return errors.Join(err, file.Close())
}

// processesUsedUp lowers the number of processes that a supervisor may have while it
// works, to less than it has, and raises it again.
func processesUsedUp(t *testing.T, r *rig) {
	group, err := pidsGroup(t, 400)
	if err != nil {
		notHere("G10", err)
		return
	}
	r.under(t, "echo $$ > "+group+"/cgroup.procs")
	r.put(t, 300, work{MS: 200})
	a := r.begins(t, pool{mode: "once", children: 12, more: `sandbox.kill = "group"`}, 12)
	must(t, setPids(group, 5))
	a.said(t, "processes used up", "of 5 (pids.max of ")
	time.Sleep(2 * time.Second) // several starts are tried in vain
	must(t, setPids(group, 400))
	r.doneFree(t, r.settled(t))
	for _, blame := range []string{"breaker open", "children do not start", "given up"} {
		if a.saying(blame) > 0 {
			t.Errorf("the log says %q", blame)
		}
	}
	if n := a.saying("used up"); n > 3 { // it may be met anew after it was over
		t.Errorf("%d lines tell of it", n)
	}
	a.stop(t)
	r.check(t, allowed{})
}

// veryManyChildren has as many children as this host carries, up to 4,000: they start,
// work and stop. Their locks last longer than elsewhere: how soon a host that starts them all at once comes
// to renewals is not what is asked here.
func veryManyChildren(t *testing.T, r *rig) {
	var none runner.Demand
	children := min(4000, none.Room(runner.KillCgroup, runner.Bounds()))
	jids := r.put(t, children, work{})
	a := r.start(t, "a", pool{mode: "once", children: children, command: []string{"sleep", "600"}, top: `drain_timeout = "100ms"`})
	a.said(t, `"msg":"ready"`)
	strength := a.status(t)["kill_strength"]
	r.note("strength", strength)
	if strength == "guard" {
		children = min(children, none.Room(runner.KillGuard, runner.Bounds()))
	}
	began := time.Now()
	within(t, 5*time.Minute, func() error {
		if n := a.working(t); n < children {
			return fmt.Errorf("%d of %d children work", n, children)
		}
		return nil
	})
	r.note("children", children, "began_in_s", time.Since(began).Seconds())
	stopped := time.Now()
	a.signal(t, syscall.SIGTERM)
	if code := a.exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.note("left_in_s", time.Since(stopped).Seconds())
	a.leftNothing(t)
	for _, j := range readJobs(t, r.db, jids) {
		if j.state != "stalled" || j.remaining != j.retries || j.interruptions != 1 {
			t.Fatalf("job %s is %s, with %d of %d retries after %d interruptions:\n%s", j.jid, j.state, j.remaining, j.retries, j.interruptions, a.about(j.jid))
		}
	}
}

// scaledToAndFro scales a pool between nothing and very many while it works, far beyond
// what the host carries, reloads and recycles it, and ends it in the middle of its growth.
func scaledToAndFro(t *testing.T, r *rig) {
	r.put(t, 400, work{MS: 20})
	a := r.start(t, "a", pool{mode: "once", children: 2})
	a.said(t, `"msg":"ready"`)
	for _, n := range []string{"0", "1", "1500", "0", "1500", "1", "1500"} {
		a.control(t, "scale", "work", n)
	}
	beyond := exec.Command(a.cmd.Path, "scale", "-c", a.config, "work", "100000000")
	if words, err := beyond.CombinedOutput(); err == nil || !strings.Contains(string(words), "there is room for") {
		t.Errorf("scale says %q, %v", words, err)
	}
	a.control(t, "recycle")
	a.control(t, "reload")
	r.finish(t, allowed{})
	a.control(t, "scale", "work", "0")
	a.control(t, "scale", "work", "1500")
	began := time.Now()
	a.stop(t)
	r.note("left_in_s", time.Since(began).Seconds())
}

// working counts the children that have a process and a job.
func (s *supervisor) working(t testing.TB) (n int) {
	t.Helper()
	pools, _ := s.status(t)["pools"].([]any) // a busy supervisor may leave them out
	for _, p := range pools {
		for _, slot := range p.(map[string]any)["slots"].([]any) {
			if slot := slot.(map[string]any); slot["state"] == "busy" && slot["pid"] != nil {
				n++
			}
		}
	}
	return n
}
