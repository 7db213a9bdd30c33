package ops

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"oarlock/internal/accord"
	"oarlock/internal/config"
	"oarlock/internal/cron"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Rules are the rules that count.
type Rules struct {
	Version   string  `json:"version,omitempty"`   // "" if there never were any
	Installed float64 `json:"installed,omitempty"` // in seconds since the epoch
	Rules     []Rule  `json:"rules"`               // by name
}

// Rule is one table of the rules.
type Rule struct {
	Entry    string          `json:"entry"` // throttles.erp
	Owner    string          `json:"owner"`
	Revision int             `json:"revision"`
	Rule     json.RawMessage `json:"rule"`
	ByHand   *int            `json:"by_hand,omitempty"` // the limit that somebody set in place of that of the rule
}

// ShowRules tells of the rules that count; of those whose table, or whose name without it, is among names, if there are any.
func ShowRules(ctx context.Context, q *queue.Client, names []string) (Rules, error) {
	there, doc, err := accord.Read(ctx, q)
	if err != nil {
		return Rules{}, err
	}
	out := Rules{there.Version, there.At, []Rule{}}
	named := make(map[string]bool)
	for _, entry := range slices.Sorted(maps.Keys(doc.Entries)) {
		_, short, _ := strings.Cut(entry, ".")
		if len(names) > 0 && !slices.Contains(names, entry) && !slices.Contains(names, short) {
			continue
		}
		named[entry], named[short] = true, true
		e := doc.Entries[entry]
		rule := Rule{Entry: entry, Owner: e.Owner, Revision: e.Revision, Rule: e.Rule}
		if rule.ByHand, err = byHand(ctx, q, entry); err != nil {
			return Rules{}, err
		}
		out.Rules = append(out.Rules, rule)
	}
	for _, name := range names {
		if !named[name] {
			return Rules{}, missing("there is no rule %s%s", name, Nearest(name, slices.Collect(maps.Keys(doc.Entries))))
		}
	}
	return out, nil
}

// byHand is the limit that somebody set in place of that of an entry; nil if nobody did, or it has none.
func byHand(ctx context.Context, q *queue.Client, entry string) (*int, error) {
	var limit queue.RuledLimit
	var err error
	if name, is := strings.CutPrefix(entry, "throttles."); is {
		limit, err = q.RuledLimit(ctx, name)
	} else if name, is := strings.CutPrefix(entry, "queues."); is {
		limit, err = q.RuledQueueLimit(ctx, name)
	}
	if err != nil || !limit.ByHand {
		return nil, err
	}
	return &limit.Maximum, nil
}

// RulesDifference is what a start or a reload with a file would change.
type RulesDifference struct {
	Changes   []rules.Change   `json:"changes"`
	Conflicts []rules.Conflict `json:"conflicts"`         // what it would not, for another file says otherwise
	Refused   string           `json:"refused,omitempty"` // why none of Changes can be done now; "" if they can
}

// Same reports whether there is no difference.
func (d RulesDifference) Same() bool { return len(d.Changes)+len(d.Conflicts) == 0 }

// DiffRules compares a file with the rules that count.
func DiffRules(ctx context.Context, q *queue.Client, file rules.File) (RulesDifference, error) {
	_, doc, err := accord.Read(ctx, q)
	if err != nil {
		return RulesDifference{}, err
	}
	after, conflicts := doc.Agree(file, false)
	diff := RulesDifference{Changes: doc.Changes(after), Conflicts: conflicts}
	if why := refused(ctx, q, doc, after); why != nil {
		var not *Missing
		if !errors.As(why, &not) {
			return RulesDifference{}, why
		}
		diff.Refused = not.Error()
	}
	return diff, nil
}

// ChangedRules are rules that were changed, or would be.
type ChangedRules struct {
	Changes []rules.Change `json:"changes"`
	DryRun  bool           `json:"dry_run"`
}

