package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/ops"
	"oarlock/internal/plan"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

func putCommand() *cli.Command {
	return &cli.Command{
		Name:      "put",
		Category:  "jobs in Redis",
		Usage:     "put a job into a queue, or one for each line of JSON",
		ArgsUsage: "QUEUE [DATA]",
		Description: "DATA is JSON; without it the job has the data {}. With - as DATA, or --file, each line\n" +
			"of stdin or of the file is a job's data, or, with --jobs, an object with the keys\n" +
			"data, klass, jid, queue, priority, retries, delay, at, tags, depends, timeout, throttles, key,\n" +
			"key_from, merge, score, weight, bypass, windows, zone, if_exists, correlation, traceparent,\n" +
			"tracestate, wait_replicas.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "klass", Aliases: []string{"k"}, Value: "job", Usage: "what `KIND` of work it is"},
			&cli.StringFlag{Name: "jid", Usage: "`ID` of the job; else a new one. A put of an ID that runs takes the job from its worker and begins it anew; to merge puts instead: --key with --merge last"},
			&cli.Float64Flag{Name: "priority", Aliases: []string{"p"}, Usage: "higher comes first"},
			&cli.IntFlag{Name: "retries", Value: 5, Usage: "how often it may be tried again"},
			&cli.DurationFlag{Name: "delay", Usage: "how long it waits before it may run"},
			&cli.StringFlag{Name: "at", Usage: "when it is planned for: `TIME` as 2026-07-01T12:00:00Z, or so long from now as 90s"},
			&cli.DurationFlag{Name: "timeout", Usage: "longest time of an attempt, where shorter than the pool's"},
			&cli.StringSliceFlag{Name: "tag", Aliases: []string{"t"}, Usage: "`TAG` of the job; may be given again"},
			&cli.StringSliceFlag{Name: "depends", Usage: "`JID` of a job that must complete first; may be given again"},
			&cli.StringSliceFlag{Name: "throttle", Usage: "a `THROTTLE` that it needs; may be given again"},
			&cli.StringFlag{Name: "correlation", Usage: "`TEXT` that an answer to the job will name, unique in its klass (see respond)"},
			&cli.StringFlag{Name: "key", Usage: "run in order, and one at a time, with all jobs of this `KEY` in the queue"},
			&cli.StringFlag{Name: "key-from", Usage: "take the key from the data, at a JSON `POINTER` as /order_id (or as the file says: key_from of [queues.QUEUE])"},
			&cli.StringFlag{Name: "merge", Usage: "while a job of the key waits make no other, but: all: add DATA to its list, set: likewise, unless an equal one is there, last: replace its data, first: nothing; `MERGE` none: make one all the same"},
			&cli.Float64Flag{Name: "score", Usage: "`NUMBER` by which data are ordered that merge; else the time"},
			&cli.StringFlag{Name: "traceparent", Usage: "W3C trace context of whoever puts it, `00-TRACE-SPAN-FLAGS`; without it that of $TRACEPARENT"},
			&cli.StringFlag{Name: "tracestate", Usage: "what `VENDORS` say beside; without it that of $TRACESTATE"},
			&cli.StringFlag{Name: "if-exists", Usage: "what becomes of a job of that jid: `EXISTING` replace (the default), final or never"},
			&cli.BoolFlag{Name: "if-absent", Usage: "the same as --if-exists never: leave a job of that jid alone"},
			&cli.IntFlag{Name: "wait-replicas", Usage: "wait until `N` replicas have it, for a second at most (exit code 75: put, but fewer have it)"},
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "take jobs from the lines of `FILE`; - is stdin"},
			&cli.BoolFlag{Name: "jobs", Usage: "the lines are whole jobs, not only their data"},
			&cli.BoolFlag{Name: "apply", Usage: "install the rules of the configuration first, as oarlock rules apply does"},
			forceFlag(),
			jsonFlag(),
		}, wantsFlags()...),
		Action: func(c *cli.Context) error { return asked(put(c)) },
	}
}

