package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/web/pages"
)

// A deed on many jobs is a plain form in two steps: the first counts and shows what would be done, the second does it by
// that plan. No plan is kept here: it stands in the form, so that any process may go on with it.

// bulkVerbs are the deeds on many jobs, as buttons call them.
var bulkVerbs = map[string]struct {
	verb        string
	irrevocable bool
}{
	"retry": {verb: "Retry"}, "drop": {"Drop", true}, "move": {verb: "Move"}, "now": {verb: "Run now"}, "cancel": {"Cancel", true}, "take_back": {verb: "Take back"},
}

// bulkActs are the two steps.
func (a *App) bulkActs() []act {
	return []act{
		{path: "/bulk", does: "count for bulk", do: func(c *Call) (string, string, error) { return "", "", a.bulkPlan(c) }},
		{path: "/bulk/do", does: "bulk", do: func(c *Call) (string, string, error) { return "", "", a.bulkDo(c) }},
	}
}

// bulkDeeds are the buttons of a group of failures.
func (a *App) bulkDeeds(group string, f pages.Filter) []pages.Deed {
	fields := []pages.Field{whereField(ops.Filter{Group: group, Queue: f.Queue, Klass: f.Klass, Key: f.Key, Message: f.Message}), {Name: "since", Value: f.Since}, {Name: "before", Value: f.Before}}
	var deeds []pages.Deed
	for _, action := range []string{"retry", "move", "drop"} {
		deed := a.bulkDeed(action, fields)
		if f.Any() {
			deed.Label = bulkVerbs[action].verb + " all that match…"
		}
		deeds = append(deeds, deed)
	}
	deeds[0].Tone = pages.Good
	return deeds
}

// whereField is a filter in a form: as JSON, for browsers change line breaks in what they send.
func whereField(where ops.Filter) pages.Field {
	text, _ := json.Marshal(where) // of texts and numbers: cannot fail
	return pages.Field{Name: "where", Value: string(text)}
}

// stateDeeds are those of the jobs of a queue in a state.
func (a *App) stateDeeds(queue, state string, jobs int) []pages.Deed {
	actions := map[string][]string{"scheduled": {"now", "cancel"}, "running": {"take_back"}, "waiting": {"move", "cancel"}, "depends": {"cancel"}, "throttled": {"cancel"}}[state]
	var deeds []pages.Deed
	for _, action := range actions {
		if jobs > 0 {
			deeds = append(deeds, a.bulkDeed(action, []pages.Field{whereField(ops.Filter{Queue: queue, State: state})}))
		}
	}
	return deeds
}

func (a *App) bulkDeed(action string, fields []pages.Field) pages.Deed {
	verb := bulkVerbs[action]
	deed := pages.Deed{Label: verb.verb + " all…", Action: a.book().Link("bulk"), Fields: append([]pages.Field{{Name: "action", Value: action}}, fields...)}
	if verb.irrevocable {
		deed.Tone = pages.Bad
	}
	return deed
}

// bulkAsked is the deed that a form asks for. since and before are durations there, moments in a plan.
func (a *App) bulkAsked(c *Call) (ops.Bulk, error) {
	if err := c.R.ParseForm(); err != nil {
		return ops.Bulk{}, badField("form", "%v", err)
	}
	form := c.R.PostForm
	b := ops.Bulk{Action: form.Get("action"), To: form.Get("to")}
	if err := json.Unmarshal([]byte(form.Get("where")), &b.Where); err != nil {
		return b, badField("where", "it is no filter that a page made")
	}
	times, err := a.failureFilter("", pages.Filter{Since: form.Get("since"), Before: form.Get("before")})
	if times.Since != nil {
		b.Where.Since = times.Since
	}
	if times.Before != nil {
		b.Where.Before = times.Before
	}
	return b, err
}

// bulkWhat says in words which jobs are meant.
func bulkWhat(f ops.Filter) string {
	text := "jobs"
	add := func(format, value string) {
		if value != "" {
			text += fmt.Sprintf(format, shown(value))
		}
	}
	add(" that are %s", f.State)
	add(" of group %s", f.Group)
	add(" of queue %s", f.Queue)
	add(" of class %s", f.Klass)
	add(" of key %s", f.Key)
	add(" whose message contains %q", f.Message)
	return text
}

