package show

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/ops"
)

// However many jobs hold a throttle, or wait for it, the screen names the first, and says how many there are.
func TestThrottleNamesFewJobs(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("job-%d", i))
	}
	first := "\n  " + strings.Join(many[:mostNamed], "\n  ") + "\n"
	for _, tt := range []struct {
		holders, waiters []string
		waiting          int
		want             string
	}{
		{nil, nil, 0, "held by: no job\nwaited for by: no job\n"},
		{many[:1], many[:2], 2, "held by: 1 job\n  job-0\nwaited for by: 2 jobs\n  job-0\n  job-1\n"},
		{many[:mostNamed], many[:500], 500, "held by: 10 jobs" + first + "waited for by: 500 jobs" + first + "  …; --json names all\n"},
		{many[:500], many, 3000, "held by: 500 jobs" + first + "  …; --json names all\nwaited for by: 3,000 jobs" + first + "  …; --json names 1,000\n"},
	} {
		var out strings.Builder
		Throttle(&out, ops.Throttle{ID: "t", Holders: tt.holders, Waiters: tt.waiters, Waiting: tt.waiting}, 0)
		if got := out.String(); got != "t: any number of jobs at a time\nplaces taken: 0\n"+tt.want {
			t.Errorf("%d hold it and %d wait:\n%s", len(tt.holders), tt.waiting, got)
		}
	}
	if got := firstOf(slices.Repeat([]string{"j"}, 12)); got != strings.Repeat("j ", 10)+"and 2 more; --json names all" {
		t.Error(got)
	}
}
