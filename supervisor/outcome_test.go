package supervisor

import (
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// theorist is a pool that concludes and does nothing else.
func theorist(cfg Pool) *pool {
	return &pool{shared: &shared{redis: newFakeRedis(nil, 0), host: "h"}, cfg: cfg, worker: "w", log: slog.New(slog.DiscardHandler), flight: map[string]*attempt{}}
}

// failedTwice is an attempt of a job that has failed twice and crashed once.
func failedTwice(p *pool) *attempt {
	a := newAttempt(queue.Taken{JID: "j", Klass: "K", Queue: "q", Retries: 5, Remaining: 3, Crashes: 1, Popped: 7}, lease{}, 0)
	a.member = &member{gen: &generation{n: 2}}
	p.flight["j"] = a
	return a
}

// stillUnstarted is a settlement that keeps what stands in the way of the job.
func stillUnstarted(s queue.Settlement) queue.Settlement {
	s.Unstarted = &queue.Standing{First: 1, Count: 1}
	return s
}

func TestWhatEndingsMean(t *testing.T) {
	const minute = time.Minute
	second := time.Second
	verdict := func(v protocol.Verdict) *runner.Ending { return &runner.Ending{Kind: runner.Said, Verdict: &v} }
	exit := func(action protocol.ExitAction) *runner.Ending {
		return &runner.Ending{Kind: runner.Exited, Action: action, Group: "exit-1", Message: "oops"}
	}
	retry := queue.Settlement{Action: queue.Retry, Delay: 3 * minute, Group: "exit-1", Message: "oops"}
	fail := queue.Settlement{Action: queue.Fail, Group: "exit-1", Message: "oops"}
	later := queue.Settlement{Action: queue.Release, Delay: releaseDelay}
	stands := func(count int) queue.Standing {
		return queue.Standing{First: 1, Count: count, Names: []string{"other"}}
	}
	crash := queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, Delay: minute}
	front := queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption, Front: true, Standstill: 1}
	tests := []struct {
		name     string
		change   func(*Pool, *attempt) // nil: none
		ending   *runner.Ending
		want     queue.Settlement
		bearing  Bearing
		redo     bool
		drop     bool
		norecord bool // it did not end badly
		told     bool // though it has no bearing, it is recorded
		well     bool // another job of the pool has just ended well
	}{
		{name: "ack", ending: verdict(protocol.Verdict{Kind: protocol.Ack}),
			want: queue.Settlement{Action: queue.Complete}, bearing: Good},
		{name: "ack and go on", change: func(p *Pool, _ *attempt) { p.NextQueues = []string{"n"} }, ending: verdict(protocol.Verdict{Kind: protocol.Ack, Data: []byte("1"), Next: "n", Delay: &second, Depends: []string{"d"}}),
			want: queue.Settlement{Action: queue.Complete, Data: []byte("1"), Next: "n", Delay: second, Depends: []string{"d"}}, bearing: Good},
		{name: "ack and go on where nothing is named", ending: verdict(protocol.Verdict{Kind: protocol.Ack, Next: "n", Data: []byte("1"), Delay: &second, Depends: []string{"d"}}),
			want: queue.Settlement{Action: queue.Fail, Group: "next-queue",
				Message: `the child asked for queue "n", which is not in next_queues`}, bearing: Neutral},
		{name: "a verdict that is too long", ending: &runner.Ending{Kind: runner.TooLong, Group: "verdict-too-long", Message: "its ack is too long"},
			want: queue.Settlement{Action: queue.Fail, Group: "verdict-too-long", Message: "its ack is too long"}, bearing: Bad},
		{name: "ack and go where it may not", change: func(p *Pool, _ *attempt) { p.NextQueues = []string{"other-*"} },
			ending: verdict(protocol.Verdict{Kind: protocol.Ack, Next: "n"}),
			want: queue.Settlement{Action: queue.Fail, Group: "next-queue",
				Message: `the child asked for queue "n", which is not in next_queues`}, bearing: Neutral},
		{name: "retry", ending: verdict(protocol.Verdict{Kind: protocol.Retry, Group: "g", Message: "m", Data: []byte("[]")}),
			want: queue.Settlement{Action: queue.Retry, Delay: 3 * minute, Group: "g", Message: "m", Data: []byte("[]")}, bearing: Neutral},
		{name: "retry when it says", ending: verdict(protocol.Verdict{Kind: protocol.Retry, Delay: &second}),
			want: queue.Settlement{Action: queue.Retry, Delay: second}, bearing: Neutral},
		{name: "fail", ending: verdict(protocol.Verdict{Kind: protocol.Fail, Group: "g", Message: "m", Data: []byte("{}")}),
			want: queue.Settlement{Action: queue.Fail, Group: "g", Message: "m", Data: []byte("{}")}, bearing: Neutral},
		{name: "cancel", ending: &runner.Ending{Kind: runner.Said, Checkpoint: []byte("7"), Verdict: &protocol.Verdict{Kind: protocol.Cancel}},
			norecord: true, want: queue.Settlement{Action: queue.Cancel}, bearing: Neutral},
		{name: "requeue", ending: verdict(*(&protocol.Wish{Verb: protocol.VerbRequeue, Delay: time.Minute}).Verdict()),
			norecord: true, want: queue.Settlement{Action: queue.Requeue, Delay: time.Minute}, bearing: Neutral},
		{name: "requeue elsewhere", ending: verdict(*(&protocol.Wish{Verb: protocol.VerbRequeue, Queue: "elsewhere"}).Verdict()),
			want:    queue.Settlement{Action: queue.Fail, Group: "next-queue", Message: `the child asked for queue "elsewhere", which is not in next_queues`},
			bearing: Neutral},
		{name: "release", ending: verdict(protocol.Verdict{Kind: protocol.Release}), want: later, bearing: Neutral},
		{name: "not known to this program", ending: verdict(protocol.Verdict{Kind: protocol.Unknown}), bearing: Neutral,
			want: queue.Settlement{Action: queue.Release, Delay: time.Second, Unknown: &queue.Standing{First: -1, Count: 1, Names: []string{"h generation 2"}}}},
		{name: "not known for the fourth time", change: func(_ *Pool, a *attempt) { a.job.Unknown = stands(3) }, bearing: Neutral,
			ending: verdict(protocol.Verdict{Kind: protocol.Unknown}),
			want:   queue.Settlement{Action: queue.Release, Delay: 8 * time.Second, Unknown: &queue.Standing{First: 1, Count: 4, Names: []string{"other", "h generation 2"}}}},
		{name: "not known for the hundredth time", change: func(_ *Pool, a *attempt) { a.job.Unknown = stands(99) }, bearing: Neutral,
			ending: exit(protocol.ExitUnknown),
			want: queue.Settlement{Action: queue.Release, Delay: unknownLimit, Group: "exit-1", Message: "oops",
				Unknown: &queue.Standing{First: 1, Count: 100, Names: []string{"other", "h generation 2"}}}},
		{name: "not known for too long", change: func(p *Pool, a *attempt) { p.UnknownFor, a.job.Unknown = minute, stands(9) }, bearing: Neutral,
			ending: verdict(protocol.Verdict{Kind: protocol.Unknown, Klass: "Sub"}),
			want: queue.Settlement{Action: queue.Fail, Group: "unknown-klass",
				Message: "no program knew Sub for TIME, asked 10 times, last of other, h generation 2"}},
		{name: "an exception made a retry", ending: verdict(protocol.Verdict{Kind: protocol.Retry, Raised: true}),
			want: queue.Settlement{Action: queue.Retry, Delay: 3 * minute}, bearing: Bad},
		{name: "an exception made a failure", ending: verdict(protocol.Verdict{Kind: protocol.Fail, Raised: true}),
			want: queue.Settlement{Action: queue.Fail}, bearing: Bad},
		{name: "exit for ack", ending: exit(protocol.ExitAck), want: queue.Settlement{Action: queue.Complete}, bearing: Good},
		{name: "exit for retry", ending: exit(protocol.ExitRetry), want: retry, bearing: Neutral},
		{name: "exit for fail", ending: exit(protocol.ExitFail), want: fail, bearing: Neutral},
		{name: "exit for release", ending: exit(protocol.ExitRelease),
			want: queue.Settlement{Action: queue.Release, Delay: releaseDelay, Group: "exit-1", Message: "oops"}, bearing: Neutral},
		{name: "exit of a command that cannot be", ending: exit(protocol.ExitMisconfigured), bearing: Bad,
			want: queue.Settlement{Action: queue.Release, Delay: time.Second, Group: "exit-1", Message: "oops", Unstarted: &queue.Standing{First: -1, Count: 1}}},
		{name: "and again, while nothing ends well", change: func(p *Pool, a *attempt) { a.job.Unstarted = queue.Standing{First: 1, Count: 3} },
			ending: exit(protocol.ExitMisconfigured), bearing: Bad,
			want: queue.Settlement{Action: queue.Release, Delay: 64 * time.Second, Group: "exit-1", Message: "oops", Unstarted: &queue.Standing{First: 1, Count: 4}}},
		{name: "and again, while others do", change: func(p *Pool, a *attempt) { a.job.Unstarted = queue.Standing{First: 1, Count: 1} }, well: true,
			ending: exit(protocol.ExitMisconfigured), want: stillUnstarted(retry), bearing: Bad},
		{name: "could not start, while others do", change: func(p *Pool, a *attempt) { a.job.Unstarted = queue.Standing{First: 1, Count: 1} }, well: true,
			ending: &runner.Ending{Kind: runner.CouldNotStart}, want: stillUnstarted(queue.Settlement{Action: queue.Retry, Delay: 3 * minute}), bearing: Bad},
		{name: "could not start for want of processes, while others do", change: func(p *Pool, a *attempt) { a.job.Unstarted = queue.Standing{First: 1, Count: 3} }, well: true,
			ending: &runner.Ending{Kind: runner.CouldNotStart, Short: true}, bearing: NoBearing, told: true,
			want: queue.Settlement{Action: queue.Release, Delay: shortageDelay, Unstarted: &queue.Standing{First: 1, Count: 4}}},
		{name: "could not start for the first time, while others do", well: true, bearing: Bad, ending: &runner.Ending{Kind: runner.CouldNotStart},
			want: queue.Settlement{Action: queue.Release, Delay: time.Second, Unstarted: &queue.Standing{First: -1, Count: 1}}},
		{name: "exit with an error", ending: exit(protocol.ExitOnError), want: retry, bearing: Bad},
		{name: "exit with an error, and on_error fails", change: func(p *Pool, _ *attempt) { p.OnError = FailJob },
			ending: exit(protocol.ExitOnError), want: fail, bearing: Bad},
		{name: "timeout", ending: &runner.Ending{Kind: runner.TimedOut},
			want: queue.Settlement{Action: queue.Retry, Delay: 3 * minute}, bearing: Bad},
		{name: "second crash waits", ending: &runner.Ending{Kind: runner.Died}, want: crash, bearing: Bad},
		{name: "first crash does not", change: func(_ *Pool, a *attempt) { a.job.Crashes = 0 }, ending: &runner.Ending{Kind: runner.Died},
			want: queue.Settlement{Action: queue.Release, Counter: queue.CountCrash}, bearing: Bad},
		{name: "crash, and on_crash fails", change: func(p *Pool, _ *attempt) { p.OnCrash = FailJob },
			ending: &runner.Ending{Kind: runner.Died, Group: "signal-SEGV"},
			want:   queue.Settlement{Action: queue.Fail, Group: "signal-SEGV"}, bearing: Bad},
		{name: "left early", ending: &runner.Ending{Kind: runner.LeftEarly}, redo: true},
		{name: "left early again", change: func(_ *Pool, a *attempt) { a.early = true }, ending: &runner.Ending{Kind: runner.LeftEarly},
			want: later, bearing: Bad},
		{name: "innocent", ending: &runner.Ending{Kind: runner.Innocent}, redo: true},
		{name: "broke the protocol", ending: &runner.Ending{Kind: runner.BrokeProtocol, Began: true}, want: crash, bearing: Bad},
		{name: "did not read its job", ending: &runner.Ending{Kind: runner.BrokeProtocol}, redo: true},
		{name: "could not start", ending: &runner.Ending{Kind: runner.CouldNotStart}, bearing: Bad,
			want: queue.Settlement{Action: queue.Release, Delay: time.Second, Unstarted: &queue.Standing{First: -1, Count: 1}}},
		{name: "canceled", ending: &runner.Ending{Kind: runner.Canceled}, drop: true},
		{name: "lock lost", change: func(_ *Pool, a *attempt) { a.lost = true }, ending: &runner.Ending{Kind: runner.LockLost}, drop: true},
		{name: "a verdict without a lock", change: func(_ *Pool, a *attempt) { a.lost = true },
			ending: verdict(protocol.Verdict{Kind: protocol.Ack}), drop: true},
		{name: "a verdict after the warning", change: func(_ *Pool, a *attempt) { a.warned = true },
			ending: verdict(protocol.Verdict{Kind: protocol.Ack}), want: front},
		{name: "interrupted", ending: &runner.Ending{Kind: runner.Interrupted}, want: front},
		{name: "interrupted with a checkpoint", change: func(_ *Pool, a *attempt) { a.checkpoint = []byte("1") },
			ending: &runner.Ending{Kind: runner.Interrupted, Checkpoint: []byte("2")},
			want:   queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption, Front: true, Checkpoint: []byte("2")}},
		{name: "interrupted again where it was before", change: func(_ *Pool, a *attempt) { a.job.Checkpoint, a.job.Standstill = []byte("1"), 3 },
			ending: &runner.Ending{Kind: runner.Interrupted, Checkpoint: []byte("1")},
			want:   queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption, Standstill: 4, Front: true, Checkpoint: []byte("1")}},
		{name: "given back when told that we drain", want: front,
			ending: &runner.Ending{Kind: runner.Said, Drained: true, Verdict: &protocol.Verdict{Kind: protocol.Release}}},
		{name: "left to be given back when told that we drain",
			ending: &runner.Ending{Kind: runner.Exited, Drained: true, Action: protocol.ExitRelease}, want: front},
		{name: "retried when told that we drain", bearing: Neutral,
			ending: &runner.Ending{Kind: runner.Said, Drained: true, Verdict: &protocol.Verdict{Kind: protocol.Retry}},
			want:   queue.Settlement{Action: queue.Retry, Delay: 3 * minute}},
		{name: "given back for a while when told that we drain", bearing: Neutral,
			ending: &runner.Ending{Kind: runner.Said, Drained: true, Verdict: &protocol.Verdict{Kind: protocol.Release, Delay: &second}},
			want:   queue.Settlement{Action: queue.Release, Delay: second}},
		{name: "given back when told to leave", want: front,
			ending: &runner.Ending{Kind: runner.Said, SentByUs: runner.CauseShutdown, Verdict: &protocol.Verdict{Kind: protocol.Release}}},
		{name: "retried when told to leave", want: front,
			ending: &runner.Ending{Kind: runner.Said, SentByUs: runner.CauseShutdown, Verdict: &protocol.Verdict{Kind: protocol.Retry}}},
		{name: "finished when told to leave", want: queue.Settlement{Action: queue.Complete}, bearing: Good,
			ending: &runner.Ending{Kind: runner.Said, SentByUs: runner.CauseShutdown, Verdict: &protocol.Verdict{Kind: protocol.Ack}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := theorist(Pool{Policy: Policy{Retry: Retry{Backoff: Linear, Delay: minute}, MaxCrashes: 3, UnknownFor: 200 * 365 * 24 * time.Hour}})
			if tt.well {
				p.now, p.wellAt = time.Hour, time.Hour
			}
			a := failedTwice(p)
			if tt.change != nil {
				tt.change(&p.cfg, a)
			}
			o := p.conclude(a, tt.ending)
			if o.Redo != tt.redo || o.Drop != tt.drop || o.Bearing != tt.bearing {
				t.Errorf("redo %v, drop %v, bearing %v; want %v, %v, %v", o.Redo, o.Drop, o.Bearing, tt.redo, tt.drop, tt.bearing)
			}
			if tt.redo || tt.drop {
				return
			}
			s := o.Settlement
			if s.JID != "j" || s.Queue != "q" || s.Popped != 7 {
				t.Errorf("it settles %q of %q, popped at %v", s.JID, s.Queue, s.Popped)
			}
			if told := s.Record != nil; told != (tt.told || tt.bearing != NoBearing && tt.want.Action != queue.Complete && !tt.norecord) {
				t.Errorf("record is %q", s.Record)
			}
			s.JID, s.Queue, s.Popped, s.MaxCrashes, s.Record = "", "", 0, 0, nil
			for _, stands := range []*queue.Standing{s.Unstarted, s.Unknown} {
				if stands != nil && stands.First != 1 {
					stands.First = -1 // now
				}
			}
			s.Message = regexp.MustCompile(`for [0-9]+h.*s, asked`).ReplaceAllString(s.Message, "for TIME, asked")
			if got, want := text(t, s), text(t, tt.want); got != want {
				t.Errorf("settlement is\n %s, want\n %s", got, want)
			}
		})
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPutsOfChildren(t *testing.T) {
	p := theorist(Pool{Policy: Policy{NextQueues: []string{"mail-*"}}})
	a := failedTwice(p)
	o := p.conclude(a, &runner.Ending{
		Kind:    runner.Said,
		Verdict: &protocol.Verdict{Kind: protocol.Ack},
		Puts: []protocol.Put{
			{Queue: "mail-out", Data: []byte("[]"), Delay: time.Second},
		},
	})
	puts := o.Settlement.Puts
	if len(puts) != 1 || puts[0].Queue != "mail-out" || puts[0].Klass != "K" || string(puts[0].Data) != "[]" || puts[0].IfExists != queue.Final {
		t.Errorf("puts are %+v", puts)
	}
	// A job that may not be put fails the one that wants it, rather than being lost.
	o = p.conclude(a, &runner.Ending{
		Kind:   runner.Exited,
		Action: protocol.ExitAck,
		Puts:   []protocol.Put{{Queue: "mail-out"}, {Queue: "bank", Data: []byte("{}")}},
	})
	if s := o.Settlement; s.Action != queue.Fail || s.Group != "next-queue" || s.Puts != nil || !strings.Contains(s.Message, `"bank"`) {
		t.Errorf("a put into a foreign queue settles as %+v", s)
	}
	if len(o.Refused) != 1 {
		t.Errorf("refused is %q, want one sentence", o.Refused)
	}
	if o := p.conclude(a, &runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Retry}, Puts: []protocol.Put{{Queue: "mail-out"}}}); o.Settlement.Puts != nil {
		t.Errorf("a retry puts %+v", o.Settlement.Puts)
	}
}

