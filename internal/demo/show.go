package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// wave is how many jobs the demo puts at once: the embedded server slows down as its
// queue grows.
const wave = 100

// queueName is the queue that the jobs are in.
const queueName = "files"

// Watch is whoever looks on while the demo runs.
type Watch struct {
	Event  func(supervisor.Event) // hears every event; never waits
	Line   func(supervisor.Line)  // hears every line of children; never waits
	Begins func(*supervisor.Supervisor)
	Holds  func(context.Context) // returns when nobody looks on any more; the supervisor lives until then
}

// Run makes jobs of files, with trouble on purpose, has them worked by a supervisor of its own that has that pool, whose
// children run what Script gave and may crash once, and shows on out how it goes. watch is nil if nobody looks on. The error
// says what a direct count does not agree with, or that ctx ended before the jobs had.
func Run(ctx context.Context, out io.Writer, client *queue.Client, pool supervisor.Pool, files []string, watch *Watch) error {
	d := newShow(out, jobsOf(files))
	if watch == nil {
		watch = &Watch{Event: func(supervisor.Event) {}, Line: func(supervisor.Line) {}, Begins: func(*supervisor.Supervisor) {}, Holds: func(context.Context) {}}
	}
	return d.run(ctx, client, pool, watch)
}

// item is one file on its way, and what should become of it.
type item struct {
	jid     string
	path    string
	trouble string // what the script is to do wrong: "", busy, crash, poison
	group   string // under which it should fail; "" if it should complete

	ended bool
	state string // where it ended
	said  Tally  // what its last attempt printed
	found string // the group of its last failure
}

// jobsOf makes jobs of files, and some trouble: about 4 in 100 are busy at first, 3 in
// 100 crash once, and a few will never succeed.
func jobsOf(files []string) []*item {
	var jobs []*item
	for i, path := range files {
		job := &item{jid: queue.NewJID(), path: path}
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

// show puts the jobs, watches them being worked off, and shows how it goes.
type show struct {
	out   io.Writer
	order []*item
	bar   *progressbar.ProgressBar
	began time.Time
	took  time.Duration

	mu      sync.Mutex
	jobs    map[string]*item // by jid
	open    int              // jobs that have not ended
	retried int
	crashed int
	news    chan struct{} // something has ended
}

func newShow(out io.Writer, jobs []*item) *show {
	d := &show{out: out, order: jobs, jobs: map[string]*item{}, open: len(jobs), news: make(chan struct{}, 1)}
	for _, job := range jobs {
		d.jobs[job.jid] = job
	}
	d.bar = progressbar.NewOptions(len(jobs),
		progressbar.OptionSetWriter(screen.Under(out)),
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

// run has all jobs worked by a supervisor of its own, which has left when it returns, and tells what became of them.
func (d *show) run(ctx context.Context, client *queue.Client, pool supervisor.Pool, watch *Watch) error {
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	pool.Queues = []string{queueName}
	sup := supervisor.New(supervisor.Config{
		Name: "demo", Pools: []supervisor.Pool{pool}, DrainTimeout: time.Second,
		ChildLog: func(l supervisor.Line) { d.line(l); watch.Line(l) },
		OnEvent:  func(e supervisor.Event) { d.event(e); watch.Event(e) },
	}, client, host)
	watch.Begins(sup)
	d.began = time.Now()
	ctx, left := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer left() // or feed would wait for jobs that nobody works
		ended <- sup.Run(ctx)
	}()
	err = d.feed(ctx, client)
	d.took = time.Since(d.began)
	d.bar.Finish()
	if err == nil {
		err = d.verdict()
		watch.Holds(ctx)
	}
	sup.Stop()
	return errors.Join(err, <-ended, host.Close())
}

// feed puts the jobs in waves and returns when all have ended.
func (d *show) feed(ctx context.Context, client *queue.Client) error {
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
				puts = append(puts, queue.Put{Queue: queueName, JID: job.jid, Klass: "Count", Data: []byte(screen.Compact(data))})
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

func (d *show) standing() (open, done int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open, len(d.order) - d.open
}

// line hears what the children print.
func (d *show) line(l supervisor.Line) {
	tally, ok := Parse(l.Text)
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
func (d *show) event(e supervisor.Event) {
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
func (d *show) verdict() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := 0
	failed := map[string]int{}
	var said, want Tally
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
		tally, err := Count(job.path)
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
	total := func(what string, t Tally) []string {
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
