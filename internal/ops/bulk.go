package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// Bulk is a deed to be done to all jobs that a filter means. It is planned by a dry run, and done by that plan: to what
// matches still and was there when the plan was made. To do the same plan again goes on with what is left of it.
type Bulk struct {
	Action string   `json:"action"` // one of BulkActions
	Where  Filter   `json:"where"`
	To     string   `json:"to,omitempty"`       // of move: a queue
	Level  *float64 `json:"priority,omitempty"` // of priority
	Tags   []string `json:"tags,omitempty"`     // of tag and untag
	Plan   *Plan    `json:"plan,omitempty"`     // of Do: BulkPlan.Plan
	Typed  *int     `json:"typed,omitempty"`    // of Do: Plan.Count, as a person typed it, where NeedsNumber says so
	Cursor string   `json:"cursor,omitempty"`   // of Do: BulkDone.Next, to go on there; "" begins anew
}

// Plan is what a bulk deed is held to.
type Plan struct {
	Until float64 `json:"until"` // a job that failed, or else was put or taken, later than that is left alone; seconds since the epoch
	Count int     `json:"count"` // so many are changed at most
}

// BulkPlan is what a bulk deed would be done to.
type BulkPlan struct {
	Plan     Plan           `json:"plan"`
	Count    int            `json:"count"`
	ByKlass  map[string]int `json:"by_klass"` // the first hundred; the others are under ""
	ByQueue  map[string]int `json:"by_queue"` // likewise
	Oldest   float64        `json:"oldest"`   // when the first of them failed, or else was put or taken; 0 if there is none
	Newest   float64        `json:"newest"`
	Sample   []Job          `json:"sample"` // twenty
	LookedAt int            `json:"looked_at"`
	Of       int            `json:"of"`
	Partial  bool           `json:"partial"` // it was too much to be looked at in one go: Count is of LookedAt of Of only
	Number   bool           `json:"number"`  // Do wants the number typed
}

// BulkDone is how far a bulk deed came in one call.
type BulkDone struct {
	Done    int      `json:"done"`
	Changed int      `json:"changed"`        // left alone, for they changed, or went, in the moment between look and deed
	Refused []string `json:"refused"`        // in sentences, the first hundred
	Left    int      `json:"left"`           // of the plan's count, and not come to yet; 0 if all were looked at
	Next    string   `json:"next,omitempty"` // the cursor to go on with; "" if all were looked at
}

// The bounds of a bulk deed: how much is done in one call of Do, how much a plan looks at, and above how many jobs the
// number is to be typed.
const (
	bulkJobs   = 5_000
	bulkTime   = 10 * time.Second
	planJobs   = 200_000
	bulkTyped  = 1_000
	bulkSample = 20
	bulkNames  = 100
)

// bulkActions are the deeds, by name.
var bulkActions = map[string]queue.Change{
	"retry": queue.AmendRetry, "move": queue.AmendMove, "drop": queue.AmendCancel, "cancel": queue.AmendCancel, "priority": queue.AmendPriority,
	"tag": queue.AmendTag, "untag": queue.AmendUntag, "now": queue.AmendNow, "kill": queue.AmendKill, "take_back": queue.AmendTimeout,
}

// BulkActions are the deeds of a Bulk: drop and cancel remove jobs for good, now lets scheduled ones wait no longer, kill
// fails those that wait to be tried again, take_back takes running ones from their workers.
var BulkActions = []string{"retry", "move", "drop", "cancel", "priority", "tag", "untag", "now", "kill", "take_back"}

// check refuses what cannot be meant.
func (b Bulk) check() error {
	switch {
	case bulkActions[b.Action] == "":
		return &Wrong{"action", fmt.Sprintf("%q is none; there are %s%s", b.Action, strings.Join(BulkActions, ", "), Nearest(b.Action, BulkActions))}
	case b.Action == "move":
		return NewName("queue", b.To, Never)
	case b.Action == "priority" && b.Level == nil:
		return &Wrong{"priority", "is missing"}
	case b.Action == "priority":
		return soundPriority(*b.Level)
	case (b.Action == "tag" || b.Action == "untag") && len(b.Tags) == 0:
		return &Wrong{"tags", "are missing"}
	case b.Action == "tag":
		return newNames("tag", b.Tags, Never)
	}
	return nil
}

// moot reports whether a job is already as the deed would make it. One that is changed, and met again because it has another
// place then, is not changed twice.
func (b Bulk) moot(g queue.Glance) bool {
	has := func(tag string) bool { return slices.Contains(g.Tags, tag) }
	switch b.Action {
	case "priority":
		return g.Priority == *b.Level
	case "tag":
		return !slices.ContainsFunc(b.Tags, func(tag string) bool { return !has(tag) })
	case "untag":
		return !slices.ContainsFunc(b.Tags, has)
	case "move":
		return g.Queue == b.To && g.Row == "waiting"
	}
	return false
}

