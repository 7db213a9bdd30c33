package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"oarlock/queue/internal/jid"
	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// Put describes a job to be put into a queue. Putting a jid that exists moves that
// job, whatever its state; Priority, Retries, Tags, Depends and Throttles that are nil keep
// the old job's.
type Put struct {
	Queue string
	JID   string // "" makes a new one, which keeps the order of putting; see NewJID
	Klass string // what kind of work; the child sees it
	Data  []byte // JSON text, stored byte for byte; nil means {}

	Delay     time.Duration // from now; ≤ 0 means none
	Priority  *float64      // higher is popped first; default 0
	Retries   *int          // default 5
	Tags      []string      // nil keeps the old ones
	Depends   []string      // jids that must complete first
	Throttles []string      // nil leaves them alone; else those named, and the queue's own

	// Timeout limits each attempt, where it is shorter than the pool's own; 0 means none, or
	// the old job's. It belongs to the job, in whichever queue.
	Timeout time.Duration

	// Correlation is what an answer to the job will name, where it parks; see Response. It is of the class, and unique among
	// its jobs that are neither complete nor failed: a put is refused where another has it. "" means none, or the old
	// job's. An answer that came before is given to the first attempt. 1 to 1024 bytes.
	Correlation string

	// WaitReplicas makes the call wait, for a second at most, until so many replicas have the
	// job, where that is more than Options.WaitReplicas; see ReplicaError.
	WaitReplicas int

	// IfExists says what becomes of a job that has the jid already; "" means Replace.
	IfExists IfExists
}

// IfExists says what a put does where the jid exists.
type IfExists string

const (
	Replace IfExists = "replace" // the job there is put again, whatever its state: the latest wins
	Final   IfExists = "final"   // it is if it is complete or failed; one that is alive is left alone
	Never   IfExists = "never"   // it is left alone, so that the put may be repeated
)

// PutResult answers one Put of PutAll.
type PutResult struct {
	JID string
	// Existed says that IfExists left the job alone that has the jid; nothing was changed.
	Existed bool
	// State is that of the job that was left alone, "" if none was.
	State string
	// Err says that this job was not put: a *ScriptError, or ErrAway if Redis is out of
	// memory. The others are put all the same.
	Err error
}

// NewJID makes a job id that nobody else makes or guesses: 32 hexadecimal digits, less
// than all that this process made before, so that among jobs of equal score the one
// that was named first is popped first. Safe for concurrent use.
func NewJID() string { return jid.New() }

// PutChunk is how many jobs PutAll sends in one call.
const PutChunk = 500

// MaxData is the longest data of a job, in bytes: the longest text that Redis takes where
// nobody set another (proto-max-bulk-len). A longer one is refused before anything is sent.
const MaxData = 512 << 20

// putBytes is how much data they may have together, unless it is one job.
const putBytes = 4 << 20

// Put puts one job and returns its jid. It publishes a wake-up, so that an idle
// supervisor takes the job at once.
//
// With JID "" the call may be repeated by itself after an outcome in doubt, for it
// cannot put the job twice. With a JID of the caller's it returns ErrDoubt, and the
// caller may repeat it with Never. With a *ReplicaError the job was put.
func (c *Client) Put(ctx context.Context, p Put) (jid string, err error) {
	results, err := c.PutAll(ctx, []Put{p})
	if len(results) == 0 {
		return "", err
	}
	r := results[0]
	switch {
	case r.Existed:
		return r.JID, &ScriptError{Command: "put", Message: fmt.Sprintf("Put(): Job %s exists and is %s", r.JID, r.State)}
	case r.Err != nil:
		return r.JID, r.Err
	}
	return r.JID, err
}

// PutAll puts many jobs, PutChunk of them in one round trip, and answers for each.
// It fills in an empty JID, in the results only.
//
// On an error, the results tell how far it came: of the jobs beyond them, one chunk
// is in the state that the error says (ErrAway: not put; ErrDoubt: unknown), and the
// others were not put. A *ReplicaError comes with all results.
func (c *Client) PutAll(ctx context.Context, puts []Put) ([]PutResult, error) {
	results := make([]PutResult, 0, len(puts))
	want := c.replicasOf(puts)
	conn, s := evaler(c.redis), (*Session)(nil)
	if want > 0 && len(puts) > 0 {
		s = c.Session("") // for a connection of its own: replicas are waited for by connection
		defer s.Close()
		conn = s.link.Redis()
	}
	connections := 0 // when the first chunk was written
	for len(puts) > 0 {
		n, bytes := 0, 0
		for n < min(PutChunk, len(puts)) && (n == 0 || bytes+len(puts[n].Data) <= putBytes) {
			bytes += len(puts[n].Data)
			n++
		}
		chunk, err := c.putChunk(ctx, conn, puts[:n])
		if err != nil {
			return results, err
		}
		results = append(results, chunk...)
		if s != nil && connections == 0 {
			connections = s.link.Connections()
		}
		puts = puts[n:]
	}
	if s != nil && slices.ContainsFunc(results, func(r PutResult) bool { return r.Err == nil }) {
		if got, err := s.awaitReplicas(ctx, want, connections); err != nil || got < want {
			return results, &ReplicaError{Want: want, Got: got, Err: err}
		}
	}
	return results, nil
}

