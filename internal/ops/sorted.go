package ops

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/queue"
)

// Sorted lists the jobs of a queue in one state, sorted by something that Redis does not sort by: it reads them all and sorts here.
type Sorted struct {
	Queue    string
	State    string // one of QueueStates, parked, or behind: others of their key
	By       string // one of SortKeys
	From, To string // of what it is sorted by, both included; "" is no bound. A time is RFC 3339, seconds since the epoch, or so long from now: 5m, -2h
	Reverse  bool
	Limit    int // how many are listed; at least 1
}

// SortKeys are what Sorted sorts by: the jid, the class, how often a job was tried, when it is due (or else was put or taken last),
// when it was put or taken last, its key. Those of one key are in the order in which they will run, where they stand behind.
var SortKeys = []string{"jid", "klass", "tries", "time", "put", "key"}

// SortedJobs is what Sorted found.
type SortedJobs struct {
	Items   []Job `json:"items"`
	Matched int   `json:"matched"` // how many there are within the bounds, as far as was looked at
	Partial bool  `json:"partial"` // there are too many to be looked at in one go: others may belong among these
}

// List finds the jobs. It changes nothing. It is *Missing if there is no such queue, and *Wrong of a field.
func (s Sorted) List(ctx context.Context, q *queue.Client) (SortedJobs, error) {
	within, less, err := s.order(q.Now())
	if err != nil {
		return SortedJobs{}, err
	}
	if s.State != "parked" && s.State != behindState {
		if err := knownState(s.State, QueueStates); err != nil {
			return SortedJobs{}, err
		}
	}
	if err := KnownQueues(ctx, q, s.Queue); err != nil {
		return SortedJobs{}, err
	}
	found := SortedJobs{Items: []Job{}}
	var all []queue.Glance
	found.Partial, err = s.each(ctx, q, func(some []queue.Glance) {
		for _, g := range some {
			if within(g) {
				found.Matched++
				all = append(all, g)
			}
		}
		if len(all) > 4*s.Limit+1000 { // what is listed, and not all there are, is kept
			all = least(all, less, s.Limit)
		}
	})
	if err != nil {
		return SortedJobs{}, err
	}
	for _, g := range least(all, less, s.Limit) {
		found.Items = append(found.Items, ViewGlance(g))
	}
	return found, nil
}

// behindState is the state of jobs that stand behind others of their key. They are on no shelf of the queue.
const behindState = "behind"

// each hands the jobs of the queue that are in the state to hear, as many as are looked at in one go, and says whether there are more.
func (s Sorted) each(ctx context.Context, q *queue.Client, hear func([]queue.Glance)) (more bool, err error) {
	if s.State == behindState {
		return eachBehind(ctx, q, s.Queue, hear)
	}
	walk, err := (Filter{Queue: s.Queue, State: s.State}).scan(ctx, q, "")
	if err != nil {
		return false, err
	}
	for walk.more && walk.lookedAt < planJobs {
		some, err := walk.next(ctx, queue.MaxListed)
		if err != nil {
			return false, err
		}
		hear(some)
	}
	return walk.more, nil
}

// eachBehind is each for the lanes of a queue. What was canceled, and what has the turn by the time it is looked at, is left out.
func eachBehind(ctx context.Context, q *queue.Client, name string, hear func([]queue.Glance)) (more bool, err error) {
	const keys = 100
	looked := 0
	for first := 0; ; first += keys {
		lines, total, err := q.BlockedKeys(ctx, name, first, keys)
		if err != nil {
			return false, err
		}
		for _, line := range lines {
			for at := 0; at < line.Behind; at += queue.MaxListed {
				if looked >= planJobs {
					return true, nil
				}
				jids, err := q.Lane(ctx, name, line.Key, at, queue.MaxListed)
				if err != nil {
					return false, err
				}
				looked += len(jids)
				some, err := q.Glances(ctx, queue.Brief, jids...)
				if err != nil {
					return false, err
				}
				hear(slices.DeleteFunc(some, func(g queue.Glance) bool { return g.Row != behindState || g.Queue != name }))
			}
		}
		if first+len(lines) >= total || len(lines) == 0 {
			return false, nil
		}
	}
}

// least are the first n in an order.
func least(all []queue.Glance, less func(a, b queue.Glance) int, n int) []queue.Glance {
	slices.SortStableFunc(all, less)
	return all[:min(len(all), n)]
}

// order is which jobs are within the bounds, and which come first. now is that of a time which is relative.
func (s Sorted) order(now float64) (within func(queue.Glance) bool, less func(a, b queue.Glance) int, err error) {
	switch {
	case s.Limit < 1:
		return nil, nil, &Wrong{"limit", "must be 1 or more"}
	case !slices.Contains(SortKeys, s.By):
		return nil, nil, &Wrong{"by", fmt.Sprintf("%q is none; there are %s%s", s.By, strings.Join(SortKeys, ", "), Nearest(s.By, SortKeys))}
	}
	switch s.By {
	case "jid":
		within, less = ordered(func(g queue.Glance) string { return g.JID }, s.From, s.To)
	case "key":
		within, _ = ordered(func(g queue.Glance) string { return g.Key }, s.From, s.To)
		less = func(a, b queue.Glance) int { return cmp.Compare(a.Key, b.Key) } // in one key as they were found
	case "klass":
		within, less = ordered(func(g queue.Glance) string { return g.Klass }, s.From, s.To)
	default:
		var from, to float64
		if from, err = s.bound("from", s.From, now, math.Inf(-1)); err != nil {
			return nil, nil, err
		}
		if to, err = s.bound("to", s.To, now, math.Inf(1)); err != nil {
			return nil, nil, err
		}
		of := map[string]func(queue.Glance) float64{
			"tries": func(g queue.Glance) float64 { return float64(g.Retries - g.Remaining + g.Kept.Crashes) }, "put": momentOf,
			"time": func(g queue.Glance) float64 { return cmp.Or(View(g.Job).Due, momentOf(g)) },
		}[s.By]
		within, less = ordered(of, from, to)
	}
	if s.Reverse {
		forward := less
		less = func(a, b queue.Glance) int { return forward(b, a) }
	}
	return within, less, nil
}

// ordered bounds jobs and orders them by a value; bounds of text that are "" are none.
func ordered[T cmp.Ordered](of func(queue.Glance) T, from, to T) (within func(queue.Glance) bool, less func(a, b queue.Glance) int) {
	open := any(to) == any("")
	within = func(g queue.Glance) bool { return of(g) >= from && (open || of(g) <= to) }
	return within, func(a, b queue.Glance) int { return cmp.Or(cmp.Compare(of(a), of(b)), cmp.Compare(a.JID, b.JID)) }
}

// bound reads a bound: of tries a number, else a time.
func (s Sorted) bound(field, text string, now, none float64) (float64, error) {
	if text == "" {
		return none, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) {
		return n, nil
	}
	if s.By != "tries" {
		if d, err := time.ParseDuration(text); err == nil {
			return now + d.Seconds(), nil
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return float64(at.UnixNano()) / 1e9, nil
		}
		return 0, &Wrong{field, fmt.Sprintf("%q is no time: write 2026-07-01T12:00:00Z, seconds since the epoch, or so long from now, such as 5m or -2h", text)}
	}
	return 0, &Wrong{field, fmt.Sprintf("%q is no number", text)}
}
