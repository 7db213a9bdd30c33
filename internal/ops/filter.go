package ops

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"oarlock/queue"
)

// Filter says which jobs are meant: those that have everything that is named. Group, Queue with State, Tag, Worker, or a State of
// complete or failed says where they are looked for; all else chooses among these. A Key without any of these means failed jobs.
type Filter struct {
	Group  string `json:"group,omitempty"` // of failed jobs
	Queue  string `json:"queue,omitempty"` // a name or a glob (*, ?); with State the name of one
	State  string `json:"state,omitempty"` // one of JobStates
	Tag    string `json:"tag,omitempty"`
	Worker string `json:"worker,omitempty"` // a name or a glob

	Klass   string   `json:"klass,omitempty"`   // a name or a glob
	Key     string   `json:"key,omitempty"`     // of a job in its queue
	Tried   bool     `json:"tried,omitempty"`   // only those of which an attempt has failed: they have fewer retries left than they were put with
	Message string   `json:"message,omitempty"` // is contained in that of the failure
	Text    string   `json:"text,omitempty"`    // is contained in the data; data above 64 KiB is not searched
	Since   *float64 `json:"since,omitempty"`   // failed, or else was put or taken last, at that time or later, in seconds since the epoch
	Before  *float64 `json:"before,omitempty"`  // or earlier; nil is any time
}

// means reports whether a job that was looked at is meant, as far as its window did not see to that.
func (f Filter) means(g queue.Glance) bool {
	if g.Row == queue.RowGone {
		return false
	}
	when := momentOf(g)
	return (f.Queue == "" || queue.Match(f.Queue, g.Queue)) && (f.Klass == "" || queue.Match(f.Klass, g.Klass)) &&
		(f.State == "" || f.State == g.Row) && (f.Group == "" || f.Group == g.Failure.Group || g.Row == "failed") &&
		(!f.Tried || g.Remaining < g.Retries) && (f.Tag == "" || slices.Contains(g.Tags, f.Tag)) && (f.Worker == "" || queue.Match(f.Worker, g.Worker)) &&
		(f.Since == nil || when >= *f.Since) && (f.Before == nil || when <= *f.Before)
}

// chooses reports whether the filter means some only of the jobs where it looks for them.
func (f Filter) chooses() bool {
	where := Filter{Group: f.Group, State: f.State, Tag: f.Tag, Worker: f.Worker}
	if f.Group == "" && f.State != "failed" && f.State != "complete" && f.Tag == "" && f.Worker == "" {
		where.Queue = f.Queue
	}
	return f != where || f.State == "parked" // which stand among the scheduled ones
}

// momentOf is when a job failed, or else was put or taken last, in seconds since the epoch; 0 if that cannot be read. When
// one failed is known to the second; that it was taken is known better, and came before.
func momentOf(g queue.Glance) float64 {
	when, _ := strconv.ParseFloat(g.Mark, 64)
	if g.Row == "failed" {
		return max(when, g.Failure.When)
	}
	return when
}

// shelves are where the jobs that are meant are looked for, one after the other, and how many stand there if there may be
// several.
func (f Filter) shelves(ctx context.Context, q *queue.Client) (shelves []queue.Shelf, total int, err error) {
	on := func(kind queue.ShelfKind, name string) ([]queue.Shelf, int, error) {
		return []queue.Shelf{{Kind: kind, Name: name}}, 0, nil
	}
	switch {
	case f.State != "" && !slices.Contains(JobStates, f.State):
		return nil, 0, knownState(f.State, JobStates)
	case f.Group != "" && (f.State == "" || f.State == "failed"):
		return on(queue.ShelfFailed, f.Group)
	case f.State == "failed":
		return failedShelves(ctx, q)
	case f.State == "complete":
		return on(queue.ShelfComplete, "")
	case f.Tag != "":
		return on(queue.ShelfTag, f.Tag)
	case f.Worker != "" && queue.IsGlob(f.Worker):
		return workerShelves(ctx, q, f.Worker)
	case f.Worker != "":
		return on(queue.ShelfWorker, f.Worker)
	case f.State == "parked" && f.Queue != "" && !queue.IsGlob(f.Queue):
		return on(queue.ShelfScheduled, f.Queue) // where they stand until their deadline
	case f.State != "" && f.Queue != "" && !queue.IsGlob(f.Queue):
		return on(queue.ShelfKind(f.State), f.Queue)
	case f.Key != "" && f.State == "":
		return failedShelves(ctx, q)
	}
	return nil, 0, wrong("where? Name a group, a tag, a worker, a queue with a state, or the state failed or complete")
}

// failedShelves are the groups of failed jobs, by name, and how many jobs are in all of them.
func failedShelves(ctx context.Context, q *queue.Client) (shelves []queue.Shelf, total int, err error) {
	groups, err := q.FailedGroups(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if groups[group] >= 0 { // else it is of another type
			shelves = append(shelves, queue.Shelf{Kind: queue.ShelfFailed, Name: group})
			total += groups[group]
		}
	}
	return shelves, total, nil
}

