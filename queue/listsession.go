package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// ListSession takes and settles the entries of a list as Session does jobs, under one worker name,
// which nothing else may use during its life: nine digits of each start time stand for it.
//
// A job of a list has the list as its queue, and neither priority, tags nor history. Its retries
// are those of the List, or noLimit. All methods are safe for concurrent use.
type ListSession struct {
	*Session
	list List
	keys listKeys
	tag  string
	wait *ListWaiter

	mu     sync.Mutex
	held   map[string]*heldEntry // by jid: what was taken and is not settled
	mark   float64               // the last Taken.Popped
	later  []delayed             // those that this session put off, as far as it knows, the next first
	barren bool                  // the last take could take none of what is there, or only what is in work
}

// heldEntry is an entry in our hands.
type heldEntry struct {
	jid    string
	entry  string
	popped float64
	kept   listKept
}

// delayed is an entry that waits for its time to come.
type delayed struct {
	entry, stamp string
	due          float64
}

// NoLimit is Taken.Retries of a job that may be tried again any number of times.
const NoLimit = 1_000_000_000

// forgottenLock is how long the lock of an entry without heartbeat is said to be: its child is stopped by
// nobody but its own timeout.
const forgottenLock = 30 * 24 * time.Hour

// ListSession returns the session of a worker name for a list; the caller closes it.
func (c *Client) ListSession(worker string, l List) *ListSession {
	return &ListSession{
		Session: c.Session(worker), list: l, keys: c.listKeys(l.Name), tag: tagOf(worker),
		wait: c.ListWaiter(l.Name), held: map[string]*heldEntry{},
	}
}

// Close ends the session's connections. What it holds stays in work until its time is over.
func (s *ListSession) Close() error { return errors.Join(s.Session.Close(), s.wait.Close()) }

// Deregister puts back at once what waits for its time to come, where no monitor would do so.
func (s *ListSession) Deregister(ctx context.Context) error {
	if s.list.Monitor {
		return nil
	}
	return s.putBackUntil(ctx, s.client.Now()+NoLimit)
}

// fence is the tag by which the scripts tell our entries; "" without heartbeat: then whoever ends an
// entry ends it, as with hworker, or a job that takes longer than the timeout would never be done.
func (s *ListSession) fence() string {
	if s.list.Heartbeat {
		return s.tag
	}
	return ""
}

// listCall is one Exchange of a ListSession.
type listCall struct {
	settlements []Settlement
	sent        []int // which of them are sent, by index
	results     []SettleResult
	args        []any
	take        Take
	now         float64
}

// Exchange is that of Session. Of the take only Count, Bytes and MaxJob are heeded.
func (s *ListSession) Exchange(ctx context.Context, settlements []Settlement, take Take) (Reply, error) {
	if err := s.client.clockFor(ctx, settlements); err != nil {
		return Reply{}, err
	}
	if err := s.Fence(ctx); err != nil {
		return Reply{}, err
	}
	x := listCall{settlements: settlements, results: make([]SettleResult, len(settlements)), take: take, now: s.client.clock.Now()}
	if err := s.putBackUntil(ctx, x.now); err != nil {
		return Reply{}, err
	}
	s.settling(&x)
	raw, err := s.send(ctx, x.now, take.count(), x.args)
	if err != nil {
		return Reply{}, err
	}
	if s.client.opts.WaitReplicas > 0 && len(settlements) > 0 {
		s.settledOnReplicas(ctx)
	}
	reply, broken, err := s.read(raw, &x)
	if err != nil {
		return Reply{}, err
	}
	s.setAside(ctx, broken)
	return reply, nil
}

// Release is that of Session, over the session's connection: an entry has no lock that others could get by a release but its place.
func (s *ListSession) Release(ctx context.Context, settlements []Settlement) ([]SettleResult, error) {
	reply, err := s.Exchange(ctx, settlements, Take{})
	return reply.Results, err
}

// send sends what is settled, and how many are to be taken.
func (s *ListSession) send(ctx context.Context, now float64, count any, settled []any) (any, error) {
	k := s.keys
	args := append([]any{k.jobs, k.progress, k.failed, k.reasons, k.broken, k.tries, s.fence(), stampOf(now, s.tag), s.list.Failed, count}, settled...)
	raw, err := s.client.run(ctx, s.link.Redis(), script.Name{Dialect: Batch, Command: "list.exchange"}, now, args...)
	if errors.Is(err, ErrDoubt) {
		s.link.Doubt()
	}
	return raw, err
}

