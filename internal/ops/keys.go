package ops

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"oarlock/internal/explain"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Key is a key of a queue: of its jobs one has the turn, and the others stand behind.
type Key struct {
	Queue  string  `json:"queue"`
	Key    string  `json:"key"`
	Holder string  `json:"holder"`          // the jid of the job that has the turn; "" if none has
	Until  float64 `json:"until,omitempty"` // how long the turn waits at most for the end of a run that was taken from its worker; seconds since the epoch
	Behind int     `json:"behind"`          // jobs, canceled ones that nobody came upon yet included
	Since  float64 `json:"since,omitempty"` // since when somebody waits for the one that has the turn; seconds since the epoch

	// Of one that is shown by itself:
	State string   `json:"state,omitempty"` // of the job that has the turn
	Why   []string `json:"why,omitempty"`   // what that waits for, in sentences
	Next  []string `json:"next,omitempty"`  // jids of those behind, next first; a page of them
}

// Keys are keys of a queue.
type Keys struct {
	Queue  string  `json:"queue"`
	By     string  `json:"by"` // ByBlocked or ByName
	Items  []Key   `json:"items"`
	Total  int     `json:"total"`          // keys that the queue has, or, by blocked, those for which somebody waits
	Behind int     `json:"behind"`         // jobs that stand behind in all keys of the queue
	Next   string  `json:"next,omitempty"` // Page.Offset of what comes behind, as text; "" if nothing does
	AsOf   float64 `json:"as_of"`
}

// The orders in which keys are listed.
const (
	ByBlocked = "blocked" // those for which somebody waits, longest first
	ByName    = "name"    // all
)

// maxKeys is how many keys are sorted by name; of more these are some.
const maxKeys = 100_000

// ListKeys lists keys of a queue, in the order by, of which "" is ByBlocked.
func ListKeys(ctx context.Context, q *queue.Client, name, by string, page Page) (Keys, error) {
	by = cmp.Or(by, ByBlocked)
	if by != ByBlocked && by != ByName {
		return Keys{}, &Wrong{"by", by + ": there is blocked and name"}
	}
	if err := KnownQueues(ctx, q, name); err != nil {
		return Keys{}, err
	}
	counts, err := q.KeyCounts(ctx, name)
	if err != nil {
		return Keys{}, err
	}
	all := Keys{Queue: name, By: by, Items: []Key{}, Total: counts.Keys, Behind: counts.Behind, AsOf: q.Now()}
	var lines []queue.KeyLine
	switch all.By {
	case ByBlocked:
		if page.Limit > 0 {
			lines, all.Total, err = q.BlockedKeys(ctx, name, max(0, page.Offset), page.Limit)
		}
	case ByName:
		var names []string
		err = q.EachKey(ctx, name, func(keys []string) bool {
			names = append(names, keys...)
			return len(names) < maxKeys
		})
		if err != nil {
			return all, err
		}
		shown := window[string]{Page: page}
		for _, key := range sorted(names) {
			shown.add(key)
		}
		lines, err = q.KeyLines(ctx, name, shown.items)
	}
	for _, line := range lines {
		all.Items = append(all.Items, keyOf(name, line))
	}
	if end := max(0, page.Offset) + len(all.Items); len(all.Items) > 0 && end < all.Total {
		all.Next = strconv.Itoa(end)
	}
	return all, err
}

func keyOf(name string, line queue.KeyLine) Key {
	return Key{Queue: name, Key: line.Key, Holder: line.Holder, Until: line.Until, Behind: line.Behind, Since: line.Since}
}

// readKey tells of a key that a queue has; else it is *Missing.
func readKey(ctx context.Context, q *queue.Client, name, key string) (Key, error) {
	if err := KnownQueues(ctx, q, name); err != nil {
		return Key{}, err
	}
	lines, err := q.KeyLines(ctx, name, []string{key})
	if err != nil {
		return Key{}, err
	}
	if line := lines[0]; line.Turn == (queue.Turn{}) {
		return Key{}, missing("no job of key %s waits or runs in %s; one that failed or is delayed is none of them: `oarlock failed ls --key %[1]s`", screen.InShell(key), name)
	}
	return keyOf(name, lines[0]), nil
}

// ShowKey tells of one key: who has the turn and what that waits for, and a page of those behind.
func ShowKey(ctx context.Context, s explain.Sources, name, key string, page Page) (Key, error) {
	k, err := readKey(ctx, s.Client, name, key)
	if err != nil {
		return k, err
	}
	if k.Holder != "" {
		hold, err := s.Why(ctx, k.Holder)
		if err != nil && !errors.Is(err, queue.ErrNoJob) {
			return k, err
		}
		k.State, k.Why = hold.State, hold.Reasons
	}
	if page.Limit > 0 {
		k.Next, err = s.Client.Lane(ctx, name, key, max(0, page.Offset), page.Limit)
	}
	return k, err
}

