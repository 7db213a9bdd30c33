package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
)

// In lists jobs can be chosen one by one. The form says of each how it was seen, and what is no longer so is left alone:
// a list is old as soon as it is shown, and buttons are pressed twice.

// stateActions are what can be done to a job in a list, by its state; the first stands in its row, if it can be taken back.
var stateActions = map[string][]string{
	"failed": {"retry", "move", "drop"}, "scheduled": {"now", "move", "cancel"}, "running": {"take_back"}, "stalled": {"take_back"},
	"waiting": {"move", "cancel"}, "depends": {"cancel"}, "throttled": {"cancel"}, "complete": {"retry"}, "parked": {"cancel"},
}

// chosenOrder is in which order buttons stand, and chosenAsks are those before which something is asked.
var (
	chosenOrder = []string{"retry", "now", "take_back", "move", "drop", "cancel"}
	chosenAsks  = []string{"move", "drop", "cancel"}
)

// mostRef is how long the jid of a job is at most that has a box.
const mostRef = 256

// refOf names a job and how it was seen, in a way that forms of browsers leave as it is, whatever is in the jid.
func refOf(job ops.Job) string {
	if job.Tag() == "" || len(job.JID) > mostRef || stateActions[job.State] == nil {
		return ""
	}
	return url.QueryEscape(job.Tag()) + "~" + url.QueryEscape(job.JID)
}

// seenOf reads refOf.
func seenOf(ref string) (ops.Seen, error) {
	tag, jid, is := strings.Cut(ref, "~")
	as, err := url.QueryUnescape(tag)
	name, err2 := url.QueryUnescape(jid)
	if !is || err != nil || err2 != nil || as == "" {
		return ops.Seen{}, badField("job", "%q is none that a page named", shown(ref))
	}
	return ops.Seen{JID: name, As: ops.If(as)}, nil
}

// choose lets jobs be chosen in a list, by who may change them.
func (a *App) choose(p *pages.Page, list *pages.Jobs) {
	if !p.Write {
		return
	}
	meant := map[string]bool{}
	for i := range list.Rows {
		row := &list.Rows[i]
		if row.Ref == "" {
			continue
		}
		actions := stateActions[row.State]
		for _, action := range actions {
			meant[action] = true
		}
		if first := actions[0]; !slices.Contains(chosenAsks, first) {
			row.Buttons = []pages.Button{{Label: bulkVerbs[first].verb, Value: first + " " + row.Ref}}
		}
	}
	if meant["cancel"] { // of failed ones it is the same
		meant["drop"] = false
	}
	for _, action := range chosenOrder {
		if !meant[action] {
			continue
		}
		button := pages.Button{Label: bulkVerbs[action].verb + " those chosen", Value: action}
		if slices.Contains(chosenAsks, action) {
			button.Label += "…"
		}
		if bulkVerbs[action].irrevocable {
			button.Tone = pages.Bad
		}
		list.Chosen = append(list.Chosen, button)
	}
	list.Choose, list.Action = len(list.Chosen) > 0, a.book().Link("jobs")
}

// chosenActs are what is done to jobs that were chosen.
func (a *App) chosenActs() []act {
	return []act{{path: "/jobs", does: "change jobs", do: a.doChosen}}
}

// doChosen does what a button means to one job, or to those that were chosen.
func (a *App) doChosen(c *Call) (told, to string, err error) {
	if err := c.R.ParseForm(); err != nil {
		return "", "", badField("form", "%v", err)
	}
	form := c.R.PostForm
	action, refs := form.Get("do"), form["job"]
	if one := form.Get("one"); one != "" { // its own button was pressed, whatever is chosen
		verb, ref, _ := strings.Cut(one, " ")
		action, refs = verb, []string{ref}
	}
	if !slices.Contains(chosenOrder, action) {
		return "", "", badField("do", "%q is none", shown(action))
	}
	if len(refs) == 0 {
		return "", "", badField("job", "choose at least one, by the box in front of it")
	}
	seen := make([]ops.Seen, len(refs))
	for i, ref := range refs {
		if seen[i], err = seenOf(ref); err != nil {
			return "", "", err
		}
	}
	to = back(c, a.book().Link())
	if form.Has("back") {
		to = local(form.Get("back"))
	}
	names := make([]string, len(seen))
	for i, s := range seen {
		names[i] = s.JID
	}
	c.Did(screen.Shorten(action+" "+strings.Join(names, " "), 200), len(seen))
	if slices.Contains(chosenAsks, action) && form.Get("sure") == "" {
		return "", "", a.askChosen(c, action, refs, names, to)
	}
	done, err := ops.Bulk{Action: action, To: form.Get("to")}.DoSeen(c.R.Context(), a.o.Redis, seen)
	if err != nil {
		return "", "", err
	}
	return done.Says(), to, nil
}

// askChosen asks where they go, or whether they are to be gone for good.
func (a *App) askChosen(c *Call, action string, refs, names []string, to string) error {
	verb := bulkVerbs[action]
	what := verb.verb + " " + screen.Some(len(refs), "job")
	form := pages.Form{
		Heading: what, Action: a.book().Link("jobs"), Label: what, Danger: verb.irrevocable, Back: to,
		Hidden: []pages.Field{{Name: "do", Value: action}, {Name: "sure", Value: "1"}, {Name: "back", Value: to}},
	}
	for _, ref := range refs {
		form.Hidden = append(form.Hidden, pages.Field{Name: "job", Value: ref})
	}
	form.Says = append(form.Says, screen.Shorten(strings.Join(names, ", "), 400)+".")
	if verb.irrevocable {
		form.Says = append(form.Says, "They are removed for good, with their data and history. This cannot be taken back.")
	}
	if action == "move" {
		form.Asks = []pages.Ask{{Name: "to", Label: "into queue", Wanted: true}}
	}
	form.Says = append(form.Says, "Nothing is done yet. Those that changed since you saw them are left alone.")
	p := a.frame(c)
	p.Title, p.Body = fmt.Sprint(form.Heading), form
	return a.write(c, 200, "form", p)
}
