package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Order is the policy by which a Take serves several queues.
type Order string

const (
	Ordered    Order = "ordered"     // the first queue as long as it has jobs, then the next
	RoundRobin Order = "round-robin" // one job each in turn, going on where the last take stopped
	Oldest     Order = "oldest"      // whichever queue's head was put first
)

// Action is what a Settlement makes of a job.
type Action string

const (
	Complete Action = "complete" // done; with Next, on to that queue
	Retry    Action = "retry"    // again, at the cost of one remaining retry; failed if none is left
	Fail     Action = "fail"     // failed under Group, until someone acts
	Release  Action = "release"  // given back, remaining untouched
)

// Counter is the count of ours that a settlement raises, kept with the job for as
// long as it stays in its queue.
type Counter string

const (
	CountNothing      Counter = ""
	CountCrash        Counter = "crash"        // beyond MaxCrashes the job fails under Group
	CountInterruption Counter = "interruption" // never ends a job
	CountRelease      Counter = "release"      // the third in a row counts as a crash instead
)

// Settlement is what became of one taken job.
type Settlement struct {
	JID, Queue string
	// Popped is Taken.Popped. The settlement is refused with ErrLockLost if the job was
	// popped again since, by whatever worker, even under the same name. 0 checks the name only.
	Popped float64

	Action Action

	// Data replaces the job's data, as JSON text stored byte for byte; nil keeps what is stored.
	// Complete only.
	Data []byte
	// Next is the queue to move on to, and Depends the jobs to wait for there. Complete only.
	Next    string
	Depends []string
	// Delay keeps the job back for so long. Retry, Release, and Complete with Next.
	Delay time.Duration
	// Group and Message say why. A Retry with none left fails the job under Group;
	// "" means the protocol's own words.
	Group, Message string

	// Counter and MaxCrashes apply to Release: with CountCrash the job fails under Group
	// once it has crashed more than MaxCrashes times.
	Counter    Counter
	MaxCrashes int
	// Front puts a released job ahead of all others of its queue.
	Front bool

	// Checkpoint and Record are kept with the job if not nil: what a next attempt is
	// to be told, and the black box of this one (JSON). 64 KiB in all; more is refused.
	Checkpoint, Record []byte

	// Puts are jobs to put if, and only if, the settlement is accepted.
	Puts []Put
}

// SettleResult answers one Settlement.
type SettleResult struct {
	// State is where the job is now: complete, waiting, scheduled, depends, failed, or
	// stalled, which is the state of a job released to the front.
	State string
	// Remaining is the number of retries left, for Retry and Release; −1 means exhausted.
	Remaining int
	// Crashes is the count after the settlement.
	Crashes int
	// Puts answers Settlement.Puts, if the settlement is done.
	Puts []PutResult
	// Err is nil if the settlement is done; ErrLockLost if the job is not ours any more;
	// else what Exchange itself could return. No key was changed for a refused settlement.
	Err error
}

// Take asks for jobs.
type Take struct {
	Queues []string // each named once
	Order  Order    // "" means Ordered
	// Cursor is Reply.Cursor of the last take, for RoundRobin: the index of the queue whose turn it is.
	Cursor int
	Count  int // how many at most; 0 takes none
	// MaxJob, if positive, is the size of data in bytes above which a job is taken without
	// its data (Taken.Data nil, Taken.Size set), for the caller to fail.
	MaxJob int64
}

// Taken is a job that Redis locked for us.
type Taken struct {
	JID, Klass, Queue string
	Data              []byte // JSON text as stored; nil if above Take.MaxJob
	Size              int64  // of the stored data, in bytes
	Tags              []string
	Priority          float64
	Retries           int     // allowed
	Remaining         int     // of those, left
	Expires           float64 // when the lock ends, on the server's clock
	Popped            float64 // when the job was popped: the mark of this attempt, see Settlement.Popped
	Put               float64 // when it entered its queue by put, or was last popped before; 0 from Held

	// Counts of ours, valid in this queue; see Counter.
	Crashes, Interruptions, Releases int
	Checkpoint                       []byte        // as the last attempt left it; nil if none
	Timeout                          time.Duration // the job's own; 0 if none
}

// Broken is an entry of a queue that had no usable job behind it. It was removed from
// the queue, so that it does not block the others.
type Broken struct {
	Queue, JID, Reason string
}

// Reply answers an Exchange.
type Reply struct {
	Results []SettleResult // one per settlement, in order
	Jobs    []Taken        // locked in the name of the session's worker
	Broken  []Broken
	NextDue float64 // when the next scheduled or recurring job of the queues is due; 0 if none is known
	Cursor  int     // for the next Take
	Now     float64 // the time that the call carried
}

