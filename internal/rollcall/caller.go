package rollcall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/supervisor"
)

const (
	// answerWithin is how long an answer may usually take.
	answerWithin = 300 * time.Millisecond
	// listenWithin is how long it may take until we hear answers, before anything is asked.
	listenWithin = 2 * time.Second
	// kept is how long a roll is good enough, from when it was asked.
	kept = 2 * time.Second
	// lately is for how long a supervisor that answered is missed by its name.
	lately = 10 * time.Minute

	mostAnswers    = 1000     // of one roll
	mostUnpacked   = 64 << 20 // of all its answers together
	mostRemembered = 1000
)

// Roll is what the supervisors of a namespace said, each at most once.
type Roll struct {
	At       float64  `json:"at"`                // when it was asked, in seconds since the epoch
	Asked    int      `json:"asked"`             // how many heard the question; −1 if nobody knows, as in a cluster
	Answered int      `json:"answered"`          // of which so many are among Items
	Missing  int      `json:"missing"`           // did not answer in time; 0 if Asked is −1
	Silent   []string `json:"silent,omitempty"`  // names of those that answered lately, and are missing now, as far as this process knows them
	Unread   int      `json:"unread,omitempty"`  // answers that could not be read, or were too many
	Pending  bool     `json:"pending,omitempty"` // more may answer yet
	Items    []Answer `json:"items"`             // by host, name and process

	// Unheard are those that are known only by what they hold, or held lately. Nil: nobody looked, see NoteUnheard.
	Unheard []Unheard `json:"unheard"`
}

// Complete reports whether all supervisors that hear questions answered, and told of all their pools.
func (r *Roll) Complete() bool {
	return r.Asked > 0 && r.Missing == 0 && r.Unread == 0 && !r.Pending && !slices.ContainsFunc(r.Items, func(a Answer) bool {
		return len(a.Status.Stuck) > 0 || a.Cut && len(a.Status.Pools) < a.Sums.Pools
	})
}

// Deserted reports whether jobs wait in a queue, none of it runs, and no supervisor has a pool for it, of which all have answered.
// Workers that are no supervisors of ours may yet take them.
func (r *Roll) Deserted(name string, waiting, running int) bool {
	return waiting > 0 && running == 0 && r.Complete() && !slices.ContainsFunc(r.Items, func(a Answer) bool {
		return slices.ContainsFunc(a.Status.Pools, func(p supervisor.PoolSnapshot) bool { return queue.MatchAny(p.Queues, name) })
	})
}

// Asker is what a Caller needs of a queue.Client.
type Asker interface {
	Ask(ctx context.Context, id string, question []byte) (answers <-chan []byte, heard int, err error)
}

// Caller calls the roll, one at a time, however many ask for it. It is safe for concurrent use.
type Caller struct {
	client Asker
	within time.Duration // an answer may take so long, from when the question was published

	mu    sync.Mutex        // for memory only
	call  *call             // under way, or the last; nil before the first
	known map[Who]time.Time // who answered, and when last
}

// call is one roll.
type call struct {
	began time.Time
	done  chan struct{} // closed when it is over
	roll  Roll          // under the mutex of the Caller until then
	err   error
}

// New makes a Caller that asks by a client.
func New(client Asker) *Caller { return Patient(client, answerWithin) }

// Patient is New for a Caller that gives answers so much time.
func Patient(client Asker, within time.Duration) *Caller {
	return &Caller{client: client, within: within, known: map[Who]time.Time{}}
}

// Call gives the roll: one that is no older than two seconds, or that is called now, which takes a third of a second if
// somebody is missing or if it is unknown how many there are, and no longer than the slowest answer else. If ctx ends before,
// it is what has been answered by then, and Pending. The error says why nobody could be asked, and is one
// of the queue's, of ErrAway. The caller must not change what Items point to.
func (c *Caller) Call(ctx context.Context) (Roll, error) {
	c.mu.Lock()
	k := c.call
	if k == nil || time.Since(k.began) >= kept && !k.roll.Pending {
		k = &call{began: time.Now(), done: make(chan struct{}), roll: Roll{Pending: true, At: float64(time.Now().UnixMilli()) / 1e3}}
		c.call = k
		go c.ask(k) // ends in time: see the bounds above
	}
	c.mu.Unlock()
	select {
	case <-k.done:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	roll := k.roll
	roll.Items = slices.Clone(roll.Items)
	slices.SortFunc(roll.Items, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Status.Name, b.Status.Name), cmp.Compare(a.Status.PID, b.Status.PID))
	})
	return roll, k.err
}