// settling fills in what becomes of each settlement, and what is to be sent of it.
func (s *ListSession) settling(x *listCall) {
	type settling struct {
		index  int
		popped float64
		args   []any
	}
	var words []settling
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range x.settlements {
		settlement := &x.settlements[i]
		h := s.held[settlement.JID]
		if h == nil || settlement.Popped != 0 && settlement.Popped != h.popped {
			x.results[i].Err = fmt.Errorf("%w: the entry was put back, or taken again since", ErrLockLost)
			continue
		}
		fate, err := s.list.fateOf(settlement, h, x.now)
		if err != nil {
			x.results[i].Err = err
			continue
		}
		if fate.later > 0 { // if it does not come to that, nobody finds the entry so
			s.later = append(s.later, delayed{h.entry, fate.word, fate.later})
			slices.SortStableFunc(s.later, func(a, b delayed) int { return cmp.Compare(a.due, b.due) })
		}
		x.results[i] = SettleResult{State: fate.state, Crashes: fate.crashes}
		words = append(words, settling{i, h.popped, []any{h.entry, fate.action, fate.kept, fate.word}})
	}
	// What goes to the front goes there last in, first out: so it keeps its order.
	slices.SortStableFunc(words, func(a, b settling) int {
		if a.args[1] == "front" && b.args[1] == "front" {
			return cmp.Compare(b.popped, a.popped)
		}
		return 0
	})
	for _, w := range words {
		x.sent = append(x.sent, w.index)
		x.args = append(x.args, w.args...)
	}
}

// read reads the reply: what became of what was sent, and what was taken. Of that it returns what is no job.
func (s *ListSession) read(raw any, x *listCall) (reply Reply, broken []string, err error) {
	in := wire.Read(raw)
	results := wire.Reader{Items: in.List()}
	taken := wire.Reader{Items: in.List()}
	duplicates, more, trouble := in.Int(), in.Int() == 1, in.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range x.sent {
		s.settled(&x.settlements[i], &x.results[i], results.Text())
	}
	reply = Reply{Results: x.results, More: more, Now: x.now}
	for len(taken.Items) > 0 && taken.Err == nil {
		entry, kept := taken.Text(), taken.Text()
		if job, err := s.adopt(entry, readListKept(kept), x.now, x.take.MaxJob); err == nil {
			job.Expires = s.expires(x.now)
			reply.Jobs = append(reply.Jobs, job)
		} else {
			broken = append(broken, entry)
		}
	}
	if duplicates > 0 {
		s.client.log.Debug("entries of a list are there twice, byte for byte: they went back until the first is done", "list", s.list.Name, "entries", duplicates)
	}
	s.barren = (duplicates > 0 || trouble != "") && len(reply.Jobs) == 0
	if trouble != "" && Class(refusal("list.exchange", trouble)) == Refused {
		reply.Broken = append(reply.Broken, Broken{Queue: s.list.Name, Reason: wire.Words(trouble)})
	}
	if len(s.later) > 0 {
		reply.NextDue = s.later[0].due
	}
	return reply, broken, cmp.Or(in.Err, results.Err, taken.Err)
}

// settled hears what became of a settlement that was sent. The caller holds mu.
func (s *ListSession) settled(settlement *Settlement, r *SettleResult, answer string) {
	switch answer {
	case "1":
	case "0":
		*r = SettleResult{Err: fmt.Errorf("%w: the entry was put back, or taken by another since", ErrLockLost)}
	default: // it is ours still
		*r = SettleResult{Err: refusal("settle", answer)}
		return
	}
	delete(s.held, settlement.JID)
}

// adopt makes a job of an entry that is in work for us. The caller holds mu. The error says
// that it is none.
func (s *ListSession) adopt(entry string, kept listKept, now float64, most int64) (Taken, error) {
	jid, data, err := ReadListEntry(s.list.Name, entry)
	if err != nil {
		return Taken{}, err
	}
	// Two entries may have one id, and without heartbeat one may be at work twice.
	for n := 1; s.held[jid] != nil && (s.held[jid].entry != entry || !s.list.Heartbeat); n++ {
		jid = entrySHA(fmt.Sprint(n, " ", entry))
	}
	s.mark = max(now, s.mark+1e-6)
	s.held[jid] = &heldEntry{jid: jid, entry: entry, popped: s.mark, kept: kept}
	t := Taken{
		JID: jid, Klass: ListKlass(s.list.Name), Queue: s.list.Name, Data: data, Size: int64(len(data)), Popped: s.mark,
		Retries: NoLimit, Crashes: kept.Crashes, Interruptions: kept.Interruptions, Spared: kept.Spared,
		Standstill: kept.Standstill, Deaths: kept.Deaths, Checkpoint: kept.Checkpoint,
	}
	if s.list.Retries > 0 {
		t.Retries = s.list.Retries
	}
	t.Remaining = t.Retries - kept.Retries
	if kept.Unstarted != nil {
		t.Unstarted = *kept.Unstarted
	}
	if kept.Unknown != nil {
		t.Unknown = *kept.Unknown
	}
	if most > 0 && t.Size > most {
		t.Data = nil
	}
	return t, nil
}

