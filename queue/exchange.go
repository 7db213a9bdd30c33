package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// Reply answers an Exchange.
type Reply struct {
	Results []SettleResult // one per settlement, in order
	Jobs    []Taken        // locked in the name of the session's worker
	Broken  []Broken
	NextDue float64 // when the next scheduled or recurring job of the queues is due; 0 if none is known
	Cursor  int     // for the next Take
	// More says that the take had done enough for one call before it was done: 500 commands, 4 MiB
	// of data. What is left is to be asked for at once.
	More bool
	Left []QueueLeft // what is known of the queues after the take
	// Rest says that there are jobs that are to be freed, because what they waited for is
	// complete, or pruned: more than one call does. Each Exchange goes on with that; one without
	// settlements and Take does nothing else.
	Rest bool
	Now  float64 // the time that the call carried
	// Gate is what the gate of ruled queues said of jobs in this call; nil if nothing, or no queue is ruled.
	Gate []GateCount

	edition string // of rules that say nothing of the take's queues, if that was not known
	plain   bool   // nothing special was with any job
}

// GateWord is what the gate of a ruled queue says of a job.
type GateWord string

const (
	GateFree    GateWord = "free"    // it runs, and had not to wait
	GateWaited  GateWord = "waited"  // it runs, and came from its waitlist
	GateLent    GateWord = "lent"    // it runs with places beyond the share of its value, for nobody else needs them
	GateBypass  GateWord = "bypass"  // it runs and takes no places, as its class may
	GateResumed GateWord = "resumed" // it goes on with its answer

	GateFull   GateWord = "full"   // it is filed: a throttle has too few free places
	GateShare  GateWord = "share"  // it is filed: the share of its value is used up, and others need the rest
	GateRate   GateWord = "rate"   // it is filed: its throttle starts no more now
	GateBehind GateWord = "behind" // it is filed: others that need the same places wait already

	GateWindow GateWord = "window" // it is put off until its window opens
)

// GateCount is of how many jobs of a queue something was said.
type GateCount struct {
	Queue string
	Word  GateWord
	Jobs  int
}

// QueueLeft is what a take left of a queue.
type QueueLeft struct {
	Queue string
	Head  float64 // when its next job was put, or last popped; 0 if none of it can be taken now
}

// Exchange settles what is finished and takes new jobs, in one call: first the
// settlements, each on its own, then the take.
//
// After ErrAway nothing ran. After ErrDoubt the settlements and the take are unknown
// together: ask Resolve about the settlements, and Held what may have been taken. The next
// Exchange fences as these two do, but asks nothing.
func (s *Session) Exchange(ctx context.Context, settlements []Settlement, take Take) (Reply, error) {
	switch take.Order {
	case "", Ordered, RoundRobin, Oldest, Shuffled:
	default:
		return Reply{}, fmt.Errorf("take: unknown order %q", take.Order)
	}
	take = take.drawn()
	if err := s.client.clockFor(ctx, settlements); err != nil {
		return Reply{}, err
	}
	take.Spare = take.Spare || s.client.clock.Settling()
	if err := s.Fence(ctx); err != nil {
		return Reply{}, err
	}
	sent, puts, results := checkSettlements(settlements)
	now := s.client.clock.Now()
	take.hurries = s.mayHurry(take, now)
	if take.hurries && take.Bytes == 0 && s.mayBePlain() {
		take.plain = wire.Mark(now)
	}
	raw, err := s.exchange(ctx, now, s.beside.saysNothingTo(now, sent, puts, take), exchangeArgs(s.worker, sent, puts, take))
	if err != nil {
		if errors.Is(err, ErrDoubt) {
			s.late.Store(take.Count > 0)
			s.link.Doubt()
		}
		return Reply{}, err
	}
	if s.client.opts.WaitReplicas > 0 && len(settlements) > 0 {
		s.settledOnReplicas(ctx)
	}
	reply, err := readExchange(raw, now, results, take.Queues)
	if reply.edition != "" {
		s.beside.learn(now, reply.edition, take.Queues)
	}
	if err == nil {
		s.looked(take, now, &reply)
	}
	return reply, err
}

