package queue

import (
	"cmp"
	"context"
	"strings"
	"time"

	"oarlock/queue/internal/wire"
)

// Tended is what a Tend did.
type Tended struct {
	Joined int            // delayed jobs that were due, and joined those of their key
	Mended map[string]int // turns that were held by nobody who lives, by one of the words below; nil: none
	Places map[string]int // of throttles, that were held by jobs which are over, by throttle, the values of one that counts by them together; nil: none
	More   bool           // there is more to do: ask again soon
	Broken []Broken
}

// What became of who had a turn that Tend gave on.
const (
	TurnEnded     = "ended"     // its job was completed, or failed, by a client that knows no keys
	TurnGone      = "gone"      // its job was canceled, likewise, or pruned
	TurnElsewhere = "elsewhere" // its job was put into another queue, likewise
	TurnGhost     = "ghost"     // an attempt that was taken from its worker, of which nobody said that it is over: its lock would have ended
	TurnRest      = "rest"      // more entries than one call drops were of jobs that are no more
	TurnLost      = "lost"      // nobody had it, though jobs stood behind
)

// Tend looks after the turns of queues that have keys (QueueOutlook.Keys), of which it looks at some hundred each time:
// jobs of other clients of the protocol may end and vanish without a word to those that stand behind them. And, if
// there are ruled queues (QueueOutlook.Ruled), after the places of throttles. For the queues of idle somebody has a free child:
// of a place that becomes free nothing is kept for any other.
//
// Any number of supervisors may tend the same queues: within pause of a look that found nothing
// to do, there is none. It may be repeated.
func (c *Client) Tend(ctx context.Context, keyed, idle []string, pause time.Duration) (Tended, error) {
	var t Tended
	for first := true; first || len(keyed)+len(idle) > 0; first = false {
		some, free := keyed[:min(len(keyed), sliceOfQueues)], idle[:min(len(idle), sliceOfQueues)]
		keyed, idle = keyed[len(some):], idle[len(free):]
		args := append([]any{wire.Number(pause.Seconds()), len(free)}, wire.Args(free)...)
		raw, err := c.call(ctx, Batch, "tend", append(args, wire.Args(some)...)...)
		if err != nil {
			return t, harmless(err)
		}
		in := wire.Read(raw)
		pause = 0 // it was asked by the first
		t.Joined += in.Int()
		t.Mended = addCounts(t.Mended, in.List(), func(word string) string { return word })
		t.More = in.Int() == 1 || t.More
		broken, err := readBroken(in.List())
		t.Broken = append(t.Broken, broken...)
		t.Places = addCounts(t.Places, in.List(), baseOf)
		if err := cmp.Or(in.Err, err); err != nil {
			return t, err
		}
	}
	return t, nil
}

// baseOf is the throttle by whose values one counts that is of a value, else itself: no name of a throttle has =.
func baseOf(tid string) string {
	base, _, _ := strings.Cut(tid, "=")
	return base
}

// addCounts adds a flat list of names and numbers to counts, which may be nil, and returns these.
func addCounts(counts map[string]int, flat []any, name func(string) string) map[string]int {
	for in := (wire.Reader{Items: flat}); len(in.Items) > 1 && in.Err == nil; {
		if counts == nil {
			counts = map[string]int{}
		}
		of := name(in.Text())
		counts[of] += in.Int()
	}
	return counts
}
