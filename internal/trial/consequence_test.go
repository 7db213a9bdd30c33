package trial

import (
	"strings"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
	"oarlock/supervisor/outcome"
)

func TestTryTellsWhatASupervisorWouldDo(t *testing.T) {
	job := func() *queue.Taken {
		return &queue.Taken{JID: "j", Queue: "q", Klass: "K", Retries: 5, Remaining: 5}
	}
	tests := []struct {
		name   string
		change func(*supervisor.Policy, *queue.Taken)
		ending runner.Ending
		want   string
		good   bool
	}{
		{"an ack", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Ack}}, "it said ack: the job is complete", true},
		{"a timeout", nil, runner.Ending{Kind: runner.TimedOut, Group: "timeout", Message: "took longer than 1s"},
			"is retried after 15s, at the cost of one of its 5 retries (timeout: took longer than 1s)", false},
		{"a timeout where errors fail", func(p *supervisor.Policy, _ *queue.Taken) { p.OnError = "fail" },
			runner.Ending{Kind: runner.TimedOut}, "it took too long: the job is failed for good", false},
		{"a timeout at the last attempt", func(_ *supervisor.Policy, j *queue.Taken) { j.Remaining = 0 },
			runner.Ending{Kind: runner.TimedOut}, "failed for good, for it has no retry left", false},
		{"a crash", nil, runner.Ending{Kind: runner.Died}, "is run again at once: a crash costs no retry, but after more than 3", false},
		{"a crash where crashes fail", func(p *supervisor.Policy, _ *queue.Taken) { p.OnCrash = "fail" },
			runner.Ending{Kind: runner.Died}, "the child died: the job is failed for good", false},
		{"one crash too many", func(_ *supervisor.Policy, j *queue.Taken) { j.Crashes = 3 },
			runner.Ending{Kind: runner.Died}, "is failed for good, for it has crashed more than 3 times", false},
		{"a queue that is not its own", func(p *supervisor.Policy, _ *queue.Taken) { p.NextQueues = []string{"mail"} },
			runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Ack, Next: "bank"}},
			`failed for good (next-queue: the child asked for queue "bank", which is not in next_queues)`, false},
		{"a put that is not granted", func(p *supervisor.Policy, _ *queue.Taken) { p.NextQueues = []string{"mail"} },
			runner.Ending{Kind: runner.Exited, Action: protocol.ExitAck, Puts: []protocol.Put{{Queue: "bank"}}},
			`failed for good (next-queue: the child put a job into queue "bank", which is not in next_queues)`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			policy, job := supervisor.Policy{
				OnError: supervisor.RetryJob, OnCrash: supervisor.RetryJob, MaxCrashes: 3,
				Retry: supervisor.Retry{Backoff: outcome.Exponential, Delay: 15 * time.Second, MaxDelay: time.Hour},
			}, job()
			if tt.change != nil {
				tt.change(&policy, job)
			}
			o := supervisor.Decide(policy, supervisor.Attempt{Job: *job}, &tt.ending)
			text, good := consequence(&tt.ending, &o, job)
			if !strings.Contains(text, tt.want) || good != tt.good {
				t.Errorf("it says %q, good %v; want %q, %v", text, good, tt.want, tt.good)
			}
		})
	}
}