// What became of the jobs that a child put is counted and said.
func TestAnswersToPutsAreRead(t *testing.T) {
	var said strings.Builder
	p := theorist(Pool{})
	p.log = slog.New(slog.NewTextHandler(&said, nil))
	a := failedTwice(p)
	a.settlement.Puts = []queue.Put{{Queue: "q", JID: "a"}, {Queue: "q", JID: "b", IfExists: queue.Final}, {Queue: "q", JID: "c"}}
	p.answered(a, []queue.PutResult{{JID: "a"}, {JID: "b", Existed: true, State: "running"}, {JID: "c", Err: errors.New("no memory")}})
	if p.count.Put != 1 || p.count.NotPut != 2 {
		t.Errorf("%d put, %d not; want 1 and 2", p.count.Put, p.count.NotPut)
	}
	for _, want := range []string{"put=b queue=q state=running if_exists=final", `put=c queue=q err="no memory"`} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing says %q:\n%s", want, said.String())
		}
	}
}

func TestCheckpointsGoBeforeRecords(t *testing.T) {
	p := theorist(Pool{})
	a := failedTwice(p)
	a.checkpoint = []byte(`"old"`)
	tail := []byte(strings.Repeat("x", 8<<10))
	for _, size := range []int{3, 30 << 10, 60 << 10, 63 << 10, 64 << 10} {
		latest := []byte(`"` + strings.Repeat("c", size-2) + `"`)
		o := p.conclude(a, &runner.Ending{Kind: runner.Died, Signal: syscall.SIGSEGV, Checkpoint: latest, StdoutTail: tail, StderrTail: tail})
		if string(o.Settlement.Checkpoint) != string(latest) {
			t.Errorf("checkpoint of %d bytes became one of %d", size, len(o.Settlement.Checkpoint))
		}
		if n := len(o.Settlement.Checkpoint) + len(o.Settlement.Record); n > keptBytes {
			t.Errorf("checkpoint of %d bytes: %d bytes are kept, at most %d may", size, n, keptBytes)
		}
	}
	if o := p.conclude(a, &runner.Ending{Kind: runner.Died}); string(o.Settlement.Checkpoint) != `"old"` {
		t.Errorf("the checkpoint not yet stored is lost: %q", o.Settlement.Checkpoint)
	}
	if o := p.conclude(a, &runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Ack}}); o.Settlement.Checkpoint != nil {
		t.Error("an ack stores a checkpoint")
	}
}

