package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
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
// of the job. good is whether that is complete, and no verdict was refused. The child is stopped if
// ctx ends, and that is an ending, too. The error is about a child that never had the job.
func (t *Trial) Show(ctx context.Context, w io.Writer, policy supervisor.Policy) (good bool, err error) {
	talk := &conversation{ears: newEars(), w: w, policy: policy, taken: &t.Job}
	ending, err := talk.with(ctx, t)
	if err != nil {
		return false, err
	}
	if talk.printed == [2]bool{true, true} {
		screen.PrintLine(w, screen.Paint(w, screen.Dim, mixed))
	}
	outcome := supervisor.Decide(policy, supervisor.Attempt{Job: t.Job, Now: float64(time.Now().Unix()), Where: "here"}, ending)
	text, good := consequence(ending, &outcome, &t.Job)
	colour := screen.Green
	if !good {
		colour = screen.Red
	}
	screen.Printf(w, "%s%s\n", screen.Paint(w, colour, "= "+text), screen.Paint(w, screen.Dim, fmt.Sprintf("  (%s, %s of processor time)", screen.Span(ending.Wall), screen.Span(ending.CPU))))
	for _, verdict := range talk.refused {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "! a verdict was refused and counts for nothing: "+verdict))
	}
	return good && len(talk.refused) == 0, nil
}

// with starts a child of the trial, has it work the job, and waits until it is gone.
func (t *conversation) with(ctx context.Context, trial *Trial) (*runner.Ending, error) {
	spec, job := &trial.Spec, trial.wire(trial.Job)
	s, err := trial.start(ctx, job, t.ears, t)
	if _, its := errors.AsType[*runner.ArgumentError](err); its {
		return runner.NotStarted(err), nil
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
	if err != nil {
		return nil, err
	}
	if hello := s.Hello(); hello != nil {
		t.say(screen.Green, "<", fmt.Sprintf(`{"@":"hello","lib":%q,"caps":%s}`, hello.Lib, screen.Compact(hello.Caps)))
		t.say(screen.Cyan, ">", string(protocol.AppendHello(nil, spec.Worker, spec.MaxLine)))
	}
	switch spec.Input {
	case runner.InputJob:
		t.say(screen.Cyan, ">", string(protocol.AppendJob(nil, job)))
	case runner.InputData:
		t.say(screen.Cyan, ">", string(protocol.AppendData(nil, job)))
	}
	run, err := s.Run(job, runner.RunLimits{Timeout: job.Timeout})
	if err != nil {
		return nil, err
	}
	var worked *ended
	select {
	case worked = <-t.ended:
	case <-ctx.Done():
		run.Cancel(runner.CauseShutdown, spec.KillGrace)
		worked = <-t.ended
	}
	s.Shutdown(spec.KillGrace)
	<-s.Exited()
	return worked.ending, nil
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
