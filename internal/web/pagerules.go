package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// ruleViews are the pages of rules and windows.
func (a *App) ruleViews() []view {
	return []view{
		{path: "/rules", template: "rules", section: "/rules", still: true, fill: a.rulesPage},
		{path: "/windows", template: "windows", section: "/rules", still: true, fill: a.windowsPage},
	}
}

func (a *App) rulesPage(c *Call, p *pages.Page) error {
	p.Title = "Rules"
	a.head(c, p)
	ctx := c.R.Context()
	all, err := ops.ShowRules(ctx, a.o.Redis, nil)
	if err != nil {
		return err
	}
	body := pages.Rules{Installed: all.Installed}
	body.Version, _, _ = strings.Cut(all.Version, "@")
	for _, rule := range all.Rules {
		body.Rows = append(body.Rows, a.ruleRow(rule, p.Write))
	}
	klasses, err := ops.KlassRules(ctx, a.o.Redis, a.klassesOfFile())
	if err != nil {
		return err
	}
	for _, k := range klasses {
		row := pages.Klass{Name: k.Klass, Takes: screen.Some(k.Weight, "place"), Queues: k.Queues, Throttles: k.Throttles, Windows: k.Windows, AtPut: k.AtThePut(), AtWork: k.AtWork()}
		if k.Bypass {
			row.Takes = "none: it passes them by"
		}
		body.Klasses = append(body.Klasses, row)
	}
	if a.o.Rules != nil {
		diff, err := ops.DiffRules(ctx, a.o.Redis, a.o.Rules())
		if err != nil {
			return err
		}
		body.Owner, body.Differs = a.o.Rules().Owner, differences(diff)
		if p.Write && !diff.Same() {
			body.Deeds = []pages.Deed{{Label: "Apply the file…", Form: a.book().Link("rules", "apply")}}
		}
	}
	if err := a.explain(c, &body); err != nil {
		return err
	}
	p.Body = body
	return nil
}

// ruleRow is a table of the rules.
func (a *App) ruleRow(rule ops.Rule, writes bool) pages.Rule {
	row := pages.Rule{Entry: rule.Entry, Says: ops.RuleWords(rule.Rule), Owner: rule.Owner, Revision: rule.Revision}
	kind, name, _ := strings.Cut(rule.Entry, ".")
	if kind == "throttles" || kind == "queues" {
		row.Href = a.book().Link(kind, name)
	}
	if kind == "windows" {
		row.Href = a.book().Link("windows")
	}
	if rule.ByHand != nil {
		row.ByHand = fmt.Sprintf("by hand it lets %s run at a time", limitWords(*rule.ByHand))
	}
	if form, ok := pages.Query(a.book().Link("rules", "remove"), "rule", rule.Entry); ok == nil && writes {
		row.Deeds = []pages.Deed{{Label: "Remove…", Form: form, Tone: pages.Bad}}
	}
	return row
}

// differences say what a file would change, and what it would not.
func differences(diff ops.RulesDifference) (said []string) {
	for _, change := range diff.Changes {
		said = append(said, changeWords(change))
	}
	for _, conflict := range diff.Conflicts {
		said = append(said, conflict.String())
	}
	if diff.Refused != "" {
		said = append(said, diff.Refused)
	}
	return said
}

func changeWords(change rules.Change) string {
	switch change.Word {
	case "added":
		return change.Entry + " would be added: " + ops.RuleWords(change.Is)
	case "removed":
		return change.Entry + " would be removed: " + ops.RuleWords(change.Was)
	case "changed":
		return change.Entry + " would be changed: " + ops.RuleWords(change.Is) + "; now: " + ops.RuleWords(change.Was)
	}
	return change.Entry + " would be " + change.Word + ", and says the same"
}

