package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/runner/internal/proc"
)

func TestMemoryOfAProcess(t *testing.T) {
	const hoard = 64 << 20
	h, w := newHost(t), newWitness()
	spec := &Spec{Mode: Once, Command: fixture("grows.py", "64", "64")}
	c := start(t, h, spec, w)
	mustRun(t, c, newJob("r1"), RunLimits{})
	until(t, "growth", func() bool { return strings.Contains(w.text("r1"), "grown") })
	m, ok := proc.ReadMemory(c.PID())
	resident, peak := proc.Resident(c.PID()), proc.Peak(c.PID())
	t.Logf("%+v, resident %d, peak %d", m, resident, peak)
	if !ok || m.Private < hoard || m.Share < m.Private || m.Resident < m.Share || m.Resident > 2*hoard {
		t.Errorf("memory is %+v, %v", m, ok)
	}
	if resident < hoard || peak < resident-1<<20 {
		t.Errorf("resident are %d, at most there were %d", resident, peak)
	}
	killed(t, c)
	if _, ok := proc.ReadMemory(c.PID()); ok || proc.Resident(c.PID()) != 0 || proc.Peak(c.PID()) != 0 {
		t.Error("a process that is gone has memory")
	}
}

// TestMemoryOverTheLimit is row B12.
func TestMemoryOverTheLimit(t *testing.T) {
	limit := uint64(100 << 20)
	programs := map[string]*Spec{"once": {Mode: Once, Command: fixture("grows.py", "50", "500")}}
	for language, command := range preloadable(t) {
		programs["preload/"+language] = &Spec{Mode: Preload, Command: command}
	}
	for name, spec := range programs {
		if testing.Short() && name == "preload/ruby" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			spec.Sandbox = Sandbox{NoNewPrivs: true, Limits: Limits{Memory: &limit}}
			within(t, 2500*time.Millisecond, "killed", func() time.Duration { // a look every second, and a second to grow
				c, w := started(t, h, spec)
				begin := time.Now()
				e := endOf(t, c, w, dataJob("r1", `{"do":"grow","mib":500}`), RunLimits{})
				took := time.Since(begin)
				await(t, c.Exited(), "exit")
				t.Logf("B12 %s: killed after %v, at %.0f MiB", name, took.Round(time.Millisecond), mib(e.PeakMemory))
				if e.Kind != Died || e.Group != "memory" || e.SentByUs != CauseMemory || e.PeakMemory < int64(limit) {
					t.Errorf("ends as %+v", e)
				}
				return took
			})
		})
	}
}

// TestKernelKilledForMemory is row B13. It takes a control group that limits memory.
func TestKernelKilledForMemory(t *testing.T) {
	group := limitedGroup(t, 50<<20)
	if group == "" {
		return
	}
	h := newHost(t)
	programs := map[string]*Spec{"once": {Mode: Once, Command: fixture("grows.py", "10", "500")}}
	for language, command := range preloadable(t) {
		programs["preload/"+language] = &Spec{Mode: Preload, Command: command}
	}
	for name, spec := range programs {
		for range scaled(1, 3) {
			c, w := started(t, h, spec)
			must(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, c.PID()), 0))
			e := endOf(t, c, w, dataJob("r1", `{"do":"grow","mib":500}`), RunLimits{})
			await(t, c.Exited(), "exit")
			t.Logf("B13 %s: group %s: %s", name, e.Group, e.OOM)
			if e.Kind != Died || e.Group != "oom" || e.OOM == "" || e.Signal != syscall.SIGKILL {
				t.Errorf("%s ends as %+v", name, e)
			}
		}
	}
	if e, _ := runOnce(t, h, &Spec{Mode: Once, Command: shell("kill -9 $$")}, RunLimits{}); e.Group != "signal-KILL" || e.OOM != "" {
		t.Errorf("any other SIGKILL ends as %+v", e)
	}
}

// limitedGroup returns a control group that holds so much memory; empty, and says so, if this machine
// has none to give.
func limitedGroup(t *testing.T, limit int) string {
	t.Helper()
	groups, err := os.ReadFile("/proc/self/cgroup")
	must(t, err)
	for line := range strings.Lines(string(groups)) {
		if _, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":memory:"); ok {
			var group string // of this run's own: others may test beside us
			if group, err = os.MkdirTemp(filepath.Join("/sys/fs/cgroup/memory", path), "oarlock-test-"); err == nil {
				t.Cleanup(func() { until(t, "end of the group", func() bool { return os.Remove(group) == nil }) })
				if err = os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), fmt.Append(nil, limit), 0); err == nil {
					return group
				}
			}
		}
	}
	t.Logf("this machine cannot show B13: no control group that limits memory may be made (%v)", err)
	return ""
}
