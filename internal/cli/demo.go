package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/demo"
	"oarlock/internal/embedded"
	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// wave is how many jobs the demo puts at once: the embedded server slows down as its
// queue grows.
const wave = 100

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "see it work: Go's own source files through child processes, with trouble on purpose",
		Description: "Needs nothing but Go; about half a minute. Exits 0 only if what the children counted\n" +
			"is what a direct count gives, and every job ended as it should.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "files", Value: 1000, Usage: "how many `FILES` become jobs"},
			&cli.StringFlag{Name: "dir", Usage: "`DIRECTORY` to take them from (default: Go's sources)"},
			&cli.IntFlag{Name: "children", Value: 4 * runtime.NumCPU(), Usage: "processes at work at the same time"},
		},
		Action: runDemo,
	}
}

func runDemo(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	if c.Int("files") < 1 || c.Int("children") < 1 {
		return misused("--files and --children must be 1 or more")
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	scratch, err := os.MkdirTemp("", "oarlock-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	command, err := demo.Script(scratch)
	if err != nil {
		return err
	}
	dir := c.String("dir")
	if dir == "" {
		if dir, err = demo.Sources(); err != nil {
			return err
		}
	}
	files, err := demo.Corpus(dir, c.Int("files"))
	if err != nil {
		return err
	}
	out := c.App.Writer
	return withEmbedded(ctx, out, "", func(ctx context.Context, server *embedded.Server) error {
		screen.Printf(out, "%s files of %s become jobs; %d children count what is in them: %s %s\n\n", screen.Count(len(files)), dir,
			c.Int("children"), filepath.Base(command[0]), filepath.Base(command[len(command)-1]))
		show := newDemoShow(out, demoJobs(files))
		if err := show.run(ctx, server.URL(), command, c.Int("children")); err != nil {
			return err
		}
		return show.verdict()
	})
}

// demoJob is one file on its way, and what should become of it.
type demoJob struct {
	jid     string
	path    string
	trouble string // what the script is to do wrong: "", busy, crash, poison
	group   string // under which it should fail; "" if it should complete

	ended bool
	state string     // where it ended
	said  demo.Tally // what its last attempt printed
	found string     // the group of its last failure
}

// demoJobs makes jobs of files, and some trouble: about 4 in 100 are busy at first, 3 in
// 100 crash once, and a few will never succeed.
func demoJobs(files []string) []*demoJob {
	var jobs []*demoJob
	for i, path := range files {
		job := &demoJob{jid: queue.NewJID(), path: path}
		switch {
		case i%25 == 7:
			job.trouble = "busy"
		case i%33 == 11:
			job.trouble = "crash"
		case i%200 == 50:
			job.trouble, job.group = "poison", "signal-SEGV"
		case i%100 == 20:
			job.path, job.group = path+".gone", "exit-66"
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// demoShow puts the jobs, watches them being worked off, and shows how it goes.
type demoShow struct {
	out   io.Writer
	order []*demoJob
	bar   *progressbar.ProgressBar
	began time.Time
	took  time.Duration

	mu      sync.Mutex
	jobs    map[string]*demoJob // by jid
	open    int                 // jobs that have not ended
	retried int
	crashed int
	news    chan struct{} // something has ended
}

func newDemoShow(out io.Writer, jobs []*demoJob) *demoShow {
	d := &demoShow{out: out, order: jobs, jobs: map[string]*demoJob{}, open: len(jobs), news: make(chan struct{}, 1)}
	for _, job := range jobs {
		d.jobs[job.jid] = job
	}
	d.bar = progressbar.NewOptions(len(jobs),
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetVisibility(screen.IsTerminal(out)),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("jobs"),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionFullWidth(),
	)
	return d
}

// run has all jobs worked by a supervisor of its own.
func (d *demoShow) run(ctx context.Context, url string, command []string, children int) error {
	client, err := openRedis(ctx, config.Redis{URL: url, Namespace: "ql:"}, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	pool := config.DefaultPool()
	pool.Queues, pool.Command, pool.Children, pool.Input = []string{"files"}, command, children, "data"
	pool.MaxCrashes = 1
	pool.Retry = config.Retry{Backoff: config.Backoff{Curve: "constant"}, Delay: config.Duration(500 * time.Millisecond)}
	told, err := poolOf("demo", pool)
	if err != nil {
		return err
	}
	sup := supervisor.New(supervisor.Config{
		Name: "demo", Pools: []supervisor.Pool{told}, ChildLog: d.line, OnEvent: d.event, DrainTimeout: time.Second,
	}, client, host)
	d.began = time.Now()
	err = runAll(ctx,
		func(ctx context.Context) error { return errors.Join(sup.Run(ctx), errFinished) },
		func(ctx context.Context) error {
			defer sup.Stop()
			return d.feed(ctx, client)
		})
	d.took = time.Since(d.began)
	d.bar.Finish()
	return errors.Join(err, host.Close())
}

// feed puts the jobs in waves and returns when all have ended.
func (d *demoShow) feed(ctx context.Context, client *queue.Client) error {
	rest := d.order
	reported := 0
	for {
		open, done := d.standing()
		if waiting := open - len(rest); len(rest) > 0 && waiting < wave/2 {
			next := rest[:min(wave, len(rest))]
			rest = rest[len(next):]
			var puts []queue.Put
			for _, job := range next {
				data := job.path
				if job.trouble != "" {
					data += "#" + job.trouble
				}
				puts = append(puts, queue.Put{Queue: "files", JID: job.jid, Klass: "Count", Data: []byte(compact(data))})
			}
			results, err := client.PutAll(ctx, puts)
			if err != nil {
				return err
			}
			for _, result := range results {
				if result.Err != nil {
					return result.Err
				}
			}
			continue
		}
		_ = d.bar.Set(done) // on a terminal that is gone: no matter
		if step := len(d.order) / 5; !screen.IsTerminal(d.out) && step > 0 && done/step > reported {
			reported = done / step
			screen.Printf(d.out, "  %s of %s jobs have ended after %s\n", screen.Count(done), screen.Count(len(d.order)), screen.Span(time.Since(d.began)))
		}
		if open == 0 {
			return nil
		}
		select {
		case <-d.news:
		case <-ctx.Done():
			return errors.New("stopped before all jobs had ended")
		}
	}
}

func (d *demoShow) standing() (open, done int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open, len(d.order) - d.open
}

// line hears what the children print.
func (d *demoShow) line(l supervisor.Line) {
	tally, ok := demo.Parse(l.Text)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if job := d.jobs[l.JID]; job != nil {
		job.said = tally
	}
}

// event hears what became of the jobs.
func (d *demoShow) event(e supervisor.Event) {
	if e.Kind != supervisor.Settled || e.Job == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	job := d.jobs[e.Job.JID]
	if job == nil {
		return
	}
	if e.Ending != nil {
		job.found = e.Ending.Group
		if e.Ending.Kind == runner.Died {
			d.crashed++
		} else if e.Action == queue.Retry {
			d.retried++
		}
	}
	if (e.State == "complete" || e.State == "failed") && !job.ended {
		job.ended, job.state = true, e.State
		d.open--
	}
	select {
	case d.news <- struct{}{}:
	default: // the reader has one to come already
	}
}

// verdict prints what happened and compares it with what should have.
func (d *demoShow) verdict() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := 0
	failed := map[string]int{}
	var said, want demo.Tally
	var wrong []string
	for _, job := range d.order {
		if job.state == "complete" {
			done++
			said.Add(job.said)
		} else {
			failed[job.found]++
		}
		if job.group != "" {
			if job.state != "failed" || job.found != job.group {
				wrong = append(wrong, fmt.Sprintf("%s should have failed with %s; it is %s (%s)", job.path, job.group, job.state, job.found))
			}
			continue
		}
		tally, err := demo.Count(job.path)
		if err != nil {
			return err
		}
		want.Add(tally)
		if job.state != "complete" || job.said != tally {
			wrong = append(wrong, fmt.Sprintf("%s is %s with %+v; a direct count gives %+v", job.path, job.state, job.said, tally))
		}
	}
	rows := [][]string{
		{"done", screen.Count(done), ""},
		{"retried", screen.Count(d.retried), "exit code 75, and then done"},
		{"crashed", screen.Count(d.crashed), "segmentation faults; a job may have one, the second fails it"},
	}
	for _, group := range slices.Sorted(maps.Keys(failed)) {
		rows = append(rows, []string{"failed", screen.Count(failed[group]), group})
	}
	rate := float64(len(d.order)) / d.took.Seconds()
	rows = append(rows, []string{"rate", fmt.Sprintf("%.0f/s", rate), "a fresh process for each job, in " + screen.Span(d.took)})
	screen.Table(d.out, "", []string{"", "JOBS", ""}, rows)
	screen.PrintLine(d.out)
	total := func(what string, t demo.Tally) []string {
		return []string{what, screen.Count(t.Lines), screen.Count(t.Words), screen.Count(t.Bytes), screen.Count(t.Longest)}
	}
	screen.Table(d.out, "", []string{"", "LINES", "WORDS", "BYTES", "LONGEST LINE"}, [][]string{total("the children", said), total("a direct count", want)})
	if len(wrong) == 0 && said == want {
		screen.Printf(d.out, "\n%s\n", screen.Paint(d.out, screen.Green, "The totals agree."))
		return nil
	}
	for _, text := range wrong[:min(len(wrong), 10)] {
		screen.PrintLine(d.out, screen.PaintLines(d.out, screen.Red, screen.Lines(text)))
	}
	return fmt.Errorf("the totals do not agree: %d jobs are not as they should be", len(wrong))
}
