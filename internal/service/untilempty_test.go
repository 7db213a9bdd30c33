package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/config"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// stage is the Redis and the supervisor that a run until empty sees.
type stage struct {
	outlook  queue.QueueOutlook // of the only queue, work; times in seconds from the start
	locks    queue.LockTimes
	freeing  bool
	counts   queue.QueueCounts
	inFlight int
	barren   string
	abstains string
	breaker  string
	list     *queue.ListCounts // of the list of a second pool; nil: there is none
	err      error
	began    time.Time
	changes  []change
}

// A list is empty when nothing is in it, and nothing of it in work.
func TestUntilEmptyWaitsForLists(t *testing.T) {
	s := stage{list: &queue.ListCounts{Waiting: 3, Failed: 7}}
	s.changes = []change{
		{40, func(s *stage) { s.list = &queue.ListCounts{Progress: 2} }},
		{90, func(s *stage) { s.list = &queue.ListCounts{Failed: 9} }},
	}
	at, done, log := s.leaves(t)
	if at != 90*time.Second || !done.Empty {
		t.Errorf("it left after %v: %+v", at, done)
	}
	for _, says := range []string{"3 jobs ready in hworker:mail", "put off, of the list hworker:mail: 2"} {
		if !strings.Contains(log, says) {
			t.Errorf("it does not say %q:\n%s", says, log)
		}
	}
}

// Jobs of a pool whose breaker is open are given back, and none has failed: it is bad all the same.
func TestUntilEmptyBehindABreaker(t *testing.T) {
	s := stage{outlook: queue.QueueOutlook{NextDue: 64}, counts: queue.QueueCounts{Scheduled: 60}, breaker: "nothing ends well"}
	_, done, _ := s.leaves(t)
	if !done.Empty || !done.Bad() || len(done.Trouble) != 1 || done.Trouble[0] != "pool p: nothing ends well" {
		t.Errorf("%+v", done)
	}
	s = stage{}
	if _, done, _ = s.leaves(t); done.Bad() {
		t.Errorf("%+v", done)
	}
}

// Jobs that end otherwise than done, failed, retried or given back are counted, too.
func TestCanceledAndRequeuedJobsAreCounted(t *testing.T) {
	var tally endTally
	var d Emptied
	job := &protocol.Job{JID: "j", Queue: "q", Remaining: 5}
	for _, e := range []supervisor.Event{
		{Kind: supervisor.Settled, Job: job, Action: queue.Requeue},
		{Kind: supervisor.Settled, Job: job, Action: queue.Cancel},                                                 // its own word
		{Kind: supervisor.AttemptEnded, Job: job, Ending: &runner.Ending{Kind: runner.Canceled}},                   // somebody else's
		{Kind: supervisor.AttemptEnded, Job: job, Ending: &runner.Ending{Kind: runner.Said}, Action: queue.Cancel}, // settled later
	} {
		tally.note(&e)
	}
	tally.into(&d)
	if d.Canceled != 2 || d.Requeued != 1 {
		t.Errorf("%+v", d)
	}
}

// A payload that failed for good is a job that failed, though the job it was in goes on.
func TestADeadPayloadIsAFailure(t *testing.T) {
	var tally endTally
	var d Emptied
	tally.note(&supervisor.Event{Kind: supervisor.Settled, Job: &protocol.Job{JID: "j", Queue: "q", Merge: "set"}, Action: queue.Retry, State: "waiting", Part: "j.1",
		Ending: &runner.Ending{Group: "g"}})
	tally.into(&d)
	if d.Failed != 1 || d.Retried != 0 || !d.Bad() || d.Failures[0] != (Failure{"j.1", "q", "g"}) {
		t.Errorf("%+v", d)
	}
}

// change is what happens on a stage so many seconds after the start.
type change struct {
	at float64
	do func(s *stage)
}

func (s *stage) now() float64 { return time.Since(s.began).Seconds() }

