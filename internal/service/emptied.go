package service

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Emptied is what a run until its queues were empty has to say at its end.
type Emptied struct {
	Empty     bool          `json:"empty"`         // false: it left before
	Why       string        `json:"why,omitempty"` // it gave up
	Seconds   float64       `json:"seconds"`
	Done      int           `json:"done"` // attempts that ended so
	Failed    int           `json:"failed"`
	Retried   int           `json:"retried"`
	Released  int           `json:"released"`
	Canceled  int           `json:"canceled"`
	Requeued  int           `json:"requeued"`          // put again, by their child's word
	Parked    int           `json:"parked"`            // wait for an answer
	Unstarted int           `json:"unstarted"`         // jobs whose program could not be started
	Failures  []Failure     `json:"failures"`          // the first of those that failed
	Trouble   []string      `json:"trouble"`           // pools whose jobs all end badly, or whose children do not start
	Left      *Left         `json:"left"`              // null if it is not known
	Unknown   string        `json:"unknown,omitempty"` // why it is not
	Within    time.Duration `json:"-"`                 // how soon a job had to be due to be waited for
}

// Failure is a job that failed.
type Failure struct {
	JID   string `json:"jid"`
	Queue string `json:"queue"`
	Group string `json:"group"`
}

// Left is what stays in the queues.
type Left struct {
	Ready     int           `json:"ready"`
	Scheduled int           `json:"scheduled"`
	Recurring int           `json:"recurring"`
	Depends   int           `json:"depends"`   // on jobs that are not complete
	Throttled int           `json:"throttled"` // until a throttle has room
	Behind    int           `json:"behind"`    // others of their key, as one that failed and keeps the turn
	Running   int           `json:"running"`   // by workers elsewhere
	Paused    []PausedQueue `json:"paused"`    // queues, with the jobs that could run
	Damaged   []string      `json:"damaged"`   // queues that are left out
}

// PausedQueue is a queue that is left paused, with the jobs that could run.
type PausedQueue struct {
	Queue string `json:"queue"`
	Jobs  int    `json:"jobs"`
}

// Words are what is left, in words; "nothing" if that is so.
func (l Left) Words(within time.Duration) string {
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
	add(l.Behind, "behind others of their key (oarlock key ls)")
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

// Bad reports whether a job failed or could not be started, a pool is in trouble, or all was given up.
func (d Emptied) Bad() bool {
	return d.Failed > 0 || d.Unstarted > 0 || len(d.Trouble) > 0 || d.Why != ""
}

// endTally counts what Redis was told of attempts. Safe for concurrent use.
type endTally struct {
	mu        sync.Mutex
	counts    map[queue.Action]int
	failures  []Failure
	unstarted map[string]struct{} // jobs whose last attempt found no program to start
}

const (
	mostFailures  = 20
	mostUnstarted = 10_000
)

// note hears of what happened in a pool. A job that was to be retried and had no retries left
// has failed: Redis says so; and of one that merges its oldest payload, as a job of its own.
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
	if e.State == "failed" || e.Part != "" || action == queue.Retry && e.State == queue.Took.String() && e.Job.Remaining <= 0 {
		action = queue.Fail
	}
	t.counts[action]++
	if action == queue.Fail && len(t.failures) < mostFailures {
		failed := Failure{JID: cmp.Or(e.Part, e.Job.JID), Queue: e.Job.Queue}
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
func (t *endTally) into(d *Emptied) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.Done, d.Failed, d.Retried, d.Released = t.counts[queue.Complete], t.counts[queue.Fail], t.counts[queue.Retry], t.counts[queue.Release]
	d.Canceled, d.Requeued, d.Unstarted = t.counts[queue.Cancel], t.counts[queue.Requeue], len(t.unstarted)
	d.Parked = t.counts[queue.Park]
	d.Failures = append([]Failure{}, t.failures...)
	d.Trouble = append([]string{}, d.Trouble...)
}
