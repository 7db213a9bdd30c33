package ops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"oarlock/internal/cron"
	"oarlock/internal/schedule"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// viewCron is what those of the protocol have, and more.
func viewCron(c queue.Cron) Recurring {
	v := Recurring{
		JID: c.Name, Klass: c.Klass, Queue: c.Queue, Damage: c.Damage, Data: rawJSON(c.Data), Count: c.Runs, Priority: c.Priority,
		Retries: c.Retries, Tags: list(c.Tags),
		Cron: &Cron{
			Schedule: c.Schedule, Zone: c.Zone, Missed: string(c.Missed), Overlap: string(c.Overlap), Source: cronSource(c), Paused: c.Paused,
			Pending: c.Pending, Last: c.Last, LastJID: c.LastJID, GivenUp: c.GivenUp, Skipped: c.Skipped,
		},
		BySchedule: &c,
	}
	if at := cronTime(c.Next); !at.IsZero() && !c.Paused {
		v.Next = &c.Next
	}
	return v
}

func cronSource(c queue.Cron) string {
	if c.FromFile {
		return "file"
	}
	return "hand"
}

// AddCron makes one by hand that comes by a schedule, or replaces one that was. Without a name it gets one. It returns
// its name and schedule.
func AddCron(ctx context.Context, q *queue.Client, c queue.Cron, sure Sure) (string, schedule.Schedule, error) {
	none := schedule.Schedule{}
	like := queue.Recurring{Queue: c.Queue, Klass: c.Klass, JID: c.Name, Priority: c.Priority, Retries: c.Retries, Tags: c.Tags}
	if err := checkNew(like, sure); err != nil {
		return "", none, err
	}
	if c.Name == "" {
		c.Name = queue.NewJID()
	}
	if _, err := checkCron(c); err != nil {
		return "", none, err
	}
	if _, err := q.Recurring(ctx, c.Name); err == nil {
		return "", none, wrong("%s recurs by an interval; `oarlock recur rm %s` ends that, or give another --jid", c.Name, screen.InShell(c.Name))
	} else if !errors.Is(err, queue.ErrNoJob) {
		return "", none, err
	}
	s, err := putCron(ctx, q, c)
	return c.Name, s, err
}

// updateCron changes one that was made by hand.
func updateCron(ctx context.Context, q *queue.Client, r queue.Cron, change RecurringChange) (Recurring, error) {
	switch {
	case change.Interval != nil:
		return Recurring{}, &Wrong{"every", "is not for one with a schedule"}
	case change.Backlog != nil:
		return Recurring{}, &Wrong{"backlog", "is not for one with a schedule"}
	}
	for from, to := range map[*string]*string{
		change.Queue: &r.Queue, change.Klass: &r.Klass, change.Schedule: &r.Schedule, change.Zone: &r.Zone,
		change.Missed: (*string)(&r.Missed), change.Overlap: (*string)(&r.Overlap),
	} {
		if from != nil {
			*to = *from
		}
	}
	if change.Data != nil {
		r.Data = change.Data
	}
	if change.Priority != nil {
		r.Priority = *change.Priority
	}
	if change.Retries != nil {
		r.Retries = *change.Retries
	}
	for _, tag := range change.Tag {
		if !slices.Contains(r.Tags, tag) {
			r.Tags = append(r.Tags, tag)
		}
	}
	r.Tags = slices.DeleteFunc(r.Tags, func(tag string) bool { return slices.Contains(change.Untag, tag) })
	if _, err := putCron(ctx, q, r); err != nil {
		return Recurring{}, err
	}
	return viewCron(r), nil
}

// checkCron is the schedule of c, of which nothing that is said of it is wrong.
func checkCron(c queue.Cron) (schedule.Schedule, error) {
	s, err := schedule.Parse(c.Schedule, c.Zone)
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return s, &Wrong{Why: err.Error()}
	}
	return s, nil
}

// putCron writes one that is made by hand, or changes one that was.
func putCron(ctx context.Context, q *queue.Client, c queue.Cron) (schedule.Schedule, error) {
	s, err := checkCron(c)
	if err != nil {
		return s, err
	}
	last := time.Time{}
	old, err := q.Cron(ctx, c.Name)
	switch {
	case errors.Is(err, queue.ErrNoJob):
	case err != nil:
		return s, err
	case old.FromFile:
		return s, wrong("%s is in the configuration of supervisors: change it there", c.Name)
	default:
		last = cronTime(old.Next)
	}
	done, err := q.PutCron(ctx, c, old.Rev, cron.NextRun(s, last, Now(q)), queue.CronHolder{})
	if err == nil && !done {
		err = fmt.Errorf("%s was changed by somebody else at this moment; look at it, and try again", c.Name)
	}
	return s, err
}

// Now is the time of Redis, by which runs are put.
func Now(q *queue.Client) time.Time { return cron.At(q.Now()) }

// cronTime is a time of a Cron; zero if it is never.
func cronTime(at float64) time.Time {
	if at == 0 || at >= screen.NoYear {
		return time.Time{}
	}
	return cron.At(at)
}

// Moments are the next times of a schedule behind now, most of them at most, in seconds since the epoch; nil if there are none.
func Moments(s schedule.Schedule, now time.Time, most int) []int64 {
	var all []int64
	for at := s.Next(now); !at.IsZero() && len(all) < most; at = s.Next(at) {
		all = append(all, at.Unix())
	}
	return all
}

