package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

func tryCommand() *cli.Command {
	return &cli.Command{
		Name:      "try",
		Usage:     "run one job against a program, without Redis, and show both sides of the conversation",
		ArgsUsage: "COMMAND [ARGUMENT…]",
		Description: "Lines with > go to the program, lines with < come from it. Options of the program\n" +
			"that have the name of one here go behind --: oarlock try --job '{}' -- program --pool x\n" +
			"Exits 0 if the job would be complete and no verdict was refused.",
		Flags: append(programFlags(),
			&cli.DurationFlag{Name: "timeout", Usage: "stop it after so long"},
			&cli.IntFlag{Name: "attempt", Value: 1, Usage: "the number of the attempt"},
			&cli.StringFlag{Name: "checkpoint", Usage: "what an earlier attempt kept, as `JSON`"},
		),
		Action: try,
	}
}

// programFlags say how a program that is tried without Redis is run, and on what job;
// tryPool and tryJob read them.
func programFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "job", Aliases: []string{"j"}, Value: "{}", Usage: "the job's data, as `JSON`; @FILE reads it from a file"},
		&cli.StringFlag{Name: "pool", Usage: "run it as the pool `NAME` of the configuration does; then COMMAND may be left out"},
		&cli.StringFlag{Name: "klass", Value: "job", Usage: "what `KIND` of work the job is"},
		&cli.StringFlag{Name: "queue", Usage: "the queue it comes from"},
		&cli.StringFlag{Name: "mode", Usage: "once, reuse or preload"},
		&cli.StringFlag{Name: "input", Usage: "job, data or none"},
		&cli.StringFlag{Name: "status", Usage: "auto, fd, lines or exit"},
		&cli.BoolFlag{Name: "pty", Usage: "give it a terminal as stdout"},
	}
}

func try(c *cli.Context) error {
	pool, err := tryPool(c)
	if err != nil {
		return err
	}
	job, err := tryJob(c, pool)
	if err != nil {
		return err
	}
	return converseAs(c, pool, job)
}

// converseAs has a child of pool work job, shows the conversation, and says what would
// become of the job.
func converseAs(c *cli.Context, pool config.Pool, job queue.Taken) error {
	spec, err := specOf("try", pool)
	if err != nil {
		return err
	}
	policy := policyOf(pool)
	ending, refused, err := converse(c.Context, c.App.Writer, &spec, policy, &job, wire(job, pool))
	if err != nil {
		return err
	}
	outcome := supervisor.Decide(policy, supervisor.Attempt{Job: job, Now: float64(time.Now().Unix()), Where: "here"}, ending)
	text, good := consequence(ending, &outcome, &job)
	colour := screen.Green
	if !good {
		colour = screen.Red
	}
	screen.Printf(c.App.Writer, "%s%s\n", screen.Paint(c.App.Writer, colour, "= "+text), screen.Paint(c.App.Writer, screen.Dim, fmt.Sprintf("  (%s, %s of processor time)", screen.Span(ending.Wall), screen.Span(ending.CPU))))
	for _, verdict := range refused {
		screen.PrintLine(c.App.Writer, screen.Paint(c.App.Writer, screen.Red, "! a verdict was refused and counts for nothing: "+verdict))
	}
	if !good || len(refused) > 0 {
		return silent{exitFailed}
	}
	return nil
}

// tryPool is the pool to imitate: one of the configuration, or what the options say.
func tryPool(c *cli.Context) (config.Pool, error) {
	if c.String("pool") == "" {
		if err := wantArgs(c, 1, -1, "a program"); err != nil {
			return config.Pool{}, err
		}
	}
	return imitate(c, c.String("pool"), c.Args().Slice())
}

