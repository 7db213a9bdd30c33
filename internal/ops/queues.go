package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// Queues tells of the queues that one of patterns matches, names or globs; of all if there is none.
func Queues(ctx context.Context, q *queue.Client, patterns []string) ([]Queue, error) {
	names, err := q.QueueNames(ctx)
	if err != nil {
		return nil, err
	}
	if len(patterns) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return !queue.MatchAny(patterns, name) })
	}
	return QueuesNamed(ctx, q, names)
}

// QueuesNamed tells of these queues, in their order.
func QueuesNamed(ctx context.Context, q *queue.Client, names []string) ([]Queue, error) {
	census, now, err := q.Census(ctx, names)
	if err != nil {
		return nil, err
	}
	views := make([]Queue, len(census))
	for i, n := range census {
		views[i] = ViewQueue(n, now)
	}
	return views, nil
}

// queueOf tells of one queue. It is *Missing if there is none of that name.
func queueOf(ctx context.Context, q *queue.Client, name string) (Queue, error) {
	if err := KnownQueues(ctx, q, name); err != nil {
		return Queue{}, err
	}
	census, now, err := q.Census(ctx, []string{name})
	if err != nil {
		return Queue{}, err
	}
	return ViewQueue(census[0], now), nil
}

// States are those of which ShowQueue lists the jobs; those that wait are what Peek shows.
var States = []string{"running", "stalled", "scheduled", "depends", "throttled", "recurring"}

// Contents are what is in a queue.
type Contents struct {
	Counts Queue               `json:"counts"`
	Fair   *Fair               `json:"fair,omitempty"` // nil if the queue is not fair
	JIDs   map[string][]string `json:"jids"`           // by state; a page of each
}

// ShowQueue lists the jobs of a queue by state.
func ShowQueue(ctx context.Context, q *queue.Client, name string, page Page) (Contents, error) {
	counts, err := queueOf(ctx, q, name)
	if err != nil {
		return Contents{}, err
	}
	if counts.Damage != "" {
		return Contents{}, &queue.ScriptError{Command: "census", Message: counts.Damage}
	}
	jids := map[string][]string{}
	for _, state := range States {
		found, err := q.Jobs(ctx, state, name, page.Offset, page.Limit)
		if err != nil {
			return Contents{}, err
		}
		jids[state] = list(found)
	}
	fair, err := FairOf(ctx, q, name)
	if err != nil {
		return Contents{}, err
	}
	return Contents{counts, fair, jids}, nil
}

// Peek lists the jobs of a queue that come next.
func Peek(ctx context.Context, q *queue.Client, name string, page Page) ([]Job, error) {
	if err := KnownQueues(ctx, q, name); err != nil {
		return nil, err
	}
	jobs, err := q.Peek(ctx, name, page.Offset, page.Limit)
	return Views(jobs), err
}

// KnownQueues is *Missing if Redis knows nothing of one of the queues; it names the nearest that Redis
// knows. One that is forgotten and has jobs is there; so is one that is paused.
func KnownQueues(ctx context.Context, q *queue.Client, names ...string) error {
	known, err := q.AreKnown(ctx, names...)
	if err != nil {
		return err
	}
	for i, name := range names {
		if known[i] {
			continue
		}
		n, err := q.Queue(ctx, name)
		if err != nil {
			return err
		}
		if n == (queue.QueueCounts{Name: name}) {
			if name == "" {
				return missing("there is no queue without a name; name one")
			}
			all, err := q.QueueNames(ctx)
			if err != nil {
				return err
			}
			return missing("there is no queue %s%s", name, Nearest(name, all))
		}
	}
	return nil
}

// Pause hands out no more jobs of queues; what runs goes on. One that nobody knows is more likely misspelled
// than meant, and one without a name is not meant at all.
func Pause(ctx context.Context, q *queue.Client, names []string, sure Sure) error {
	var unknown *Missing
	switch err := KnownQueues(ctx, q, names...); {
	case errors.As(err, &unknown) && !slices.Contains(names, ""):
		text := strings.ToUpper(unknown.Text[:1]) + unknown.Text[1:]
		if !strings.HasSuffix(text, "?") {
			text += "."
		}
		if err := sure(text); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	return q.Pause(ctx, names...)
}

// Resume ends the pause of queues.
func Resume(ctx context.Context, q *queue.Client, names []string) error {
	if err := KnownQueues(ctx, q, names...); err != nil {
		return err
	}
	return q.Resume(ctx, names...)
}

// ForgetQueues takes queues off the list; jobs in them stay.
func ForgetQueues(ctx context.Context, q *queue.Client, names []string) error {
	if err := KnownQueues(ctx, q, names...); err != nil {
		return err
	}
	return q.ForgetQueues(ctx, names...)
}

// Stopped tells of queues that were paused, and from which what ran was taken.
type Stopped struct {
	Paused  []string `json:"paused"`
	Stopped int      `json:"stopped"` // jobs
}

// Stop takes what runs in queues that were just paused from its workers, who are told.
func Stop(ctx context.Context, q *queue.Client, names []string) (Stopped, error) {
	s := Stopped{Paused: names}
	for _, name := range names {
		n, err := stopRunning(ctx, q, name)
		s.Stopped += n
		if err != nil {
			return s, fmt.Errorf("%s: paused; after %s taken back: %w", strings.Join(names, ", "), screen.Some(s.Stopped, "job"), err)
		}
	}
	return s, nil
}

// stopRunning takes the jobs that run from their workers and puts them in front of their queue. It goes on
// as long as there are some: others may have been on their way.
func stopRunning(ctx context.Context, q *queue.Client, name string) (stopped int, err error) {
	for {
		jids, err := q.Jobs(ctx, "running", name, 0, listPage)
		if err != nil || len(jids) == 0 {
			return stopped, err
		}
		jobs, err := q.GetMany(ctx, jids...)
		if err != nil {
			return stopped, err
		}
		a, err := amend(ctx, q, jobs, "taken back", queue.AmendTimeout)
		stopped += len(a.Done)
		switch {
		case err != nil:
			return stopped, err
		case len(a.Done) == 0 && len(a.Changed) == 0: // what is left cannot be taken back
			return stopped, fmt.Errorf("%s of %s: %v", screen.Some(len(jids), "job"), name, a.Refused)
		}
	}
}

// Limit is how many jobs of a queue may run at a time.
type Limit struct {
	Limit string `json:"limit"` // "" and 0 are any number
	Queue string `json:"queue"`
}

func limitSetting(name string) string { return name + "-max-concurrency" }

// LimitOf reads the limit of a queue, which need not be known.
func LimitOf(ctx context.Context, q *queue.Client, name string) (Limit, error) {
	value, err := q.Setting(ctx, limitSetting(name))
	return Limit{value, name}, err
}

// SetLimit sets how many jobs of a queue may run at a time; 0 is any number.
func SetLimit(ctx context.Context, q *queue.Client, name string, most int, sure Sure) error {
	if err := NewName("queue", name, sure); err != nil {
		return err
	}
	if most == 0 {
		return q.Unset(ctx, limitSetting(name))
	}
	return q.Set(ctx, limitSetting(name), strconv.Itoa(most))
}
