package plan

import (
	"strings"
	"testing"

	"oarlock/runner"
	"oarlock/supervisor"
)

// Few descriptors are reckoned by what a supervisor and its children use, and not by what they might.
func TestFewFilesGiveAsManyChildrenAsThereIsRoomFor(t *testing.T) {
	here := Capacity{strength: runner.KillGroup, bounds: []runner.Bound{{Of: runner.Files, Where: "RLIMIT_NOFILE", Max: 200}}}
	pools := []supervisor.Pool{reused("p", 60)}
	cut := here.Fit(pools)
	if len(cut) != 1 || pools[0].Children != 22 || !strings.Contains(cut[0], "60 children take about 420 of the 200 open files that there may be (RLIMIT_NOFILE), of which the supervisor itself needs 40") {
		t.Errorf("%d children: %q", pools[0].Children, cut)
	}
}
