package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"syscall"
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
	breaker  string
	err      error
	began    time.Time
	changes  []change
}

// Jobs of a pool whose breaker is open are given back, and none has failed: it is bad all the same.
func TestUntilEmptyBehindABreaker(t *testing.T) {
	s := stage{outlook: queue.QueueOutlook{NextDue: 64}, counts: queue.QueueCounts{Scheduled: 60}, breaker: "nothing ends well"}
	_, done, _ := s.leaves(t)
	if !done.Empty || !done.bad() || len(done.Trouble) != 1 || done.Trouble[0] != "pool p: nothing ends well" {
		t.Errorf("%+v", done)
	}
	s = stage{}
	if _, done, _ = s.leaves(t); done.bad() {
		t.Errorf("%+v", done)
	}
}

// Jobs that end otherwise than done, failed, retried or given back are counted, too.
func TestCanceledAndRequeuedJobsAreCounted(t *testing.T) {
	var tally endTally
	var d emptied
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
	d.Empty, d.Left = true, &left{}
	var out strings.Builder
	d.print(&out)
	if d.Canceled != 2 || d.Requeued != 1 || !strings.Contains(out.String(), "0 given back, 2 canceled, 1 put again.\n") {
		t.Errorf("%+v\n%s", d, out.String())
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
func (s *stage) Setting(context.Context, string) (string, error) { return "10", s.err }

// Ready is asked first at each look, so that it lets happen what was to happen by now.
func (s *stage) Ready() bool {
	for len(s.changes) > 0 && s.changes[0].at <= s.now() {
		s.changes[0].do(s)
		s.changes = s.changes[1:]
	}
	return s.err == nil
}

func (s *stage) InFlight() int { return s.inFlight }
func (s *stage) Snapshot() supervisor.Snapshot {
	return supervisor.Snapshot{Pools: []supervisor.PoolSnapshot{{Name: "p", Queues: []string{"work"}, Barren: s.barren, Breaker: s.breaker}}}
}

// leaves runs until empty on a stage. It returns when it left by itself, -1 if it did not
// within an hour, and what it said.
func (s *stage) leaves(t *testing.T) (at time.Duration, done emptied, log string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.began = time.Now()
		var lines strings.Builder
		at = -1
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		e := &untilEmpty{
			within: 30 * time.Second, done: emptied{within: 30 * time.Second}, asks: s, sup: s,
			log:   slog.New(slog.NewTextHandler(&lines, nil)),
			pools: func() map[string]config.Pool { return map[string]config.Pool{"p": {Queues: []string{"w*"}}} },
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
		"jobs that are let go one by one": {start: stage{counts: queue.QueueCounts{Throttled: 2}, changes: []change{
			{9, func(s *stage) { s.counts.Throttled = 1 }},
			{18, func(s *stage) { s.counts.Throttled = 0 }},
		}}, want: 18 * time.Second, left: "nothing"},
		"a pool whose children do not start": {
			start: stage{outlook: queue.QueueOutlook{Ready: 4}, counts: queue.QueueCounts{Waiting: 4}, barren: "children do not start: no such file"},
			want:  time.Minute, left: "4 ready", why: "4 jobs ready in work; pool p: children do not start: no such file",
		},
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
			if tt.want >= 0 && (done.Left == nil || done.Left.words(done.within) != tt.left) {
				t.Errorf("left: %v (%s), want %s", done.Left, done.Unknown, tt.left)
			}
			if tt.want > emptySay && !strings.Contains(log, "not empty yet") {
				t.Errorf("it waits in silence:\n%s", log)
			}
		})
	}
}

const emptyFiles = `
-- oarlock.toml --
[log]
format = "text"
[pools.chain]
queues = ["chain*"]
command = ["sh", "-c", 'read -r n; [ "$n" = 3 ] || echo "{\"@\":\"put\",\"run\":\"$OARLOCK_RUN\",\"queue\":\"chain$n\",\"data\":$((n + 1))}"']
input = "data"
next_queues = ["chain*"]
[pools.work]
queues = ["work", "idle"]
command = ["sh", "-c", 'read -r what; case $what in *bad*) exit 65 ;; *later*) [ "$OARLOCK_ATTEMPT" != 1 ] || exit 75 ;; *slow*) echo slow; sleep 60 ;; esac']
input = "data"
[pools.work.retry]
delay = "1s"
`

