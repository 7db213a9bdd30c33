package outcome

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// Whoever is asked decides where the child did not, and about nothing else.
func TestWhatIsLeftToARetryCommand(t *testing.T) {
	second := time.Second
	for _, tt := range []struct {
		name   string
		change func(*Policy, *Attempt)
		ending runner.Ending
		open   bool
	}{
		{"an exit code", nil, runner.Ending{Kind: runner.Exited, ExitCode: 1, Action: protocol.ExitOnError}, true},
		{"an exit code, and on_error fails", func(p *Policy, _ *Attempt) { p.OnError = FailJob }, runner.Ending{Kind: runner.Exited, ExitCode: 1, Action: protocol.ExitOnError}, true},
		{"an exit code that says later", nil, runner.Ending{Kind: runner.Exited, ExitCode: 75, Action: protocol.ExitRetry}, true},
		{"a timeout", nil, runner.Ending{Kind: runner.TimedOut}, true},
		{"a crash", nil, runner.Ending{Kind: runner.Died, Signal: syscall.SIGSEGV}, true},
		{"a crash, and on_crash fails", func(p *Policy, _ *Attempt) { p.OnCrash = FailJob }, runner.Ending{Kind: runner.Died, Signal: syscall.SIGSEGV}, true},
		{"retry", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Retry}}, true},
		{"retry when it says", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Retry, Delay: &second}}, false},
		{"fail", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Fail}}, false},
		{"an exception that fails", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Fail, Raised: true}}, false},
		{"ack", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Ack}}, false},
		{"an ack that goes where it may not", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Ack, Next: "n"}}, false},
		{"release", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Release}}, false},
		{"cancel", nil, runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Cancel}}, false},
		{"an exit code that fails", nil, runner.Ending{Kind: runner.Exited, ExitCode: 65, Action: protocol.ExitFail}, false},
		{"arguments that the job lacks", nil, runner.Ending{Kind: runner.BadArguments}, false},
		{"a command that cannot be run", nil, runner.Ending{Kind: runner.CouldNotStart}, false},
		{"interrupted", nil, runner.Ending{Kind: runner.Interrupted}, false},
		{"spared", func(_ *Policy, a *Attempt) { a.Slowed = 1 }, runner.Ending{Kind: runner.Exited, ExitCode: 1, Action: protocol.ExitOnError}, true},
		{"an exception that is spared", func(_ *Policy, a *Attempt) { a.Slowed = 1 },
			runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Retry, Raised: true}}, true},
		{"an exception that fails and is spared", func(_ *Policy, a *Attempt) { a.Slowed = 1 },
			runner.Ending{Kind: runner.Said, Verdict: &protocol.Verdict{Kind: protocol.Fail, Raised: true}}, false},
		{"one of many", nil, runner.Ending{Kind: runner.Died, Batch: 5}, false},
		{"lost", func(_ *Policy, a *Attempt) { a.Lost = true }, runner.Ending{Kind: runner.Died}, false},
	} {
		p, a := Policy{MaxCrashes: 3}, failedTwice()
		if tt.change != nil {
			tt.change(&p, &a)
		}
		if o := Decide(p, a, &tt.ending); o.Open != tt.open {
			t.Errorf("%s is open: %v", tt.name, o.Open)
		}
	}
}

func TestWhatAnAnswerMakesOfAJob(t *testing.T) {
	failed := func() Outcome {
		return Outcome{Open: true, Settlement: queue.Settlement{Action: queue.Retry, Delay: time.Minute, Group: "exit-1", Message: "oops", Checkpoint: []byte("1"), Record: []byte("{}")}}
	}
	crashed := func() Outcome {
		return Outcome{Open: true, Settlement: queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, Delay: time.Minute, Group: "signal-SEGV", MaxCrashes: 3}}
	}
	for answer, tt := range map[string]struct {
		of   func() Outcome
		want queue.Settlement
	}{
		"{\"do\":\"retry\"}": {failed, failed().Settlement},
		"thinking …\n\n{\"@\":\"answer\",\"do\":\"retry\",\"delay\":1.5,\"data\":{\"n\": 2},\"group\":\"g\\nh\",\"message\":\"later\"}\n\n": {failed,
			queue.Settlement{Action: queue.Retry, Delay: 1500 * time.Millisecond, Data: []byte(`{"n": 2}`), Group: `g\nh`, Message: "later", Checkpoint: []byte("1"), Record: []byte("{}")}},
		`{"do":"retry","delay":0,"data":null}`: {failed, queue.Settlement{Action: queue.Retry, Group: "exit-1", Message: "oops", Checkpoint: []byte("1"), Record: []byte("{}")}},
		`{"do":"fail","group":"no-stock"}`:     {failed, queue.Settlement{Action: queue.Fail, Group: "no-stock", Message: "oops", Checkpoint: []byte("1"), Record: []byte("{}")}},
		`{"do":"ack","group":"g","data":[]}`:   {failed, queue.Settlement{Action: queue.Complete, Data: []byte("[]")}},
		`{"do":"release","delay":30}`:          {failed, queue.Settlement{Action: queue.Release, Delay: 30 * time.Second, Group: "exit-1", Message: "oops", Checkpoint: []byte("1"), Record: []byte("{}")}},
		`{"do":"release","delay":0}`:           {failed, queue.Settlement{Action: queue.Release, Delay: releaseLeast, Group: "exit-1", Message: "oops", Checkpoint: []byte("1"), Record: []byte("{}")}},
		`{"do":"retry","delay":2}`:             {crashed, queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, Delay: 2 * time.Second, Group: "signal-SEGV", MaxCrashes: 3}},
		`{"do":"retry","data":1}`:              {crashed, queue.Settlement{Action: queue.Retry, Delay: time.Minute, Data: []byte("1"), Group: "signal-SEGV", MaxCrashes: 3}},
		`{"do":"release"}`:                     {crashed, queue.Settlement{Action: queue.Release, Delay: time.Minute, Group: "signal-SEGV", MaxCrashes: 3}},
	} {
		o := tt.of()
		if err := o.Answered([]byte(answer), &queue.Taken{}); err != nil || text(t, o.Settlement) != text(t, tt.want) {
			t.Errorf("%s makes of it\n %s (%v), want\n %s", answer, text(t, o.Settlement), err, text(t, tt.want))
		}
	}
}

