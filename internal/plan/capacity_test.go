package plan

import (
	"fmt"
	"strings"
	"testing"

	"oarlock/runner"
	"oarlock/supervisor"
)

// small is a host for which 1,000 processes are what there is least of.
func small(strength runner.KillStrength) Capacity {
	return Capacity{strength: strength, bounds: []runner.Bound{
		{Of: runner.Processes, Where: "pids.max of /x.service", Max: 1000},
		{Of: runner.Processes, Where: "kernel.pid_max", Max: 32768},
		{Of: runner.Files, Where: "RLIMIT_NOFILE", Max: 65536},
		{Of: runner.Memory, Where: "of this host", Max: 16 << 30},
	}}
}

func reused(name string, children int) supervisor.Pool {
	return supervisor.Pool{Name: name, Children: children, Child: runner.Spec{Mode: runner.Reuse}}
}

func TestChildrenAreComparedWithTheHost(t *testing.T) {
	for _, tt := range []struct {
		strength runner.KillStrength
		children int
		fits     bool
		says     string
	}{
		{runner.KillGuard, 8, true, "In the middle of a roll 12 children take about 108 of the 1,000 processes that there may be (pids.max of /x.service)."},
		{runner.KillGuard, 100, false, "150 children take about 1,350 of the 1,000 processes that there may be (pids.max of /x.service), which is too much: there is room for 104."},
		{runner.KillCgroup, 100, true, "150 children take about 150 of the 1,000"},
		{runner.KillCgroup, 20000, false, "there is room for 936."},
	} {
		says, fits := small(tt.strength).Told([]supervisor.Pool{reused("p", tt.children)})
		if fits != tt.fits || !strings.Contains(says, tt.says) {
			t.Errorf("%d children killed by %v: %q, fits: %v; want %q", tt.children, tt.strength, says, fits, tt.says)
		}
	}
}

// Each other bound is the tightest where it is low.
func TestEachBoundCounts(t *testing.T) {
	for _, tt := range []struct {
		bound runner.Bound
		room  string
	}{
		{runner.Bound{Of: runner.Files, Where: "RLIMIT_NOFILE", Max: 512}, "there is room for 67"},
		{runner.Bound{Of: runner.Memory, Where: "memory.max of /x", Max: 256 << 20}, "there is room for 80"},
		{runner.Bound{Of: runner.Processes, Where: "RLIMIT_NPROC of user 7", Max: 100}, "there is room for 4"},
	} {
		here := small(runner.KillGuard)
		here.bounds = append(here.bounds, tt.bound)
		err := here.Refuse([]supervisor.Pool{reused("p", 1)}, "p", 5000, map[string]int{"p": 1})
		if err == nil || !strings.Contains(err.Error(), tt.bound.Where) || !strings.HasSuffix(err.Error(), tt.room) {
			t.Errorf("%v: %v, want %q", tt.bound, err, tt.room)
		}
	}
}

func TestScaleNamesTheBound(t *testing.T) {
	here, pools := small(runner.KillGuard), []supervisor.Pool{reused("p", 4), reused("q", 50)}
	now := map[string]int{"p": 4, "q": 50}
	want := "pool p cannot have 20,000 children: 20,000 children take about 180,000 of the 1,000 processes that there may be (pids.max of /x.service), which is too much; beside the other pools there is room for 54"
	if err := here.Refuse(pools, "p", 20000, now); fmt.Sprint(err) != want {
		t.Errorf("scale says %v, want %s", err, want)
	}
	for _, n := range []int{0, 1, 54} {
		if err := here.Refuse(pools, "p", n, now); err != nil {
			t.Errorf("%d children: %v", n, err)
		}
	}
	if err := here.Refuse(pools, "none", 20000, now); err != nil {
		t.Errorf("of a pool that is not there: %v", err)
	}
}

func TestPoolsAreCutToWhatTheHostCarries(t *testing.T) {
	here := small(runner.KillCgroup)
	grows := supervisor.Pool{Name: "g", MinChildren: 900, MaxChildren: 5000, Child: runner.Spec{Mode: runner.Reuse}}
	pools := []supervisor.Pool{reused("p", 5000), reused("q", 1), grows}
	cut := here.Fit(pools)
	if len(cut) != 2 || !strings.Contains(cut[0], "of 5,000 children") || !strings.Contains(cut[0], "pids.max of /x.service") {
		t.Errorf("it says %q", cut)
	}
	total := pools[0].Children + pools[1].Children + pools[2].MaxChildren
	if total > 1000 || total < 900 || pools[1].Children != 1 || pools[2].MinChildren > pools[2].MaxChildren {
		t.Errorf("pools have %d, %d and %d to %d children", pools[0].Children, pools[1].Children, pools[2].MinChildren, pools[2].MaxChildren)
	}
	if cut := here.Fit(pools); cut != nil {
		t.Errorf("what was cut is cut again: %q", cut)
	}
}
