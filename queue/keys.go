package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// Turn is how one key of a queue stands.
type Turn struct {
	Holder string  // the jid of the job that has the turn; "" if none has
	Until  float64 // how long the turn waits at most for the end of an attempt that was taken from its worker, in seconds since the epoch; 0 if for none
	Behind int     // how many stand behind, canceled ones that nobody came upon yet included
}

// InLane is how a job with a key stands to the others of it.
type InLane struct {
	Key string // "" if the job has none in its queue
	Turn
	Place int // of one that stands behind: 1 is the next, FarPlace any behind a thousand others; 0 if it does not stand behind
}

// FarPlace is the place of a job that stands behind a thousand others, or more.
const FarPlace = 1001

// InLane tells how a job stands to the others of its key; the zero InLane if it has none, or there is no such job. It changes nothing.
func (c *Client) InLane(ctx context.Context, jid string) (InLane, error) {
	raw, err := c.read(ctx, "turn", jid)
	if err != nil {
		return InLane{}, err
	}
	in := wire.Read(raw)
	if len(in.Items) == 0 {
		return InLane{}, in.Err
	}
	p := InLane{Key: in.Text()}
	holder := in.Text()
	p.Turn = readTurn(holder, in.Int())
	p.Place = in.Int()
	return p, in.Err
}

// readTurn reads who has a turn, as turns.lua writes it.
func readTurn(holder string, behind int) Turn {
	t := Turn{Behind: behind}
	if jid, has := strings.CutPrefix(holder, "="); has {
		t.Holder = jid
	} else if ghost, is := strings.CutPrefix(holder, "!"); is {
		until, _, _ := strings.Cut(ghost, " ")
		ends, _ := strconv.ParseFloat(until, 64)
		t.Until = wire.Finite(ends)
	}
	return t
}

// readMark takes the field oarlock-lane of a job apart: its sign, and its key in that queue; "" if it has none there.
func readMark(text, queue string) (sign, key string) {
	if text == "" || !strings.Contains("+-=", text[:1]) {
		return "", ""
	}
	rest, is := strings.CutPrefix(text[1:], fmt.Sprintf("%d:%s:", len(queue), queue))
	_, key, found := strings.Cut(rest, " ")
	if !is || !found {
		return "", ""
	}
	return text[:1], key
}

// shelf is what the due times of delayed jobs with a key are raised by; see lua/lib/turns.lua.
const shelf = 1e10

// dueOf is when a job with that mark is due that has this place in the schedule of a queue. One that has no key may be due
// in three centuries, which is no shelf.
func dueOf(place float64, mark, queue string) float64 {
	if sign, _ := readMark(mark, queue); sign == "=" && place >= shelf {
		return place - shelf
	}
	return place
}

// KeyLine is a key of a queue among others.
type KeyLine struct {
	Key   string
	Since float64 // since when somebody waits for whoever has the turn, in seconds since the epoch; 0 if nobody does
	Turn
}

// BlockedKeys lists the keys for which somebody waits, longest first, and how many there are. It changes nothing.
func (c *Client) BlockedKeys(ctx context.Context, queue string, offset, count int) ([]KeyLine, int, error) {
	pipe := c.redis.Pipeline()
	lanes := c.ns + "oarlock:lanes:" + queue
	some := pipe.ZRangeWithScores(ctx, lanes, int64(offset), int64(offset+count-1))
	all := pipe.ZCard(ctx, lanes)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, 0, harmless(classify("zrange", err))
	}
	lines := make([]KeyLine, len(some.Val()))
	for i, z := range some.Val() {
		lines[i] = KeyLine{Key: z.Member.(string), Since: wire.Finite(min(z.Score, c.Now()))}
	}
	return lines, int(all.Val()), c.readTurns(ctx, queue, lines)
}

// EachKey hands the keys of a queue to each, some hundred at a time and in no order, until that returns false. A key that comes or
// goes meanwhile may be there or not, or twice. It changes nothing.
func (c *Client) EachKey(ctx context.Context, queue string, each func(keys []string) bool) error {
	for cursor := uint64(0); ; {
		some, next, err := c.redis.HScan(ctx, c.ns+"oarlock:turns:"+queue, cursor, "", 500).Result()
		if err != nil {
			return harmless(classify("hscan", err))
		}
		keys := make([]string, 0, len(some)/2)
		for i := 0; i < len(some); i += 2 {
			keys = append(keys, some[i])
		}
		if cursor = next; !each(keys) || cursor == 0 {
			return nil
		}
	}
}

