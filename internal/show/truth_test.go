package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"oarlock/internal/ops"
	"oarlock/internal/service"
	"oarlock/queue"
	"oarlock/supervisor"
)

// A throttle that limits each value is not one of any number of jobs.
func TestThrottleTellsWhatLimitsEachValue(t *testing.T) {
	rule := 0
	var out bytes.Buffer
	Throttle(&out, ops.Throttle{ID: "t", Limits: []string{"2 of each value"}, ByHand: true, Rule: &rule}, 0)
	if got := out.String(); !strings.HasPrefix(got, "t: limited by 2 of each value\n") || strings.Contains(got, "any number") {
		t.Errorf("it says\n%s", got)
	}
}

// While a pool changes its mode, the supervisor has two of its name, which work the same queues.
func TestStatusTellsAQueueOnce(t *testing.T) {
	r := service.Status{Snapshot: supervisor.Snapshot{Redis: "ok", Pools: []supervisor.PoolSnapshot{{Name: "p", Mode: "once", Draining: true}, {Name: "p", Mode: "reuse"}}}}
	r.Queues = []service.QueueStatus{{Pool: "p", Queue: "mail"}}
	var out bytes.Buffer
	if Status(&out, r); strings.Count(out.String(), "mail") != 1 {
		t.Errorf("it says\n%s", out.String())
	}
}

// Retries that are left of a job that has failed are not used, and it says why.
func TestJobTellsWhyItIsNotRetried(t *testing.T) {
	code := 3
	for why, r := range map[string]supervisor.Record{
		"; not used: the program said fail":                  {Verdict: "fail"},
		"; not used: exit code 3 fails a job of that pool":   {ExitCode: &code},
		`; not used: it failed for good (child\x1b-crashed)`: {Signal: "SIGSEGV"},
	} {
		record, _ := json.Marshal(r)
		var out bytes.Buffer
		job := ops.Job{JID: "j", State: "failed", Retries: 5, Remaining: 5, Record: record, Failure: &queue.Failure{Group: "child\x1b-crashed"}}
		if Job(&out, &job, 0); !strings.Contains(out.String(), "5 left of 5"+why+"\n") {
			t.Errorf("it does not say %q:\n%s", why, out.String())
		}
	}
	var out bytes.Buffer
	if Job(&out, &ops.Job{State: "waiting", Retries: 5, Remaining: 4}, 0); !strings.Contains(out.String(), "4 left of 5\n") {
		t.Errorf("of one that waits it says\n%s", out.String())
	}
}

func TestDowngradeTellsWhatItChanged(t *testing.T) {
	var out bytes.Buffer
	Downgrade(&out, ops.Downgrade{Needs: []ops.Need{{Word: "keys", Left: []string{"x"}}, {Word: "park"}}, Taken: []string{"park"}})
	if !strings.Contains(out.String(), "Taken away: park. What is left above still keeps older versions out.") {
		t.Errorf("it says\n%s", out.String())
	}
}