// expires is when the entries end to be ours that were in work, or renewed, at a time.
func (s *ListSession) expires(now float64) float64 {
	if !s.list.Heartbeat {
		return now + forgottenLock.Seconds()
	}
	return now + s.list.Timeout.Seconds()
}

// setAside puts what is no job among the broken. If that fails it is found by the next Held.
func (s *ListSession) setAside(ctx context.Context, broken []string) {
	if len(broken) == 0 {
		return
	}
	now := s.client.clock.Now()
	args := make([]any, 0, 4*len(broken))
	for _, entry := range broken {
		s.client.log.Warn("entry of a list set aside: it is no job", "list", s.list.Name, "entry", shortEntry(entry), "err", errNotEnvelope)
		args = append(args, entry, "broken", "", stampOf(now, s.tag))
	}
	if _, err := s.send(ctx, now, 0, args); err != nil {
		s.client.log.Warn("entries of a list that are no jobs are not set aside yet", "list", s.list.Name, "entries", len(broken), "err", err)
	}
}

// shortEntry is the beginning of an entry, for a log.
func shortEntry(entry string) string {
	const most = 200
	if len(entry) <= most {
		return entry
	}
	return entry[:most] + "…"
}

// putBackUntil puts back what this session put off until a time that has come. Somebody else may have done so.
func (s *ListSession) putBackUntil(ctx context.Context, now float64) error {
	s.mu.Lock()
	n := 0
	for n < len(s.later) && s.later[n].due <= now {
		n++
	}
	due := slices.Clone(s.later[:min(n, PutChunk)])
	s.mu.Unlock()
	if len(due) == 0 {
		return nil
	}
	moves := make([]listMove, len(due))
	for i, d := range due {
		moves[i] = listMove{d.entry, d.stamp, "back"}
	}
	if _, err := s.client.moveListed(ctx, s.keys.jobs, s.keys.progress, moves); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later = slices.DeleteFunc(s.later, func(d delayed) bool { return slices.Contains(due, d) })
	return nil
}

// Renew is that of Session.
func (s *ListSession) Renew(ctx context.Context, items []RenewItem) ([]Renewed, error) {
	if err := s.client.clock.Fresh(ctx); err != nil {
		return nil, err
	}
	now := s.client.clock.Now()
	renewed := make([]Renewed, len(items))
	var sent []int
	args := []any{s.keys.progress, s.keys.tries, s.fence(), stampOf(now, s.tag)}
	s.mu.Lock()
	for i, item := range items {
		renewed[i] = Renewed{JID: item.JID, Expires: s.expires(now)}
		h := s.held[item.JID]
		switch {
		case h == nil || item.Popped != 0 && item.Popped != h.popped:
			renewed[i].Err = fmt.Errorf("%w: the entry was put back, or taken again since", ErrLockLost)
			continue
		case len(item.Checkpoint) > maxKept:
			renewed[i].Err = &ScriptError{Command: "renew", Message: "the checkpoint is longer than 64 KiB"}
			continue
		case !s.list.Heartbeat: // nobody is told, and a checkpoint goes with the end
			continue
		}
		kept := ""
		if item.Checkpoint != nil {
			h.kept.Checkpoint = item.Checkpoint
			kept = h.kept.text(now)
		}
		sent = append(sent, i)
		args = append(args, h.entry, kept)
	}
	s.mu.Unlock()
	if len(sent) == 0 {
		return renewed, nil
	}
	raw, err := s.client.run(ctx, s.client.redis, script.Name{Dialect: Batch, Command: "list.renew"}, now, args...)
	if err != nil {
		return nil, err
	}
	in := wire.Read(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range sent {
		if in.Int() == 1 {
			continue
		}
		renewed[i].Err = fmt.Errorf("%w: the entry was put back, or taken by another since", ErrLockLost)
		if h := s.held[items[i].JID]; h != nil && (items[i].Popped == 0 || h.popped == items[i].Popped) {
			delete(s.held, items[i].JID)
		}
	}
	return renewed, in.Err
}

// Wish refuses everything: there is nothing of a job of a list that could be changed but its end.
func (s *ListSession) Wish(_ context.Context, wishes []Wish) ([]error, error) {
	answers := make([]error, len(wishes))
	for i, w := range wishes {
		answers[i] = &ScriptError{Command: "wish", Message: "a job of a list has no " + w.Verb + ": it is an entry, and nothing beside"}
	}
	return answers, nil
}
