package runner

import (
	"testing"
)

// What a program leaves running when it exits is killed, and counted, by whatever strength.
func TestProcessesLeftRunningAreCounted(t *testing.T) {
	h := newHost(t)
	for _, kill := range []KillStrength{KillGroup, KillGuard, KillCgroup} {
		t.Run(kill.String(), func(t *testing.T) {
			if _, err := h.starter.Resolve(kill); err != nil {
				t.Skipf("SKIPPED children cannot be killed by %s here: %v", kill, err)
			}
			for _, tt := range []struct {
				script string
				want   int
			}{
				{"sleep 60 & sleep 60 & exit 0", 2},
				{"sleep 0.01 & wait; true | cat; exit 0", 0},
				{"exit 0", 0},
			} {
				c, w := started(t, h, &Spec{Command: shell(tt.script), Kill: kill})
				e := endOf(t, c, w, newJob("r1"), RunLimits{})
				if exit := await(t, w.exits, "exit"); exit.Left != tt.want || exit.Code != 0 || e.Kind != Exited {
					t.Errorf("%s: %d were left, want %d; %+v", tt.script, exit.Left, tt.want, exit)
				}
				<-c.Exited()
			}
		})
	}
}