// RenewItem names a lock to extend.
type RenewItem struct {
	JID, Queue string
	Popped     float64 // as in Settlement
	Checkpoint []byte  // kept with the job if not nil; at most 64 KiB
}

// Renewed answers one RenewItem.
type Renewed struct {
	JID     string
	Expires float64 // when the lock now ends, on the server's clock
	Err     error   // nil, ErrLockLost, or what Renew itself could return
}

// Resolution is what Redis knows about a settlement in doubt.
type Resolution int

const (
	Took   Resolution = iota + 1 // it took effect, or the lock was lost since: nothing is left to do
	NotRun                       // it did not run; the job is still ours to settle
	Gone                         // the job does not exist any more: cancelled, or completed and pruned
)

func (r Resolution) String() string {
	return [...]string{"unknown", "took", "not-run", "gone"}[r]
}

// NoticeKind says what a Notice is about.
type NoticeKind string

const (
	NoticeLockLost NoticeKind = "lock_lost" // the job's lock expired, or it was given away
	NoticeCanceled NoticeKind = "canceled"  // the job was cancelled
	NoticeWake     NoticeKind = "wake"      // something was put into Queue
)

// Notice is a hint from Redis; it may be late, doubled, or never come.
type Notice struct {
	Kind        NoticeKind
	JID, Worker string // for NoticeLockLost and NoticeCanceled
	Queue       string // for NoticeWake
}

// Session takes and settles jobs under one worker name, which nothing else may use
// during its life: the name is all that Redis knows of who holds a lock.
//
// Exchange has a connection of its own, so that after an outcome in doubt it can be
// fenced: closed on the server's side, after which nothing of it can still run.
// All methods are safe for concurrent use.
type Session struct {
	client *Client
	worker string

	mu    sync.Mutex
	conn  redis.UniversalClient
	peers []peer // connections made since the last fence
	doubt bool   // one of peers may still have a call under way
}

// peer is how the server names one of our connections.
type peer struct {
	id   int64
	addr string // ours as the server sees it; ids begin anew after a restart, addresses differ
}

// Session returns the session of a worker name; the caller closes it. It connects
// with the first Exchange.
func (c *Client) Session(worker string) *Session {
	s := &Session{client: c, worker: worker}
	s.conn = c.target.dedicated(s.connected)
	c.mu.Lock()
	c.sessions[s] = struct{}{}
	c.mu.Unlock()
	return s
}

// Worker is the session's name.
func (s *Session) Worker() string { return s.worker }

// Close ends the session's connection. It changes nothing in Redis: what the worker
// holds, it holds until the locks end.
func (s *Session) Close() error {
	s.client.mu.Lock()
	delete(s.client.sessions, s)
	s.client.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Close()
}

// Exchange settles what is finished and takes new jobs, in one call: first the
// settlements, each on its own, then the take.
//
// After ErrAway nothing ran. After ErrDoubt the settlements and the take are unknown
// together: call Resolve for the settlements and Held for what may have been taken,
// both of which need a Fence first. Exchange fences by itself before it sends
// anything more, but it asks nothing.
func (s *Session) Exchange(ctx context.Context, settlements []Settlement, take Take) (Reply, error) {
	switch take.Order {
	case "", Ordered, RoundRobin, Oldest:
	default:
		return Reply{}, fmt.Errorf("take: unknown order %q", take.Order)
	}
	if err := s.client.clock.Fresh(ctx); err != nil {
		return Reply{}, err
	}
	if err := s.Fence(ctx); err != nil {
		return Reply{}, err
	}
	sent, puts, results := checkSettlements(settlements)
	now := s.client.clock.Now()
	raw, err := s.client.run(ctx, s.connection(), scriptName{Batch, "exchange"}, now,
		exchangeArgs(s.worker, sent, puts, take)...)
	if err != nil {
		if errors.Is(err, ErrDoubt) {
			s.mu.Lock()
			s.doubt = true
			s.mu.Unlock()
		}
		return Reply{}, err
	}
	if s.client.opts.WaitReplicas > 0 && len(settlements) > 0 {
		s.awaitReplicas(ctx)
	}
	return readExchange(raw, now, results)
}

// checkSettlements leaves out settlements that must not be sent, which have an error in
// their result, and begins the results of the others' puts.
func checkSettlements(settlements []Settlement) (sent []Settlement, puts [][]Put, results []SettleResult) {
	sent, puts, results = make([]Settlement, 0, len(settlements)), make([][]Put, 0, len(settlements)), make([]SettleResult, len(settlements))
	for i, s := range settlements {
		if s.Data != nil {
			if err := checkJSON(s.Data); err != nil {
				results[i].Err = &ScriptError{Command: string(s.Action), Message: err.Error()}
				continue
			}
		}
		var named []Put
		if len(s.Puts) > 0 {
			named, results[i].Puts = nameAndCheck(s.Puts)
		}
		sent, puts = append(sent, s), append(puts, named)
	}
	return sent, puts, results
}

