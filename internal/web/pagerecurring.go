package web

import (
	"fmt"
	"strconv"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
)

// recurringViews are the pages of recurring jobs.
func (a *App) recurringViews() []view {
	return []view{
		{path: "/recurring", template: "recurring", section: "/recurring", fill: a.recurringPage},
		{path: "/recurring/{jid}", template: "recur", section: "/recurring", fill: a.recurPage},
	}
}

// mostIntervals is how many recurring jobs by interval are read of each queue.
const mostIntervals = 25

func (a *App) recurringPage(c *Call, p *pages.Page) error {
	p.Title = "Recurring jobs"
	a.head(c, p)
	all, err := ops.ListRecurring(c.R.Context(), a.o.Redis, nil, ops.Page{Limit: mostIntervals})
	if err != nil {
		return err
	}
	at := min(max(0, atoi(c.R.URL.Query().Get("at"))), len(all))
	var body pages.RecurringList
	for _, r := range all[at:min(at+pageRows, len(all))] {
		row := a.recurRow(r)
		if p.Write && r.Cron != nil {
			row.Deeds = []pages.Deed{a.pauseDeed(r)}
		}
		body.Rows = append(body.Rows, row)
	}
	if len(all) > 0 {
		body.Says = fmt.Sprintf("%s of %s", screen.Count(len(body.Rows)), screen.Some(len(all), "recurring job"))
	}
	if at > 0 {
		body.First = a.book().Link("recurring")
	}
	if at+pageRows < len(all) {
		body.Next, _ = pages.Query(a.book().Link("recurring"), "at", at+pageRows)
	}
	p.Body = body
	return nil
}

// recurRow is a recurring job in a list.
func (a *App) recurRow(r ops.Recurring) pages.Recurring {
	row := pages.Recurring{JID: r.JID, Klass: r.Klass, Queue: r.Queue, Count: r.Count, Schedule: "every " + pages.Span(r.Every), Next: "never"}
	if r.Next != nil {
		row.Next = "in " + pages.Span(max(0, *r.Next-a.o.Redis.Now()))
	}
	if cron := r.Cron; cron != nil {
		row.Schedule = strings.TrimSpace(cron.Schedule + " " + cron.Zone)
		if cron.Paused {
			row.State, row.Next = "paused", "paused"
		}
		if cron.LastJID != "" {
			row.Last, row.LastHref = "due "+pages.Ago(a.o.Redis.Now()-cron.Last), a.book().Link("jobs", cron.LastJID)
		}
	}
	if r.Damage != "" {
		row.State = "damaged"
	}
	return row
}

// pauseDeed pauses one with a schedule, or lets it go on.
func (a *App) pauseDeed(r ops.Recurring) pages.Deed {
	if r.Cron.Paused {
		return pages.Deed{Label: "Resume", Action: a.book().Link("recurring", r.JID, "resume"), Tone: pages.Good}
	}
	return pages.Deed{Label: "Pause", Action: a.book().Link("recurring", r.JID, "pause")}
}

func (a *App) recurPage(c *Call, p *pages.Page) error {
	jid := c.Name("jid")
	p.Title = jid + " · Recurring"
	a.head(c, p)
	r, err := ops.ShowRecurring(c.R.Context(), a.o.Redis, jid)
	if err != nil {
		return ops.Worded(jid, err)
	}
	data, _ := a.redacted(r.Payload())
	body := pages.RecurringPage{Recurring: a.recurRow(r), Data: pretty(data)}
	body.Facts = []pages.Fact{
		{Name: "queue", Value: r.Queue, Href: a.book().Link("queues", r.Queue)}, {Name: "class", Value: r.Klass}, {Name: "every", Value: body.Schedule},
		{Name: "next", Value: body.Next}, {Name: "runs put", Value: screen.Count(r.Count)}, {Name: "retries", Value: strconv.Itoa(r.Retries)},
		{Name: "priority", Value: strconv.FormatFloat(r.Priority, 'f', -1, 64)},
	}
	for _, at := range r.NextRuns(ops.Now(a.o.Redis), 5) {
		body.Runs = append(body.Runs, float64(at))
	}
	if r.Damage != "" {
		body.Facts = append(body.Facts, pages.Fact{Name: "damage", Value: r.Damage})
	}
	if cron := r.Cron; cron != nil {
		body.Facts = append(body.Facts, pages.Fact{Name: "missed", Value: cron.Missed}, pages.Fact{Name: "overlap", Value: cron.Overlap}, pages.Fact{Name: "made by", Value: cron.Source},
			pages.Fact{Name: "runs missed", Value: screen.Count(cron.GivenUp)}, pages.Fact{Name: "runs skipped", Value: screen.Count(cron.Skipped)})
	}
	if p.Write {
		path := func(deed string) string { return a.book().Link("recurring", jid, deed) }
		if r.Cron != nil {
			body.Deeds = append(body.Deeds, a.pauseDeed(r))
		}
		if r.Cron == nil || r.Cron.Source == "hand" {
			body.Deeds = append(body.Deeds, pages.Deed{Label: "Change…", Form: path("change")})
			body.Deeds = append(body.Deeds, pages.Deed{Label: "End…", Form: path("end"), Tone: pages.Bad})
		}
	}
	p.Body = body
	return nil
}

// recurringActs are what is done to recurring jobs.
func (a *App) recurringActs() []act {
	on := func(path, does string, do func(*Call, string) (string, string, error)) act {
		return act{path: "/recurring/{jid}/" + path, does: does, do: func(c *Call) (string, string, error) {
			jid := c.Name("jid")
			c.Did(jid, 0)
			told, to, err := do(c, jid)
			return told, to, ops.Worded(jid, err)
		}}
	}
	here := func(jid string) string { return a.book().Link("recurring", jid) }
	end := on("end", "end recurring", func(c *Call, jid string) (string, string, error) {
		return jid + " recurs no longer", a.book().Link("recurring"), ops.EndRecurring(c.R.Context(), a.o.Redis, jid)
	})
	end.form = func(c *Call) (pages.Form, error) {
		jid := c.Name("jid")
		return pages.Form{Heading: "End " + jid, Says: []string{"No more runs of it are put. Those that were put stay."}, Action: a.book().Link("recurring", jid, "end"), Label: "End it", Danger: true, Back: here(jid)}, nil
	}
	change := on("change", "change recurring", a.changeRecurring)
	change.form = a.changeForm
	return []act{
		on("pause", "pause recurring", func(c *Call, jid string) (string, string, error) {
			_, err := ops.PauseCron(c.R.Context(), a.o.Redis, jid)
			return jid + " puts nothing until it is resumed", here(jid), err
		}),
		on("resume", "resume recurring", func(c *Call, jid string) (string, string, error) {
			_, _, err := ops.ResumeCron(c.R.Context(), a.o.Redis, jid)
			return jid + " is resumed", here(jid), err
		}),
		end,
		change,
		{path: "/recurring/_/add", does: "add recurring", form: a.addForm, do: a.addRecurring},
	}
}