// NextRuns are the next times at which one comes that has a schedule and is not paused, as Moments has them; nil of others.
func (r *Recurring) NextRuns(now time.Time, most int) []int64 {
	if r.BySchedule == nil || r.BySchedule.Paused {
		return nil
	}
	s, err := schedule.Parse(r.BySchedule.Schedule, r.BySchedule.Zone)
	if err != nil {
		return nil // which its damage tells
	}
	return Moments(s, now, most)
}

// CronWhen tells at which times one comes.
func CronWhen(c queue.Cron) string {
	if c.Zone == "" || strings.HasPrefix(c.Schedule, "@every") {
		return c.Schedule
	}
	return c.Schedule + " " + c.Zone
}

// PauseCron makes one with a schedule put nothing. It reports whether it did before; what is due meanwhile is not missed.
func PauseCron(ctx context.Context, q *queue.Client, name string) (was bool, err error) {
	r, err := pausable(ctx, q, name)
	if err != nil || r.Paused {
		return r.Paused, err
	}
	done, err := q.PauseCron(ctx, name, r.Rev)
	return false, changed(name, done, err)
}

// ResumeCron lets one with a schedule go on, and returns the schedule. It reports whether it did before.
func ResumeCron(ctx context.Context, q *queue.Client, name string) (s schedule.Schedule, was bool, err error) {
	r, err := pausable(ctx, q, name)
	if err != nil || !r.Paused {
		return s, err == nil, err
	}
	if s, err = schedule.Parse(r.Schedule, r.Zone); err != nil {
		return s, false, err
	}
	done, err := q.ResumeCron(ctx, name, r.Rev, s.Next(Now(q)))
	return s, false, changed(name, done, err)
}

// pausable reads one with a schedule.
func pausable(ctx context.Context, q *queue.Client, name string) (queue.Cron, error) {
	r, err := q.Cron(ctx, name)
	if errors.Is(err, queue.ErrNoJob) {
		if _, other := q.Recurring(ctx, name); other == nil {
			return r, wrong("%s recurs by an interval, which any client spawns: pause its queue, or end it", name)
		}
		return r, missing("there is no recurring job %s", name)
	}
	return r, err
}

// changed is the error of a change that was done, or not because another came first.
func changed(name string, done bool, err error) error {
	if err == nil && !done {
		err = fmt.Errorf("%s was changed by somebody else at this moment; try again", name)
	}
	return err
}

// CronDifference is what a reload would do with one recurring job.
type CronDifference struct {
	Name    string   `json:"name"`
	Does    string   `json:"does"` // add, change, end, or leave alone
	Changes []string `json:"changes,omitempty"`
	Why     string   `json:"why,omitempty"`
}

// DiffCrons tells what a reload of a file with these recurring jobs would do in Redis; fleet names those who share
// the file.
func DiffCrons(ctx context.Context, q *queue.Client, file []queue.Cron, fleet string) ([]CronDifference, error) {
	there, err := q.Crons(ctx)
	if err != nil {
		return nil, err
	}
	theirs, err := q.FleetCrons(ctx, fleet)
	if err != nil {
		return nil, err
	}
	return cronDifferences(file, there, theirs, q.Now()), nil
}

// cronDifferences are what a reload of a file would do; fleet are those that its files had.
func cronDifferences(file, there []queue.Cron, fleet []string, now float64) []CronDifference {
	all := []CronDifference{}
	old := make(map[string]queue.Cron, len(there))
	for _, c := range there {
		old[c.Name] = c
	}
	for i := range file {
		name := file[i].Name
		was, known := old[name]
		delete(old, name)
		switch {
		case !known:
			all = append(all, CronDifference{Name: name, Does: "add", Changes: []string{CronWhen(file[i])}})
		case !was.FromFile:
			all = append(all, CronDifference{Name: name, Does: "leave alone", Why: "it was made by hand"})
		case was.Was(file[i]) && now-was.Seen < queue.CronLease.Seconds():
			all = append(all, CronDifference{Name: name, Does: "leave alone", Changes: cronChanges(was, file[i]), Why: "while a supervisor runs that has this newer version in its file"})
		case was.Print() != file[i].Print():
			all = append(all, CronDifference{Name: name, Does: "change", Changes: cronChanges(was, file[i])})
		}
	}
	for _, name := range fleet {
		was, left := old[name]
		switch {
		case !left || !was.FromFile:
		case now-was.Seen < queue.CronLease.Seconds():
			all = append(all, CronDifference{Name: name, Does: "end", Why: "unless another supervisor has it in its file"})
		default:
			all = append(all, CronDifference{Name: name, Does: "end"})
		}
	}
	return all
}

// cronChanges tells in which fields two differ.
func cronChanges(was, is queue.Cron) []string {
	var changes []string
	old, now := was.Says(), is.Says()
	for _, field := range slices.Sorted(maps.Keys(now)) {
		if old[field] != now[field] {
			changes = append(changes, fmt.Sprintf("%s: %s → %s", field, screen.Shorten(old[field], 40), screen.Shorten(now[field], 40)))
		}
	}
	return changes
}
