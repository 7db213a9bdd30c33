package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// addForm asks for a recurring job.
func (a *App) addForm(*Call) (pages.Form, error) {
	return pages.Form{Heading: "A job that recurs", Label: "Add", Action: a.o.Prefix + "/recurring/_/add", Back: a.book().Link("recurring"), Asks: []pages.Ask{
		{Name: "name", Label: "name", Hint: "by a schedule its runs are called NAME@TIME, by an interval NAME-1, NAME-2 …", Wanted: true}, {Name: "queue", Label: "queue", Wanted: true}, {Name: "klass", Label: "class", Wanted: true},
		{Name: "cron", Label: "when, by a schedule", Hint: "as 0 4 * * Mon-Fri, @hourly or @every 10m: supervisors put its runs"}, {Name: "zone", Label: "time zone of the schedule", Hint: "as Europe/Berlin; empty is UTC"},
		{Name: "every", Label: "or by an interval", Hint: "as 10m: whatever client of the protocol pops from the queue puts its runs"},
		{Name: "data", Label: "data, as JSON", Kind: "area", Value: "{}"},
	}}, nil
}

func (a *App) addRecurring(c *Call) (told, to string, err error) {
	form := func(name string) string { return strings.TrimSpace(c.R.PostFormValue(name)) }
	name, data := form("name"), []byte(form("data"))
	c.Did(name, 0)
	queueName, klass := c.R.PostFormValue("queue"), c.R.PostFormValue("klass")
	switch {
	case (form("cron") == "") == (form("every") == ""):
		return "", "", badField("cron", "say when it comes: by a schedule, or by an interval, one of both")
	case klass == "":
		return "", "", badField("klass", "name the class of its runs")
	case form("every") != "":
		every, err := interval(form("every"))
		if err != nil {
			return "", "", err
		}
		name, err = ops.Recur(c.R.Context(), a.o.Redis, queue.Recurring{JID: name, Queue: queueName, Klass: klass, Data: data, Interval: every, Retries: 5}, ops.Never)
		return name + " recurs, for the first time at once", a.book().Link("recurring", name), err
	}
	cron := queue.Cron{Name: name, Schedule: form("cron"), Zone: form("zone")}
	cron.Queue, cron.Klass, cron.Data, cron.Retries = queueName, klass, data, 5
	name, s, err := ops.AddCron(c.R.Context(), a.o.Redis, cron, ops.Never)
	if err != nil {
		return "", "", err
	}
	told = name + " recurs"
	if at := ops.Moments(s, ops.Now(a.o.Redis), 1); len(at) > 0 {
		told += ", next at " + time.Unix(at[0], 0).UTC().Format("2006-01-02 15:04") + " UTC"
	}
	return told, a.book().Link("recurring", name), nil
}

// interval is a duration as it was typed.
func interval(text string) (time.Duration, error) {
	every, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil || every <= 0 {
		return 0, badField("every", "%q is no interval; write 90s, 15m or 24h", shown(text))
	}
	return every, nil
}

// changeForm asks what is to be otherwise with a recurring job. Its data is not shown: what is blanked there would be lost.
func (a *App) changeForm(c *Call) (pages.Form, error) {
	jid := c.Name("jid")
	r, err := ops.ShowRecurring(c.R.Context(), a.o.Redis, jid)
	if err != nil {
		return pages.Form{}, ops.Worded(jid, err)
	}
	form := pages.Form{Heading: "Change " + jid, Says: []string{"Runs that were put stay as they are."}, Label: "Change", Action: a.book().Link("recurring", jid, "change"), Back: a.book().Link("recurring", jid)}
	switch {
	case r.Cron != nil && r.Cron.Source != "hand":
		return form, problem(http.StatusConflict, "changed", "%s stands in the configuration of supervisors: change it there", shown(jid))
	case r.Cron != nil:
		form.Asks = []pages.Ask{
			{Name: "cron", Label: "when", Value: r.Cron.Schedule, Hint: "as 0 4 * * Mon-Fri, @hourly or @every 10m", Wanted: true}, {Name: "zone", Label: "time zone", Value: r.Cron.Zone, Hint: "empty is UTC"},
			{Name: "missed", Label: "runs that were missed", Value: r.Cron.Missed, Choices: choices(queue.MissedPolicies)}, {Name: "overlap", Label: "while the last run is not over", Value: r.Cron.Overlap, Choices: choices(queue.OverlapPolicies)},
		}
	default:
		form.Asks = []pages.Ask{{Name: "every", Label: "every", Value: queue.Duration(r.Every).String(), Hint: "as 90s, 15m or 24h", Wanted: true}, {Name: "backlog", Label: "missed runs that are made up for", Value: strconv.Itoa(r.Backlog), Kind: "number", Hint: "0 is all of them"}}
	}
	form.Asks = append(form.Asks, pages.Ask{Name: "queue", Label: "queue", Value: r.Queue, Wanted: true}, pages.Ask{Name: "klass", Label: "class", Value: r.Klass, Wanted: true},
		pages.Ask{Name: "priority", Label: "priority", Value: strconv.FormatFloat(r.Priority, 'f', -1, 64), Kind: "number", Hint: "higher comes first"}, pages.Ask{Name: "retries", Label: "retries", Value: strconv.Itoa(r.Retries), Kind: "number"},
		pages.Ask{Name: "data", Label: "data, as JSON", Kind: "area", Hint: "empty: it stays as it is"})
	return form, nil
}

// choices are policies, of which the first is usual.
func choices(policies []string) (all []pages.Choice) {
	for _, policy := range policies {
		all = append(all, pages.Choice{Value: policy, Text: policy})
	}
	return all
}

// renamed is a name that was typed, nil if it is the one that was there: of that a field shows all but line breaks and the
// blanks around it.
func renamed(was string, said *string) *string {
	if said != nil && *said == strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(was)) {
		return nil
	}
	return said
}

// changeRecurring changes what a form names.
func (a *App) changeRecurring(c *Call, jid string) (string, string, error) {
	if err := c.R.ParseForm(); err != nil {
		return "", "", badField("form", "%v", err)
	}
	form := c.R.PostForm
	said := func(name string) *string {
		if !form.Has(name) {
			return nil
		}
		text := strings.TrimSpace(form.Get(name))
		return &text
	}
	r, err := ops.ShowRecurring(c.R.Context(), a.o.Redis, jid)
	if err != nil {
		return "", "", err
	}
	change := ops.RecurringChange{Schedule: said("cron"), Zone: said("zone"), Missed: said("missed"), Overlap: said("overlap"), Klass: renamed(r.Klass, said("klass")), Queue: renamed(r.Queue, said("queue"))}
	if data := said("data"); data != nil && *data != "" {
		change.Data = []byte(*data)
	}
	if text := said("every"); text != nil {
		every, err := interval(*text)
		if err != nil {
			return "", "", err
		}
		change.Interval = &every
	}
	for name, to := range map[string]**int{"backlog": &change.Backlog, "retries": &change.Retries} {
		if text := said(name); text != nil {
			n, err := strconv.Atoi(*text)
			if err != nil {
				return "", "", badField(name, "%q is no number", shown(*text))
			}
			*to = &n
		}
	}
	if text := said("priority"); text != nil {
		n, err := strconv.ParseFloat(*text, 64)
		if err != nil {
			return "", "", badField("priority", "%q is no number; higher comes first", shown(*text))
		}
		change.Priority = &n
	}
	if _, err := ops.UpdateRecurring(c.R.Context(), a.o.Redis, jid, change, ops.Never); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("%s is changed", jid), a.book().Link("recurring", jid), nil
}
