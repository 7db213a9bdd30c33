package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

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

// BrokenEntry is what is kept of an entry that cannot be a job, beside it, where the list is no hworker's.
type BrokenEntry struct {
	At     float64 `json:"at"` // seconds since the epoch
	Reason string  `json:"reason"`
	Times  int     `json:"times,omitempty"` // how many entries it stands for that are alike, byte for byte; 0 is one
}

// TakenIn is what became of entries that were to be jobs.
type TakenIn struct {
	// Moved is how many entries were taken off the list, the first of those named; Jobs how many of them were put, and Merged how many
	// merged with jobs that wait (see Merge), the others being broken, or of a jid that a job has which is left alone.
	Moved, Jobs, Merged, Broken int
	Why                         string // the first of those that are broken is that
	// Refused is why Redis would not put the job of the entry behind those moved: a *ScriptError, or ErrAway if it is out of memory;
	// nil if it was not asked to.
	Refused error
	// Full says that no more jobs may wait in the queue.
	Full bool
}

// TakeIn makes jobs of entries of a list, as NextOfList has read them, and takes them off it in the same moment: each
// becomes one job once, whoever else pushes, takes or asks. It goes as far as the entries are the next of the list still, none is
// refused, and fewer than window jobs wait in the queue, for a child, a place or their turn; 0 is no limit.
//
// After any error it may be repeated with what NextOfList reads then: what was made a job is off the list.
func (c *Client) TakeIn(ctx context.Context, list, queue string, window int, entries []Intake) (TakenIn, error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return TakenIn{}, err
	}
	now := c.clock.Now()
	var puts []Put
	args := []any{"", ListKey(list), c.listKeys(list).broken, queue, window, len(entries)}
	troubles := make([]string, len(entries))
	for i, e := range entries {
		trouble := e.Trouble
		if trouble == "" {
			trouble = e.Put.trouble()
		}
		if trouble == "" {
			args, puts = append(args, e.Entry, ""), append(puts, e.Put)
			continue
		}
		troubles[i] = trouble
		args = append(args, e.Entry, brokenText(list, now+float64(i)*1e-6, trouble)) // so they are told, and put back, in their order
	}
	named, _ := nameAndCheck(puts, nil)
	raw, err := c.call(ctx, Batch, "list.intake", appendPuts(args, named)...)
	if err != nil {
		return TakenIn{}, harmless(err) // what is done is off the list
	}
	in := wire.Read(raw)
	done := TakenIn{Moved: in.Int()}
	answers := wire.Reader{Items: in.List()}
	for len(answers.Items) > 0 && answers.Err == nil {
		if said := answers.Nested(); said != nil {
			if text := said.Text(); len(said.Items) > 0 {
				done.Merged++
			} else {
				done.Refused = refusal("put", text)
			}
		} else if word, _, _ := strings.Cut(answers.Text(), ":"); word == "put" { // a job of its jid, perhaps, in whose place it is
			done.Jobs++
		}
	}
	done.Full = in.Int() == 1
	for _, trouble := range troubles[:min(done.Moved, len(troubles))] {
		if trouble != "" {
			done.Broken, done.Why = done.Broken+1, cmp.Or(done.Why, trouble)
		}
	}
	if done.Broken > 0 && hworkerOf(list) != "" {
		c.keepWhy(ctx, list, now, entries, troubles[:min(done.Moved, len(troubles))])
	}
	return done, cmp.Or(in.Err, answers.Err)
}

// brokenText is what is kept of an entry that cannot be a job. An hworker reads nothing but a time there.
func brokenText(list string, now float64, why string) string {
	if hworkerOf(list) != "" {
		return stampOf(now, laterTag)
	}
	return jsonOf(BrokenEntry{At: now, Reason: why})
}

// keepWhy keeps beside the list of an hworker why entries of it are broken. They are set aside by then: where this fails, nobody says why.
func (c *Client) keepWhy(ctx context.Context, list string, now float64, entries []Intake, troubles []string) {
	var words []any
	for i, trouble := range troubles {
		if trouble != "" {
			words = append(words, entries[i].Entry, jsonOf(BrokenEntry{At: now, Reason: trouble}))
		}
	}
	_ = c.redis.HSet(ctx, c.listKeys(list).why, words...).Err()
}

// jsonOf is what is kept of a broken entry as text.
func jsonOf(kept BrokenEntry) string {
	text, _ := json.Marshal(kept) // a number and a text
	return string(text)
}

// trouble completes a put, and says why it would be refused before it was sent; "" if it would not.
func (p *Put) trouble() string {
	if err := cmp.Or(p.checkNamed(), p.complete()); err != nil {
		return err.Error()
	}
	return ""
}