func (c *Client) putChunk(ctx context.Context, conn evaler, puts []Put) ([]PutResult, error) {
	named, results := nameAndCheck(puts)
	safe := true // a repeat puts nothing twice
	for _, p := range named {
		safe = safe && p.IfExists == Never
	}
	if err := c.clock.Fresh(ctx); err != nil {
		return nil, err
	}
	// No worker of ours can be the owner of an old job.
	args := appendPuts(append(make([]any, 0, 2+10*len(named)), ""), named)
	put := func() (any, error) {
		return c.run(ctx, conn, script.Name{Dialect: Batch, Command: "put"}, c.clock.Now(), args...)
	}
	reply, err := put()
	repeated := false
	if safe && errors.Is(err, ErrDoubt) && ctx.Err() == nil {
		reply, err = put()
		repeated = true
	}
	if err != nil {
		return nil, err
	}
	in := wire.Read(reply)
	readPuts(&in, results)
	if repeated {
		for i := range results {
			// Only we make up jids, so one that exists after a repeat was put by the first try.
			if puts[i].JID == "" {
				results[i].Existed, results[i].State = false, ""
			}
		}
	}
	return results, in.Err
}

// nameAndCheck gives each put a jid and begins its result. Those that will not do have
// an error in theirs, and are not among the puts returned.
func nameAndCheck(puts []Put) (named []Put, results []PutResult) {
	named, results = make([]Put, 0, len(puts)), make([]PutResult, len(puts))
	for i, p := range puts {
		if p.JID == "" {
			p.JID, p.IfExists = NewJID(), Never
		}
		results[i].JID = p.JID
		if err := p.check(); err != nil {
			results[i].Err = &ScriptError{Command: "put", Message: err.Error()}
			continue
		}
		named = append(named, p)
	}
	return named, results
}

// check finds what the scripts would refuse, or not look at.
func (p *Put) check() error {
	switch p.IfExists {
	case "", Replace, Final, Never:
	default:
		return fmt.Errorf("if_exists is %q: use replace, final or never", p.IfExists)
	}
	if err := checkLength(len(p.Data)); err != nil || p.Data == nil {
		return err
	}
	return wire.CheckJSON(p.Data)
}

// checkLength refuses data that Redis would not take.
func checkLength(n int) error {
	if n > MaxData {
		return fmt.Errorf("the data is %d MiB long; Redis takes %d MiB at most (proto-max-bulk-len)", n>>20, MaxData>>20)
	}
	return nil
}

// words are the five arguments that every put has.
func (p *Put) words() []any {
	data := p.Data
	if data == nil {
		data = []byte("{}")
	}
	return []any{p.Queue, p.JID, p.Klass, data, wire.Number(max(0, p.Delay.Seconds()))}
}

// options are the names and values of what is not left out.
func (p *Put) options() []any {
	var options []any
	if p.Priority != nil {
		options = append(options, "priority", wire.Number(*p.Priority))
	}
	if p.Retries != nil {
		options = append(options, "retries", *p.Retries)
	}
	if p.Tags != nil {
		options = append(options, "tags", wire.JSONList(p.Tags))
	}
	if p.Depends != nil {
		options = append(options, "depends", wire.JSONList(p.Depends))
	}
	if p.Throttles != nil {
		options = append(options, "throttles", wire.JSONList(p.Throttles))
	}
	if p.Timeout > 0 {
		options = append(options, "timeout", wire.Number(p.Timeout.Seconds()))
	}
	if p.Correlation != "" {
		options = append(options, "correlation", p.Correlation)
	}
	if p.IfExists == Final || p.IfExists == Never {
		options = append(options, "if-exists", string(p.IfExists))
	}
	return options
}

// appendPuts writes jobs as the batch scripts read them: how many, then for each its words,
// the number of options, and so many names and values.
func appendPuts(args []any, puts []Put) []any {
	args = append(args, len(puts))
	for i := range puts {
		options := puts[i].options()
		args = append(args, puts[i].words()...)
		args = append(args, len(options)/2)
		args = append(args, options...)
	}
	return args
}

// readPuts reads what a batch script answers for the jobs that have no error yet.
func readPuts(in *wire.Reader, results []PutResult) {
	for i := range results {
		r := &results[i]
		if r.Err != nil {
			continue
		}
		if no := in.Nested(); no != nil {
			r.Err = refusal("put", no.Text())
			continue
		}
		if word := in.Text(); word != "put" {
			r.Existed, r.State = true, word
		}
	}
}
