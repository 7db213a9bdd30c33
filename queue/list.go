package queue

import (
	"context"
	"errors"
	"strconv"

	"oarlock/queue/internal/wire"
)

// Shelf is where jobs stand together. With a Kind of Tracked or Complete the Name is not used.
type Shelf struct {
	Kind ShelfKind
	Name string // of a queue, group, tag, worker or throttle
}

// ShelfKind says what the Name of a Shelf is, and which of its jobs stand there.
type ShelfKind string

// The shelves. Of a queue are all up to ShelfThrottled.
const (
	ShelfNext      ShelfKind = "next"    // what a pop would look at: those that stall, then those that wait
	ShelfWaiting   ShelfKind = "waiting" // in turn; then those that are due and did not come in yet
	ShelfRunning   ShelfKind = "running" // whose lock ends first comes first, as below
	ShelfStalled   ShelfKind = "stalled"
	ShelfScheduled ShelfKind = "scheduled" // due first
	ShelfDepends   ShelfKind = "depends"
	ShelfThrottled ShelfKind = "throttled" // longest first
	ShelfFailed    ShelfKind = "failed"    // of a group, newest first
	ShelfTag       ShelfKind = "tag"       // tagged longest first
	ShelfWorker    ShelfKind = "worker"
	ShelfHolders   ShelfKind = "holders"  // of a throttle
	ShelfWaiters   ShelfKind = "waiters"  // of a throttle, longest first
	ShelfTracked   ShelfKind = "tracked"  // tracked longest first
	ShelfComplete  ShelfKind = "complete" // newest first
)

// Listed is a window on a shelf.
type Listed struct {
	Jobs     []ListedJob
	LookedAt int     // how many were looked at: more than there are Jobs where Words leave some out
	Total    int     // how many stand there in all
	Next     string  // the cursor of what is behind those that were looked at; "" if nothing is
	Now      float64 // the server's time at which this was so
}

// ListedJob is one of a window.
type ListedJob struct {
	Glance
	At   int    // which of those that were looked at, from 1 on
	Next string // the cursor of what is behind it, be there anything or not
}

// Words leave out the jobs that have them not. The zero value leaves out none.
type Words struct {
	Data    string // is in the data, which is searched as far as Detail.Most lets it be read
	Message string // is in the message of the failure
	Key     string // is the key of the job in its queue
}

// From is the cursor of the window that leaves out so many first.
func From(offset int) string { return "+" + strconv.Itoa(max(0, offset)) }

// jidsOn lists jids of a shelf, count of them behind so many that are left out.
func (c *Client) jidsOn(ctx context.Context, s Shelf, offset, count int) ([]string, error) {
	var jids []string
	for cursor := From(offset); len(jids) < count; {
		l, err := c.List(ctx, s, cursor, count-len(jids), Detail{}, Words{})
		if err != nil {
			return nil, err
		}
		for _, job := range l.Jobs {
			jids = append(jids, job.JID)
		}
		if cursor = l.Next; cursor == "" {
			break
		}
	}
	return jids, nil
}

// MaxListed is how many jobs List looks at in one call at most.
const MaxListed = 200

// ErrCursor says that a cursor is none that List returned.
var ErrCursor = errors.New("that is no place in the list; begin with its first page")

// List looks at a window of at most limit jobs (1 to MaxListed) on a shelf, from its beginning, "", from a cursor that
// Listed.Next was, or From an offset. It changes nothing, and its cost does not depend on how many jobs stand there.
//
// What comes to a shelf, or leaves it, between two calls moves none of the others out of the next window: those that
// were there all the time are met once, and of a failed group, from which somebody else takes older ones, some twice.
// A jid without a job has RowGone. The error is ErrCursor where the cursor is none.
func (c *Client) List(ctx context.Context, s Shelf, cursor string, limit int, d Detail, w Words) (Listed, error) {
	limit = min(max(limit, 1), MaxListed)
	raw, now, err := c.readAt(ctx, "list", string(s.Kind), s.Name, cursor, limit, d.Cut, d.Most, w.Data, w.Message, w.Key)
	if err != nil {
		return Listed{}, cursorError(err)
	}
	in := wire.Read(raw)
	l := Listed{Now: now, Total: in.Int(), LookedAt: in.Int(), Next: in.Text()}
	for in.Err == nil && len(in.Items) > 0 {
		job := ListedJob{At: in.Int(), Next: in.Text()}
		job.Glance = readGlance(&in)
		l.Jobs = append(l.Jobs, job)
	}
	return l, in.Err
}

// cursorError is ErrCursor where a script says that, else err.
func cursorError(err error) error {
	var refusal *ScriptError
	if errors.As(err, &refusal) && refusal.Message == "no such cursor" {
		return ErrCursor
	}
	return err
}

// FailureGroup is how many jobs have failed in a group, and what the newest one said.
type FailureGroup struct {
	Name    string
	Jobs    int // −1 if its list is of another type
	Newest  string
	Klass   string
	Queue   string
	When    float64 // seconds since the epoch
	Message string  // its beginning
}

// FailureGroups are a window on the groups in which jobs have failed.
type FailureGroups struct {
	Groups []FailureGroup
	Total  int     // how many groups there are in all
	Sorted bool    // the largest come first; false where there are too many of them to be put in order
	Next   string  // as in Listed
	Now    float64 // as in Listed
}

// FailureGroups reads a window of about limit groups (1 to MaxListed), as List does. Where they are sorted the cursor is a
// rank, so that groups which change their size between two calls may be met twice, or not.
func (c *Client) FailureGroups(ctx context.Context, cursor string, limit int, d Detail) (FailureGroups, error) {
	limit = min(max(limit, 1), MaxListed)
	raw, now, err := c.readAt(ctx, "groups", cursor, limit, d.Cut)
	if err != nil {
		return FailureGroups{}, cursorError(err)
	}
	in := wire.Read(raw)
	f := FailureGroups{Now: now, Total: in.Int(), Sorted: in.Int() == 1, Next: in.Text()}
	for in.Err == nil && len(in.Items) > 0 {
		f.Groups = append(f.Groups, FailureGroup{
			Name: in.Text(), Jobs: in.Int(), Newest: in.Text(), Klass: in.Text(), Queue: in.Text(), When: in.Float(), Message: in.Text(),
		})
	}
	return f, in.Err
}
