package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"oarlock/internal/explain"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Throttle is a limit on how many jobs run at a time, and who has to do with it.
type Throttle struct {
	ID      string   `json:"id"`
	Maximum int      `json:"maximum"`
	TTL     float64  `json:"ttl"`               // seconds; 0 for ever
	Rule    *int     `json:"rule,omitempty"`    // what the rules say of maximum; nil if they say nothing of it
	ByHand  bool     `json:"by_hand,omitempty"` // somebody set maximum in place of that
	Used    int      `json:"used"`              // places that are taken; a job may have several
	Holders []string `json:"holders"`
	Waiting int      `json:"waiting"`          // how many jobs wait for it
	Waiters []string `json:"waiters"`          // which: the first thousand, and the first thousand of those in waitlists of the rules
	Oldest  float64  `json:"oldest,omitempty"` // since when nothing started of the waitlist of which nothing started for longest; seconds since the epoch
	Damage  string   `json:"damage,omitempty"`
	Limits  []string `json:"limits,omitempty"` // in words, what it limits beside Maximum: by its rate, of each value, by its command

	// Of ShowThrottle:
	Idle      []string         `json:"idle,omitempty"` // what is known of holders that do no work
	Held      []Holding        `json:"held,omitempty"`
	Waitlists []queue.Waitlist `json:"waitlists,omitempty"` // the first hundred, that of which nothing started for longest first
	By        string           `json:"by,omitempty"`        // how the rules find a job's value
	Unasked   int              `json:"unasked,omitempty"`   // of a queue's own: jobs that wait there, at which no take has looked yet
	Values    []ThrottleValue  `json:"values,omitempty"`    // those that shares name, and those that are used or waited for; the first hundred
	Rate      *ThrottleRate    `json:"rate,omitempty"`
	Decider   *Decider         `json:"decider,omitempty"`

	places []queue.Holder
}

// Holding is how many places of a throttle a job has.
type Holding struct {
	JID     string `json:"jid"`
	Places  int    `json:"places"`
	Leaving int    `json:"leaving,omitempty"` // of those, of an attempt that was taken from its worker: until that is over, or its lock would have ended
}

// ThrottleValue is how a value of a throttle stands: each has a part of its places.
type ThrottleValue struct {
	Value   string  `json:"value"`           // "*" is all that the shares do not name
	Share   float64 `json:"share,omitempty"` // of the limit, from 0 to 1; 0 if none is said
	Cap     int     `json:"cap,omitempty"`   // places that it may have, or, where more is lent, that are its own; 0 for any number
	Used    int     `json:"used"`
	Waiting int     `json:"waiting"` // jobs
}

// BesideWords say, behind who waits for the throttle, that others wait for their value's part of it; "" if none do.
func (t Throttle) BesideWords() string {
	waiting := 0
	for _, v := range t.Values {
		waiting += v.Waiting
	}
	if waiting > t.Waiting {
		return ", beside those that wait for the part of their value"
	}
	return ""
}

// ThrottleRate is how many places of a throttle may be taken anew in a time.
type ThrottleRate struct {
	Starts  int     `json:"starts"`
	Period  float64 `json:"period"` // seconds
	Burst   int     `json:"burst"`  // so many at once
	Sliding bool    `json:"sliding,omitempty"`
	Next    float64 `json:"next,omitempty"` // when the next may be; 0 if one may now; seconds since the epoch
}

// Decider is how it stands with the command of a throttle that decides who may start. Times are seconds since the epoch.
type Decider struct {
	OnFailure string  `json:"on_failure"`        // closed or open
	Seen      float64 `json:"seen"`              // when a supervisor looked last that has it; 0: none did lately
	Missing   bool    `json:"missing,omitempty"` // no supervisor that runs has it
	By        string  `json:"by,omitempty"`      // which asked last
	Asking    bool    `json:"asking,omitempty"`  // one does now
	Answered  float64 `json:"answered,omitempty"`
	Trouble   string  `json:"trouble,omitempty"` // why the last answer decided nothing
	Next      float64 `json:"next,omitempty"`    // it is not asked before; 0: it may be
	Held      int     `json:"held"`              // jobs that it holds for now
}

