package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"oarlock/internal/screen"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Show has a child work the job, shows on w what both sides say, and then what a supervisor with that policy would make
// of the job, or of each of those that came together. good is whether that is complete, and no verdict was refused. The child is stopped if
// ctx ends, and that is an ending, too. The error is about a child that never had the job.
func (t *Trial) Show(ctx context.Context, w io.Writer, policy supervisor.Policy) (good bool, err error) {
	talk := &conversation{ears: newEars(), w: w, policy: policy, taken: &t.Job}
	worked, err := talk.with(ctx, t)
	if err != nil {
		return false, err
	}
	if talk.printed == [2]bool{true, true} {
		screen.PrintLine(w, screen.Paint(w, screen.Dim, mixed))
	}
	good = t.showEndings(ctx, w, policy, worked)
	for _, verdict := range talk.refused {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "! a verdict was refused and counts for nothing: "+verdict))
	}
	return good && len(talk.refused) == 0, nil
}

// showEndings says what a supervisor would make of the jobs, of those alike in one line, and reports whether that is good of all.
func (t *Trial) showEndings(ctx context.Context, w io.Writer, policy supervisor.Policy, worked []*ended) (good bool) {
	type fate struct {
		text string
		good bool
		jobs int
		last *runner.Ending
	}
	var fates []*fate
	good = true
	for _, e := range worked {
		outcome := supervisor.Decide(policy, supervisor.Attempt{Job: t.Job, Now: float64(time.Now().Unix()), Where: "here"}, e.ending)
		t.consult(ctx, w, policy, e.ending, &outcome)
		text, well := consequence(e.ending, &outcome, &t.Job)
		good = good && well
		i := slices.IndexFunc(fates, func(f *fate) bool { return f.text == text })
		if i < 0 {
			i, fates = len(fates), append(fates, &fate{text: text, good: well})
		}
		fates[i].jobs++
		fates[i].last = e.ending
	}
	for _, f := range fates {
		colour, of := screen.Green, ""
		if !f.good {
			colour = screen.Red
		}
		if len(worked) > 1 {
			of = fmt.Sprintf("%d of %d jobs: ", f.jobs, len(worked))
		}
		screen.Printf(w, "%s%s\n", screen.Paint(w, colour, "= "+of+f.text), screen.Paint(w, screen.Dim, fmt.Sprintf("  (%s, %s of processor time)", screen.Span(f.last.Wall), screen.Span(f.last.CPU))))
	}
	return good
}

// consult asks the retry_command, where a supervisor would, and shows what both say.
func (t *Trial) consult(ctx context.Context, w io.Writer, policy supervisor.Policy, e *runner.Ending, o *supervisor.Outcome) {
	command := policy.AskOf(t.Job.Klass)
	if !o.Open || len(command) == 0 || t.Ask == nil {
		return
	}
	asked := supervisor.Question(t.wire(t.Job), &t.Job, e, &o.Settlement)
	say := func(colour, mark string, text []byte) {
		line := string(protocol.Visible(nil, bytes.TrimSpace(text)))
		screen.PrintLine(w, screen.Paint(w, colour, mark+" (retry_command) "+line))
	}
	say(screen.Cyan, ">", asked)
	printed, err := t.Ask(ctx, command, asked)
	if err == nil {
		say(screen.Green, "<", printed)
		err = o.Answered(printed, &t.Job)
	}
	if err != nil {
		say(screen.Red, "!", []byte("it decides nothing, so the rules do: "+err.Error()))
	}
}