// Release gives jobs back whose locks have run out, or are about to: it sends settlements that release, over any connection, for it may be repeated, and a call
// of Exchange may stand. Each says by Popped which attempt is over. In doubt it may have run.
func (s *Session) Release(ctx context.Context, settlements []Settlement) ([]SettleResult, error) {
	if err := s.client.clockFor(ctx, settlements); err != nil {
		return nil, err
	}
	sent, puts, results := checkSettlements(settlements)
	now := s.client.clock.Now()
	raw, err := s.exchangeOver(ctx, s.client.redis, now, "", exchangeArgs(s.worker, sent, puts, Take{}))
	if err != nil {
		return nil, harmless(err)
	}
	reply, err := readExchange(raw, now, results, nil)
	return reply.Results, harmless(err)
}

// clockFor makes the clock right for settlements: precise if one has a delay, or puts a job with one.
func (c *Client) clockFor(ctx context.Context, settlements []Settlement) error {
	for i := range settlements {
		if settlements[i].Delay > 0 || slices.ContainsFunc(settlements[i].Puts, isDelayed) {
			return c.clock.Precise(ctx)
		}
	}
	return c.clock.Fresh(ctx)
}

// isDelayed reports whether a job is due a while after its put.
func isDelayed(p Put) bool { return p.Delay > 0 }

// exchange is exchangeOver the connection of the session.
func (s *Session) exchange(ctx context.Context, now float64, edition string, args []any) (any, error) {
	return s.exchangeOver(ctx, s.link.Redis(), now, edition, args)
}

// exchangeOver calls the script for ordinary queues, until that answers that a queue is ruled; from then on the other, which
// does for both, until it answers that the rules are others and no queue was ruled. Where the rules are gone, which Redis does not forget by
// itself, it has lost its keys: nothing is taken then for rulesReturn, in which whoever has them in his file says them again.
//
//	edition   of rules, which say nothing of the call; "" if of none that is known
func (s *Session) exchangeOver(ctx context.Context, conn evaler, now float64, edition string, args []any) (any, error) {
	for {
		known := s.ruledBy.Load()
		name, with := script.Name{Dialect: Batch, Command: "exchange"}, args
		switch {
		case known != nil:
			if name.Command = "ruled"; known.version != "" {
				with = append(args, 1)
			}
		case edition != "":
			with = append(args, edition)
		}
		raw, err := s.client.run(ctx, conn, name, now, with...)
		if err != nil {
			return nil, err
		}
		if known == nil {
			if raw != "ruled" {
				return raw, nil
			}
			s.ruledBy.Store(new(ruling))
			continue
		}
		if in := wire.Read(raw); len(in.Items) == exchangeWidth+4 {
			rules := wire.Reader{Items: in.Items[exchangeWidth:]}
			switch version, concerned := rules.Text(), rules.Int(); {
			case concerned == 2:
				s.rulesGone(known, now)
			case concerned == 1 || known.version == "":
				s.ruledBy.Store(&ruling{version: version})
			case version != known.version:
				s.ruledBy.Store(nil)
			}
			s.client.learn(ctx, rules.List())
		}
		return raw, nil
	}
}

// ruling is what a session was told of rules.
type ruling struct {
	version string  // "" before it is known
	gone    float64 // since when there are none any more; 0 as long as there are
}

// rulesReturn is for how many seconds nothing is taken when rules are gone.
const rulesReturn = 10

// rulesGone hears that there are none at a time, though there were.
func (s *Session) rulesGone(known *ruling, now float64) {
	switch {
	case known.gone == 0 || now < known.gone:
		s.client.log.Warn("the rules are gone from Redis: nothing is taken before they are there again, for some seconds at most", "seconds", rulesReturn, "worker", s.worker)
		s.ruledBy.Store(&ruling{known.version, now})
	case now >= known.gone+rulesReturn:
		s.ruledBy.Store(nil)
	}
}

// exchangeWidth is how many values exchange answers; ruled adds the version of the rules, whether they concerned the
// call, the windows of which it has to learn, and what its gate said.
const exchangeWidth = 8

