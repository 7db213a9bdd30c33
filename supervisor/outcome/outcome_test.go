package outcome

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// failedTwice is what is known of an attempt of a job that has failed twice and crashed once.
func failedTwice() Attempt {
	return Attempt{
		Job: queue.Taken{JID: "j", Klass: "K", Queue: "q", Retries: 5, Remaining: 3, Crashes: 1, Popped: 7},
		Now: float64(time.Now().Unix()), Where: "h generation 2",
	}
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
	later := queue.Settlement{Action: queue.Release, Delay: ReleaseDelay}
	stands := func(count int) queue.Standing {
		return queue.Standing{First: 1, Count: count, Names: []string{"other"}}
	}
	crash := queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, Delay: minute}
	front := queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption, Front: true, Standstill: 1}
	tests := []struct {
		name     string
		change   func(*Policy, *Attempt) // nil: none
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
		{name: "ack and go on", change: func(p *Policy, _ *Attempt) { p.NextQueues = []string{"n"} }, ending: verdict(protocol.Verdict{Kind: protocol.Ack, Data: []byte("1"), Next: "n", Delay: &second, Depends: []string{"d"}}),
			want: queue.Settlement{Action: queue.Complete, Data: []byte("1"), Next: "n", Delay: second, Depends: []string{"d"}}, bearing: Good},
		{name: "ack and go on where nothing is named", ending: verdict(protocol.Verdict{Kind: protocol.Ack, Next: "n", Data: []byte("1"), Delay: &second, Depends: []string{"d"}}),
			want: queue.Settlement{Action: queue.Fail, Group: "next-queue",
				Message: `the child asked for queue "n", which is not in next_queues`}, bearing: Neutral},
		{name: "a verdict that is too long", ending: &runner.Ending{Kind: runner.TooLong, Group: "verdict-too-long", Message: "its ack is too long"},
			want: queue.Settlement{Action: queue.Fail, Group: "verdict-too-long", Message: "its ack is too long"}, bearing: Bad},
		{name: "ack and go where it may not", change: func(p *Policy, _ *Attempt) { p.NextQueues = []string{"other-*"} },
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
		{name: "not known for the fourth time", change: func(_ *Policy, a *Attempt) { a.Job.Unknown = stands(3) }, bearing: Neutral,
			ending: verdict(protocol.Verdict{Kind: protocol.Unknown}),
			want:   queue.Settlement{Action: queue.Release, Delay: 8 * time.Second, Unknown: &queue.Standing{First: 1, Count: 4, Names: []string{"other", "h generation 2"}}}},
		{name: "not known for the hundredth time", change: func(_ *Policy, a *Attempt) { a.Job.Unknown = stands(99) }, bearing: Neutral,
			ending: exit(protocol.ExitUnknown),
			want: queue.Settlement{Action: queue.Release, Delay: unknownLimit, Group: "exit-1", Message: "oops",
				Unknown: &queue.Standing{First: 1, Count: 100, Names: []string{"other", "h generation 2"}}}},
		{name: "not known here, while another program was not asked", change: func(_ *Policy, a *Attempt) { a.Job.Unknown, a.Unasked, a.Passed = stands(3), true, true }, bearing: Neutral,
			ending: verdict(protocol.Verdict{Kind: protocol.Unknown}),
			want:   queue.Settlement{Action: queue.Release, Front: true, Unknown: &queue.Standing{First: 1, Count: 4, Names: []string{"other", "h generation 2"}}}},
		{name: "not known by some children of the pool", change: func(_ *Policy, a *Attempt) { a.Job.Unknown, a.Unasked = stands(3), true }, bearing: Neutral,
			ending: verdict(protocol.Verdict{Kind: protocol.Unknown}),
			want:   queue.Settlement{Action: queue.Release, Delay: unaskedDelay, Unknown: &queue.Standing{First: 1, Count: 4, Names: []string{"other", "h generation 2"}}}},
		{name: "not known for long, while another program was not asked", bearing: Neutral,
			change: func(p *Policy, a *Attempt) {
				p.UnknownFor, a.Job.Unknown, a.Unasked, a.Passed = minute, stands(9), true, true
				a.Job.Unknown.First = a.Now - 239
			},
			ending: verdict(protocol.Verdict{Kind: protocol.Unknown}),
			want:   queue.Settlement{Action: queue.Release, Front: true, Unknown: &queue.Standing{First: -1, Count: 10, Names: []string{"other", "h generation 2"}}}},
		{name: "not known for four times as long", bearing: Neutral,
			change: func(p *Policy, a *Attempt) {
				p.UnknownFor, a.Job.Unknown, a.Unasked, a.Passed = minute, stands(9), true, true
				a.Job.Unknown.First = a.Now - 240
			},
			ending: verdict(protocol.Verdict{Kind: protocol.Unknown}),
			want: queue.Settlement{Action: queue.Fail, Group: "unknown-klass",
				Message: "no program knew K for 4m0s, asked 10 times, last of other, h generation 2"}},
		{name: "not known for too long", change: func(p *Policy, a *Attempt) { p.UnknownFor, a.Job.Unknown = minute, stands(9) }, bearing: Neutral,
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
			want: queue.Settlement{Action: queue.Release, Delay: ReleaseDelay, Group: "exit-1", Message: "oops"}, bearing: Neutral},
		{name: "exit of a command that cannot be", ending: exit(protocol.ExitMisconfigured), bearing: Bad,
			want: queue.Settlement{Action: queue.Release, Delay: time.Second, Group: "exit-1", Message: "oops", Unstarted: &queue.Standing{First: -1, Count: 1}}},
		{name: "and again, while nothing ends well", change: func(p *Policy, a *Attempt) { a.Job.Unstarted = queue.Standing{First: 1, Count: 3} },
			ending: exit(protocol.ExitMisconfigured), bearing: Bad,
			want: queue.Settlement{Action: queue.Release, Delay: 64 * time.Second, Group: "exit-1", Message: "oops", Unstarted: &queue.Standing{First: 1, Count: 4}}},
		{name: "and again, while others do", change: func(p *Policy, a *Attempt) { a.Job.Unstarted = queue.Standing{First: 1, Count: 1} }, well: true,
			ending: exit(protocol.ExitMisconfigured), want: stillUnstarted(retry), bearing: Bad},
		{name: "could not start, while others do", change: func(p *Policy, a *Attempt) { a.Job.Unstarted = queue.Standing{First: 1, Count: 1} }, well: true,
			ending: &runner.Ending{Kind: runner.CouldNotStart}, want: queue.Settlement{Action: queue.Release, Delay: 4 * time.Second, Unstarted: &queue.Standing{First: 1, Count: 2}}, bearing: Bad},
		{name: "could not start for want of processes, while others do", change: func(p *Policy, a *Attempt) { a.Job.Unstarted = queue.Standing{First: 1, Count: 3} }, well: true,
			ending: &runner.Ending{Kind: runner.CouldNotStart, Short: true}, bearing: NoBearing, told: true,
			want: queue.Settlement{Action: queue.Release, Delay: shortageDelay, Unstarted: &queue.Standing{First: 1, Count: 4}}},
		{name: "could not start for the first time, while others do", well: true, bearing: Bad, ending: &runner.Ending{Kind: runner.CouldNotStart},
			want: queue.Settlement{Action: queue.Release, Delay: time.Second, Unstarted: &queue.Standing{First: -1, Count: 1}}},
		{name: "exit with an error", ending: exit(protocol.ExitOnError), want: retry, bearing: Bad},
		{name: "exit with an error, and on_error fails", change: func(p *Policy, _ *Attempt) { p.OnError = FailJob },
			ending: exit(protocol.ExitOnError), want: fail, bearing: Bad},
		{name: "timeout", ending: &runner.Ending{Kind: runner.TimedOut},
			want: queue.Settlement{Action: queue.Retry, Delay: 3 * minute}, bearing: Bad},
		{name: "second crash waits", ending: &runner.Ending{Kind: runner.Died}, want: crash, bearing: Bad},
		{name: "first crash does not", change: func(_ *Policy, a *Attempt) { a.Job.Crashes = 0 }, ending: &runner.Ending{Kind: runner.Died},
			want: queue.Settlement{Action: queue.Release, Counter: queue.CountCrash}, bearing: Bad},
		{name: "crash, and on_crash fails", change: func(p *Policy, _ *Attempt) { p.OnCrash = FailJob },
			ending: &runner.Ending{Kind: runner.Died, Group: "signal-SEGV"},
			want:   queue.Settlement{Action: queue.Fail, Group: "signal-SEGV"}, bearing: Bad},
		{name: "left early", ending: &runner.Ending{Kind: runner.LeftEarly}, redo: true},
		{name: "left early again", change: func(_ *Policy, a *Attempt) { a.Early = true }, ending: &runner.Ending{Kind: runner.LeftEarly},
			want: later, bearing: Bad},
		{name: "innocent", ending: &runner.Ending{Kind: runner.Innocent}, redo: true},
		{name: "broke the protocol", ending: &runner.Ending{Kind: runner.BrokeProtocol, Began: true}, want: crash, bearing: Bad},
		{name: "did not read its job", ending: &runner.Ending{Kind: runner.BrokeProtocol}, redo: true},
		{name: "could not start", ending: &runner.Ending{Kind: runner.CouldNotStart}, bearing: Bad,
			want: queue.Settlement{Action: queue.Release, Delay: time.Second, Unstarted: &queue.Standing{First: -1, Count: 1}}},
		{name: "canceled", ending: &runner.Ending{Kind: runner.Canceled}, drop: true},
		{name: "parked", bearing: Neutral, norecord: true, ending: verdict(protocol.Verdict{Kind: protocol.Park, Correlation: "c", Checkpoint: []byte("1"), Data: []byte("2")}),
			want: queue.Settlement{Action: queue.Park, Correlation: "c", Delay: 24 * time.Hour, Checkpoint: []byte("1"), Data: []byte("2")}},
		{name: "parked for a second, with the correlation it has, to be completed", bearing: Neutral, norecord: true,
			change: func(_ *Policy, a *Attempt) { a.Job.Correlation = "of the put" },
			ending: verdict(protocol.Verdict{Kind: protocol.Park, Timeout: &second, Completes: true}),
			want:   queue.Settlement{Action: queue.Park, Delay: second, AnswerEnds: true}},
		{name: "parked for nothing", bearing: Neutral, ending: verdict(protocol.Verdict{Kind: protocol.Park}),
			want: queue.Settlement{Action: queue.Fail, Group: "no-correlation",
				Message: "the child parked its job and did not say what the answer will name, and the job was put without a correlation"}},
		{name: "retried without its answer", bearing: Neutral, ending: verdict(protocol.Verdict{Kind: protocol.Retry, DropResponse: true}),
			want: queue.Settlement{Action: queue.Retry, Delay: 3 * minute, DropAnswer: true}},
		{name: "lock lost", change: func(_ *Policy, a *Attempt) { a.Lost = true }, ending: &runner.Ending{Kind: runner.LockLost}, drop: true},
		{name: "a verdict without a lock", change: func(_ *Policy, a *Attempt) { a.Lost = true },
			ending: verdict(protocol.Verdict{Kind: protocol.Ack}), drop: true},
		{name: "a verdict after the warning", change: func(_ *Policy, a *Attempt) { a.Warned, a.Lapse, a.Job.Standstill = true, "because", 3 },
			ending: verdict(protocol.Verdict{Kind: protocol.Ack}),
			want:   queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption, Standstill: 3, Front: true, Group: LeaseExpired, Message: "because"}},
		{name: "interrupted", ending: &runner.Ending{Kind: runner.Interrupted}, want: front},
		{name: "interrupted with a checkpoint", change: func(_ *Policy, a *Attempt) { a.Checkpoint = []byte("1") },
			ending: &runner.Ending{Kind: runner.Interrupted, Checkpoint: []byte("2")},
			want:   queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption, Front: true, Checkpoint: []byte("2")}},
		{name: "interrupted again where it was before", change: func(_ *Policy, a *Attempt) { a.Job.Checkpoint, a.Job.Standstill = []byte("1"), 3 },
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
		{name: "retried when stopped for its timeout", bearing: Bad, want: queue.Settlement{Action: queue.Retry, Delay: 3 * minute},
			ending: &runner.Ending{Kind: runner.Said, SentByUs: runner.CauseTimeout, Verdict: &protocol.Verdict{Kind: protocol.Retry}}},
		{name: "failed when stopped for its silence", bearing: Bad, want: queue.Settlement{Action: queue.Fail},
			ending: &runner.Ending{Kind: runner.Said, SentByUs: runner.CauseStall, Verdict: &protocol.Verdict{Kind: protocol.Fail}}},
		{name: "finished when stopped for its timeout", bearing: Good, want: queue.Settlement{Action: queue.Complete},
			ending: &runner.Ending{Kind: runner.Said, SentByUs: runner.CauseTimeout, Verdict: &protocol.Verdict{Kind: protocol.Ack}}},
		{name: "finished when told to leave", want: queue.Settlement{Action: queue.Complete}, bearing: Good,
			ending: &runner.Ending{Kind: runner.Said, SentByUs: runner.CauseShutdown, Verdict: &protocol.Verdict{Kind: protocol.Ack}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Policy{Retry: Retry{Backoff: Linear, Delay: minute}, MaxCrashes: 3, UnknownFor: 200 * 365 * 24 * time.Hour}
			a := failedTwice()
			a.OthersWell = tt.well
			if tt.change != nil {
				tt.change(&p, &a)
			}
			o := Decide(p, a, tt.ending)
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
			if told := o.Recorded(tt.ending); told != (tt.told || tt.bearing != NoBearing && tt.want.Action != queue.Complete && !tt.norecord) {
				t.Errorf("it is recorded: %v", told)
			}
			s.JID, s.Queue, s.Popped, s.MaxCrashes = "", "", 0, 0
			for _, stands := range []*queue.Standing{s.Unstarted, s.Unknown} {
				if stands != nil && stands.First != 1 {
					stands.First = -1 // now
				}
			}
			if s.Unknown != nil && s.Delay > 0 && s.Delay > tt.want.Delay*3/4-1 && s.Delay < tt.want.Delay*5/4+1 {
				s.Delay = tt.want.Delay // which has jitter
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

// TestAListOfPayloadsTakesNoData retries and fails a job whose payloads merge with other data: that stays what it was.
func TestAListOfPayloadsTakesNoData(t *testing.T) {
	for merge, data := range map[queue.Merge]string{queue.MergeSet: "", queue.MergeAll: "", queue.MergeLast: "[]", "": "[]"} {
		for _, kind := range []protocol.Kind{protocol.Retry, protocol.Fail} {
			e := &runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: kind, Data: []byte("[]")}}
			o := Decide(Policy{}, Attempt{Job: queue.Taken{JID: "j", Merge: merge, Retries: 1, Remaining: 1}}, e)
			if string(o.Settlement.Data) != data || (len(o.Refused) == 0) != (data != "") {
				t.Errorf("%q, %v: %q, refused %q", merge, kind, o.Settlement.Data, o.Refused)
			}
		}
	}
}

func TestPutsOfChildren(t *testing.T) {
	p := Policy{NextQueues: []string{"mail-*"}}
	a := failedTwice()
	o := Decide(p, a, &runner.Ending{
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
	o = Decide(p, a, &runner.Ending{
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
	if o := Decide(p, a, &runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Retry}, Puts: []protocol.Put{{Queue: "mail-out"}}}); o.Settlement.Puts != nil {
		t.Errorf("a retry puts %+v", o.Settlement.Puts)
	}
}

func TestCheckpointsGoBeforeRecords(t *testing.T) {
	a := failedTwice()
	a.Checkpoint = []byte(`"old"`)
	tail := []byte(strings.Repeat("x", 8<<10))
	for _, size := range []int{3, 30 << 10, 60 << 10, 63 << 10, 64 << 10} {
		latest := []byte(`"` + strings.Repeat("c", size-2) + `"`)
		e := &runner.Ending{Kind: runner.Died, Signal: syscall.SIGSEGV, Checkpoint: latest, StdoutTail: tail, StderrTail: tail}
		o := Decide(Policy{}, a, e)
		record := RecordOf(&protocol.Job{}, 0, "w", e, len(o.Settlement.Checkpoint))
		if string(o.Settlement.Checkpoint) != string(latest) {
			t.Errorf("checkpoint of %d bytes became one of %d", size, len(o.Settlement.Checkpoint))
		}
		if n := len(o.Settlement.Checkpoint) + len(record); n > keptBytes {
			t.Errorf("checkpoint of %d bytes: %d bytes are kept, at most %d may", size, n, keptBytes)
		}
	}
	if o := Decide(Policy{}, a, &runner.Ending{Kind: runner.Died}); string(o.Settlement.Checkpoint) != `"old"` {
		t.Errorf("the checkpoint not yet stored is lost: %q", o.Settlement.Checkpoint)
	}
	if o := Decide(Policy{}, a, &runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Ack}}); o.Settlement.Checkpoint != nil {
		t.Error("an ack stores a checkpoint")
	}
}

func TestRecordTellsTheStory(t *testing.T) {
	percent := 40.0
	tail := strings.Repeat("é", 5000) + `"\` + "\x01<end>"
	raw := RecordOf(&protocol.Job{Attempt: 4}, 0, "w", &runner.Ending{
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
	}, 0)
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

func TestAJobIsSparedFiveTimesAtMost(t *testing.T) {
	taken := queue.Taken{JID: "j", Queue: "q", Retries: 5, Remaining: 5}
	p := Policy{MaxCrashes: 3, Retry: Retry{Delay: time.Hour}}
	said := func(raised bool) *runner.Ending {
		return &runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Retry, Group: "ValueError", Raised: raised}}
	}
	failure := &runner.Ending{Kind: runner.Exited, ExitCode: 1, Action: protocol.ExitOnError, Group: "exit-1"}
	var waits []time.Duration
	for range 10 {
		o := Decide(p, Attempt{Job: taken, Slowed: 1}, failure)
		if o.Settlement.Action != queue.Release || o.Settlement.Counter != queue.CountSpared {
			break
		}
		waits = append(waits, o.Settlement.Delay)
		taken.Spared++
	}
	if got, want := fmt.Sprint(waits), "[1s 4s 16s 1m4s 4m16s]"; got != want {
		t.Errorf("it waited %s, want %s", got, want)
	}
	counts := func(name string, p Policy, a Attempt, e *runner.Ending) {
		a.Slowed = 1
		if o := Decide(p, a, e); o.Settlement.Counter == queue.CountSpared {
			t.Errorf("%s: the job was spared", name)
		}
	}
	fresh := queue.Taken{JID: "j", Queue: "q", Retries: 5, Remaining: 5}
	counts("five times before", p, Attempt{Job: taken}, failure)
	counts("no retries", p, Attempt{Job: queue.Taken{}}, failure)
	counts("on_error", Policy{OnError: FailJob}, Attempt{Job: fresh}, failure)
	counts("on_crash", Policy{OnCrash: FailJob}, Attempt{Job: fresh}, failure)
	counts("a crash", p, Attempt{Job: fresh}, &runner.Ending{Kind: runner.Died})
	counts("a protocol error", p, Attempt{Job: fresh}, &runner.Ending{Kind: runner.BrokeProtocol, Began: true})
	counts("said on purpose", p, Attempt{Job: fresh}, said(false))
	if o := Decide(p, Attempt{Job: fresh, Slowed: 1}, said(true)); o.Settlement.Counter != queue.CountSpared || o.Settlement.Group != "ValueError" {
		t.Errorf("an exception costs %+v", o.Settlement)
	}
}

// While the breaker is open, whatever is tried again after a bad ending stays away for as long as the breaker says, and nothing else does.
func TestAnOpenBreakerKeepsBadJobsAway(t *testing.T) {
	const away = 48 * time.Hour
	said := func(v protocol.Verdict) *runner.Ending { return &runner.Ending{Kind: runner.Said, Verdict: &v} }
	exit := func(action protocol.ExitAction) *runner.Ending {
		return &runner.Ending{Kind: runner.Exited, ExitCode: 1, Action: action}
	}
	spared := queue.Taken{JID: "j", Queue: "q", Retries: 5, Remaining: 5, Spared: sparings}
	for _, tt := range []struct {
		name string
		job  queue.Taken
		e    *runner.Ending
		want bool
	}{
		{"an error that is spared", queue.Taken{Retries: 5, Remaining: 5}, exit(protocol.ExitOnError), true},
		{"an error that pays a retry", spared, exit(protocol.ExitOnError), true},
		{"an exception", spared, said(protocol.Verdict{Kind: protocol.Retry, Raised: true}), true},
		{"a timeout", spared, &runner.Ending{Kind: runner.TimedOut}, true},
		{"a crash", spared, &runner.Ending{Kind: runner.Died}, true},
		{"a program that is missing", spared, exit(protocol.ExitMisconfigured), true},
		{"a child that leaves before it reads", spared, &runner.Ending{Kind: runner.LeftEarly}, true},
		{"a program that cannot be started", spared, &runner.Ending{Kind: runner.CouldNotStart}, true},
		{"a host that is short of memory", spared, &runner.Ending{Kind: runner.CouldNotStart, Short: true}, false},
		{"a retry on purpose", spared, said(protocol.Verdict{Kind: protocol.Retry}), false},
		{"a release", spared, said(protocol.Verdict{Kind: protocol.Release}), false},
		{"a class that is unknown", spared, said(protocol.Verdict{Kind: protocol.Unknown}), false},
		{"an exit that says retry", spared, exit(protocol.ExitRetry), false},
		{"an interruption", spared, &runner.Ending{Kind: runner.Interrupted}, false},
	} {
		p := Policy{MaxCrashes: 3, UnknownFor: time.Hour, Retry: Retry{Delay: time.Second}}
		s := Decide(p, Attempt{Job: tt.job, Early: true, Slowed: away}, tt.e).Settlement
		if got := s.Delay == away && !s.Front; got != tt.want {
			t.Errorf("%s: it waits for %v, front %v", tt.name, s.Delay, s.Front)
		}
	}
}

func TestWhatChildrenMayWish(t *testing.T) {
	p := Policy{Allow: []string{"cancel", "requeue"}, NextQueues: []string{"next-*"}}
	own := queue.Taken{JID: "j", Queue: "q"}
	for _, tt := range []struct {
		wish protocol.Wish
		want string
	}{
		{protocol.Wish{Verb: "tag"}, ""},
		{protocol.Wish{Verb: "tag", JID: "j"}, ""},
		{protocol.Wish{Verb: "tag", JID: "x"}, "a tag of another job, x, and allow does not name that"},
		{protocol.Wish{Verb: "cancel", JID: "x"}, ""},
		{protocol.Wish{Verb: "requeue", JID: "x"}, ""},
		{protocol.Wish{Verb: "requeue", JID: "x", Queue: "next-1"}, ""},
		{protocol.Wish{Verb: "requeue", JID: "x", Queue: "q"}, ""},
		{protocol.Wish{Verb: "requeue", JID: "x", Queue: "bank"}, `"bank", which is not in next_queues`},
	} {
		got := p.Refuses(tt.wish, own)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.wish, got, tt.want)
		}
	}
}

// TestJobsThatNoChildIsGiven: an answer may end its job, and so may that there is none.
func TestJobsThatNoChildIsGiven(t *testing.T) {
	for _, tt := range []struct {
		name string
		job  queue.Taken
		want string
	}{
		{"an ordinary one", queue.Taken{}, "none"},
		{"answered", queue.Taken{Answer: &queue.Answer{}}, "none"},
		{"answered past the deadline", queue.Taken{Answer: &queue.Answer{}, Expired: true}, "none"},
		{"completed", queue.Taken{Answer: &queue.Answer{End: queue.EndsComplete}}, "complete: "},
		{"failed", queue.Taken{Answer: &queue.Answer{End: queue.EndsFailed}}, "fail: answered its answer ended it"},
		{"failed with its reason", queue.Taken{Answer: &queue.Answer{End: queue.EndsFailed, Failed: true, Error: "no money"}}, "fail: answered no money"},
		{"an error where the answer was to complete it", queue.Taken{Answer: &queue.Answer{End: queue.EndsComplete, Failed: true, Error: "no"}}, "fail: answered no"},
		{"in vain", queue.Taken{Expired: true, Correlation: "c"}, `retry: park-timeout no answer to "c" came in time`},
	} {
		got := "none"
		if s := Unworked(Policy{}, &tt.job); s != nil {
			got = strings.TrimSuffix(string(s.Action)+": "+s.Group+" "+s.Message, " ")
		}
		if strings.TrimSpace(got) != strings.TrimSpace(tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// What is said of a class counts in place of what its pool says, and the first that stands for it does.
func TestClasses(t *testing.T) {
	own := Retry{Delay: time.Minute}
	p := Policy{Retry: Retry{Delay: time.Hour}, Classes: []Class{
		{Name: "Pay", Timeout: time.Second, ParkTimeout: 2 * time.Second, Retry: &own}, {Name: "P*", Timeout: 3 * time.Second}, {Name: "Plain"},
	}}
	for klass, want := range map[string]struct{ timeout, park, retry time.Duration }{
		"Pay":   {time.Second, 2 * time.Second, time.Minute},
		"Post":  {3 * time.Second, ParkTimeout, time.Hour},
		"Other": {9 * time.Second, ParkTimeout, time.Hour},
	} {
		if got := p.TimeoutOf(klass, 9*time.Second); got != want.timeout {
			t.Errorf("the timeout of %s is %v", klass, got)
		}
		job := queue.Taken{JID: "j", Queue: "q", Klass: klass, Retries: 5, Remaining: 5, Correlation: "c", Crashes: 1}
		parked := Decide(p, Attempt{Job: job}, &runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Park}})
		failed := Decide(p, Attempt{Job: job}, &runner.Ending{Kind: runner.TimedOut})
		crashed := Decide(p, Attempt{Job: job}, &runner.Ending{Kind: runner.Died})
		job.Expired = true
		vain := Unworked(p, &job)
		if parked.Settlement.Delay != want.park || failed.Settlement.Delay != want.retry || crashed.Settlement.Delay != want.retry || vain.Delay != want.retry {
			t.Errorf("of %s: parked %v, failed %v, crashed %v, in vain %v", klass, parked.Settlement.Delay, failed.Settlement.Delay, crashed.Settlement.Delay, vain.Delay)
		}
	}
}