// with starts a child of the trial, has it work the job, or several like it, and waits until it is gone.
func (t *conversation) with(ctx context.Context, trial *Trial) ([]*ended, error) {
	if trial.Batch > 0 { // what the child reads its hello tells
		trial = trial.patient()
	}
	spec, job := &trial.Spec, trial.wire(trial.Job)
	s, err := trial.start(ctx, job, t.ears, t)
	if _, its := errors.AsType[*runner.ArgumentError](err); its {
		return []*ended{{ending: runner.NotStarted(err)}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", strings.Join(spec.Command, " "), err)
	}
	if args := s.Args(); len(args) > 0 {
		t.say(screen.Cyan, ">", "(arguments: "+screen.Compact(args)+")")
	}
	err = s.ready(ctx)
	if left, is := errors.AsType[*leftError](err); is {
		return nil, fmt.Errorf("the child left before it was ready for a job: %s", exitText(left.exit))
	}
	if err != nil && trial.Batch > 0 {
		return nil, fmt.Errorf("it said no hello, and so reads no message of several jobs: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if hello := s.Hello(); hello != nil {
		t.say(screen.Green, "<", fmt.Sprintf(`{"@":"hello","lib":%q,"caps":%s}`, hello.Lib, screen.Compact(hello.Caps)))
		t.say(screen.Cyan, ">", string(protocol.AppendHello(nil, spec.Worker, spec.MaxLine)))
	}
	runs, err := t.hand(s, job)
	if err != nil {
		return nil, err
	}
	var worked []*ended
	for stop := ctx.Done(); len(worked) < len(runs); {
		select {
		case e := <-t.ended:
			worked = append(worked, e)
		case <-stop:
			stop = nil // seeing it once is enough
			for _, run := range runs {
				run.Cancel(runner.CauseShutdown, spec.KillGrace)
			}
		}
	}
	s.Shutdown(spec.KillGrace)
	<-s.Exited()
	return worked, nil
}

// hand gives the child the job, by itself or, where it reads such, in a message with others like it.
func (t *conversation) hand(s *subject, job *protocol.Job) ([]*runner.Run, error) {
	limits := runner.RunLimits{Timeout: job.Timeout}
	if n := s.trial.Batch; n > 0 && s.Batches() {
		jobs, limited := []*protocol.Job{job}, []runner.RunLimits{limits}
		for len(jobs) < n {
			jobs, limited = append(jobs, s.trial.likeIt("")), append(limited, limits)
		}
		t.mu.Lock() // what it answers stands below
		defer t.mu.Unlock()
		runs, err := s.RunBatch(jobs, limited)
		if err == nil {
			screen.PrintLine(t.w, screen.Paint(t.w, screen.Cyan, "> "+strings.TrimRight(string(runs[0].Message()), "\n")))
		}
		return runs, err
	} else if n > 0 {
		t.say(screen.Yellow, "!", "its hello does not say batch, so it is given one job at a time")
	}
	switch s.trial.Spec.Input {
	case runner.InputJob:
		t.say(screen.Cyan, ">", string(protocol.AppendJob(nil, job)))
	case runner.InputData:
		t.say(screen.Cyan, ">", string(protocol.AppendData(nil, job)))
	}
	run, err := s.Run(job, limits)
	return []*runner.Run{run}, err
}

// conversation shows what a child says.
type conversation struct {
	ears
	policy supervisor.Policy
	taken  *queue.Taken // the job

	mu      sync.Mutex
	w       io.Writer
	refused []string // verdicts that did not count, with the reasons
	printed [2]bool  // lines came by stdout, by stderr
}

// mixed says that lines may stand in another order than the one in which they were printed: the
// two streams are two pipes, and nobody knows which of them was written first.
const mixed = "(stdout and stderr are read apart: lines printed in the same moment may have changed places)"

// say shows a line; mark tells who said it.
func (t *conversation) say(colour, mark, line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	screen.PrintLine(t.w, screen.Paint(t.w, colour, mark+" "+strings.TrimRight(line, "\n")))
}

func (t *conversation) Bye(_ *runner.Child, reason string) {
	t.say(screen.Green, "<", string(`{"@":"bye","reason":`+screen.Compact(reason)+`}`))
}

func (t *conversation) Log(_ *runner.Child, _ *runner.Run, line runner.LogLine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if line.Dropped > 0 {
		screen.PrintLine(t.w, screen.Paint(t.w, screen.Yellow, "  "+runner.TooManyLines(line.Dropped)))
		return
	}
	if line.Stream == runner.Stdout || line.Stream == runner.Stderr {
		t.printed[line.Stream] = true
	}
	text := string(line.Text)
	if line.Record != nil {
		text = line.Record.Level + ": " + line.Record.Message
	}
	screen.Printf(t.w, "< %s%s\n", text, screen.Paint(t.w, screen.Dim, "  "+line.Stream.String()))
	if line.Refused != "" {
		screen.PrintLine(t.w, screen.Paint(t.w, screen.Red, "  refused: "+line.Refused))
	}
	if line.Cut > 0 {
		screen.PrintLine(t.w, screen.Paint(t.w, screen.Yellow, fmt.Sprintf("  %d bytes more in that line", line.Cut)))
	}
}

func (t *conversation) Refused(_ *runner.Child, _ *runner.Run, verdict, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = append(t.refused, verdict+": "+why)
}

func (t *conversation) Progress(_ *runner.Child, _ *runner.Run, p protocol.Progress) {
	line := map[string]any{"@": "progress"}
	if p.Percent != nil {
		line["pct"] = *p.Percent
	}
	if p.Message != "" {
		line["message"] = p.Message
	}
	t.say(screen.Green, "<", screen.Compact(line))
}

func (t *conversation) Checkpoint(_ *runner.Child, _ *runner.Run, data []byte) {
	t.say(screen.Green, "<", `{"@":"checkpoint","data":`+string(data)+`}`)
}

// Wished shows what the child wants done, and does nothing of it.
func (t *conversation) Wished(_ *runner.Child, r *runner.Run) { t.wishes(r.Wishes()) }

func (t *conversation) wishes(wishes []protocol.Wish) {
	for _, w := range wishes {
		t.say(screen.Green, "<", wishLine(&w))
		if why := t.policy.Refuses(w, *t.taken); why != "" {
			t.say(screen.Red, "!", "refused: "+why)
		}
	}
}

func (t *conversation) RunStopping(_ *runner.Child, _ *runner.Run, cause runner.Cause) {
	t.say(screen.Cyan, ">", fmt.Sprintf("(asked to stop: %v)", cause))
}

func (t *conversation) RunEnded(c *runner.Child, r *runner.Run, e *runner.Ending) {
	t.wishes(e.Wishes)
	if e.Verdict != nil {
		t.say(screen.Green, "<", verdictLine(e.Verdict))
	}
	t.ears.RunEnded(c, r, e)
}