// ask asks and hears answers, until all have answered or the time is over.
func (c *Caller) ask(k *call) {
	defer close(k.done)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		k.roll.Pending = false
		c.miss(k)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), listenWithin)
	defer cancel()
	answers, heard, err := publish(ctx, c.client, question{Ask: askStatus})
	c.mu.Lock()
	k.roll.Asked, k.err = heard, err
	c.mu.Unlock()
	if err != nil {
		return
	}
	enough := time.AfterFunc(c.within, cancel) // which ends answers
	defer enough.Stop()
	left := mostUnpacked
	for packed := range answers {
		var a Answer
		size, err := unpack(packed, min(left, maxUnpacked), &a)
		left -= size
		c.mu.Lock()
		all := c.hear(k, a, err)
		c.mu.Unlock()
		if all {
			cancel()
		}
	}
}

// publish asks a question under a new id.
func publish(ctx context.Context, client Asker, q question) (answers <-chan []byte, heard int, err error) {
	q.V, q.ID, q.DB = version, queue.NewJID(), databaseOf(client)
	text, err := json.Marshal(q)
	if err != nil {
		return nil, 0, err
	}
	return client.Ask(ctx, q.ID, text)
}

// hear notes an answer, and reports whether there is nothing more to wait for.
func (c *Caller) hear(k *call, a Answer, err error) (all bool) {
	r := &k.roll
	twice := func(other Answer) bool { return other.Who() == a.Who() && other.Host == a.Host }
	switch {
	case err == nil && a.Elsewhere:
		if r.Asked > 0 { // 0: the number is unknown, or the answer was forged
			r.Asked--
		}
	case err != nil || len(r.Items) == mostAnswers:
		r.Unread++
	case !slices.ContainsFunc(r.Items, twice):
		r.Items = append(r.Items, a)
		r.Answered++
		if len(c.known) < mostRemembered {
			c.known[a.Who()] = k.began
		}
	}
	return r.Asked >= 0 && r.Answered+r.Unread >= r.Asked
}

// miss counts who did not answer, and names those of them that did lately.
func (c *Caller) miss(k *call) {
	r := &k.roll
	if r.Asked >= 0 {
		r.Missing = max(r.Asked-r.Answered-r.Unread, 0)
	}
	maps.DeleteFunc(c.known, func(_ Who, at time.Time) bool { return k.began.Sub(at) > lately })
	if r.Missing == 0 {
		return
	}
	for who, at := range c.known {
		if at.Before(k.began) {
			r.Silent = append(r.Silent, who.Name)
		}
	}
	slices.Sort(r.Silent)
	r.Silent = slices.Compact(r.Silent)
}

// ErrSilent says that a supervisor did not answer.
var ErrSilent = errors.New("the supervisor does not answer")

// Tail asks the supervisor of for the last lines that the child in a slot of a pool printed, 1,000 at most. It waits for the
// answer until ctx ends, a second at most, and is ErrSilent then; where the supervisor has none to tell, Refused says why.
// It is not told apart from one that somebody made up.
func (c *Caller) Tail(ctx context.Context, of Who, pool string, slot, lines int) (Tail, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	answers, _, err := publish(ctx, c.client, question{Ask: askTail, To: &of, Pool: pool, Slot: slot, Lines: min(lines, maxTail)})
	if err != nil {
		return Tail{}, err
	}
	defer func() {
		cancel()
		for range answers { // until nobody listens
		}
	}()
	for packed := range answers {
		var t Tail
		if _, err := unpack(packed, maxUnpacked, &t); err == nil {
			t.Lines = t.Lines[max(0, len(t.Lines)-maxTail):]
			return t, nil
		}
	}
	return Tail{}, fmt.Errorf("%w: %s, process %d", ErrSilent, of.Name, of.PID)
}