func put(c *cli.Context) error {
	if err := wantArgs(c, 1, 2, "a queue"); err != nil {
		return err
	}
	from, many := c.String("file"), c.IsSet("file")
	switch {
	case c.Args().First() == "-" && c.NArg() == 1 && !many && !c.Bool("force"):
		return misused("name a queue, and then - for the lines of stdin: oarlock put QUEUE -\nIf the queue is named -: --force.")
	case many && c.NArg() == 2:
		return misused("give DATA or --file, not both")
	case c.Args().Get(1) == "-":
		from, many = "-", true
	case c.Bool("jobs") && !many:
		return misused("--jobs says what the lines of --file are; name a file")
	}
	like, err := putOf(c)
	if err != nil {
		return err
	}
	if many {
		if like.JID != "" {
			return misused("--jid names one job; a file has many")
		}
		return putFile(c, from, like)
	}
	like.Data = []byte("{}")
	if c.NArg() == 2 {
		like.Data = []byte(c.Args().Get(1))
	}
	if err := ops.CheckJSON(like.Data); err != nil {
		if !utf8.Valid(like.Data) {
			return misused("the data is not JSON: %v", err)
		}
		return misused("the data is not JSON: %v\nA string needs its quotes: '\"text\"'", err)
	}
	client, cfg, err := openNear(c)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := applyFirst(c, client); err != nil {
		return err
	}
	if like.Key == "" && like.KeyFrom == "" {
		like.KeyFrom = cfg.Queues[like.Queue].KeyFrom
	}
	if err := ops.NeedsKey(like); err != nil {
		return err
	}
	if err := ops.CheckDepends(c.Context, client, like.Depends, sure(c)); err != nil {
		return err
	}
	like.AnyName = true // it was asked about
	done, err := ops.PutOne(c.Context, client, like)
	var few *queue.ReplicaError
	if err != nil && !errors.As(err, &few) {
		return errors.Join(err, sayUninstalled(c, client, cfg, []rules.Job{ruledJob(like)}))
	}
	return errors.Join(answer(c, done, func(w io.Writer) {
		screen.PrintLine(w, done.JID)
		if done.Merged != "" {
			screen.Printf(c.App.ErrWriter, "%s\n", show.Merged(done.Merged))
		}
		switch {
		case done.Held:
			screen.Printf(c.App.ErrWriter, "This job has the correlation already and is %s: nothing was put.\n", done.State)
		case done.Replaced:
			screen.Printf(c.App.ErrWriter, "A job of that jid was %s: it was put again as this one says.\n", done.State)
		case done.Existed:
			screen.Printf(c.App.ErrWriter, "It exists and is %s: it was left alone.\n", done.State)
		}
	}), err, sayUnserved(c, client, done.Queue), sayUninstalled(c, client, cfg, []rules.Job{ruledJob(like)}))
}

// applyFirst installs the rules of the configuration if --apply says so, and tells on stderr what it changed.
func applyFirst(c *cli.Context, client *queue.Client) error {
	if !c.Bool("apply") {
		return nil
	}
	changes, err := installRules(c, client, false)
	if err == nil {
		show.RuleChanges(c.App.ErrWriter, changes, nil)
	}
	return err
}

// sayUninstalled tells, of jobs that were put, which rules of the configuration did not count for them because Redis does not have
// them. It never fails.
func sayUninstalled(c *cli.Context, client *queue.Client, cfg config.Config, jobs []rules.Job) error {
	if names := uninstalled(c, client, cfg, jobs); names != "" {
		screen.Printf(c.App.ErrWriter, "Redis does not have these rules of %s: %s.\nThey do not apply to this job yet. Install them with `oarlock rules apply`, or use put --apply.\n", cfg.Path, names)
	}
	return nil
}