// explain tells what a job would need, if somebody asks.
func (a *App) explain(c *Call, body *pages.Rules) error {
	body.Asked = pages.Asked{
		Queue: c.query("queue"), Klass: c.query("klass"), Data: c.query("data"),
		Weight: c.query("weight"), Windows: c.query("window"), Zone: c.query("zone"), Bypass: c.flag("bypass"),
	}
	if body.Asked.Queue == "" {
		return nil
	}
	data := []byte(cmp.Or(body.Asked.Data, "{}"))
	if err := ops.CheckJSON(data); err != nil {
		body.Wrong = fmt.Sprintf("%s is no JSON: %v; quote texts, as in {\"region\": \"east\"}", shown(body.Asked.Data), err)
		return nil
	}
	wants := queue.Wants{Bypass: body.Asked.Bypass, Windows: parted(body.Asked.Windows), Zone: body.Asked.Zone}
	if text := strings.TrimSpace(body.Asked.Weight); text != "" {
		var err error
		if wants.Weight, err = strconv.Atoi(text); err != nil || wants.Weight < 1 {
			body.Wrong = fmt.Sprintf("The weight must be from 1 to %d, and is %s.", queue.MaxWeight, shown(text))
			return nil
		}
	}
	needs, err := ops.ExplainRules(c.R.Context(), a.o.Redis, rules.Job{Queue: body.Asked.Queue, Klass: cmp.Or(body.Asked.Klass, "job"), Data: data}, wants)
	if wrong := (*ops.Wrong)(nil); errors.As(err, &wrong) {
		body.Wrong = sentence(err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	told := &pages.Needs{Order: needs.OrderWords()}
	say := func(is bool, format string, args ...any) {
		if is {
			told.Says = append(told.Says, fmt.Sprintf(format, args...))
		}
	}
	say(!needs.Ruled && needs.LowFirst, "No rule but that of its priorities concerns the queue %s.", needs.Queue)
	say(!needs.Ruled && !needs.LowFirst, "No rule concerns the queue %s: it is worked as any other.", needs.Queue)
	say(needs.Table != "" && needs.Table != needs.Klass, "The rules of klass.%s count for it.", needs.Table)
	for _, window := range needs.Windows {
		say(true, "Window %s.", window.Words())
	}
	say(needs.Bypass && wants.Bypass, "It takes no places: it passes them by.")
	say(needs.Bypass && !wants.Bypass, "It takes no places: its class passes them by.")
	say(!needs.Bypass && len(needs.Places) == 0, "It needs no places.")
	say(len(needs.Places) > 0, "It needs %s of each throttle below.", screen.Some(needs.Weight, "place"))
	for _, place := range needs.Places {
		told.Places = append(told.Places, pages.NeedsPlace{ID: place.ID, Has: place.Words(), Used: place.Used})
	}
	body.Needs = told
	return nil
}

func (a *App) windowsPage(c *Call, p *pages.Page) error {
	p.Title = "Windows"
	a.head(c, p)
	all, err := ops.Windows(c.R.Context(), a.o.Redis)
	if err != nil {
		return err
	}
	var body pages.Windows
	if body.Spec, body.Zone = c.query("spec"), c.query("zone"); body.Spec != "" {
		if err := a.windowAsked(c, &body); err != nil {
			return err
		}
	}
	for _, w := range all {
		row := pages.Window{Name: w.Name, Zone: w.Zone, Open: w.Open, At: w.Change, Queues: w.Queues, Klasses: w.Klasses}
		_, spans, _ := strings.Cut(w.Spec, "|")
		row.Spec = strings.ReplaceAll(spans, "|", "; ")
		if w.Change > 0 {
			row.Change = ops.InZone(w.Change, w.Zone) + w.MarginWords()
		}
		row.Spans = spansOf(w)
		body.Rows = append(body.Rows, row)
	}
	p.Body = body
	return nil
}

// windowAsked tells when the spans would be open that somebody asks for; what is wrong with them is said on the page.
func (a *App) windowAsked(c *Call, body *pages.Windows) error {
	spec := parted(body.Spec)
	if len(spec) == 0 {
		body.Wrong = "Name a window of the rules, or spans as Mon-Fri 22:00-06:00; 12:00-13:00."
		return nil
	}
	next, err := ops.WindowOf(c.R.Context(), a.o.Redis, spec, body.Zone)
	wrong, missing := (*ops.Wrong)(nil), (*ops.Missing)(nil)
	if errors.As(err, &wrong) || errors.As(err, &missing) {
		body.Wrong = sentence(err.Error())
		return nil
	}
	if body.Spans = spansOf(next); err == nil && len(body.Spans) == 0 {
		body.Wrong = "It does not open within 400 days."
	}
	return err
}

// parted are the windows that somebody writes into one field, with ";" between.
func parted(text string) (some []string) {
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" {
			some = append(some, part)
		}
	}
	return some
}

// spansOf are the spans of a window that come, in words.
func spansOf(w ops.NextWindow) (words []string) {
	for _, span := range w.After {
		to := "and on"
		if span.To > 0 {
			to = ops.InZone(span.To, w.Zone)
		}
		words = append(words, ops.InZone(span.From, w.Zone)+" – "+to)
	}
	return words
}

