package service

import (
	"io"
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/logging"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// eventsOfAJob are what a pool's loop tells of a job that goes well.
func eventsOfAJob() []supervisor.Event {
	job := &protocol.Job{JID: "j", Klass: "K", Queue: "q", Attempt: 1, Remaining: 5}
	said := &runner.Ending{Kind: runner.Said, Wall: 20 * time.Millisecond}
	return []supervisor.Event{
		{Kind: supervisor.AttemptStarted, Pool: "p", Job: job, Slot: 1, PID: 7, Waited: time.Second},
		{Kind: supervisor.AttemptEnded, Pool: "p", Job: job, Slot: 1, PID: 7, Action: queue.Complete, Ending: said},
		{Kind: supervisor.Settled, Pool: "p", Job: job, Ending: said, Action: queue.Complete},
	}
}

// watched is a service that hears events, with one pool, and says nothing of each.
func watched(tb testing.TB) *Service {
	logs := logging.New(io.Discard, "text", "info")
	tb.Cleanup(func() { logs.Close() })
	s := New(config.Config{Log: config.Log{Attempts: "none"}, Metrics: config.Metrics{Klasses: []string{"*"}}}, Options{Log: logs})
	s.hub.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"})
	return s
}

// Nobody watching, a job costs the loop of its pool no memory, whatever hears of it.
func TestAJobThatNobodyWatchesCostsNoAllocation(t *testing.T) {
	s, events := watched(t), eventsOfAJob()
	job := func() {
		for _, e := range events {
			s.hub.Note(e)
		}
	}
	for range 10_000 { // until what is kept is kept in old memory
		job()
	}
	if n := testing.AllocsPerRun(10_000, job); n >= 0.05 {
		t.Errorf("%v allocations a job", n)
	}
}
