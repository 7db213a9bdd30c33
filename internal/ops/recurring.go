package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/schedule"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Recurring jobs of the protocol, which whoever pops spawns by an interval, and what these have in common with those
// that our supervisors put by a schedule, which are in crons.go.

// Recurring is a recurring job.
type Recurring struct {
	JID       string          `json:"jid"`
	Klass     string          `json:"klass"`
	Queue     string          `json:"queue"`
	Damage    string          `json:"damage,omitempty"`
	Data      json.RawMessage `json:"data"`
	Every     float64         `json:"every"` // seconds
	Next      *float64        `json:"next"`  // seconds since the epoch; null if never
	Count     int             `json:"count"`
	Priority  float64         `json:"priority"`
	Retries   int             `json:"retries"`
	Backlog   int             `json:"backlog"`
	Tags      []string        `json:"tags"`
	Throttles []string        `json:"throttles,omitempty"`
	Cron      *Cron           `json:"cron,omitempty"` // of one with a schedule; every and backlog say nothing then

	ByInterval *queue.Recurring `json:"-"` // as it is in Redis; nil of one with a schedule
	BySchedule *queue.Cron      `json:"-"` // likewise, of one with a schedule
}

// Cron is what only recurring jobs with a schedule have.
type Cron struct {
	Schedule string  `json:"schedule"`
	Zone     string  `json:"zone"` // "" is UTC
	Missed   string  `json:"missed"`
	Overlap  string  `json:"overlap"`
	Source   string  `json:"source"` // file or hand
	Paused   bool    `json:"paused"`
	Pending  float64 `json:"pending,omitempty"` // seconds since the epoch: a run that waits for the last
	Last     float64 `json:"last,omitempty"`    // when the last run was due
	LastJID  string  `json:"last_jid,omitempty"`
	GivenUp  int     `json:"missed_runs"`
	Skipped  int     `json:"skipped_runs"`
}

// Payload is the data of copies as it was given, which may be no JSON.
func (r *Recurring) Payload() string {
	if r.ByInterval != nil {
		return string(r.ByInterval.Data)
	}
	return string(r.BySchedule.Data)
}

// viewRecur is what is told of one that comes by an interval.
func viewRecur(r *queue.Recurring) Recurring {
	next := &r.Next
	if math.IsInf(r.Next, 0) { // it was set aside, because it cannot be read
		next = nil
	}
	return Recurring{
		JID: r.JID, Klass: r.Klass, Queue: r.Queue, Damage: r.Damage, Data: rawJSON(r.Data), Every: r.Interval.Seconds(), Next: next, Count: r.Count,
		Priority: r.Priority, Retries: r.Retries, Backlog: r.Backlog, Tags: list(r.Tags), Throttles: r.Throttles, ByInterval: r,
	}
}

// ListRecurring lists the recurring jobs of the queues that one of patterns matches, names or globs; of all if there is
// none: those with a schedule, and then a page of each queue's others.
func ListRecurring(ctx context.Context, q *queue.Client, patterns []string, page Page) ([]Recurring, error) {
	queues, err := recurringQueues(ctx, q, patterns)
	if err != nil {
		return nil, err
	}
	crons, err := q.Crons(ctx)
	if err != nil {
		return nil, err
	}
	all := []Recurring{}
	for _, r := range crons {
		if len(patterns) == 0 || queue.MatchAny(patterns, r.Queue) {
			all = append(all, viewCron(r))
		}
	}
	others, err := q.RecurringJobs(ctx, queues, page.Offset, page.Limit)
	for i := range others {
		all = append(all, viewRecur(&others[i]))
	}
	return all, err
}

// recurringQueues are the queues that patterns name, and the known ones that its globs match; all of these if there is no
// pattern.
func recurringQueues(ctx context.Context, q *queue.Client, patterns []string) ([]string, error) {
	known, err := q.QueueNames(ctx)
	if err != nil || len(patterns) == 0 {
		return known, err
	}
	var queues []string
	for _, pattern := range patterns {
		if !queue.IsGlob(pattern) && !slices.Contains(queues, pattern) {
			queues = append(queues, pattern)
		}
	}
	for _, name := range known {
		if queue.MatchAny(patterns, name) && !slices.Contains(queues, name) {
			queues = append(queues, name)
		}
	}
	return queues, nil
}

// ShowRecurring reads one, of either kind.
func ShowRecurring(ctx context.Context, q *queue.Client, jid string) (Recurring, error) {
	if r, err := q.Cron(ctx, jid); err == nil {
		return viewCron(r), nil
	} else if !errors.Is(err, queue.ErrNoJob) {
		return Recurring{}, err
	}
	r, err := q.Recurring(ctx, jid)
	if err != nil {
		return Recurring{}, err
	}
	return viewRecur(r), nil
}

// Recur makes one that comes by an interval, and returns its id.
func Recur(ctx context.Context, q *queue.Client, r queue.Recurring, sure Sure) (jid string, err error) {
	if err := checkNew(r, sure); err != nil {
		return "", err
	}
	if err := CheckJSON(r.Data); err != nil {
		return "", wrong("the data is not JSON: %v", err)
	}
	if err := soundInterval(r.Interval); err != nil {
		return "", err
	}
	if _, err := q.Cron(ctx, r.JID); err == nil {
		return "", wrong("%s recurs by a schedule; `oarlock recur rm %s` ends that, or give another --jid", r.JID, screen.InShell(r.JID))
	} else if !errors.Is(err, queue.ErrNoJob) {
		return "", err
	}
	return q.Recur(ctx, r)
}