// imitate is the pool name of the configuration, or one with the defaults if name is "",
// with what the options and a command say otherwise.
func imitate(c *cli.Context, name string, command []string) (config.Pool, error) {
	pool := config.DefaultPool()
	pool.Sandbox.Dir, _ = os.Getwd()
	pool.Queues = []string{"try"}
	if name != "" {
		cfg, err := load(c, config.Options{})
		if err != nil {
			return pool, err
		}
		var ok bool
		if pool, ok = cfg.Pools[name]; !ok {
			return pool, misused("there is no pool %q; there is %s", name, poolNames(cfg))
		}
	}
	if len(command) > 0 {
		pool.Command = command
	}
	for _, choice := range []struct {
		option  string
		into    *string
		allowed []string
	}{{"mode", &pool.Mode, config.Modes}, {"input", &pool.Input, config.Inputs}, {"status", &pool.Status, config.Statuses}} {
		if word := c.String(choice.option); word != "" {
			if err := config.OneOf(word, choice.allowed); err != nil {
				return pool, misused("--%s: %v", choice.option, err)
			}
			*choice.into = word
		}
	}
	if c.IsSet("pty") {
		pool.PTY = c.Bool("pty")
	}
	if c.IsSet("timeout") {
		pool.Timeout = config.Duration(c.Duration("timeout"))
	}
	return pool, nil
}

// wire is what a child of pool is told of job.
func wire(job queue.Taken, pool config.Pool) *protocol.Job {
	told := supervisor.Wire(job, time.Duration(pool.Timeout))
	told.Lease = time.Minute // as a lock lasts where nothing else is set
	return told
}

// tryJob is the job that the options describe, as a supervisor would take it.
func tryJob(c *cli.Context, pool config.Pool) (queue.Taken, error) {
	data := []byte(c.String("job"))
	if file, ok := strings.CutPrefix(c.String("job"), "@"); ok {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return queue.Taken{}, err
		}
	}
	if err := isJSON(data); err != nil {
		return queue.Taken{}, misused("--job is not JSON: %v", err)
	}
	from := c.String("queue")
	if from == "" {
		from = anyQueue(pool.Queues)
	}
	// A job may be tried again five times, more often only if it was not to blame: the rest are crashes.
	attempt := c.Int("attempt")
	if c.IsSet("attempt") && attempt < 1 {
		return queue.Taken{}, misused("--attempt must be 1 or more")
	}
	used := min(max(attempt-1, 0), tryRetries)
	job := queue.Taken{
		JID: queue.NewJID(), Klass: c.String("klass"), Queue: from, Data: bytes.TrimSpace(data),
		Retries: tryRetries, Remaining: tryRetries - used, Crashes: max(attempt-1, 0) - used,
	}
	if text := c.String("checkpoint"); text != "" {
		if err := isJSON([]byte(text)); err != nil {
			return queue.Taken{}, misused("--checkpoint is not JSON: %v", err)
		}
		job.Checkpoint = []byte(text)
	}
	return job, nil
}

// tryRetries is how often a job that is tried may be tried again, as one that is put.
const tryRetries = 5

// anyQueue is a queue that a pool with such names and globs works.
func anyQueue(patterns []string) string {
	for _, pattern := range patterns {
		if !queue.IsGlob(pattern) {
			return pattern
		}
	}
	return strings.NewReplacer("*", "try", "?", "x").Replace(patterns[0])
}

