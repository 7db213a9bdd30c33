package queue

import (
	"context"
	"encoding/json"

	"oarlock/queue/internal/wire"
)

// NextOfList reads the n entries of a list that come next, the first first, without taking them.
func (c *Client) NextOfList(ctx context.Context, list string, n int) ([]string, error) {
	found, err := c.redis.LRange(ctx, ListKey(list), -int64(n), -1).Result()
	if err = harmless(classify("lrange", err)); err != nil {
		return nil, err
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found, nil
}

// Intake is an entry of a list, and the job that it becomes.
type Intake struct {
	Entry string
	Put   Put
	// Trouble says why it cannot be one; such an entry is kept among the broken of the list. "" if it can.
	Trouble string
}

// BrokenEntry is what is kept of an entry that cannot be a job, beside it.
type BrokenEntry struct {
	At     float64 `json:"at"` // seconds since the epoch
	Reason string  `json:"reason"`
}

// TakeIn makes jobs of entries of a list, as NextOfList has read them, and takes them off it in the same moment: each
// becomes one job once, whoever else pushes, takes or asks. moved is how many were taken off; the others are not the next of
// the list any more, or refused. The results are those of the puts of what was looked at, in order, refusals included.
//
// It may be repeated with what NextOfList reads then.
func (c *Client) TakeIn(ctx context.Context, list string, entries []Intake) (moved int, results []PutResult, err error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return 0, nil, err
	}
	now := c.clock.Now()
	var puts []Put
	args := []any{"", ListKey(list), c.listKeys(list).broken, len(entries)}
	for _, e := range entries {
		trouble := e.Trouble
		if trouble == "" {
			trouble = e.Put.trouble()
		}
		if trouble == "" {
			args, puts = append(args, e.Entry, ""), append(puts, e.Put)
			continue
		}
		why, _ := json.Marshal(BrokenEntry{now, trouble}) // a number and a text
		args = append(args, e.Entry, why)
	}
	named, known := nameAndCheck(puts)
	raw, err := c.call(ctx, Batch, "list.intake", appendPuts(args, named)...)
	if err != nil {
		return 0, nil, harmless(err) // what is done is off the list
	}
	in := wire.Read(raw)
	moved = in.Int()
	answers := wire.Reader{Items: in.List()}
	results = known[:min(len(answers.Items), len(known))]
	readPuts(&answers, results)
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return moved, results, answers.Err
}

// trouble says why a put would be refused before it was sent; "" if it would not.
func (p *Put) trouble() string {
	if err := p.check(); err != nil {
		return err.Error()
	}
	return ""
}
