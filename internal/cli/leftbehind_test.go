package cli

import (
	"strings"
	"testing"
)

// That what a job has left running was killed is said once, and counted.
func TestWhatJobsLeaveRunningIsSaidOnce(t *testing.T) {
	s := newScript(t, strings.Replace(workFiles, "case", "sleep 60 &\ncase", 1))
	p := running(t, s)
	for range 3 {
		p.ask("put", "work", `"good"`)
	}
	p.await(`WARN  a job's program exited and left processes running, .* pool=work processes=1 .*systemd-run`)
	p.until("left running when they exited, and that were killed: 3", "status")
	p.terminate()
	if n := strings.Count(strings.Join(p.seen, "\n"), "left processes running"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, strings.Join(p.seen, "\n"))
	}
}