// uninstalled names the rules of the configuration that concern jobs and that Redis does not have; "" if it has all, or that cannot be told.
func uninstalled(c *cli.Context, client *queue.Client, cfg config.Config, jobs []rules.Job) string {
	if cfg.Path == "" {
		return ""
	}
	names, err := ops.Uninstalled(c.Context, client, cfg.RulesFile(), plan.Orders(cfg), jobs)
	if err != nil {
		return ""
	}
	return strings.Join(names, ", ")
}

// ruledJob is what rules ask of a put.
func ruledJob(p queue.Put) rules.Job {
	return rules.Job{Queue: p.Queue, Klass: p.Klass, Throttles: p.Throttles, Windows: p.Wants.Windows}
}

// mostKinds is how many queues and classes of a file of jobs are compared with the rules.
const mostKinds = 1000

// kinds collects the jobs of a file that differ for rules.
func kinds(into *[]rules.Job) func(queue.Put) {
	met := map[string]bool{}
	return func(p queue.Put) {
		job := ruledJob(p)
		kind := fmt.Sprintf("%q", []any{job.Queue, job.Klass, job.Throttles, job.Windows})
		if len(met) < mostKinds && !met[kind] {
			met[kind] = true
			*into = append(*into, job)
		}
	}
}

// sayUnserved tells, of queues into which jobs were put, which no supervisor works. It never fails.
func sayUnserved(c *cli.Context, client *queue.Client, names ...string) error {
	for _, name := range names {
		if text := ops.Unserved(c.Context, client, name); text != "" {
			screen.PrintLine(c.App.ErrWriter, text)
		}
	}
	return nil
}

// wantsFlags are what a job says itself of what it needs to run.
func wantsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "weight", Usage: "how many places of each of its throttles it takes: `N` from 1 to 100, in place of what its klass says"},
		&cli.BoolFlag{Name: "bypass", Usage: "it needs no places of throttles, whatever is full"},
		&cli.StringSliceFlag{Name: "window", Usage: "when it may start, in place of what its queue or klass says: a `WINDOW` of the rules, or a span as \"22:00-06:00\"; may be given again"},
		&cli.StringFlag{Name: "zone", Usage: "the time `ZONE` of the spans, as Europe/Berlin; else UTC"},
	}
}

// wantsOf is what the options of wantsFlags say.
func wantsOf(c *cli.Context) (queue.Wants, error) {
	wants := queue.Wants{Weight: c.Int("weight"), Bypass: c.Bool("bypass"), Windows: c.StringSlice("window"), Zone: c.String("zone")}
	if c.IsSet("weight") && wants.Weight < 1 {
		return wants, misused("--weight must be from 1 to %d", queue.MaxWeight)
	}
	return wants, nil
}

// putOf is the job that the options of c describe, without its data.
func putOf(c *cli.Context) (queue.Put, error) {
	p := queue.Put{
		Queue:     c.Args().First(),
		JID:       c.String("jid"),
		Klass:     c.String("klass"),
		Priority:  given(c, "priority", c.Float64),
		Retries:   given(c, "retries", c.Int),
		Delay:     c.Duration("delay"),
		Timeout:   c.Duration("timeout"),
		Tags:      c.StringSlice("tag"),
		Depends:   c.StringSlice("depends"),
		Throttles: c.StringSlice("throttle"),
		Key:       c.String("key"),
		KeyFrom:   c.String("key-from"),
		Merge:     queue.Merge(c.String("merge")),
		Score:     given(c, "score", c.Float64),
		IfExists:  queue.IfExists(c.String("if-exists")),

		Correlation:  c.String("correlation"),
		Trace:        traceOf(c),
		WaitReplicas: c.Int("wait-replicas"),
	}
	var err error
	if p.Wants, err = wantsOf(c); err != nil {
		return p, err
	}
	switch {
	case c.IsSet("timeout") && p.Timeout == 0:
		return p, misused("--timeout must be more than 0; without it that of the pool holds")
	case c.IsSet("key") && c.IsSet("key-from"):
		return p, misused("give --key or --key-from, not both")
	case c.IsSet("at") && c.IsSet("delay"):
		return p, misused("--delay and --at exclude each other")
	}
	if c.IsSet("at") {
		if err := ops.PlanPut(&p, c.String("at")); err != nil {
			return p, err
		}
	}
	if c.IsSet("key-from") {
		if err := queue.CheckPointer(p.KeyFrom); err != nil {
			return p, misused("--key-from: %v", err)
		}
	}
	checked := p
	if p.Key == "" && p.KeyFrom == "" {
		checked.KeyFrom = "/key" // the configuration may say where the data has the key
	}
	if err := ops.CheckPut(checked, sure(c)); err != nil {
		return p, err
	}
	if err := config.OneOf(c.String("if-exists"), ifExistsWords); err != nil && c.IsSet("if-exists") {
		return p, misused("--if-exists: %v", err)
	}
	if c.Bool("if-absent") {
		if c.IsSet("if-exists") {
			return p, misused("give --if-absent or --if-exists, not both")
		}
		p.IfExists = queue.Never
	}
	return p, nil
}