// Renew extends locks, one call for all, and answers for each. A renewal in doubt may
// simply be repeated; until a reply has come, the locks end when they did before.
func (s *Session) Renew(ctx context.Context, items []RenewItem) ([]Renewed, error) {
	raw, err := s.client.call(ctx, Batch, "renew", renewArgs(s.worker, items)...)
	if err != nil {
		return nil, err
	}
	in := replyReader{items: asList(raw)}
	renewed := make([]Renewed, len(items))
	for i := range renewed {
		renewed[i].JID = items[i].JID
		if no := in.nested(); no != nil {
			renewed[i].Err = settleError("renew", no.text(), no.text())
			continue
		}
		renewed[i].Expires = in.float()
	}
	return renewed, in.err
}

// renewArgs writes the locks to extend, then the checkpoints that come with some.
func renewArgs(worker string, items []RenewItem) []any {
	args := make([]any, 0, 2+3*len(items))
	args = append(args, worker, len(items))
	for _, item := range items {
		args = append(args, item.JID, item.Queue, mark(item.Popped))
	}
	for i, item := range items {
		if item.Checkpoint != nil {
			args = append(args, i+1, item.Checkpoint)
		}
	}
	return args
}

// Held lists what Redis holds in the worker's name: the worker's set and the locks of
// the queues named, each confirmed by the job itself (running, and this worker its owner).
// Minus what the caller has in flight, that is what a take in doubt has taken.
func (s *Session) Held(ctx context.Context, queues []string) ([]Taken, error) {
	if err := s.Fence(ctx); err != nil {
		return nil, err
	}
	args := make([]any, 0, 1+len(queues))
	args = append(args, s.worker)
	for _, q := range queues {
		args = append(args, q)
	}
	raw, err := s.client.call(ctx, Batch, "held", args...)
	if err != nil {
		return nil, harmless(err)
	}
	in := replyReader{items: asList(raw)}
	var held []Taken
	for len(in.items) > 0 && in.err == nil {
		job := readTaken(&in)
		job.Popped, job.Put = job.Put, 0 // a running job's time is when it was popped
		held = append(held, job)
	}
	return held, in.err
}

// Resolve reads what became of settlements in doubt, after a Fence. Those that did not run may
// be sent again.
func (s *Session) Resolve(ctx context.Context, settlements []Settlement) ([]Resolution, error) {
	if err := s.Fence(ctx); err != nil {
		return nil, err
	}
	args := make([]any, 0, 1+2*len(settlements))
	args = append(args, s.worker)
	for _, settlement := range settlements {
		args = append(args, settlement.JID, mark(settlement.Popped))
	}
	raw, err := s.client.call(ctx, Batch, "resolve", args...)
	if err != nil {
		return nil, harmless(err)
	}
	in := replyReader{items: asList(raw)}
	resolutions := make([]Resolution, len(settlements))
	for i := range resolutions {
		switch in.text() {
		case "held":
			resolutions[i] = NotRun
		case "gone":
			resolutions[i] = Gone
		default:
			resolutions[i] = Took
		}
	}
	return resolutions, in.err
}

// Notices is Client.Notices for this worker alone.
func (s *Session) Notices(ctx context.Context) <-chan Notice {
	return s.client.Notices(ctx, s.worker)
}

// Deregister takes the worker off the list of workers. What it holds stays locked.
func (s *Session) Deregister(ctx context.Context) error {
	return s.client.ForgetWorkers(ctx, s.worker)
}

func (s *Session) connection() redis.UniversalClient {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// replicaWait bounds the wait for replicas after a settlement.
const replicaWait = time.Second

// awaitReplicas waits until enough replicas have what this connection wrote.
func (s *Session) awaitReplicas(ctx context.Context) {
	want := s.client.opts.WaitReplicas
	got, err := s.connection().Do(ctx, "WAIT", want, replicaWait.Milliseconds()).Int()
	if err != nil || got < want {
		s.client.log.Warn("settlement has not reached all replicas", "worker", s.worker, "want", want, "got", got, "err", err)
	}
}

// settleError is the error behind a word that a batch script answers instead of done.
func settleError(command, word, text string) error {
	if word == "lost" {
		return fmt.Errorf("%w: %s", ErrLockLost, text)
	}
	return refusal(command, text)
}
