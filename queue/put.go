package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Put describes a job to be put into a queue. Putting a jid that exists moves that
// job, whatever its state; what is left nil or zero below keeps the old job's value
// where there is one.
type Put struct {
	Queue string
	JID   string // "" makes a new one
	Klass string // what kind of work; the child sees it
	Data  []byte // JSON text, stored byte for byte; nil means {}

	Delay     time.Duration // from now; ≤ 0 means none
	Priority  *float64      // higher is popped first; default 0
	Retries   *int          // default 5
	Tags      []string      // nil keeps the old ones
	Depends   []string      // jids that must complete first
	Throttles []string      // nil leaves them alone; else those named, and the queue's own

	// Timeout limits each attempt, where it is shorter than the pool's own; 0 means none.
	// It holds in Queue only.
	Timeout time.Duration

	// OnlyNew refuses the put when the jid exists, so that it may be repeated.
	OnlyNew bool
}

// PutResult answers one Put of PutAll.
type PutResult struct {
	JID string
	// Existed says that OnlyNew found the jid taken; nothing was changed.
	Existed bool
	// Err is a *ScriptError if this job was refused; the others are put all the same.
	Err error
}

// PutChunk is how many jobs PutAll sends in one call.
const PutChunk = 500

// Put puts one job and returns its jid. It publishes a wake-up, so that an idle
// supervisor takes the job at once.
//
// With JID "" the call may be repeated by itself after an outcome in doubt, for it
// cannot put the job twice. With a JID of the caller's it returns ErrDoubt, and the
// caller may repeat it with OnlyNew.
func (c *Client) Put(ctx context.Context, p Put) (jid string, err error) {
	results, err := c.PutAll(ctx, []Put{p})
	if err != nil {
		return "", err
	}
	r := results[0]
	if r.Existed {
		return r.JID, &ScriptError{Command: "put", Message: fmt.Sprintf("Put(): Job %s exists", r.JID)}
	}
	return r.JID, r.Err
}

// PutAll puts many jobs, PutChunk of them in one round trip, and answers for each.
// It fills in an empty JID, in the results only.
//
// On an error, the results tell how far it came: of the jobs beyond them, one chunk
// is in the state that the error says (ErrAway: not put; ErrDoubt: unknown), and the
// others were not put.
func (c *Client) PutAll(ctx context.Context, puts []Put) ([]PutResult, error) {
	results := make([]PutResult, 0, len(puts))
	for len(puts) > 0 {
		n := min(PutChunk, len(puts))
		chunk, err := c.putChunk(ctx, puts[:n])
		if err != nil {
			return results, err
		}
		results = append(results, chunk...)
		puts = puts[n:]
	}
	return results, nil
}

func (c *Client) putChunk(ctx context.Context, puts []Put) ([]PutResult, error) {
	named := make([]Put, len(puts))
	safe := true // a repeat puts nothing twice
	for i, p := range puts {
		if p.JID == "" {
			p.JID, p.OnlyNew = NewJID(), true
		}
		safe = safe && p.OnlyNew
		named[i] = p
	}
	args := make([]any, 0, 2+10*len(named))
	args = append(args, "", len(named)) // no worker of ours can be the owner of the old job
	for i := range named {
		args = appendPut(args, &named[i])
	}
	reply, err := c.call(ctx, Batch, "put", args...)
	repeated := false
	if safe && errors.Is(err, ErrDoubt) && ctx.Err() == nil {
		reply, err = c.call(ctx, Batch, "put", args...)
		repeated = true
	}
	if err != nil {
		return nil, err
	}
	results := make([]PutResult, len(named))
	in := replyReader{items: asList(reply)}
	for i := range results {
		results[i] = readPut(&in, named[i].JID)
		// Only we make up jids, so one that exists after a repeat was put by the first try.
		if repeated && puts[i].JID == "" {
			results[i].Existed = false
		}
	}
	return results, in.err
}

// appendPut writes a job as the batch scripts read it: five fields, the number of
// options, and so many names and values.
func appendPut(args []any, p *Put) []any {
	data := p.Data
	if data == nil {
		data = []byte("{}")
	}
	args = append(args, p.Queue, p.JID, p.Klass, data, number(max(0, p.Delay.Seconds())))
	at := len(args)
	args = append(args, 0)
	n := 0
	option := func(name string, value any) {
		args = append(args, name, value)
		n++
	}
	if p.Priority != nil {
		option("priority", number(*p.Priority))
	}
	if p.Retries != nil {
		option("retries", *p.Retries)
	}
	if p.Tags != nil {
		option("tags", jsonList(p.Tags))
	}
	if p.Depends != nil {
		option("depends", jsonList(p.Depends))
	}
	if p.Throttles != nil {
		option("throttles", jsonList(p.Throttles))
	}
	if p.Timeout > 0 {
		option("timeout", number(p.Timeout.Seconds()))
	}
	if p.OnlyNew {
		option("only-new", "1")
	}
	args[at] = n
	return args
}

// readPut reads what a batch script answers for one job.
func readPut(in *replyReader, jid string) PutResult {
	r := PutResult{JID: jid}
	word, refusal := in.either()
	r.Existed = word == "exists"
	if len(refusal) > 0 {
		why := replyReader{items: refusal}
		r.Err = &ScriptError{Command: "put", Message: refusalText(why.text())}
	}
	return r
}