// Words say how it stands, at the server's time now.
func (d Decider) Words(now float64) string {
	meanwhile := "no job starts meanwhile"
	if d.OnFailure == rules.OnFailures[1] {
		meanwhile = "jobs start without it meanwhile"
	}
	switch {
	case d.Missing:
		return "no supervisor that runs has the command; " + meanwhile
	case d.Trouble != "":
		return "the command, asked by " + d.By + ", decides nothing: " + d.Trouble + "; " + meanwhile
	case d.Asking:
		return "the command is being asked by " + d.By
	case d.Answered == 0:
		return "the command was not asked yet"
	}
	words := fmt.Sprintf("the command was asked by %s %s ago, and holds %s", d.By, screen.Ago(d.Answered, now), screen.Some(d.Held, "job"))
	if d.Next > now {
		words += "; not asked again for " + screen.Seconds(d.Next-now)
	}
	return words
}

// readThrottle tells of a throttle, and of the waitlists that wait for it; all are those of the rules.
func readThrottle(ctx context.Context, q *queue.Client, all map[string]rules.CompiledThrottle, id string) (Throttle, []queue.Waitlist, error) {
	states, err := readStates(ctx, q, all, []string{id})
	if err != nil {
		return Throttle{}, nil, err
	}
	if states[0].Err != nil {
		return Throttle{}, nil, states[0].Err
	}
	t, err := throttleOf(ctx, q, &states[0])
	return t, states[0].Waitlists, err
}

// readStates reads throttles, each with what limits it now; all are those of the rules.
func readStates(ctx context.Context, q *queue.Client, all map[string]rules.CompiledThrottle, ids []string) ([]queue.ThrottleState, error) {
	states, err := q.ThrottleStates(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var limits []*queue.RuledLimit
	for i := range states {
		if states[i].Err == nil {
			limits = append(limits, &states[i].RuledLimit)
		}
	}
	return states, explain.PartsOf(ctx, q, all, limits...)
}

// throttleOf tells of a throttle by its state, and asks for those that wait for it by rules if some do.
func throttleOf(ctx context.Context, q *queue.Client, s *queue.ThrottleState) (Throttle, error) {
	listed, err := q.Waitlisted(ctx, s.Waitlists, mostWaiters)
	out := Throttle{
		ID: s.ID, Maximum: s.Maximum, TTL: s.TTL.Seconds(), Rule: s.Rule, ByHand: s.ByHand, Holders: []string{},
		Waiting: s.Waiting + queue.JobsOf(s.Waitlists), Waiters: list(append(s.Pending, listed...)),
	}
	out.places = s.Holders
	for _, holder := range s.Holders {
		out.Used += holder.Places
		out.Holders = append(out.Holders, holder.JID)
		out.Held = append(out.Held, Holding{holder.JID, holder.Places, holder.Leaving})
	}
	if len(s.Waitlists) > 0 {
		out.Oldest = s.Waitlists[0].Since
	}
	return out, err
}

// mostWaiters is how many of the jobs in waitlists are named.
const mostWaiters = 1000

// throttlesPatience is for how long Throttles looks.
const throttlesPatience = 5 * time.Second

// Throttles lists those that have a limit, or rules, or cannot be read; more tells that there may be others, for the protocol keeps no list of
// them, and there are more keys in Redis than can be looked through in a few seconds: all lets it take whatever time that takes.
func Throttles(ctx context.Context, q *queue.Client, all bool) (found []Throttle, more bool, err error) {
	found = []Throttle{}
	met := map[string]bool{}
	began := time.Now()
	for cursor := ""; ; {
		ids, next, err := q.ThrottleNames(ctx, cursor, 1000)
		if err != nil {
			return nil, false, err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return met[id] })
		for _, id := range ids {
			met[id] = true
		}
		some, err := limitsOf(ctx, q, ids)
		if err != nil {
			return nil, false, err
		}
		found = append(found, some...)
		cursor, more = next, next != ""
		if !more || !all && time.Since(began) > throttlesPatience {
			slices.SortFunc(found, func(a, b Throttle) int { return cmp.Compare(a.ID, b.ID) })
			return found, more, nil
		}
	}
}