func TestRecordTellsTheStory(t *testing.T) {
	p := theorist(Pool{})
	a := failedTwice(p)
	percent := 40.0
	tail := strings.Repeat("é", 5000) + `"\` + "\x01<end>"
	raw := record(a, &runner.Ending{
		Kind:         runner.Died,
		Signal:       syscall.SIGSEGV,
		ExitCode:     -1,
		Group:        "signal-SEGV",
		OOM:          "oom_kill 1",
		Wall:         1500 * time.Millisecond,
		CPU:          20 * time.Millisecond,
		PeakMemory:   1 << 20,
		StderrTail:   []byte(tail),
		LastProgress: &protocol.Progress{Percent: &percent, Message: "half"},
	}, "w", keptBytes)
	var r Record
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if r.Ending != "died" || r.Signal != "SIGSEGV" || r.ExitCode != nil || r.Group != "signal-SEGV" || r.OOM == "" ||
		r.WallMS != 1500 || r.CPUMS != 20 || *r.Percent != 40 || r.Progress != "half" || r.Attempt != 4 || r.Worker != "w" {
		t.Errorf("record is %+v", r)
	}
	if !strings.HasSuffix(tail, r.Stderr) || len(r.Stderr) < recordTail/2 || len(text(t, r.Stderr)) > recordTail+2 {
		t.Errorf("stderr is cut to %d bytes, %d of JSON", len(r.Stderr), len(text(t, r.Stderr)))
	}
}

func TestGlobsKeepTheirPlace(t *testing.T) {
	got := expand([]string{"last-*", "b", "*"}, []string{"a", "b", "last-1", "last-2"})
	if want := "last-1 last-2 b a"; strings.Join(got, " ") != want {
		t.Errorf("expand() = %v, want %s", got, want)
	}
}