func TestWhatIsNoAnswerOfARetryCommand(t *testing.T) {
	for printed, want := range map[string]string{
		"":                               `it printed nothing, and not a JSON object with do`,
		" \n\n":                          "it printed nothing",
		"retry":                          `its answer "retry" is no JSON object`,
		`{"do":"retry"}` + "\nbye":       `its answer "bye" is no JSON object`,
		`{}`:                             `its answer says do ""; that may be retry, fail, ack or release`,
		`{"do":"requeue"}`:               `its answer says do "requeue"; that may be`,
		`{"@":"ack","do":"retry"}`:       `it answered "ack", and not answer`,
		`{"do":"retry","delay":-1}`:      `delay is -1; it goes from 0 to`,
		`{"do":"retry","delay":1e300}`:   `delay is 1e+300; it goes from 0 to`,
		`{"do":"retry","delay":"later"}`: `is no JSON object with do, delay`,
		`{"do":"release","data":{}}`:     `what is released keeps its data`,
		strings.Repeat("x", 1<<20):       `xxx"… is no JSON object`,
		"\x00\xff":                       `its answer "\x00\xff" is no JSON object`,
	} {
		o := Outcome{Settlement: queue.Settlement{Action: queue.Retry, Delay: time.Minute, Group: "g"}}
		before := text(t, o.Settlement)
		err := o.Answered([]byte(printed), &queue.Taken{})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 || text(t, o.Settlement) != before {
			t.Errorf("%.40q: %.200v, and it is %s; want %s", printed, err, text(t, o.Settlement), want)
		}
	}
}

func TestWhatARetryCommandReads(t *testing.T) {
	job := &protocol.Job{JID: "j", Klass: "K", Queue: "q", Data: []byte(`{"n": 12345678901234567890}`), Attempt: 4, Run: "secret", Callback: "https://secret"}
	taken := &queue.Taken{Retries: 5, Remaining: 0, Crashes: 2, Checkpoint: []byte(`{"step":2}`)}
	e := &runner.Ending{Kind: runner.Exited, ExitCode: 3}
	line := Question(job, taken, e, &queue.Settlement{Action: queue.Retry, Delay: time.Minute, Group: "exit-3", Message: "a \"b\"\n"})
	want := `{"@":"ask","about":"retry","job":{"jid":"j","klass":"K","queue":"q","data":{"n":12345678901234567890},"tags":[],"priority":0,"attempt":4,"retries":5,"remaining":0,"crashes":2,` +
		`"checkpoint":{"step":2}},"ending":{"kind":"exited","group":"exit-3","message":"a \"b\"\n","exit":3},"do":"fail","delay":0}` + "\n"
	if string(line) != want {
		t.Errorf("it reads\n%s, want\n%s", line, want)
	}
	taken.Remaining = 2
	var q question
	if err := json.Unmarshal(Question(job, taken, nil, &queue.Settlement{Action: queue.Retry, Delay: time.Minute, Group: "park-timeout"}), &q); err != nil || q.Ending.Kind != "park-timeout" || q.Do != DoRetry || q.Delay != 60 {
		t.Errorf("of one that waited in vain it reads %+v (%v)", q, err)
	}
	if job.Data = []byte("\xff"); !json.Valid(Question(job, taken, e, &queue.Settlement{})) {
		t.Error("what is no JSON broke the line")
	}
}

// What a command decides counts for the breaker. One that repeats what it was asked decides nothing.
func TestWhatAnAnswerSaysOfThePool(t *testing.T) {
	spared := queue.Settlement{Action: queue.Release, Counter: queue.CountSpared, Delay: time.Minute}
	crash := queue.Settlement{Action: queue.Release, Counter: queue.CountCrash}
	for _, tt := range []struct {
		rules  queue.Settlement
		answer string
		want   Bearing
		same   bool // the job is left to the rules
	}{
		{spared, `{"do":"retry"}`, Bad, true},
		{spared, `{"do":"retry","data":null}`, Bad, true},
		{spared, `{"do":"retry","delay":5}`, Neutral, false},
		{spared, `{"do":"fail"}`, Neutral, false},
		{spared, `{"do":"release"}`, Neutral, false},
		{spared, `{"do":"ack"}`, Good, false},
		{spared, `nonsense`, Bad, true},
		{crash, `{"do":"fail"}`, Bad, true},
		{crash, `{"do":"retry"}`, Neutral, true},
		{queue.Settlement{Action: queue.Fail}, `{"do":"fail"}`, Bad, true},
		{queue.Settlement{Action: queue.Fail}, `{"do":"fail","group":"no-stock"}`, Neutral, false},
	} {
		o := Outcome{Open: true, Bearing: Bad, Settlement: tt.rules}
		_ = o.Answered([]byte(tt.answer), &queue.Taken{Retries: 5, Remaining: 5})
		if same := text(t, o.Settlement) == text(t, tt.rules); o.Bearing != tt.want || same != tt.same {
			t.Errorf("%s: bearing %v, want %v; the job is %s", tt.answer, o.Bearing, tt.want, text(t, o.Settlement))
		}
	}
}
