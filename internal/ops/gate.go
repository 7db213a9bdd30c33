package ops

import (
	"context"
	"maps"
	"slices"
	"strings"

	"oarlock/internal/accord"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// mostParts is how many waitlists and values of a throttle are told of.
const mostParts = 100

// addRules adds what the rules say of a throttle, and how that stands; lists are the waitlists that wait for it.
func (t *Throttle) addRules(ctx context.Context, q *queue.Client, lists []queue.Waitlist) error {
	set, _, err := accord.ReadSet(ctx, q)
	if err != nil {
		return err
	}
	rule, ruled := rules.Compile(set).Throttles[t.ID]
	if !ruled {
		return nil // it is that of a value, or of a queue
	}
	if t.Decider, err = deciderOf(ctx, q, t.ID, rule); err != nil {
		return err
	}
	t.By, t.Limits = set.Throttles[t.ID].By, limitsBeside(set.Throttles[t.ID])
	if t.Rate, err = rateOf(ctx, q, t.ID, rule); err != nil || t.By == "" {
		return err
	}
	waiting := map[string]int{}
	for _, list := range lists {
		waiting[list.Party] += list.Jobs
	}
	names, err := valuesOf(ctx, q, t.ID, rule, waiting)
	if err != nil {
		return err
	}
	t.Values, err = valuesNow(ctx, q, t, rule, names, waiting)
	return err
}

// ruleSet are the rules that count; none where they cannot be read, which others tell of.
func ruleSet(ctx context.Context, q *queue.Client) rules.Set {
	_, doc, err := accord.Read(ctx, q)
	if err != nil {
		return rules.Set{}
	}
	set, err := doc.Set()
	if err != nil {
		return rules.Set{}
	}
	return set
}

// limitsBeside says what a throttle limits beside how many places it has.
func limitsBeside(rule rules.Throttle) (words []string) {
	if rule.Rate != "" {
		words = append(words, rule.Rate)
	}
	if rule.Each > 0 {
		words = append(words, screen.Count(rule.Each)+" of each value")
	}
	if rule.Asks {
		words = append(words, "its command")
	}
	return words
}

// LimitWords say what limits how many jobs run, in the space of a table.
func LimitWords(maximum int, beside []string) string {
	words := beside
	if maximum > 0 {
		words = append([]string{screen.Count(maximum)}, words...)
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// deciderOf is how it stands with the command of a throttle; nil if it has none.
func deciderOf(ctx context.Context, q *queue.Client, id string, rule rules.CompiledThrottle) (*Decider, error) {
	if rule.Asks == "" {
		return nil, nil
	}
	d, err := q.Decider(ctx, id)
	missing := d.Seen+queue.DeciderMissed.Seconds() <= q.Now()
	return &Decider{OnFailure: rule.Asks, Seen: d.Seen, Missing: missing, By: d.By, Asking: d.Asking, Answered: d.At, Trouble: d.Trouble, Next: d.Next, Held: d.Held}, err
}

// rateOf is the rate of a throttle; nil if it has none.
func rateOf(ctx context.Context, q *queue.Client, id string, rule rules.CompiledThrottle) (*ThrottleRate, error) {
	if len(rule.Rate) != 3 {
		return nil, nil
	}
	r := &ThrottleRate{Starts: int(rule.Rate[0]), Period: rule.Rate[1], Burst: int(rule.Rate[2]), Sliding: rule.Sliding}
	if rule.Sliding {
		var err error
		r.Next, err = q.NextStart(ctx, id, r.Starts, r.Period)
		return r, err
	}
	limit, err := q.RuledLimit(ctx, id)
	now := q.Now()
	if next := max(limit.Full, now) + float64(1-r.Burst)*r.Period/float64(r.Starts); next > now {
		r.Next = next
	}
	return r, err
}

// valuesOf names the values of a throttle that are told of: those that shares name first, then those that are used or waited for.
func valuesOf(ctx context.Context, q *queue.Client, id string, rule rules.CompiledThrottle, waiting map[string]int) ([]string, error) {
	names := slices.Sorted(maps.Keys(rule.Shares))
	if len(names) > 0 {
		names = append(names, rules.OtherValues)
	}
	used, err := q.ThrottleValues(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, name := range sorted(slices.Concat(used, slices.Collect(maps.Keys(waiting)))) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) >= mostParts {
			break
		}
	}
	return names, nil
}

// valuesNow tells how values of a throttle stand.
func valuesNow(ctx context.Context, q *queue.Client, t *Throttle, rule rules.CompiledThrottle, names []string, waiting map[string]int) ([]ThrottleValue, error) {
	if len(names) == 0 {
		return nil, nil
	}
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = t.ID + "=" + name
	}
	limits, err := q.RuledLimits(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var all []ThrottleValue
	for i, name := range names {
		lists, err := q.Waitlists(ctx, ids[i]) // of jobs that wait for its own part
		if err != nil {
			return nil, err
		}
		v := ThrottleValue{Value: name, Share: rule.Shares[name], Cap: rule.CapOf(name, t.Maximum), Used: limits[i].Used, Waiting: waiting[name] + queue.JobsOf(lists)}
		if name == rules.OtherValues {
			v.Share = rule.Others
		}
		if limits[i].Set {
			v.Cap = limits[i].Maximum
		}
		all = append(all, v)
	}
	return all, nil
}