// ApplyRules makes the rules of a file count, whatever other files say of the same tables, and returns what has changed;
// with dry, what would. It is in doubt about tables of other owners. waits is told, if it is not nil, how long this
// takes, where it does: the first rules of a key space are announced before they count.
func ApplyRules(ctx context.Context, q *queue.Client, file rules.File, dry bool, sure Sure, waits func(time.Duration)) ([]rules.Change, error) {
	_, doc, err := accord.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	after, _ := doc.Agree(file, true)
	changes := doc.Changes(after)
	if dry {
		return changes, refused(ctx, q, doc, after)
	}
	if len(changes) == 0 {
		return nil, nil
	}
	var taken []string
	for _, change := range changes {
		if was, had := doc.Entries[change.Entry]; had && was.Owner != file.Owner {
			taken = append(taken, change.Entry+" of "+was.Owner)
		}
	}
	if err := sureToTake(taken, sure); err != nil {
		return nil, err
	}
	r, err := accord.Apply(ctx, telling{q, waits}, func(d rules.Document) (rules.Document, []rules.Conflict) { return d.Agree(file, true) })
	if err != nil {
		return nil, polarity(err)
	}
	return r.Before.Changes(r.After), nil
}

// sureToTake is in doubt about tables of other owners, each named with its own.
func sureToTake(taken []string, sure Sure) error {
	if len(taken) == 0 {
		return nil
	}
	return sure.of("This takes over %s, whose file says otherwise.", strings.Join(taken, ", "))
}

// ApplyOrders makes what a file says of the order of queues count, whatever other files say, and returns what has changed; with
// dry, what would. It is in doubt about queues of other owners.
func ApplyOrders(ctx context.Context, q *queue.Client, file queue.OrderFile, dry bool, sure Sure) ([]rules.Change, error) {
	would, err := q.SetKeyOrder(ctx, file, queue.LookAtOrder)
	if err != nil || len(would) == 0 {
		return nil, err
	}
	var taken []string
	var changes []rules.Change
	for _, c := range would {
		change := rules.Change{Entry: "queues." + c.Queue + ".order", Word: "added", Is: orderText("order=key")}
		for _, o := range file.Orders {
			if o.Queue == c.Queue {
				change.Is = orderText(o.Settings())
			}
		}
		if c.Was != "" {
			change.Word, change.Was = "changed", orderText(c.Was)
		}
		if changes = append(changes, change); c.Owner != "" && c.Owner != file.Owner {
			taken = append(taken, change.Entry+" of "+c.Owner)
		}
	}
	if dry {
		return changes, nil
	}
	if err := sureToTake(taken, sure); err != nil {
		return nil, err
	}
	_, err = q.SetKeyOrder(ctx, file, queue.ForceOrders)
	return changes, err
}

