package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// emptied is what a run until its queues were empty has to say at its end.
type emptied struct {
	Empty     bool      `json:"empty"`         // false: it left before
	Why       string    `json:"why,omitempty"` // it gave up
	Seconds   float64   `json:"seconds"`
	Done      int       `json:"done"` // attempts that ended so
	Failed    int       `json:"failed"`
	Retried   int       `json:"retried"`
	Released  int       `json:"released"`
	Canceled  int       `json:"canceled"`
	Requeued  int       `json:"requeued"`          // put again, by their child's word
	Unstarted int       `json:"unstarted"`         // jobs whose program could not be started
	Failures  []failure `json:"failures"`          // the first of those that failed
	Trouble   []string  `json:"trouble"`           // pools whose jobs all end badly, or whose children do not start
	Left      *left     `json:"left"`              // null if it is not known
	Unknown   string    `json:"unknown,omitempty"` // why it is not
	within    time.Duration
}

// failure is a job that failed.
type failure struct {
	JID   string `json:"jid"`
	Queue string `json:"queue"`
	Group string `json:"group"`
}

// left is what stays in the queues.
type left struct {
	Ready     int           `json:"ready"`
	Scheduled int           `json:"scheduled"`
	Recurring int           `json:"recurring"`
	Depends   int           `json:"depends"`   // on jobs that are not complete
	Throttled int           `json:"throttled"` // until a throttle has room
	Running   int           `json:"running"`   // by workers elsewhere
	Paused    []pausedQueue `json:"paused"`    // queues, with the jobs that could run
	Damaged   []string      `json:"damaged"`   // queues that are left out
}

type pausedQueue struct {
	Queue string `json:"queue"`
	Jobs  int    `json:"jobs"`
}

// words are what is left, in words; "nothing" if that is so.
func (l left) words(within time.Duration) string {
	var all []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			all = append(all, screen.Count(n)+" "+fmt.Sprintf(format, args...))
		}
	}
	add(l.Ready, "ready")
	add(l.Scheduled, "scheduled for later than %s", screen.Span(within))
	add(l.Depends, "waiting for other jobs")
	add(l.Throttled, "waiting for a throttle")
	add(l.Running, "at work elsewhere")
	add(l.Recurring, "recurring")
	for _, p := range l.Paused {
		all = append(all, fmt.Sprintf("paused queue %s with %s", p.Queue, screen.Some(p.Jobs, "job")))
	}
	for _, name := range l.Damaged {
		all = append(all, fmt.Sprintf("damaged queue %s (oarlock doctor)", name))
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// bad reports whether a job failed or could not be started, a pool is in trouble, or all was given up.
func (d emptied) bad() bool {
	return d.Failed > 0 || d.Unstarted > 0 || len(d.Trouble) > 0 || d.Why != ""
}

// print says in words what was done and what is left.
func (d emptied) print(w io.Writer) {
	how := "left before its queues were empty, after"
	switch {
	case d.Empty:
		how = "empty after"
	case d.Why != "":
		how = "gave up after"
	}
	also := ""
	if d.Canceled > 0 {
		also += ", " + screen.Count(d.Canceled) + " canceled"
	}
	if d.Requeued > 0 {
		also += ", " + screen.Count(d.Requeued) + " put again"
	}
	screen.Printf(w, "%s %s: %s done, %s failed, %s retried, %s given back%s.\n", how, screen.Span(time.Duration(d.Seconds*float64(time.Second))),
		screen.Count(d.Done), screen.Count(d.Failed), screen.Count(d.Retried), screen.Count(d.Released), also)
	if d.Why != "" {
		screen.Printf(w, "given up: %s\n", d.Why)
	}
	for _, trouble := range d.Trouble {
		screen.PrintLine(w, trouble)
	}
	if d.Unstarted > 0 {
		screen.Printf(w, "the program of %s could not be started: oarlock job show JID tells why\n", screen.Some(d.Unstarted, "job"))
	}
	for _, f := range d.Failures {
		screen.Printf(w, "failed: %s of %s %s\n", f.JID, f.Queue, f.Group)
	}
	if more := d.Failed - len(d.Failures); more > 0 {
		screen.Printf(w, "and %s more: oarlock failed ls\n", screen.Count(more))
	}
	if d.Left == nil {
		screen.Printf(w, "what is left is not known: %s\n", d.Unknown)
		return
	}
	screen.Printf(w, "left: %s\n", d.Left.words(d.within))
}

// endTally counts what Redis was told of attempts. Safe for concurrent use.
type endTally struct {
	mu        sync.Mutex
	counts    map[queue.Action]int
	failures  []failure
	unstarted map[string]struct{} // jobs whose last attempt found no program to start
}

const (
	mostFailures  = 20
	mostUnstarted = 10_000
)

// note hears of what happened in a pool. A job that was to be retried and had no retries left
// has failed: Redis says so.
//
// One that was canceled elsewhere while it ran is no more: nothing is settled then.
func (t *endTally) note(e *supervisor.Event) {
	canceled := e.Kind == supervisor.AttemptEnded && e.Action == "" && !e.Redo && e.Ending != nil && e.Ending.Kind == runner.Canceled
	if e.Kind != supervisor.Settled && !canceled || e.Job == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts, t.unstarted = map[queue.Action]int{}, map[string]struct{}{}
	}
	action := e.Action
	if canceled {
		action = queue.Cancel
	}
	if e.State == "failed" || action == queue.Retry && e.State == queue.Took.String() && e.Job.Remaining <= 0 {
		action = queue.Fail
	}
	t.counts[action]++
	if action == queue.Fail && len(t.failures) < mostFailures {
		failed := failure{JID: e.Job.JID, Queue: e.Job.Queue}
		if e.Ending != nil {
			failed.Group = e.Ending.Group
		}
		t.failures = append(t.failures, failed)
	}
	if action != queue.Release || e.Ending == nil || !supervisor.Unstarted(e.Ending) {
		delete(t.unstarted, e.Job.JID)
	} else if len(t.unstarted) < mostUnstarted {
		t.unstarted[e.Job.JID] = struct{}{}
	}
}

// into puts the counts into d.
func (t *endTally) into(d *emptied) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.Done, d.Failed, d.Retried, d.Released = t.counts[queue.Complete], t.counts[queue.Fail], t.counts[queue.Retry], t.counts[queue.Release]
	d.Canceled, d.Requeued, d.Unstarted = t.counts[queue.Cancel], t.counts[queue.Requeue], len(t.unstarted)
	d.Failures = append([]failure{}, t.failures...)
	d.Trouble = append([]string{}, d.Trouble...)
}