// PassedKey is a key whose turn was taken from a job that failed, or would be.
type PassedKey struct {
	Queue  string `json:"queue"`
	Key    string `json:"key"`
	From   string `json:"from"` // the jid of that job
	DryRun bool   `json:"dry_run"`
}

// PassKey takes the turn of a key from a job that failed and keeps it, as `after_fail = "hold"` lets it; dry says
// only what would be done.
func PassKey(ctx context.Context, q *queue.Client, name, key string, dry bool) (PassedKey, error) {
	passed := PassedKey{Queue: name, Key: key, DryRun: dry}
	k, err := readKey(ctx, q, name, key)
	if err != nil {
		return passed, err
	}
	if passed.From = k.Holder; dry {
		return passed, heldByOther(ctx, q, k)
	}
	passed.From, err = q.PassTurn(ctx, name, key)
	if held := (*queue.HeldError)(nil); errors.As(err, &held) {
		return passed, notPassed(key, held)
	}
	return passed, err
}

// heldByOther is what PassKey would be refused with.
func heldByOther(ctx context.Context, q *queue.Client, k Key) error {
	if k.Holder == "" {
		return notPassed(k.Key, &queue.HeldError{Until: k.Until})
	}
	job, err := q.Get(ctx, k.Holder)
	if err == nil && job.State != "failed" {
		return notPassed(k.Key, &queue.HeldError{JID: k.Holder, State: job.State})
	}
	return err
}

// notPassed says why a turn is not taken from whoever has it.
func notPassed(key string, held *queue.HeldError) error {
	if held.State == "" {
		return otherwise("the turn of key %s is not held by a failed job: it waits for the end of a run that was taken from its worker, and goes on by itself", screen.InShell(key))
	}
	return otherwise("the turn of key %s is not held by a failed job: %s is %s", screen.InShell(key), held.JID, held.State)
}

// DroppedKey is a key whose jobs were canceled, or would be.
type DroppedKey struct {
	Queue  string       `json:"queue"`
	Key    string       `json:"key"`
	DryRun bool         `json:"dry_run,omitempty"`
	Jobs   int          `json:"jobs"` // canceled, or that would be
	Kept   int          `json:"kept"` // left: for the reasons in Left, which names the first thousand
	Left   []queue.Left `json:"left"`
}

// DropKey cancels all jobs of a key that have the turn or stand behind; dry counts them only.
func DropKey(ctx context.Context, q *queue.Client, name, key string, dry bool) (DroppedKey, error) {
	k, err := readKey(ctx, q, name, key)
	d := DroppedKey{Queue: name, Key: key, DryRun: dry, Jobs: k.Behind, Left: []queue.Left{}}
	if k.Holder != "" {
		d.Jobs++
	}
	if err != nil || dry {
		return d, err
	}
	dropped, err := q.DropKey(ctx, name, key)
	d.Jobs, d.Kept, d.Left = dropped.Done, dropped.Kept, list(dropped.Left)
	return d, err
}

// FreedKeys is a queue whose order was given up, or would be.
type FreedKeys struct {
	Queue  string `json:"queue"`
	DryRun bool   `json:"dry_run,omitempty"`
	Keys   int    `json:"keys"` // that had a job with the turn
	Jobs   int    `json:"jobs"` // that stood behind, or were delayed; in a dry run those behind
}

// Behind says how many stand behind: "1 job stands behind".
func (f FreedKeys) Behind() string {
	if f.Jobs == 1 {
		return "1 job stands behind"
	}
	return screen.Some(f.Jobs, "job") + " stand behind"
}

// FreeKeys gives the order of a queue up: all that stands behind waits as any job, until the next put of a key.
func FreeKeys(ctx context.Context, q *queue.Client, name string, dry bool) (FreedKeys, error) {
	if err := KnownQueues(ctx, q, name); err != nil {
		return FreedKeys{}, err
	}
	counts, err := q.KeyCounts(ctx, name)
	if err == nil && !counts.Ordered && counts.Keys == 0 {
		err = missing("%s has no keys", name)
	}
	f := FreedKeys{Queue: name, DryRun: dry, Keys: counts.Keys, Jobs: counts.Behind}
	if err != nil || dry {
		return f, err
	}
	f.Jobs, err = q.FreeKeys(ctx, name)
	return f, err
}