func (s *stage) QueueNames(context.Context) ([]string, error) {
	return []string{"work", "other"}, s.err
}
func (s *stage) Outlook(_ context.Context, names []string) ([]queue.QueueOutlook, float64, error) {
	s.outlook.Queue = "work"
	if len(names) != 1 || names[0] != "work" {
		return nil, 0, errors.New("asked for other queues")
	}
	return []queue.QueueOutlook{s.outlook}, s.now(), s.err
}
func (s *stage) Underway(_ context.Context, names []string) ([]queue.LockTimes, bool, error) {
	return []queue.LockTimes{s.locks}[:len(names)], s.freeing, s.err
}
func (s *stage) Queues(context.Context) ([]queue.QueueCounts, error) {
	s.counts.Name = "work"
	return []queue.QueueCounts{s.counts, {Name: "other", Waiting: 100}}, s.err
}
func (s *stage) CountLists(context.Context, []string) ([]queue.ListCounts, error) {
	return []queue.ListCounts{*s.list}, s.err
}
func (s *stage) Setting(context.Context, string) (string, error) { return "10", s.err }

// Ready is asked first at each look, so that it lets happen what was to happen by now.
func (s *stage) Ready() bool {
	for len(s.changes) > 0 && s.changes[0].at <= s.now() {
		s.changes[0].do(s)
		s.changes = s.changes[1:]
	}
	return s.err == nil && s.abstains == ""
}

func (s *stage) InFlight() int { return s.inFlight }
func (s *stage) Snapshot() supervisor.Snapshot {
	return supervisor.Snapshot{Abstains: s.abstains, Pools: []supervisor.PoolSnapshot{{Name: "p", Queues: []string{"work"}, Barren: s.barren, Breaker: s.breaker}}}
}

// leaves runs until empty on a stage. It returns when it left by itself, -1 if it did not
// within an hour, and what it said.
func (s *stage) leaves(t *testing.T) (at time.Duration, done Emptied, log string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.began = time.Now()
		var lines strings.Builder
		at = -1
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		e := &untilEmpty{
			within: 30 * time.Second, done: Emptied{Within: 30 * time.Second}, asks: s, sup: s,
			log: slog.New(slog.NewTextHandler(&lines, nil)),
			pools: func() map[string]config.Pool {
				pools := map[string]config.Pool{"p": {Queues: []string{"w*"}}}
				if s.list != nil {
					pools["l"] = config.Pool{List: "hworker:mail"}
				}
				return pools
			},
			drain: func() { at = time.Since(s.began).Round(time.Second); stop() },
		}
		if err := e.run(ctx); err != nil {
			t.Error(err)
		}
		done, log = e.done, lines.String()
	})
	return at, done, log
}