// ThrottlesIn is Throttles a part at a time: of those of the rules, and those for which somebody waits by them, first. A part may be empty though another comes
// behind it, and a throttle may be in two. Its Total is -1 where they are more than a part, for nobody counts them.
func ThrottlesIn(ctx context.Context, q *queue.Client, w Window) (Part[Throttle], error) {
	ids, next, err := q.ThrottleNames(ctx, w.Cursor, w.limit())
	if err != nil {
		return Part[Throttle]{}, cursorError(err)
	}
	found, err := limitsOf(ctx, q, ids)
	part := Part[Throttle]{found, next, len(found), q.Now()}
	if next != "" || w.Cursor != "" {
		part.Total = -1
	}
	return part, err
}

// limitsOf tells of those that have a limit, or rules, or cannot be read.
func limitsOf(ctx context.Context, q *queue.Client, ids []string) ([]Throttle, error) {
	found := []Throttle{}
	set := ruleSet(ctx, q)
	all := rules.Compile(set).Throttles
	states, err := readStates(ctx, q, all, ids)
	if err != nil {
		return nil, err
	}
	for i := range states {
		id := states[i].ID
		t, err := throttleOf(ctx, q, &states[i])
		if states[i].Err != nil {
			err = states[i].Err
		}
		switch {
		case queue.Class(err) == queue.Refused:
			t = Throttle{ID: id, Holders: []string{}, Waiters: []string{}, Damage: cmp.Or(q.ThrottleDamage(ctx, id), err.Error())}
		case err != nil:
			return nil, err
		case t.Maximum == 0 && t.TTL == 0 && t.Waiting == 0 && t.Rule == nil:
			continue // it has no limit, and holds nobody up
		}
		t.Held, t.Limits = nil, limitsBeside(set.Throttles[id])
		found = append(found, t)
	}
	return found, nil
}

// ThrottleCount is a limit on how many jobs run at a time, and how many have to do with it.
type ThrottleCount struct {
	ID      string   `json:"id"`
	Maximum int      `json:"maximum"`
	TTL     float64  `json:"ttl"` // seconds; 0 for ever
	Holders int      `json:"holders"`
	Waiters int      `json:"waiters"`          // as Throttle.Waiting
	Limits  []string `json:"limits,omitempty"` // as of Throttle
}

// SomeThrottles are throttles that were found among some of the keys of Redis.
type SomeThrottles struct {
	Items []ThrottleCount `json:"items"`          // by name
	Next  string          `json:"next,omitempty"` // the cursor to look further with; "" if all keys were looked at
	AsOf  float64         `json:"as_of"`
}

// ThrottlesFrom counts as ThrottlesIn tells.
func ThrottlesFrom(ctx context.Context, q *queue.Client, w Window) (SomeThrottles, error) {
	ids, next, err := q.ThrottleNames(ctx, w.Cursor, w.limit())
	if err != nil {
		return SomeThrottles{}, cursorError(err)
	}
	found, err := q.CountThrottles(ctx, ids)
	set := ruleSet(ctx, q)
	all := rules.Compile(set).Throttles
	some := SomeThrottles{[]ThrottleCount{}, next, q.Now()}
	if err != nil {
		return some, err
	}
	limits, err := limitsOfValues(ctx, q, all, found)
	if err != nil {
		return some, err
	}
	for _, t := range found {
		if limit, is := limits[t.ID]; is {
			t.Maximum = limit
		}
		some.Items = append(some.Items, ThrottleCount{t.ID, t.Maximum, t.TTL.Seconds(), t.Holders, t.Waiters, limitsBeside(set.Throttles[t.ID])})
	}
	return some, err
}