// Uninstalled names the tables of a file's rules that concern jobs and that Redis does not have, or has otherwise: they do not count
// for these jobs. Redis is not asked where the file says nothing of the jobs.
func Uninstalled(ctx context.Context, q *queue.Client, file rules.File, orders queue.OrderFile, jobs []rules.Job) ([]string, error) {
	lacking := map[string]bool{}
	var parts []rules.Set
	keyed := queue.OrderFile{Owner: orders.Owner, Revision: orders.Revision}
	for _, job := range jobs {
		if part := file.Set.Concerning(job); !part.Empty() {
			parts = append(parts, part)
		}
	}
	for _, o := range orders.Orders {
		if slices.ContainsFunc(jobs, func(job rules.Job) bool { return job.Queue == o.Queue }) {
			keyed.Orders = append(keyed.Orders, o)
		}
	}
	if len(parts) > 0 {
		_, doc, err := accord.Read(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			for _, name := range doc.Lacks(part) {
				lacking[name] = true
			}
		}
	}
	if len(keyed.Orders) > 0 {
		changes, err := q.SetKeyOrder(ctx, keyed, queue.LookAtOrder)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if slices.ContainsFunc(keyed.Orders, func(o queue.KeyOrder) bool { return o.Queue == c.Queue }) {
				lacking["queues."+c.Queue+".order"] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(lacking)), nil
}

// orderText is the order of a queue as the JSON of a rule; settings are words as turns=fair.
func orderText(settings string) json.RawMessage {
	members := map[string]string{}
	for word := range strings.FieldsSeq(settings) {
		name, value, _ := strings.Cut(word, "=")
		members[name] = value
	}
	text, err := json.Marshal(members)
	if err != nil {
		panic(err) // texts have JSON
	}
	return text
}

// telling is a store that tells when somebody has to be waited for.
type telling struct {
	*queue.Client
	waits func(time.Duration)
}

func (t telling) NeedRules(ctx context.Context) (since float64, err error) {
	since, err = t.Client.NeedRules(ctx)
	if left := accord.Left(since, t.Now()); left > 0 && err == nil && t.waits != nil {
		t.waits(left.Round(time.Second / 10))
	}
	return since, err
}

// RemoveRules takes rules away, all of them without names, until a supervisor that has them in its file is started or
// reloaded; with dry it only tells what would go.
func RemoveRules(ctx context.Context, q *queue.Client, names []string, dry bool, sure Sure) ([]rules.Change, error) {
	_, doc, err := accord.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	after, unknown := doc.Without(names...)
	if len(unknown) > 0 {
		return nil, missing("there is no rule %s%s; rules have the names of their tables, such as throttles.erp", unknown[0], Nearest(unknown[0], slices.Collect(maps.Keys(doc.Entries))))
	}
	changes := doc.Changes(after)
	if dry {
		return changes, refused(ctx, q, doc, after)
	}
	if len(changes) == 0 {
		return nil, nil
	}
	if len(names) == 0 {
		if err := sure.of("This takes all rules away (%s).", screen.Some(len(changes), "table")); err != nil {
			return nil, err
		}
	}
	r, err := accord.Apply(ctx, q, func(d rules.Document) (rules.Document, []rules.Conflict) {
		next, _ := d.Without(names...)
		return next, nil
	})
	if err != nil {
		return nil, polarity(err)
	}
	return r.Before.Changes(r.After), nil
}

// refused says with what error these rules would be refused in place of those that are there: nil if they would not.
func refused(ctx context.Context, q *queue.Client, there, after rules.Document) error {
	var low [2][]string
	for i, doc := range []rules.Document{there, after} {
		set, err := doc.Set()
		if err != nil {
			return err
		}
		low[i] = rules.Compile(set).LowFirst
	}
	turned := slices.DeleteFunc(slices.Concat(low[0], low[1]), func(name string) bool {
		return slices.Contains(low[0], name) && slices.Contains(low[1], name)
	})
	slices.Sort(turned)
	counts, err := q.CountQueues(ctx, turned)
	for _, n := range counts {
		if jobs := n.Waiting + n.Running + n.Stalled + n.Scheduled + n.Depends + n.Recurring + n.Throttled; jobs > 0 {
			return polarity(&queue.PolarityError{Queue: n.Name, Jobs: jobs})
		}
	}
	return err
}

// polarity is err as a sentence for whoever has to empty a queue first.
func polarity(err error) error {
	var busy *queue.PolarityError
	if errors.As(err, &busy) {
		return otherwise("queues.%s.priority: %v", busy.Queue, busy)
	}
	return err
}

// Needs is what a job would need to run.
type Needs struct {
	Queue    string       `json:"queue"`
	Klass    string       `json:"klass"`
	Ruled    bool         `json:"ruled"`
	Table    string       `json:"klass_rule,omitempty"` // the [klass] table that counts for it
	Bypass   bool         `json:"bypass"`
	Weight   int          `json:"weight"`
	Windows  []NextWindow `json:"windows"`
	Places   []NeedsPlace `json:"places"`
	First    string       `json:"first"`
	Slice    float64      `json:"slice,omitempty"`
	Ageing   float64      `json:"ageing,omitempty"`
	LowFirst bool         `json:"low_first"`
	FairBy   string       `json:"fair_by,omitempty"`    // by what the queue is fair
	Value    string       `json:"fair_value,omitempty"` // of the job: in whose turn it starts
	Unread   bool         `json:"unread,omitempty"`     // its data is too long to be looked into for a value
}

// NeedsPlace is a throttle of which a job needs places.
type NeedsPlace struct {
	rules.Place
	Limit  int     `json:"limit"`           // 0: none
	Cap    int     `json:"cap,omitempty"`   // of the value, of the limit of all; what is beyond is lent, or not to be had
	Lent   bool    `json:"lent,omitempty"`  // more than the cap may be had, as long as nobody else needs it
	Rate   string  `json:"rate,omitempty"`  // starts in a time
	Next   float64 `json:"next,omitempty"`  // when the next may start by that; 0: now
	Used   int     `json:"used"`            // places that are taken now
	ByHand bool    `json:"by_hand"`         // somebody set the limit in place of the rules
	Queue  bool    `json:"queue,omitempty"` // it is the queue's own limit
	Asks   bool    `json:"asks,omitempty"`  // its command decides

	read float64 // when this was so
}

// ExplainRules tells what a job would need by the rules that count, and how much of that there is now. What it wants itself is said by wants, and not
// by job.
func ExplainRules(ctx context.Context, q *queue.Client, job rules.Job, wants queue.Wants) (Needs, error) {
	if err := wants.Check(); err != nil {
		return Needs{}, wrong("%v", err)
	}
	if len(job.Data) > 0 {
		if err := CheckJSON(job.Data); err != nil {
			return Needs{}, wrong("the data is not JSON: %v", err)
		}
	}
	set, _, err := accord.ReadSet(ctx, q)
	if err != nil {
		return Needs{}, err
	}
	wanted := wants.Wanted()
	for _, name := range wanted.Windows {
		if _, ok := set.Window(name); !ok {
			return Needs{}, wrong("the rules have no window %q", name)
		}
	}
	job.Weight, job.Bypass, job.Windows = wanted.Weight, wanted.Bypass, wanted.Windows
	n := set.Needs(job)
	if says := wanted.Weight > 0 || wanted.Bypass || len(wanted.Windows) > 0; says && !n.Ruled {
		return Needs{}, wrong("weight, bypass and windows count where a queue has rules, and queue %s has none: such a put is refused", job.Queue)
	}
	out := Needs{
		Queue: job.Queue, Klass: job.Klass, Ruled: n.Ruled, Table: n.Klass, Bypass: n.Bypass, Weight: n.Weight, Windows: []NextWindow{}, Places: []NeedsPlace{},
		First: n.Order.First, Ageing: n.Order.Ageing, LowFirst: n.Order.Priority == rules.Priorities[1],
		FairBy: n.FairBy, Value: n.Value, Unread: n.Value != "" && len(job.Data) > rules.MostData,
	}
	if n.Order.First == rules.Firsts[1] {
		out.Slice = n.Order.Slice
	}
	now := cron.At(q.Now())
	for _, name := range n.Windows {
		w, err := nextWindow(name, set, now)
		if err != nil {
			return Needs{}, err
		}
		out.Windows = append(out.Windows, w)
	}
	if n.Bypass {
		return out, nil
	}
	compiled := rules.Compile(set)
	for _, place := range n.Places {
		out.Unread = out.Unread || place.Value != "" && len(job.Data) > rules.MostData
		p, err := needsPlace(ctx, q, place, set, compiled)
		if err != nil {
			return Needs{}, err
		}
		out.Places = append(out.Places, p)
	}
	limit, err := q.RuledQueueLimit(ctx, job.Queue)
	if err == nil && n.Ruled && limit.Maximum > 0 {
		out.Places = append(out.Places, NeedsPlace{Place: rules.Place{ID: limit.ID}, Limit: limit.Maximum, Used: limit.Used, ByHand: limit.ByHand, Queue: true})
	}
	return out, err
}

func needsPlace(ctx context.Context, q *queue.Client, place rules.Place, set rules.Set, compiled rules.Compiled) (NeedsPlace, error) {
	limit, err := q.RuledLimit(ctx, place.ID)
	if err != nil {
		return NeedsPlace{}, err
	}
	out := NeedsPlace{Place: place, Limit: limit.Maximum, Used: limit.Used, ByHand: limit.ByHand}
	t := compiled.Throttles[place.Throttle]
	out.Asks = t.Asks != ""
	if place.Value == "" || place.Base {
		out.Rate, out.read = set.Throttles[place.Throttle].Rate, q.Now()
		rate, err := rateOf(ctx, q, place.ID, t)
		if rate != nil {
			out.Next = rate.Next
		}
		return out, err
	}
	base, err := q.RuledLimit(ctx, place.Throttle)
	if limit.Set { // it counts in place of the value's part, and nothing is lent beyond it
		out.Cap, out.ByHand = limit.Maximum, true
		return out, err
	}
	out.Cap, out.Lent = t.CapOf(place.Value, base.Maximum), t.Borrow
	return out, err
}

// CheckRules is what differs between a file and the rules that count, as problems of the file.
func CheckRules(ctx context.Context, q *queue.Client, cfg config.Config) (config.Problems, error) {
	_, doc, err := accord.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	_, conflicts := doc.Agree(cfg.RulesFile(), false)
	var problems config.Problems
	for _, c := range conflicts {
		problems = append(problems, config.Problem{File: cfg.Path, Key: c.Entry, Why: strings.TrimPrefix(c.String(), c.Entry+": ")})
	}
	return problems, nil
}