// soundInterval refuses what is too short for any clock that Redis keeps.
func soundInterval(every time.Duration) error {
	if every < time.Millisecond {
		return &Wrong{"every", "must be a millisecond at least"}
	}
	return nil
}

// checkNew refuses what nobody can mean of a new recurring job, and is in doubt about names that are hard
// to name again.
func checkNew(r queue.Recurring, sure Sure) error {
	if r.Klass == "" {
		return NewName("klass", "", sure)
	}
	if r.Queue == "" {
		return NewName("queue", "", sure)
	}
	return checkRecurring(r, sure)
}

// checkRecurring is checkNew of what is there: "" is no name.
func checkRecurring(r queue.Recurring, sure Sure) error {
	switch {
	case r.Retries < 0:
		return &Wrong{"retries", "is negative; 0 means that a copy is tried once"}
	case r.Backlog < 0:
		return &Wrong{"backlog", "is negative; 0 means that all missed copies are made up for"}
	case r.Offset < 0:
		return &Wrong{"offset", "is negative; without it the first copy comes at once"}
	}
	if err := soundPriority(r.Priority); err != nil {
		return err
	}
	for _, name := range [][2]string{{"klass", r.Klass}, {"jid", r.JID}, {"queue", r.Queue}} {
		if name[1] == "" {
			continue
		}
		if err := NewName(name[0], name[1], sure); err != nil {
			return err
		}
	}
	if err := newNames("tag", r.Tags, sure); err != nil {
		return err
	}
	if err := newNames("throttle", r.Throttles, sure); err != nil {
		return err
	}
	return freeKeys(r.Throttles, sure)
}

// RecurringChange changes a recurring job. What is nil stays as it is.
type RecurringChange struct {
	Queue, Klass *string
	Data         []byte // JSON
	Priority     *float64
	Retries      *int
	Tag, Untag   []string // more of them, and less

	Interval *time.Duration // of one that comes by an interval, as Backlog
	Backlog  *int

	Schedule, Zone  *string // of one with a schedule, as all below
	Missed, Overlap *string
}

// check refuses what nobody can mean.
func (c *RecurringChange) check(sure Sure) error {
	if c.Data != nil {
		if err := CheckJSON(c.Data); err != nil {
			return wrong("the data is not JSON: %v", err)
		}
	}
	if c.Interval != nil {
		if err := soundInterval(*c.Interval); err != nil {
			return err
		}
	}
	if c.Schedule != nil || c.Zone != nil {
		if _, err := schedule.Parse(cmp.Or(or(c.Schedule), "@daily"), or(c.Zone)); err != nil {
			return &Wrong{Why: err.Error()}
		}
	}
	for _, policy := range []struct {
		name    string
		is      *string
		allowed []string
	}{{"missed", c.Missed, queue.MissedPolicies}, {"overlap", c.Overlap, queue.OverlapPolicies}} {
		if policy.is == nil {
			continue
		}
		if err := config.OneOf(*policy.is, policy.allowed); err != nil {
			return &Wrong{policy.name, err.Error()}
		}
	}
	for _, name := range []struct {
		what string
		is   *string
	}{{"queue", c.Queue}, {"klass", c.Klass}} {
		if name.is != nil && *name.is == "" {
			return NewName(name.what, "", sure)
		}
	}
	return checkRecurring(queue.Recurring{
		Queue: or(c.Queue), Klass: or(c.Klass), Priority: or(c.Priority), Retries: or(c.Retries), Backlog: or(c.Backlog), Tags: c.Tag,
	}, sure)
}

// or is what is there, or the zero value.
func or[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}

// UpdateRecurring changes one, of either kind. With the error of a change that is not for its kind, nothing was changed.
func UpdateRecurring(ctx context.Context, q *queue.Client, jid string, change RecurringChange, sure Sure) (Recurring, error) {
	if err := change.check(sure); err != nil {
		return Recurring{}, err
	}
	if r, err := q.Cron(ctx, jid); err == nil {
		return updateCron(ctx, q, r, change)
	} else if !errors.Is(err, queue.ErrNoJob) {
		return Recurring{}, err
	}
	for name, to := range map[string]*string{"cron": change.Schedule, "zone": change.Zone, "missed": change.Missed, "overlap": change.Overlap} {
		if to != nil {
			return Recurring{}, &Wrong{name, "is for recurring jobs with a schedule; " + jid + " has none"}
		}
	}
	if err := q.UpdateRecurring(ctx, jid, queue.RecurringChange{
		Queue: change.Queue, Klass: change.Klass, Data: change.Data, Interval: change.Interval,
		Priority: change.Priority, Retries: change.Retries, Backlog: change.Backlog,
	}); err != nil {
		return Recurring{}, err
	}
	if len(change.Tag) > 0 {
		if _, err := q.TagRecurring(ctx, jid, change.Tag...); err != nil {
			return Recurring{}, err
		}
	}
	if len(change.Untag) > 0 {
		if _, err := q.UntagRecurring(ctx, jid, change.Untag...); err != nil {
			return Recurring{}, err
		}
	}
	return ShowRecurring(ctx, q, jid)
}

// EndRecurring ends a recurring job of either kind; copies that were made stay.
func EndRecurring(ctx context.Context, q *queue.Client, jid string) error {
	if err := q.EndCron(ctx, jid); errors.Is(err, queue.ErrHeld) {
		return fmt.Errorf("%s does not end: %w; take it out there, or pause it", jid, err)
	} else if !errors.Is(err, queue.ErrNoJob) {
		return err
	}
	if _, err := q.Recurring(ctx, jid); err != nil {
		return err
	}
	return q.Unrecur(ctx, jid)
}