// limitsOfValues is what limits those of throttles now that may be of a value, by name.
func limitsOfValues(ctx context.Context, q *queue.Client, all map[string]rules.CompiledThrottle, found []queue.ThrottleCounts) (map[string]int, error) {
	var ids []string
	for _, t := range found {
		if strings.Contains(t.ID, "=") {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	limits, err := q.RuledLimits(ctx, ids...)
	if err != nil {
		return nil, err
	}
	parts, now := make([]*queue.RuledLimit, len(limits)), map[string]int{}
	for i := range limits {
		parts[i] = &limits[i]
	}
	err = explain.PartsOf(ctx, q, all, parts...)
	for _, limit := range limits {
		now[limit.ID] = limit.Maximum
	}
	return now, err
}

// ShowThrottle tells of a throttle that has a limit, or that a job names at the moment, or the rules.
func ShowThrottle(ctx context.Context, s explain.Sources, id string) (Throttle, error) {
	t, lists, err := readThrottle(ctx, s.Client, rules.Compile(ruleSet(ctx, s.Client)).Throttles, id)
	if err != nil {
		return t, err
	}
	if t.Maximum == 0 && len(t.Holders) == 0 && t.Waiting == 0 && t.Rule == nil {
		return t, missing("there is no throttle %s: it has no limit, and no job names it at the moment", id)
	}
	t.Waitlists = lists[:min(len(lists), mostParts)]
	if t.Rule != nil {
		if err := t.addRules(ctx, s.Client, lists); err != nil {
			return t, err
		}
	}
	if t.Idle, err = s.Idle(ctx, id, t.places); err != nil {
		return t, err
	}
	return t, t.addQueue(ctx, s.Client)
}

// addQueue adds, to a queue's own limit, what waits in the queue and was not asked yet whether it needs to wait for that.
func (t *Throttle) addQueue(ctx context.Context, q *queue.Client) error {
	_, name, own := strings.Cut(t.ID, ":q:")
	if !own {
		return nil
	}
	limit, err := q.RuledQueueLimit(ctx, name)
	if err != nil || limit.ID != t.ID {
		return err
	}
	counts, err := q.Queue(ctx, name)
	t.Unasked = counts.Waiting
	return err
}

// SetThrottle sets how many jobs may hold a throttle, 0 being any number, and for how long, 0 being for ever.
func SetThrottle(ctx context.Context, q *queue.Client, t queue.Throttle, sure Sure) error {
	if t.TTL < 0 {
		return &Wrong{"ttl", "is negative; without it the limit stays"}
	}
	if err := NewName("throttle", t.ID, sure); err != nil {
		return err
	}
	if err := freeKey(t.ID, sure); err != nil {
		return err
	}
	limit, err := q.RuledLimit(ctx, t.ID)
	if err != nil {
		return err
	}
	if limit.Rule != nil && t.TTL > 0 {
		return &Wrong{"ttl", "is not for a throttle of the rules: with the limit its rule would be forgotten; `oarlock throttle unset` takes it back"}
	}
	return q.SetThrottle(ctx, t)
}

// UnsetThrottle lets the limit of a throttle be again what the rules say, which it returns, with what else they limit there.
func UnsetThrottle(ctx context.Context, q *queue.Client, id string) (limit int, beside []string, err error) {
	ruled, err := q.RuledLimit(ctx, id)
	switch {
	case err != nil:
		return 0, nil, err
	case ruled.Rule == nil:
		return 0, nil, missing("no rule says anything of %s; `oarlock throttle rm` removes its limit", id)
	case ruled.ByHand:
		err = q.SetThrottle(ctx, queue.Throttle{ID: id, Maximum: *ruled.Rule})
	}
	return *ruled.Rule, limitsBeside(ruleSet(ctx, q).Throttles[id]), err
}

// RemoveThrottle removes the limit of a throttle.
func RemoveThrottle(ctx context.Context, q *queue.Client, id string) error {
	limit, err := q.RuledLimit(ctx, id)
	switch {
	case err != nil:
		return err
	case limit.Maximum == 0 && !limit.Set:
		return missing("%s had no limit", id)
	case limit.Rule != nil: // its rule stays, and says what was taken away
		return q.SetThrottle(ctx, queue.Throttle{ID: id})
	}
	return q.DeleteThrottle(ctx, id)
}

// ReleaseThrottle makes jobs give a throttle up; it wants each to hold it. One that waits would
// leave the line by the protocol's command, and be in no place from which it could be taken.
func ReleaseThrottle(ctx context.Context, q *queue.Client, id string, jids []string) error {
	t, _, err := readThrottle(ctx, q, nil, id)
	if err != nil {
		return err
	}
	for _, jid := range jids {
		if slices.Contains(t.Waiters, jid) {
			return otherwise("%s does not hold %s but waits for it: raise its limit, or release one that holds it; nothing was done", jid, id)
		}
		if !slices.Contains(t.Holders, jid) {
			return otherwise("%s does not hold %s; nothing was done", jid, id)
		}
	}
	return q.ReleaseThrottle(ctx, id, jids...)
}