// workerShelves are the workers that a glob matches, by name, and how many jobs they have.
func workerShelves(ctx context.Context, q *queue.Client, glob string) (shelves []queue.Shelf, total int, err error) {
	workers, err := q.Workers(ctx)
	slices.SortFunc(workers, func(a, b queue.WorkerCounts) int { return strings.Compare(a.Name, b.Name) })
	for _, w := range workers {
		if queue.Match(glob, w.Name) && w.Damage == "" && w.Jobs+w.Stalled > 0 {
			shelves = append(shelves, queue.Shelf{Kind: queue.ShelfWorker, Name: w.Name})
			total += w.Jobs + w.Stalled
		}
	}
	return shelves, total, err
}

// Found is what was found of what was looked at.
type Found struct {
	Part[Job]     // Total is how many stand where they were looked for
	LookedAt  int `json:"looked_at"`
}

// findBudget is how many jobs a call of Find looks at, at most.
const findBudget = 10_000

// Find looks for jobs that are meant, at most so many as the window has room for, among the next ten thousand. Where
// Found.Next is not "" there is more to be looked at, whether anything was found or not.
func Find(ctx context.Context, q *queue.Client, f Filter, w Window) (Found, error) {
	found := Found{Part: Part[Job]{Items: []Job{}}}
	s, err := f.scan(ctx, q, w.Cursor)
	if err != nil {
		return found, err
	}
	for len(found.Items) < w.limit() && s.more && s.lookedAt < findBudget {
		jobs, err := s.next(ctx, w.limit()-len(found.Items))
		if err != nil {
			return found, err
		}
		for _, job := range jobs {
			found.Items = append(found.Items, ViewGlance(job))
		}
	}
	found.Next, found.Total, found.AsOf, found.LookedAt = s.cursor(), s.total, cmp.Or(s.began, q.Now()), s.lookedAt
	return found, nil
}

// scan is a walk along the shelves of a filter.
type scan struct {
	q        *queue.Client
	filter   Filter
	shelves  []queue.Shelf // the one that it is at, and those behind
	at       string        // the cursor in that one
	more     bool          // there is something to be looked at
	lookedAt int
	total    int     // on all shelves; of a single one not known before the first look
	began    float64 // when it looked first, by the server's time

	// met are the jobs that it has found: where others take older ones from a group, a window may reach back.
	met map[string]bool
}

// scan begins a walk, or goes on where a cursor says.
func (f Filter) scan(ctx context.Context, q *queue.Client, cursor string) (*scan, error) {
	shelves, total, err := f.shelves(ctx, q)
	if err != nil {
		return nil, err
	}
	return f.scanOn(q, shelves, total, cursor)
}

// scanOn is scan of shelves that are known.
func (f Filter) scanOn(q *queue.Client, shelves []queue.Shelf, total int, cursor string) (*scan, error) {
	s := &scan{q: q, filter: f, shelves: shelves, total: total, met: map[string]bool{}}
	if cursor != "" {
		name, at, ok := strings.Cut(cursor, "~")
		name, err := url.QueryUnescape(name)
		if !ok || err != nil {
			return nil, cursorError(queue.ErrCursor)
		}
		s.at = at
		// Those that are gone meanwhile are passed over, by name.
		for len(s.shelves) > 1 && s.shelves[0].Name < name {
			s.shelves = s.shelves[1:]
		}
		if len(s.shelves) > 0 && s.shelves[0].Name != name {
			s.at = ""
		}
	}
	s.more = len(s.shelves) > 0
	return s, nil
}

// cursor is where the walk goes on; "" if it is over.
func (s *scan) cursor() string {
	if !s.more {
		return ""
	}
	return url.QueryEscape(s.shelves[0].Name) + "~" + s.at
}

// next looks at one window, and returns the jobs in it that are meant, at most so many.
func (s *scan) next(ctx context.Context, most int) ([]queue.Glance, error) {
	shelf, window := s.shelves[0], queue.MaxListed
	if !s.filter.chooses() {
		window = min(window, most)
	}
	l, err := s.q.List(ctx, shelf, s.at, window, queue.Brief, queue.Words{Data: s.filter.Text, Message: s.filter.Message, Key: s.filter.Key})
	if err != nil {
		return nil, cursorError(err)
	}
	if s.began == 0 {
		s.began = l.Now
	}
	if s.total == 0 {
		s.total = l.Total
	}
	var jobs []queue.Glance
	for _, job := range l.Jobs {
		if !s.filter.means(job.Glance) || s.met[job.JID] {
			continue
		}
		s.met[job.JID] = true
		if jobs = append(jobs, job.Glance); len(jobs) == most && (job.At < l.LookedAt || l.Next != "") {
			s.lookedAt, s.at = s.lookedAt+job.At, job.Next
			return jobs, nil
		}
	}
	s.lookedAt += l.LookedAt
	if s.at = l.Next; s.at == "" {
		s.shelves = s.shelves[1:]
		s.more = len(s.shelves) > 0
	}
	return jobs, nil
}

// cursorError is *Wrong of a cursor that is none.
func cursorError(err error) error {
	if errors.Is(err, queue.ErrCursor) {
		return &Wrong{"cursor", "is none: " + err.Error()}
	}
	return err
}