func TestUntilEmpty(t *testing.T) {
	tests := map[string]struct {
		start stage
		want  time.Duration // when it leaves; -1: never
		left  string
		why   string // given up
	}{
		"an empty queue at the start": {want: 0, left: "nothing"},
		"a job at work, which puts the next": {start: stage{inFlight: 1, changes: []change{
			{5, func(s *stage) { s.inFlight, s.outlook.Ready = 0, 1 }},
			{10, func(s *stage) { s.outlook.Ready = 0 }},
		}}, want: 10 * time.Second, left: "nothing"},
		"a job that is due soon": {start: stage{outlook: queue.QueueOutlook{NextDue: 25}, counts: queue.QueueCounts{Scheduled: 1}, changes: []change{
			{25, func(s *stage) { s.outlook, s.counts, s.inFlight = queue.QueueOutlook{}, queue.QueueCounts{}, 1 }},
			{30, func(s *stage) { s.inFlight = 0 }},
		}}, want: 30 * time.Second, left: "nothing"},
		"a job that is due late": {
			start: stage{outlook: queue.QueueOutlook{NextDue: 45}, counts: queue.QueueCounts{Scheduled: 3}},
			want:  0, left: "3 scheduled for later than 30s",
		},
		"a recurring job that is always due soon": {start: stage{outlook: queue.QueueOutlook{NextDue: 1}}, want: -1},
		"a paused queue": {
			start: stage{outlook: queue.QueueOutlook{Ready: 7, NextDue: 1, Paused: true}, counts: queue.QueueCounts{Waiting: 6, Scheduled: 1, Paused: true}},
			want:  0, left: "paused queue work with 7 jobs",
		},
		"a damaged queue": {
			start: stage{outlook: queue.QueueOutlook{Ready: 7, Damage: "a string"}, counts: queue.QueueCounts{Damage: "a string"}},
			want:  0, left: "damaged queue work (oarlock doctor)",
		},
		// Its lock runs out, it is held back for its grace, and then it is ready.
		"a job of a worker that died": {start: stage{locks: queue.LockTimes{First: 40, Last: 50}, counts: queue.QueueCounts{Running: 2}, changes: []change{
			{40, func(s *stage) { s.locks = queue.LockTimes{First: 50, Last: 50.2} }},
			{50.2, func(s *stage) { s.locks, s.outlook.Ready = queue.LockTimes{}, 2 }},
			{55, func(s *stage) { s.outlook.Ready, s.counts = 0, queue.QueueCounts{} }},
		}}, want: 55 * time.Second, left: "nothing"},
		"a job of a worker that lives": {start: stage{locks: queue.LockTimes{First: 60, Last: 60}, counts: queue.QueueCounts{Running: 1}, changes: []change{
			{20, func(s *stage) { s.locks = queue.LockTimes{First: 80, Last: 80} }},
		}}, want: 20 * time.Second, left: "1 at work elsewhere"},
		"dependents that are being freed": {start: stage{freeing: true, changes: []change{
			{60, func(s *stage) { s.freeing = false }},
		}}, want: time.Minute, left: "nothing"},
		"jobs that wait for others for ever": {
			start: stage{counts: queue.QueueCounts{Depends: 2, Throttled: 1}}, want: 10 * time.Second, left: "2 waiting for other jobs, 1 waiting for a throttle",
		},
		"a job behind one that failed and keeps the turn": {
			start: stage{outlook: queue.QueueOutlook{Behind: 1}}, want: 10 * time.Second, left: "1 behind others of their key (oarlock key ls)",
		},
		"a job behind one that another client completed": {start: stage{outlook: queue.QueueOutlook{Behind: 1}, changes: []change{
			{1, func(s *stage) { s.outlook.Behind, s.outlook.Ready = 0, 1 }},
			{3, func(s *stage) { s.outlook.Ready = 0 }},
		}}, want: 3 * time.Second, left: "nothing"},
		"jobs that are let go one by one": {start: stage{counts: queue.QueueCounts{Throttled: 2}, changes: []change{
			{9, func(s *stage) { s.counts.Throttled = 1 }},
			{18, func(s *stage) { s.counts.Throttled = 0 }},
		}}, want: 18 * time.Second, left: "nothing"},
		"a pool whose children do not start": {
			start: stage{outlook: queue.QueueOutlook{Ready: 4}, counts: queue.QueueCounts{Waiting: 4}, barren: "children do not start: no such file"},
			want:  time.Minute, left: "4 ready", why: "4 jobs ready in work; pool p: children do not start: no such file",
		},
		"a supervisor that abstains": {
			start: stage{outlook: queue.QueueOutlook{Ready: 4, Damage: "needs shards"}, counts: queue.QueueCounts{Waiting: 4}, abstains: "the key space needs shards"},
			want:  time.Minute, left: "4 ready", why: "the supervisor takes no jobs: the key space needs shards",
		},
		"a supervisor that abstains for a while": {start: stage{outlook: queue.QueueOutlook{Ready: 4}, abstains: "the rules do not count", changes: []change{
			{50, func(s *stage) { s.abstains = "" }},
			{100, func(s *stage) { s.outlook.Ready = 0 }},
		}}, want: 100 * time.Second, left: "nothing"},
		"a pool whose children start after a while": {start: stage{outlook: queue.QueueOutlook{Ready: 4}, barren: "children do not start", changes: []change{
			{50, func(s *stage) { s.barren = "" }},
			{100, func(s *stage) { s.outlook.Ready = 0 }},
		}}, want: 100 * time.Second, left: "nothing"},
		"a Redis that is away": {start: stage{err: queue.ErrAway, changes: []change{
			{600, func(s *stage) { s.err = nil }},
		}}, want: 10 * time.Minute, left: "nothing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			at, done, log := tt.start.leaves(t)
			if at != tt.want && (tt.want < 0 || at < tt.want || at > tt.want+time.Second) {
				t.Errorf("it left after %v, want %v", at, tt.want)
			}
			if done.Empty != (tt.want >= 0 && tt.why == "") || done.Why != tt.why {
				t.Errorf("empty: %v, given up: %q", done.Empty, done.Why)
			}
			if tt.want >= 0 && (done.Left == nil || done.Left.Words(done.Within) != tt.left) {
				t.Errorf("left: %v (%s), want %s", done.Left, done.Unknown, tt.left)
			}
			if tt.want > emptySay && !strings.Contains(log, "not empty yet") {
				t.Errorf("it waits in silence:\n%s", log)
			}
		})
	}
}
