package queue

import (
	"context"
	"fmt"

	"oarlock/queue/internal/wire"
)

// KeyOrder says that a queue has keys, and how their turns go.
type KeyOrder struct {
	Queue string
	Fair  bool // a key whose turn goes on comes behind all that wait; else its next job has the place of its age
	Hold  bool // a job that fails keeps the turn of its key, until it is retried, canceled, or PassTurn

	Merge Merge  // how puts merge that do not say it themselves; "" is MergeNone
	Score string // of equal payloads of MergeSet the score that counts: keep (that of the first; ""), min or max
	// RunPayloads is how many payloads a job has at most, and RunBytes how many bytes of data by merging; 0 is
	// 100, and 256 KiB. A payload for which there is no room makes a job of its own, behind.
	RunPayloads int
	RunBytes    int64
}

// The most payloads that a job may have, and the most bytes of data by merging.
const (
	MaxRunPayloads = 1000
	MaxRunBytes    = 4 << 20
)

// Settings is the order as it stands in Redis; see BATCH.md.
func (o KeyOrder) Settings() string {
	text := "order=key"
	if o.Fair {
		text += " turns=fair"
	}
	if o.Hold {
		text += " after_fail=hold"
	}
	if o.Merge != "" && o.Merge != MergeNone {
		text += " merge=" + string(o.Merge)
	}
	if o.Score != "" && o.Score != "keep" {
		text += " score=" + o.Score
	}
	if o.RunPayloads > 0 {
		text += fmt.Sprintf(" run_payloads=%d", min(o.RunPayloads, MaxRunPayloads))
	}
	if o.RunBytes > 0 {
		text += fmt.Sprintf(" run_bytes=%d", min(o.RunBytes, MaxRunBytes))
	}
	return text
}

// OrderFile is who says how the turns of queues go: as of rules, the owner and the revision of a file.
type OrderFile struct {
	Owner    string
	Revision int
	Orders   []KeyOrder
}

// OrderMode says what becomes of what others have said of queues.
type OrderMode string

const (
	KeepOrders  OrderMode = "keep"  // what another file says stays, unless its revision is lower
	AllOrders   OrderMode = "all"   // likewise; and of queues of which the file said something before, and does no more, turns go as usual
	ForceOrders OrderMode = "force" // as AllOrders, and nothing of others stays
	LookAtOrder OrderMode = "look"  // nothing is done; what ForceOrders would change is told
)

// OrderChange is a queue whose order was changed, or stays as another file says.
type OrderChange struct {
	Queue    string
	Conflict bool   // it stays as Owner says
	Was      string // its settings, as BATCH.md has them; "" if it had no keys
	Owner    string // who had said so; "" if nobody had
	Revision int    // of that file
}

// SetKeyOrder says of queues that they have keys, and how turns go from then on; only FreeKeys ends that. A queue of which this was never
// said has keys from the first put of one on, and neither Fair nor Hold. It returns what it has changed, and what not. It may be repeated.
func (c *Client) SetKeyOrder(ctx context.Context, file OrderFile, mode OrderMode) ([]OrderChange, error) {
	if mode == KeepOrders && len(file.Orders) == 0 {
		return nil, nil
	}
	args := []any{file.Owner, file.Revision, string(mode)}
	for _, o := range file.Orders {
		args = append(args, o.Queue, o.Settings())
	}
	raw, err := c.call(ctx, Batch, "order", args...)
	if err != nil {
		return nil, err
	}
	var changes []OrderChange
	in := wire.Read(raw)
	for len(in.Items) > 0 && in.Err == nil {
		changes = append(changes, OrderChange{Queue: in.Text(), Conflict: in.Text() == "conflict", Was: in.Text(), Owner: in.Text(), Revision: in.Int()})
	}
	return changes, in.Err
}