// windowsLast is how old may be what a list of queues says of windows.
const windowsLast = 2 * time.Second

// windowWords say, by queue, how the windows stand in which its jobs start: those of the queue itself, for a class may have others. Of rules that
// cannot be read they say nothing: their own page does.
func (a *App) windowWords(ctx context.Context) map[string][]string {
	words, err := a.windows.get(ctx, windowsLast, func(ctx context.Context) (map[string][]string, error) {
		all, err := ops.Windows(ctx, a.o.Redis)
		by := map[string][]string{}
		for _, w := range all {
			for _, name := range w.Queues {
				by[name] = append(by[name], standWords(w))
			}
		}
		return by, err
	})
	if err != nil {
		return nil
	}
	return words
}

// standWords say how a window stands.
func standWords(w ops.NextWindow) string {
	stands, then := "is shut", "opens"
	if w.Open {
		stands, then = "is open", "shuts"
	}
	if w.Change == 0 {
		return "window " + w.Name + " " + stands + ", and stays so"
	}
	return fmt.Sprintf("window %s %s; it %s %s%s", w.Name, stands, then, ops.InZone(w.Change, w.Zone), w.MarginWords())
}

// ruleActs are what is done to rules.
func (a *App) ruleActs() []act {
	return []act{
		{path: "/rules/apply", does: "apply rules", form: a.applyRulesForm, do: func(c *Call) (string, string, error) {
			file, err := a.rulesFile()
			if err != nil {
				return "", "", err
			}
			c.Did(file.Owner, 0)
			changes, err := ops.ApplyRules(c.R.Context(), a.o.Redis, file, false, ops.Always, nil)
			c.Did(file.Owner, len(changes))
			return screen.Some(len(changes), "rule") + " changed", a.book().Link("rules"), err
		}},
		{path: "/rules/remove", does: "remove rules", form: a.removeRuleForm, do: func(c *Call) (string, string, error) {
			name, err := url.QueryUnescape(c.R.PostFormValue("rule")) // forms change line breaks
			if err != nil || name == "" {
				return "", "", badField("rule", "name one")
			}
			c.Did(name, 1)
			_, err = ops.RemoveRules(c.R.Context(), a.o.Redis, []string{name}, false, ops.Never)
			return name + " is removed", a.book().Link("rules"), err
		}},
	}
}

func (a *App) applyRulesForm(c *Call) (pages.Form, error) {
	file, err := a.rulesFile()
	if err != nil {
		return pages.Form{}, err
	}
	doubt, taken := (*ops.Doubt)(nil), ""
	changes, err := ops.ApplyRules(c.R.Context(), a.o.Redis, file, true, ops.Never, nil)
	if errors.As(err, &doubt) {
		taken, err = doubt.Text, nil
	}
	if err != nil {
		return pages.Form{}, err
	}
	form := pages.Form{Heading: "Apply the rules of " + screen.Shorten(file.Owner, 120), Label: "Apply them", Danger: true, Action: a.book().Link("rules", "apply"), Back: a.book().Link("rules")}
	for _, change := range changes {
		form.Says = append(form.Says, screen.Shorten(changeWords(change), 400))
	}
	if len(changes) == 0 {
		form.Says = []string{"Nothing would change: Redis has them already."}
	}
	if taken != "" {
		form.Says = append(form.Says, taken)
	}
	form.Says = append(form.Says, "From then on all who work this Redis obey them, whatever the files of others say.")
	return form, nil
}

func (a *App) removeRuleForm(c *Call) (pages.Form, error) {
	name := c.query("rule")
	changes, err := ops.RemoveRules(c.R.Context(), a.o.Redis, []string{name}, true, ops.Never)
	if err != nil {
		return pages.Form{}, err
	}
	if len(changes) == 0 {
		return pages.Form{}, problem(http.StatusConflict, "changed", "there is no rule %s any more", shown(name))
	}
	return pages.Form{
		Heading: "Remove " + screen.Shorten(name, 120), Label: "Remove it", Danger: true, Hidden: []pages.Field{{Name: "rule", Value: url.QueryEscape(name)}},
		Says:   []string{"It says: " + screen.Shorten(ops.RuleWords(changes[0].Was), 400), "What waits because of it goes on. A supervisor that has it in its file puts it back when it starts or reloads."},
		Action: a.book().Link("rules", "remove"), Back: a.book().Link("rules"),
	}, nil
}