// A run until empty does all there is, what comes of it and what is due soon included, and
// says what it leaves.
func TestRunUntilEmpty(t *testing.T) {
	s := newScript(t, emptyFiles)
	p := begin(t, s, "run", "--until-empty")
	p.await("^empty after .*: 0 done, 0 failed, 0 retried, 0 given back")
	p.await("^left: nothing$")
	p.leaves(exitOK)

	p.ask("put", "chain0", "0")
	p.ask("put", "work", `"later"`)
	p.ask("put", "work", `"bad"`, "--jid", "bad")
	p.ask("put", "work", `"good"`, "--delay", "1h")
	p.ask("put", "idle", `"good"`)
	p.ask("queue", "pause", "idle")
	for _, last := range []struct {
		args []string
		code int
	}{{[]string{"run", "--until-empty", "--json", "--fail-on-failed"}, exitFailed}, {[]string{"run", "--until-empty=1s", "--fail-on-failed", "--json"}, exitOK}} {
		if code := s.anyCode(last.args); code != last.code {
			t.Fatalf("%v: exit code %d\n%s%s", last.args, code, s.said["stdout"], s.said["stderr"])
		}
		var done emptied
		if err := json.Unmarshal([]byte(s.said["stdout"]), &done); err != nil {
			t.Fatalf("%v: %s", err, s.said["stdout"])
		}
		if !done.Empty || done.Left == nil || done.Left.Scheduled != 1 || len(done.Left.Paused) != 1 || done.Left.Paused[0] != (pausedQueue{"idle", 1}) {
			t.Errorf("%s", s.said["stdout"])
		}
		if last.code == exitFailed && (done.Done != 5 || done.Failed != 1 || done.Retried != 1 || len(done.Failures) != 1 || done.Failures[0] != (failure{"bad", "work", "exit-65"})) {
			t.Errorf("%s", s.said["stdout"])
		}
		if last.code == exitOK && done.Done+done.Failed != 0 {
			t.Errorf("%s", s.said["stdout"])
		}
	}
}

// A job that has no retries left has failed, whatever its program said.
func TestRunUntilEmptyCountsTheLastRetry(t *testing.T) {
	s := newScript(t, emptyFiles)
	begin(t, s).ask("put", "work", `"later"`, "--retries", "0", "--jid", "last")
	if code := s.anyCode([]string{"run", "--until-empty=0s", "--fail-on-failed"}); code != exitFailed || !strings.Contains(s.said["stdout"], "0 done, 1 failed, 0 retried") || !strings.Contains(s.said["stdout"], "failed: last of work exit-75") {
		t.Errorf("exit code %d: %s", code, s.said["stdout"])
	}
}

// What a dead worker holds is worked when its lock has run out; what a living one holds is left.
func TestRunUntilEmptyBesideOthers(t *testing.T) {
	s := newScript(t, emptyFiles)
	client, err := queue.Open(t.Context(), queue.Options{URL: s.env["REDIS_URL"]})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, value := range map[string]string{"heartbeat": "2", "grace-period": "0"} {
		if err := client.Set(t.Context(), name, value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.PutAll(t.Context(), []queue.Put{{Queue: "work", JID: "held", Klass: "x", Data: []byte(`"good"`)}}); err != nil {
		t.Fatal(err)
	}
	dead := client.Session("dead")
	if reply, err := dead.Exchange(t.Context(), nil, queue.Take{Queues: []string{"work"}, Count: 1}); err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("%v, %v", reply, err)
	}
	p := begin(t, s, "run", "--until-empty=0s")
	p.await("^empty after .*: 1 done")
	p.await("^left: nothing$")
	p.leaves(exitOK)
}

// TERM ends it as any run, and it says that it was not done.
func TestRunUntilEmptyIsToldToLeave(t *testing.T) {
	s := newScript(t, strings.Replace(emptyFiles, "[log]", "[supervisor]\ndrain_timeout = \"0s\"\n[log]", 1))
	p := begin(t, s, "run", "--until-empty", "--fail-on-failed")
	p.ask("put", "work", `"slow"`)
	p.await(`line=slow`)
	p.signal(syscall.SIGTERM)
	p.await("^left before its queues were empty, after .* 0 done, 0 failed, 0 retried, 1 given back")
	p.await("^left: 1 ready$")
	p.leaves(exitOK)
}

func TestUntilEmptyIsWrittenRight(t *testing.T) {
	s := newScript(t, emptyFiles)
	for args, want := range map[string]string{
		"run --until-empty 5s":      "write --until-empty=5s",
		"run --until-empty=5":       `--until-empty: "5" has no unit; write "5s" for seconds`,
		"run --until-empty=-5s":     "is negative",
		"run --until-empty=false":   `"false" is no duration`,
		"run --json":                "go with --until-empty",
		"run --fail-on-failed":      "go with --until-empty",
		"run --until-empty nothing": "one argument too many",
	} {
		if code := s.anyCode(strings.Fields(args)); code != exitUsage || !strings.Contains(s.said["stderr"], want) {
			t.Errorf("%s: exit code %d, %s", args, code, s.said["stderr"])
		}
	}
}