// needsNumber says whether so many jobs are changed only if somebody typed how many.
func (b Bulk) needsNumber(count int) bool {
	return count > bulkTyped || count > 0 && bulkActions[b.Action] == queue.AmendCancel
}

// DryRun counts what the deed would be done to, and changes nothing. It looks for ten seconds at most.
func (b Bulk) DryRun(ctx context.Context, q *queue.Client) (BulkPlan, error) {
	p := BulkPlan{ByKlass: map[string]int{}, ByQueue: map[string]int{}, Sample: []Job{}}
	if err := b.check(); err != nil {
		return p, err
	}
	s, err := b.Where.scan(ctx, q, "")
	if err != nil {
		return p, err
	}
	ends := time.Now().Add(bulkTime)
	for s.more && s.lookedAt < planJobs && time.Now().Before(ends) {
		jobs, err := s.next(ctx, queue.MaxListed)
		if err != nil {
			return p, err
		}
		for _, job := range jobs {
			if !b.moot(job) {
				p.add(job)
			}
		}
	}
	p.LookedAt, p.Of, p.Partial = s.lookedAt, max(s.total, s.lookedAt), s.more
	p.Plan, p.Number = Plan{s.began, p.Count}, b.needsNumber(p.Count)
	return p, nil
}

// add counts one more.
func (p *BulkPlan) add(g queue.Glance) {
	p.Count++
	for name, in := range map[string]map[string]int{g.Klass: p.ByKlass, g.Queue: p.ByQueue} {
		if _, known := in[name]; !known && len(in) >= bulkNames {
			name = ""
		}
		in[name]++
	}
	if when := momentOf(g); when > 0 {
		p.Newest = max(p.Newest, when)
		if p.Oldest == 0 || when < p.Oldest {
			p.Oldest = when
		}
	}
	if len(p.Sample) < bulkSample {
		p.Sample = append(p.Sample, ViewGlance(g))
	}
}

// Do does the deed by its Plan: to at most 5,000 jobs, or for ten seconds. Each job is looked at again in the call that changes
// it: one that began to run, or was changed in any other way, since this call saw it is left alone.
func (b Bulk) Do(ctx context.Context, q *queue.Client) (BulkDone, error) {
	d := BulkDone{Refused: []string{}}
	if err := b.checkPlan(); err != nil {
		return d, err
	}
	f := b.Where
	if f.Before == nil || *f.Before > b.Plan.Until {
		f.Before = &b.Plan.Until
	}
	s, err := f.scan(ctx, q, b.Cursor)
	if err != nil {
		return d, err
	}
	ends, most := time.Now().Add(bulkTime), min(b.Plan.Count, bulkJobs)
	var jobs []queue.Glance
	for s.more && len(jobs) < most && time.Now().Before(ends) {
		some, err := s.next(ctx, most-len(jobs))
		if err != nil {
			return d, err
		}
		jobs = append(jobs, slices.DeleteFunc(some, b.moot)...)
	}
	// All at once: of jobs that wait for each other none is canceled before the last that waits for it.
	if err := b.amend(ctx, q, jobs, &d); err != nil {
		return d, err
	}
	if len(jobs) < b.Plan.Count {
		d.Next = s.cursor()
	}
	if d.Next != "" {
		d.Left = b.Plan.Count - len(jobs)
	}
	return d, nil
}

// checkPlan refuses a deed without a plan, or of which too little is said.
func (b Bulk) checkPlan() error {
	if err := b.check(); err != nil {
		return err
	}
	switch {
	case b.Plan == nil:
		return &Wrong{"plan", "is missing: a dry run makes it"}
	case b.Plan.Count < 0 || b.Plan.Until <= 0:
		return &Wrong{"plan", "is none that a dry run made"}
	case b.needsNumber(b.Plan.Count) && (b.Typed == nil || *b.Typed != b.Plan.Count):
		return &Wrong{"typed", fmt.Sprintf("must be %d, the number of jobs, to %s so many", b.Plan.Count, strings.ReplaceAll(b.Action, "_", " "))}
	}
	return nil
}

// amendment is the deed to one job.
func (b Bulk) amendment(job queue.Job) queue.Amendment {
	c := job.Amend(bulkActions[b.Action])
	c.Queue, c.Tags = b.To, b.Tags
	if b.Level != nil {
		c.Priority = *b.Level
	}
	return c
}

// amend changes jobs and notes what became of them.
func (b Bulk) amend(ctx context.Context, q *queue.Client, jobs []queue.Glance, d *BulkDone) error {
	changes := make([]queue.Amendment, len(jobs))
	for i, job := range jobs {
		changes[i] = b.amendment(job.Job)
	}
	a, err := amendAll(ctx, q, changes, b.Action)
	d.Done += len(a.Done)
	d.Changed += len(a.Changed)
	d.Refused = append(d.Refused, a.Refused[:min(len(a.Refused), bulkNames-min(bulkNames, len(d.Refused)))]...)
	if err != nil {
		return fmt.Errorf("after %s: %w\n(the same plan again goes on with the others)", screen.Some(d.Done, "job"), err)
	}
	return nil
}
