package explain

import (
	"context"
	"errors"
	"strings"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
	"oarlock/supervisor/outcome"
)

// TestWhyNamesASlowCall gives a job back as a pool does whose calls take longer than the job's lock: `job why` names the calls, and does not blame the job.
func TestWhyNamesASlowCall(t *testing.T) {
	client, err := queue.Open(t.Context(), queue.Options{URL: redistest.Shared(t).URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	s := client.Session("h-1-w")
	if _, err := client.Put(t.Context(), queue.Put{Queue: "q", JID: "j", Klass: "K"}); err != nil {
		t.Fatal(err)
	}
	const cause = "a call to Redis takes longer than its lock allows"
	for range outcome.Standstill + 1 {
		reply, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1})
		if err != nil || len(reply.Jobs) != 1 {
			t.Fatalf("%+v, %v", reply, err)
		}
		job := reply.Jobs[0]
		o := outcome.Decide(outcome.Policy{}, outcome.Attempt{Job: job, Warned: true, Lapse: cause}, &runner.Ending{Kind: runner.LockLost})
		if results, err := s.Release(t.Context(), []queue.Settlement{o.Settlement}); err != nil || results[0].Err != nil {
			t.Fatalf("%+v, %v", results, err)
		}
	}
	hold, err := Sources{Client: client, Host: func() string { return "h" }, Supervisor: func(context.Context) (supervisor.Snapshot, error) {
		return supervisor.Snapshot{}, errors.New("none runs here")
	}}.Why(t.Context(), "j")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(hold.Reasons, "\n")
	if !strings.Contains(text, cause) || strings.Contains(text, "drain_timeout") {
		t.Errorf("why says\n%s", text)
	}
}