// QueuesWithKey are the queues in which a job of a key waits or runs, in their order, among the first 10,000 that have keys. It
// changes nothing.
func (c *Client) QueuesWithKey(ctx context.Context, key string) ([]string, error) {
	const most = 10_000
	names, err := c.QueuesWithKeys(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for some := range slices.Chunk(names[:min(len(names), most)], 500) {
		pipe := c.redis.Pipeline()
		for _, name := range some {
			pipe.HExists(ctx, c.ns+"oarlock:turns:"+name, key)
		}
		asked, _ := pipe.Exec(ctx) // each has its own error
		for i, of := range asked {
			if err := harmless(classify(of.Name(), of.Err())); err != nil && Class(err) != Refused { // a key of another type has none
				c.noteReach(err)
				return nil, err
			}
			if of.(*redis.BoolCmd).Val() {
				found = append(found, some[i])
			}
		}
	}
	return found, nil
}

// KeyLines tells how keys of a queue stand, in their order. It changes nothing.
func (c *Client) KeyLines(ctx context.Context, queue string, keys []string) ([]KeyLine, error) {
	lines := make([]KeyLine, len(keys))
	pipe := c.redis.Pipeline()
	since := make([]*redis.FloatCmd, len(keys))
	for i, key := range keys {
		lines[i].Key = key
		since[i] = pipe.ZScore(ctx, c.ns+"oarlock:lanes:"+queue, key)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, harmless(classify("zscore", err))
	}
	for i := range lines {
		lines[i].Since = wire.Finite(min(since[i].Val(), c.Now()))
	}
	return lines, c.readTurns(ctx, queue, lines)
}

// readTurns fills in who has the turn of each key, and how many wait for that.
func (c *Client) readTurns(ctx context.Context, queue string, lines []KeyLine) error {
	pipe := c.redis.Pipeline()
	holders, behind := make([]*redis.StringCmd, len(lines)), make([]*redis.IntCmd, len(lines))
	for i, line := range lines {
		holders[i] = pipe.HGet(ctx, c.ns+"oarlock:turns:"+queue, line.Key)
		behind[i] = pipe.LLen(ctx, c.laneOf(queue, line.Key))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return harmless(classify("hget", err))
	}
	for i := range lines {
		lines[i].Turn = readTurn(holders[i].Val(), int(behind[i].Val()))
	}
	return nil
}

// laneOf names the list of those behind.
func (c *Client) laneOf(queue, key string) string {
	return fmt.Sprintf("%soarlock:lane:%d:%s:%s", c.ns, len(queue), queue, key)
}

// Lane lists the jids of those that stand behind in a key, next first; some of them may be canceled. It changes nothing.
func (c *Client) Lane(ctx context.Context, queue, key string, offset, count int) ([]string, error) {
	entries, err := c.redis.LRange(ctx, c.laneOf(queue, key), int64(offset), int64(offset+count-1)).Result()
	for i, entry := range entries {
		_, entries[i], _ = strings.Cut(entry, " ")
	}
	return entries, harmless(classify("lrange", err))
}

// KeyCounts are how many keys a queue has, and what stands behind in them.
type KeyCounts struct {
	Ordered bool // the queue has, or had, jobs with keys, and nobody gave its order up
	Keys    int  // that have a job with the turn
	Behind  int  // jobs, canceled ones that nobody came upon yet included
}

// KeyCounts counts the keys of a queue. It changes nothing.
func (c *Client) KeyCounts(ctx context.Context, queue string) (KeyCounts, error) {
	pipe := c.redis.Pipeline()
	settings := pipe.HGet(ctx, c.ns+"oarlock:rules", "o:"+queue)
	keys := pipe.HLen(ctx, c.ns+"oarlock:turns:"+queue)
	behind := pipe.HGet(ctx, c.ns+"oarlock:behind", queue)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return KeyCounts{}, harmless(classify("hlen", err))
	}
	n, _ := strconv.Atoi(behind.Val())
	return KeyCounts{settings.Err() == nil, int(keys.Val()), max(0, n)}, nil
}

// HeldError says that the turn of a key is not held by a job that failed.
type HeldError struct {
	JID   string  // of whom it is, or was; "" if of nobody
	State string  // of that job; "" for one that was taken from its worker
	Until float64 // when the turn of that goes on at the latest
}

func (e *HeldError) Error() string {
	switch {
	case e.JID == "" && e.State == "":
		return "nobody has the turn"
	case e.State == "":
		return e.JID + " was taken from its worker, and its run may live"
	}
	return e.JID + " has the turn and is " + e.State
}

// PassTurn takes the turn of a key from a job that failed and keeps it, gives it to the next, and returns the jid of the job that had it. The error is
// a *HeldError if no such job has it; nothing is changed then.
func (c *Client) PassTurn(ctx context.Context, queue, key string) (jid string, err error) {
	raw, err := c.call(ctx, Batch, "key.pass", queue, key)
	if err != nil {
		return "", err
	}
	in := wire.Read(raw)
	what, jid, state := in.Text(), in.Text(), in.Text()
	switch {
	case in.Err != nil:
		return "", in.Err
	case what == "broken":
		return "", &ScriptError{Command: "key.pass", Message: state}
	case what == "ghost":
		until, _ := strconv.ParseFloat(state, 64)
		return "", &HeldError{JID: jid, Until: until}
	case what != "passed":
		return "", &HeldError{JID: jid, State: state}
	}
	return jid, nil
}

// DropKey cancels all jobs of a key that have the turn or stand behind, one that runs included, in many small calls; not those that are
// delayed, or failed. A job that another waits for is left. On an error the result tells how far it came.
func (c *Client) DropKey(ctx context.Context, queue, key string) (Cleared, error) {
	var all Cleared
	for at, rest := 0, 1; rest == 1; {
		raw, err := c.call(ctx, Batch, "key.drop", queue, key, at)
		if err != nil {
			return all, err
		}
		in := wire.Read(raw)
		all.Done += in.Int()
		at, rest = in.Int(), in.Int()
		left := in.List()
		if err := cmp.Or(in.Err, all.read(left)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// FreeKeys gives the order of a queue up, in many small calls: every job stands where it would without its key, and the queue has no keys any
// more, until the next put of one. It returns how many jobs it has moved; after an error it may be called again, and goes on.
func (c *Client) FreeKeys(ctx context.Context, queue string) (freed int, err error) {
	cursor := "0"
	for rest := 1; rest == 1; {
		raw, err := c.call(ctx, Batch, "key.free", queue, cursor)
		if err != nil {
			return freed, err
		}
		in := wire.Read(raw)
		freed += in.Int()
		rest = in.Int()
		broken, err := readBroken(in.List())
		cursor = in.Text()
		if err := cmp.Or(in.Err, err); err != nil {
			return freed, err
		}
		if len(broken) > 0 {
			return freed, &ScriptError{Command: "key.free", Message: broken[0].Reason}
		}
	}
	return freed, nil
}
