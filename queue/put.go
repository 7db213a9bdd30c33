package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
	At        time.Time     // instead of Delay: the planned time, by the server's clock. A time in the past orders the job by it; the zero value is now
	Priority  *float64      // higher is popped first; default 0. Where rules say so of the queue, lower is, and the default is 100
	Retries   *int          // default 5; see Merge
	Tags      []string      // nil keeps the old ones
	Depends   []string      // jids that must complete first
	Throttles []string      // nil leaves them alone; else those named, and the queue's own

	// Key orders the job among all jobs of that key in its queue: one of them at a time runs, and they begin in the
	// order of planned time, then of put. 1 to 512 bytes of UTF-8; "" means none, or the old job's where the queue is the same.
	// The first put with a key makes the queue one that has keys, for all who work it; see InLane.
	Key string

	// KeyFrom is where Data has the key, where Key is "": a JSON pointer (RFC 6901) to a string, or to a number, which is taken as it
	// is written. A put without one there is refused. "" means nowhere.
	KeyFrom string
	// Merge says what becomes of Data while another job of Key waits; "" means what the queue says, which says MergeNone unless it was
	// told otherwise (see SetKeyOrder). It needs a Key, and no JID: a job that is named is one of its own. So is one that names
	// a Correlation, Depends, Throttles or Wants, and one for which the job that waits has no room, or that has begun already and has a
	// checkpoint. The job that waits keeps its priority, retries and time. One that merges has 25 retries, unless Retries says otherwise.
	//
	// A put that is repeated because its answer was lost may be found twice with MergeAll, if the job that it merged into was
	// begun meanwhile and another waits.
	Merge Merge
	// Score orders the payloads of a job, the least first, those of one score as they came; nil means the time of the put. It needs a Key.
	Score *float64

	// Timeout limits each attempt, where it is shorter than the pool's own; 0 means none, or
	// the old job's. It belongs to the job, in whichever queue.
	Timeout time.Duration

	// Correlation is what an answer to the job will name, where it parks; see Response. It is of the class, and unique among
	// its jobs that are neither complete nor failed: a put is refused where another has it, or, where rules
	// say so, that job stands for it: see PutResult.Held. "" means what rules find in the data, or none, or the old
	// job's. An answer that came before is given to the first attempt. 1 to 1024 bytes.
	Correlation string

	// Wants is what the job says itself of what it needs to run, where rules say such of its queue; a put into any other queue that says
	// something is refused. The zero value keeps the old job's. A job that says something is one of its own: it merges with none.
	Wants Wants

	// after is by how many seconds later than now its place among those of its priority is reckoned; see spread.
	after float64

	// AnyName lets the names of the job and its throttles be keys of others; see CheckJID and CheckThrottle.
	AnyName bool

	// Trace is the trace in which the job is put; the zero value is none. It stays with the job until that is put anew.
	Trace Trace

	// WaitReplicas makes the call wait, for a second at most, until so many replicas have the
	// job, where that is more than Options.WaitReplicas; see ReplicaError.
	WaitReplicas int

	// IfExists says what becomes of a job that has the jid already; "" means Replace.
	IfExists IfExists

	// ReplaceIn are the queues in which a job that has the jid may be replaced; in none it may be, too, as one that is complete is.
	// One that is in another is left alone, and the error of the put is ErrChanged. nil means in any.
	ReplaceIn []string
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
	// Merged says, if not "", that the put made no job, and what became of its payload: JID is the job that waits.
	Merged Merged
	// Existed says that IfExists left the job alone that has the jid; nothing was changed.
	Existed bool
	// Held says that another job of its class has its correlation and stands for it, as rules say; JID is that job's, and nothing
	// was changed. Existed is true, too.
	Held bool
	// Replaced says that there was a job of that jid, in whose place it was put.
	Replaced bool
	// State is that of the job that was there, left alone or replaced; "" if there was none.
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
// cannot put the job twice. Where rules say that a job of the same correlation stands
// for it, the jid is that job's. With a JID of the caller's it returns ErrDoubt, and the
// caller may repeat it with Never. With a *ReplicaError the job was put.
func (c *Client) Put(ctx context.Context, p Put) (jid string, err error) {
	results, err := c.PutAll(ctx, []Put{p})
	if len(results) == 0 {
		return "", err
	}
	r := results[0]
	switch {
	case r.Held:
		return r.JID, err
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
	line := putLine{own: len(puts) > 1 && slices.ContainsFunc(puts, func(p Put) bool { return p.JID != "" })}
	for len(puts) > 0 {
		n, bytes, commands := 0, 0, 0
		for n < min(PutChunk, len(puts)) && (n == 0 || bytes+len(puts[n].Data) <= putBytes && commands+puts[n].commands() <= putCommands) {
			bytes, commands = bytes+len(puts[n].Data), commands+puts[n].commands()
			n++
		}
		chunk, err := c.putChunk(ctx, conn, puts[:n], &line)
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

func (c *Client) putChunk(ctx context.Context, conn evaler, puts []Put, line *putLine) ([]PutResult, error) {
	puts, refused := c.edited(ctx, puts)
	named, results := nameAndCheck(puts, refused)
	if len(named) == 0 {
		return results, nil
	}
	safe := true // a repeat puts nothing twice
	for _, p := range named {
		safe = safe && p.IfExists == Never
	}
	fresh := c.clock.Fresh
	if slices.ContainsFunc(named, isDelayed) {
		fresh = c.clock.Precise
	}
	if err := fresh(ctx); err != nil {
		return nil, err
	}
	c.tellOpenings(ctx, named)
	now := c.clock.Now()
	line.spread(named, now)
	// No worker of ours can be the owner of an old job.
	args := appendPuts(append(make([]any, 0, 2+10*len(named)), ""), named)
	if edition := c.beside.saysNothingOf(c.clock.Now(), nil); edition != "" {
		args = append(args, edition)
	}
	put := func() (any, error) {
		return c.run(ctx, conn, script.Name{Dialect: Batch, Command: "put"}, now, args...)
	}
	reply, err := put()
	repeated := false
	if safe && errors.Is(err, ErrDoubt) && ctx.Err() == nil {
		now = c.clock.Now()
		reply, err = put()
		repeated = true
	}
	if err != nil {
		return nil, err
	}
	in := wire.Read(reply)
	readPuts(&in, results)
	if len(in.Items) > 0 {
		c.beside.learn(c.clock.Now(), in.Text(), nil)
	}
	if repeated {
		for i := range results {
			// Only we make up jids, so one that exists after a repeat was put by the first try.
			if puts[i].JID == "" && !results[i].Held {
				results[i].Existed, results[i].State = false, ""
			}
		}
	}
	return results, in.Err
}

// edited are the puts as Options.BeforePut wants them, and which of them it refuses, by index.
func (c *Client) edited(ctx context.Context, puts []Put) (edited []Put, refused map[int]error) {
	if c.opts.BeforePut == nil {
		return puts, nil
	}
	edited, refused = slices.Clone(puts), map[int]error{}
	for i := range edited {
		if err := c.opts.BeforePut(ctx, &edited[i]); err != nil {
			refused[i] = err
		}
	}
	return edited, refused
}

// nameAndCheck gives each put a jid and begins its result. Those that are refused already, by index, or will not do have
// an error in theirs, and are not among the puts returned.
func nameAndCheck(puts []Put, refused map[int]error) (named []Put, results []PutResult) {
	named, results = make([]Put, 0, len(puts)), make([]PutResult, len(puts))
	for i, p := range puts {
		if err := refused[i]; err != nil {
			results[i] = PutResult{JID: p.JID, Err: err}
			continue
		}
		err := p.checkNamed()
		p.name()
		results[i].JID = p.JID
		if err = cmp.Or(err, p.complete()); err != nil {
			results[i].Err = &ScriptError{Command: "put", Message: err.Error()}
			continue
		}
		named = append(named, p)
	}
	return named, results
}

// complete checks a put, and finds its key.
func (p *Put) complete() error {
	if err := p.check(); err != nil || p.Key != "" || p.KeyFrom == "" {
		return err
	}
	key, err := keyAt(p.data(), p.KeyFrom)
	if err != nil {
		return err
	}
	p.Key = key
	return checkKey(key)
}

// checkNamed refuses a job that its caller has named and that is to merge.
func (p *Put) checkNamed() error {
	if p.JID != "" && p.Merge != "" && p.Merge != MergeNone {
		return errors.New("merge and a jid exclude each other: what merges makes no job")
	}
	return nil
}

// name gives the job a jid, if it has none; if it has, it merges with none.
func (p *Put) name() {
	switch {
	case p.JID == "":
		p.JID, p.IfExists = NewJID(), Never
	case p.Key != "" || p.KeyFrom != "":
		p.Merge = MergeNone
	}
}

// check finds what the scripts would refuse, or not look at.
func (p *Put) check() error {
	if !p.At.IsZero() && p.Delay > 0 {
		return errors.New("delay and at exclude each other")
	}
	if strings.Contains(p.JID, "\x00") { // what separates it from a number in names of our own
		return fmt.Errorf("jid must have no NUL: %+q", p.JID)
	}
	if err := p.CheckBounds(); err != nil {
		return err
	}
	if err := CheckJID(p.JID); err != nil && !p.AnyName {
		return err
	}
	for _, id := range p.Throttles {
		if err := CheckThrottle(id); err != nil && !p.AnyName {
			return err
		}
	}
	if err := p.Trace.Check(); err != nil {
		return err
	}
	switch p.IfExists {
	case "", Replace, Final, Never:
	default:
		return fmt.Errorf("if_exists is %q: use replace, final or never", p.IfExists)
	}
	if err := cmp.Or(checkKey(p.Key), p.checkMerge(), p.Wants.Check()); err != nil {
		return err
	}
	if err := checkLength(len(p.Data)); err != nil || p.Data == nil {
		return err
	}
	return wire.CheckEntry(p.Data)
}

// maxKey is how long a key may be, in bytes.
const maxKey = 512

// checkKey refuses what is no key; "" is none.
func checkKey(key string) error {
	if len(key) > maxKey {
		return fmt.Errorf("key must have 1 to %d bytes: it has %d", maxKey, len(key))
	}
	if !utf8.ValidString(key) {
		return fmt.Errorf("key is not UTF-8: %+q", key)
	}
	return nil
}

// checkLength refuses data that Redis would not take.
func checkLength(n int) error {
	if n > MaxData {
		return fmt.Errorf("the data is %d MiB long; Redis takes %d MiB at most (proto-max-bulk-len)", n>>20, MaxData>>20)
	}
	return nil
}

// data is what the job has, if it says nothing of it too.
func (p *Put) data() []byte {
	if p.Data == nil {
		return []byte("{}")
	}
	return p.Data
}

// words are the five arguments that every put has.
func (p *Put) words() []any {
	return []any{p.Queue, p.JID, p.Klass, p.data(), wire.Number(max(0, p.Delay.Seconds()))}
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
	if p.Key != "" {
		options = append(options, "key", p.Key)
	}
	if p.Merge != "" {
		options = append(options, "merge", string(p.Merge))
	}
	if p.Score != nil {
		options = append(options, "score", wire.Number(*p.Score))
	}
	if p.after > 0 {
		options = append(options, "after", wire.Number(p.after))
	}
	if p.Timeout > 0 {
		options = append(options, "timeout", wire.Number(p.Timeout.Seconds()))
	}
	if p.Correlation != "" {
		options = append(options, "correlation", p.Correlation)
	}
	if p.Wants.Weight > 0 {
		options = append(options, "weight", p.Wants.Weight)
	}
	if p.Wants.Bypass {
		options = append(options, "bypass", 1)
	}
	if windows := p.Wants.Wanted().Windows; len(windows) > 0 {
		options = append(options, "windows", wire.JSONList(windows))
	}
	if text := p.Trace.text(); text != "" {
		options = append(options, "trace", text)
	}
	if p.IfExists == Final || p.IfExists == Never {
		options = append(options, "if-exists", string(p.IfExists))
	}
	if p.ReplaceIn != nil {
		options = append(options, "replace-in", wire.JSONList(p.ReplaceIn))
	}
	return options
}

// appendPuts writes jobs as the batch scripts read them: how many, then for each its words,
// the number of options, and so many names and values.
func appendPuts(args []any, puts []Put) []any {
	args = append(args, len(puts))
	for i := range puts {
		options := puts[i].options()
		if at := puts[i].At; !at.IsZero() {
			options = append(options, "at", wire.Number(float64(at.UnixMicro())/1e6))
		}
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
		if said := in.Nested(); said != nil {
			if text := said.Text(); len(said.Items) > 0 {
				r.Merged, r.JID = Merged(text), said.Text()
			} else {
				r.Err = refusal("put", text)
			}
			continue
		}
		word := in.Text()
		if held, is := strings.CutPrefix(word, "held:"); is {
			r.Held = true
			word, r.JID, _ = strings.Cut(held, ":")
		}
		switch was, replaced := strings.CutPrefix(word, "put:"); {
		case replaced:
			r.Replaced, r.State = true, was
		case word != "put":
			r.Existed, r.State = true, word
		}
	}
}