// bulkPage begins a page of a deed.
func (a *App) bulkPage(c *Call, b ops.Bulk) (pages.Page, pages.Bulk, error) {
	verb, known := bulkVerbs[b.Action]
	if !known {
		return pages.Page{}, pages.Bulk{}, badField("action", "%q is none", shown(b.Action))
	}
	p := a.frame(c)
	body := pages.Bulk{
		Verb: verb.verb, Does: strings.ToLower(verb.verb), What: bulkWhat(b.Where), Failed: b.Where.Group != "", Action: a.book().Link("bulk", "do"), Irrevocable: verb.irrevocable, Back: a.book().Link("failures"),
		Fields: []pages.Field{{Name: "action", Value: b.Action}, whereField(b.Where)},
	}
	switch {
	case b.Where.Group != "":
		body.Back = a.book().Link("failures", b.Where.Group)
	case b.Where.Queue != "":
		body.Back, _ = pages.Query(a.book().Link("queues", b.Where.Queue), "state", b.Where.State)
	}
	p.Title, p.Section = verb.verb+" "+body.What, "/failures"
	return p, body, nil
}

// bulkPlan counts what a deed would be done to, and asks.
func (a *App) bulkPlan(c *Call) error {
	b, err := a.bulkAsked(c)
	if err != nil {
		return err
	}
	p, body, err := a.bulkPage(c, b)
	if err != nil {
		return err
	}
	asked := b
	if b.Action == "move" && b.To == "" {
		asked.To = "-" // which queue it is is asked on the page that counts
	}
	plan, err := asked.DryRun(c.R.Context(), a.o.Redis)
	if err != nil {
		return err
	}
	c.Did(body.What, plan.Count)
	now := a.o.Redis.Now()
	body.Count, body.Typed, body.To = plan.Count, plan.Number, b.Action == "move"
	body.ByKlass, body.ByQueue = tallies(plan.ByKlass), tallies(plan.ByQueue)
	body.Span = fmt.Sprintf("The oldest is from %s, the newest from %s.", pages.Ago(now-plan.Oldest), pages.Ago(now-plan.Newest))
	if plan.Partial {
		body.Span += fmt.Sprintf(" They are those of the first %d of %d that were looked at.", plan.LookedAt, plan.Of)
	}
	for _, job := range plan.Sample {
		body.Samples = append(body.Samples, a.jobRow(job, now))
	}
	body.Fields = append(body.Fields, pages.Field{Name: "until", Value: strconv.FormatFloat(plan.Plan.Until, 'f', -1, 64)}, pages.Field{Name: "count", Value: strconv.Itoa(plan.Plan.Count)})
	p.Body = body
	return a.write(c, 200, "bulk", p)
}

// bulkDo does it, or a part of it: then the form goes on.
func (a *App) bulkDo(c *Call) error {
	b, err := a.bulkAsked(c)
	if err != nil {
		return err
	}
	form := c.R.PostForm
	until, err := strconv.ParseFloat(form.Get("until"), 64)
	count, err2 := strconv.Atoi(form.Get("count"))
	if err != nil || err2 != nil {
		return badField("plan", "it is none that this page made; count again")
	}
	b.Plan, b.Cursor = &ops.Plan{Until: until, Count: count}, form.Get("cursor")
	if typed, err := strconv.Atoi(strings.TrimSpace(form.Get("typed"))); err == nil {
		b.Typed = &typed
	}
	p, body, err := a.bulkPage(c, b)
	if err != nil {
		return err
	}
	d, err := b.Do(c.R.Context(), a.o.Redis)
	c.Did(body.What, d.Done)
	if err != nil {
		return err
	}
	before := func(name string) int { return atoi(form.Get(name)) }
	sum := pages.BulkDone{Done: d.Done + before("done"), Changed: d.Changed + before("changed"), Refused: len(d.Refused) + before("refused"), Left: d.Left, Refusals: d.Refused, Onward: d.Next != "" && d.Left > 0}
	body.Count, body.Done = count, &sum
	for name, value := range map[string]string{
		"to": b.To, "until": form.Get("until"), "count": strconv.Itoa(d.Left), "typed": strconv.Itoa(d.Left), "cursor": d.Next,
		"done": strconv.Itoa(sum.Done), "changed": strconv.Itoa(sum.Changed), "refused": strconv.Itoa(sum.Refused),
	} {
		body.Fields = append(body.Fields, pages.Field{Name: name, Value: value})
	}
	p.Body = body
	return a.write(c, 200, "bulk", p)
}

// tallies are the largest of some counts.
func tallies(counts map[string]int) []pages.Tally {
	var all []pages.Tally
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, pages.Tally{Name: cmp.Or(name, "others"), Jobs: counts[name]})
	}
	slices.SortStableFunc(all, func(x, y pages.Tally) int { return y.Jobs - x.Jobs })
	return all[:min(len(all), 12)]
}