// converse starts a child, has it work the job, and shows what is said on w. refused are
// the verdicts among it that did not count, with the reasons.
func converse(ctx context.Context, w io.Writer, spec *runner.Spec, policy supervisor.Policy, taken *queue.Taken, job *protocol.Job) (ending *runner.Ending, refused []string, err error) {
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	defer host.Close()
	talk := &conversation{w: w, policy: policy, taken: taken, ended: make(chan *runner.Ending, 1), gone: make(chan runner.Exit, 1)}
	var first *protocol.Job
	if spec.Mode == runner.Once {
		first = job
	}
	child, err := host.Start(ctx, spec, 0, first, talk)
	if _, its := errors.AsType[*runner.ArgumentError](err); its {
		return runner.NotStarted(err), nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", strings.Join(spec.Command, " "), err)
	}
	if args := child.Args(); len(args) > 0 {
		talk.say(screen.Cyan, ">", "(arguments: "+compact(args)+")")
	}
	if spec.Mode != runner.Once {
		select {
		case <-child.Ready():
		case exit := <-talk.gone:
			return nil, nil, fmt.Errorf("the child left before it was ready for a job: %s", exitText(exit))
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if hello := child.Hello(); hello != nil {
			talk.say(screen.Green, "<", fmt.Sprintf(`{"@":"hello","lib":%q,"caps":%s}`, hello.Lib, compact(hello.Caps)))
			talk.say(screen.Cyan, ">", string(protocol.AppendHello(nil, spec.Worker, spec.MaxLine)))
		}
	}
	switch spec.Input {
	case runner.InputJob:
		talk.say(screen.Cyan, ">", string(protocol.AppendJob(nil, job)))
	case runner.InputData:
		talk.say(screen.Cyan, ">", string(protocol.AppendData(nil, job)))
	}
	run, err := child.Run(job, runner.RunLimits{Timeout: job.Timeout})
	if err != nil {
		return nil, nil, err
	}
	select {
	case ending = <-talk.ended:
	case <-ctx.Done():
		run.Cancel(runner.CauseShutdown, spec.KillGrace)
		ending = <-talk.ended
	}
	child.Shutdown(spec.KillGrace)
	<-child.Exited()
	if talk.printed == [2]bool{true, true} {
		screen.PrintLine(w, screen.Paint(w, screen.Dim, mixed))
	}
	return ending, talk.refused, nil
}

// exitText says how a child left.
func exitText(exit runner.Exit) string {
	text := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != 0 {
		text = exit.Signal.String()
	}
	if exit.Message != "" {
		text += ": " + exit.Message
	}
	return text
}

// conversation shows what a child says.
type conversation struct {
	policy supervisor.Policy
	taken  *queue.Taken // the job
	ended  chan *runner.Ending
	gone   chan runner.Exit

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

func (t *conversation) ChildReady(*runner.Child) {}

func (t *conversation) Bye(_ *runner.Child, reason string) {
	t.say(screen.Green, "<", string(`{"@":"bye","reason":`+compact(reason)+`}`))
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
	t.say(screen.Green, "<", compact(line))
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

// wishLine is the line that says w.
func wishLine(w *protocol.Wish) string {
	line := map[string]any{"@": w.Verb}
	add := func(name string, value any, there bool) {
		if there {
			line[name] = value
		}
	}
	add("jid", w.JID, w.JID != "")
	add("tags", w.Tags, len(w.Tags) > 0)
	add("priority", w.Priority, w.Verb == protocol.VerbPriority)
	add("message", w.Message, w.Message != "")
	add("data", json.RawMessage(w.Data), w.Data != nil)
	add("queue", w.Queue, w.Queue != "")
	add("delay", w.Delay.Seconds(), w.Delay > 0)
	return compact(line)
}

func (t *conversation) RunStopping(_ *runner.Child, _ *runner.Run, cause runner.Cause) {
	t.say(screen.Cyan, ">", fmt.Sprintf("(asked to stop: %v)", cause))
}

func (t *conversation) RunEnded(_ *runner.Child, _ *runner.Run, e *runner.Ending) {
	t.wishes(e.Wishes)
	if e.Verdict != nil {
		t.say(screen.Green, "<", verdictLine(e.Verdict))
	}
	t.ended <- e
}

func (t *conversation) ChildExited(_ *runner.Child, exit runner.Exit) { t.gone <- exit }

// verdictLine is the line that says v.
func verdictLine(v *protocol.Verdict) string {
	line := fmt.Sprintf(`{"@":"%s"`, v.Kind)
	add := func(key, value string) { line += fmt.Sprintf(`,"%s":%s`, key, value) }
	if v.Group != "" {
		add("group", compact(v.Group))
	}
	if v.Message != "" {
		add("message", compact(v.Message))
	}
	if v.Next != "" {
		add("next", compact(v.Next))
	}
	if v.Delay != nil {
		add("delay", fmt.Sprint(v.Delay.Seconds()))
	}
	if len(v.Depends) > 0 {
		add("depends", compact(v.Depends))
	}
	if v.Klass != "" {
		add("klass", compact(v.Klass))
	}
	if v.Raised {
		add("raised", "true")
	}
	if v.Data != nil {
		add("data", string(v.Data))
	}
	return line + "}"
}

// compact is value as JSON on one line.
func compact(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // of strings, numbers and lists: cannot fail
	return strings.TrimSpace(text.String())
}