// exchangeArgs writes an Exchange as the script reads it: the worker, how many
// settlements, each with its puts, then the take.
func exchangeArgs(worker string, settlements []*Settlement, puts [][]Put, take Take) []any {
	args := make([]any, 0, 9+6*len(settlements)+2*len(take.Queues))
	args = append(args, worker, len(settlements))
	var popped float64 // of the settlement before: most of a call were taken together
	var text any = wire.Mark(popped)
	for i, s := range settlements {
		if s.Popped != popped {
			popped, text = s.Popped, wire.Mark(s.Popped)
		}
		args = appendSettlement(args, s, text)
		args = appendPuts(args, puts[i])
	}
	order := take.Order
	if order == "" {
		order = Ordered
	}
	var spare any = 0
	switch {
	case take.Spare:
		spare = 1
	case take.plain != "":
		spare = take.plain
	case take.hurries:
		spare = 2
	}
	args = append(args, string(order), take.Cursor, take.count(), take.maxJob(), spare)
	for i, q := range take.Queues {
		head := ""
		if i < len(take.Heads) && take.Heads[i] > 0 {
			head = wire.Number(take.Heads[i])
		}
		args = append(args, q, head)
	}
	return args
}

// readExchange reads the reply: one list of results, one of jobs, one of broken
// entries, when the next job is due, the cursor, whether there is more, and what is left of
// the queues. The results hold what is known of them already.
func readExchange(raw any, now float64, known []SettleResult, queues []string) (Reply, error) {
	in := wire.Read(raw)
	reply := Reply{Now: now, Results: known}
	if reply.plain = isPlain(in); reply.plain {
		return reply, reply.readPlain(in.Items, queues[0])
	}
	results := wire.Reader{Items: in.List()}
	jobs, broken := in.List(), in.List()
	reply.NextDue, reply.Cursor, reply.More = in.Float(), in.Int(), in.Int() == 1
	queuesLeft := wire.Reader{Items: in.List()}
	reply.Rest = in.Int() == 1
	switch len(in.Items) {
	case 1:
		reply.edition = in.Text()
	case 4: // of ruled
		reply.Gate = readGate(in.Items[3])
	}
	for i := range reply.Results {
		if reply.Results[i].Err == nil {
			readResult(&results, &reply.Results[i])
		}
	}
	var taken, left error
	reply.Jobs, taken = readAllTaken(jobs)
	for i := range reply.Jobs {
		reply.Jobs[i].Popped = now
	}
	reply.Broken, left = readBroken(broken)
	for len(queuesLeft.Items) > 0 && queuesLeft.Err == nil {
		if i, head := queuesLeft.Int(), queuesLeft.Float(); i >= 1 && i <= len(queues) {
			reply.Left = append(reply.Left, QueueLeft{queues[i-1], head})
		}
	}
	if err := cmp.Or(in.Err, results.Err, taken, left, queuesLeft.Err); err != nil {
		return Reply{}, err
	}
	return reply, nil
}

// isPlain tells the reply to a call in which nothing special was with any job: it begins with a text, all others with a list.
func isPlain(reply wire.Reader) bool {
	if len(reply.Items) == 0 {
		return false
	}
	_, is := reply.Items[0].(string)
	return is
}

// readPlain reads such a reply: all settlements are complete, and there is nothing but jobs, of one queue.
func (r *Reply) readPlain(items []any, queue string) (err error) {
	for i := range r.Results {
		if r.Results[i].Err == nil {
			r.Results[i].State = "complete"
		}
	}
	r.Jobs, err = readAllPlain(items, queue)
	for i := range r.Jobs {
		r.Jobs[i].Popped = r.Now
	}
	return err
}

// readGate reads of how many jobs a gate said what; of what is no list of that, nothing.
func readGate(of any) (counts []GateCount) {
	flat, _ := of.([]any)
	for in := (wire.Reader{Items: flat}); len(in.Items) > 2 && in.Err == nil; {
		counts = append(counts, GateCount{in.Text(), GateWord(in.Text()), in.Int()})
	}
	return counts
}