// traceOf is the trace that the options name, or, as other programs have it, the environment; there one that is none does not count.
func traceOf(c *cli.Context) queue.Trace {
	if c.IsSet("traceparent") || c.IsSet("tracestate") {
		return queue.Trace{Parent: c.String("traceparent"), State: c.String("tracestate")}
	}
	return queue.ReadTrace(os.Getenv("TRACEPARENT"), os.Getenv("TRACESTATE"))
}

// ifExistsWords are what a put may say of a job that has its jid.
var ifExistsWords = []string{string(queue.Replace), string(queue.Final), string(queue.Never)}

// putFile puts a job for each line of the file name, - being stdin.
func putFile(c *cli.Context, name string, like queue.Put) error {
	in, size, err := input(c, name)
	if err != nil {
		return err
	}
	defer in.Close()
	client, cfg, err := openNear(c)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := ops.CheckDepends(c.Context, client, like.Depends, sure(c)); err != nil {
		return err
	}
	if err := applyFirst(c, client); err != nil {
		return err
	}
	var put []rules.Job
	bar := show.Bytes(c.App.ErrWriter, "put", size)
	like.AnyName = c.Bool("force")
	feed := ops.Feed{
		Client: client, Like: like, Whole: c.Bool("jobs"), Force: c.Bool("force"),
		KeyFrom: func(name string) string { return cfg.Queues[name].KeyFrom },
		Saw:     kinds(&put),
		Read:    bar.Add,
		Refused: func(line int, why error) { screen.Printf(c.App.ErrWriter, "line %d: %v\n", line, why) },
	}
	fed, err := feed.From(c.Context, in)
	if doubt := (*ops.Doubt)(nil); errors.As(err, &doubt) {
		return misused("%v\nNothing was done from there on; --force does it all the same.", err)
	}
	if err != nil {
		return err
	}
	bar.Done()
	if fed.Unordered {
		screen.Printf(c.App.ErrWriter, "Jobs with a jid of their own and a priority beyond %d or -%d do not keep their order.\n", queue.MostOrdered, queue.MostOrdered)
	}
	if err := answer(c, fed, func(w io.Writer) { show.Fed(w, fed) }); err != nil {
		return err
	}
	if !feed.Whole {
		_ = sayUnserved(c, client, like.Queue)
	}
	_ = sayUninstalled(c, client, cfg, put)
	switch {
	case fed.Refused > 0:
		return fmt.Errorf("refused: %s", screen.Some(fed.Refused, "job"))
	case fed.Few != nil:
		return fed.Few
	}
	return nil
}

// input opens the file name, - being stdin, and gives its size, below zero if that is unknown. The caller closes it.
func input(c *cli.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(c.App.Reader), -1, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, -1, err
	}
	info, err := file.Stat()
	if err != nil {
		return file, -1, nil
	}
	return file, info.Size(), nil
}
