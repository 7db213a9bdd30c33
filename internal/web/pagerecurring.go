package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// recurringViews are the pages of recurring jobs and of throttles.
func (a *App) recurringViews() []view {
	return []view{
		{path: "/recurring", template: "recurring", section: "/recurring", fill: a.recurringPage},
		{path: "/recurring/{jid}", template: "recur", section: "/recurring", fill: a.recurPage},
		{path: "/throttles", template: "throttles", section: "/throttles", fill: a.throttlesPage},
		{path: "/throttles/{throttle}", template: "throttle", section: "/throttles", fill: a.throttlePage},
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
		body.Rows = append(body.Rows, a.recurRow(r))
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
		row.Origin = cron.Source
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

func (a *App) recurPage(c *Call, p *pages.Page) error {
	jid := c.Name("jid")
	p.Title = jid + " · Recurring"
	a.head(c, p)
	r, err := ops.ShowRecurring(c.R.Context(), a.o.Redis, jid)
	if err != nil {
		return ops.Worded(jid, err)
	}
	body := pages.RecurringPage{Recurring: a.recurRow(r), Data: pretty(a.hide(r.Payload()))}
	body.Facts = []pages.Fact{
		{Name: "queue", Value: r.Queue, Href: a.book().Link("queues", r.Queue)}, {Name: "class", Value: r.Klass}, {Name: "every", Value: body.Schedule},
		{Name: "next", Value: body.Next}, {Name: "runs put", Value: screen.Count(r.Count)}, {Name: "retries", Value: strconv.Itoa(r.Retries)},
		{Name: "priority", Value: strconv.FormatFloat(r.Priority, 'f', -1, 64)},
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
		if r.Cron != nil && r.Cron.Paused {
			body.Deeds = append(body.Deeds, pages.Deed{Label: "Resume", Action: path("resume"), Tone: pages.Good})
		} else if r.Cron != nil {
			body.Deeds = append(body.Deeds, pages.Deed{Label: "Pause", Action: path("pause")})
		}
		if r.Cron == nil || r.Cron.Source == "hand" {
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
		return jid + " recurs no longer", a.book().Link("recurring"), ops.EndRecurring(c.R.Context(), a.o.Redis, []string{jid})
	})
	end.form = func(c *Call) (pages.Form, error) {
		jid := c.Name("jid")
		return pages.Form{Heading: "End " + jid, Says: []string{"No more runs of it are put. Those that were put stay."}, Action: a.book().Link("recurring", jid, "end"), Label: "End it", Danger: true, Back: here(jid)}, nil
	}
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
		{path: "/recurring/_/add", does: "add recurring", form: a.addForm, do: a.addRecurring},
	}
}

// addForm asks for a recurring job.
func (a *App) addForm(*Call) (pages.Form, error) {
	return pages.Form{Heading: "A job that recurs", Label: "Add", Action: a.o.Prefix + "/recurring/_/add", Back: a.book().Link("recurring"), Asks: []pages.Ask{
		{Name: "name", Label: "name", Hint: "its runs are called NAME@TIME", Wanted: true}, {Name: "queue", Label: "queue", Wanted: true}, {Name: "klass", Label: "class", Wanted: true},
		{Name: "cron", Label: "when", Hint: "as 0 4 * * Mon-Fri, @hourly or @every 10m", Wanted: true}, {Name: "zone", Label: "time zone", Hint: "as Europe/Berlin; empty is UTC"},
		{Name: "data", Label: "data, as JSON", Kind: "area", Value: "{}"},
	}}, nil
}

func (a *App) addRecurring(c *Call) (told, to string, err error) {
	form := func(name string) string { return strings.TrimSpace(c.R.PostFormValue(name)) }
	c.Did(form("name"), 0)
	cron := queue.Cron{Name: form("name"), Schedule: form("cron"), Zone: form("zone")}
	cron.Queue, cron.Klass, cron.Data, cron.Retries = c.R.PostFormValue("queue"), c.R.PostFormValue("klass"), []byte(form("data")), 5
	name, s, err := ops.AddCron(c.R.Context(), a.o.Redis, cron, ops.Never)
	if err != nil {
		return "", "", err
	}
	told = name + " recurs"
	if at := ops.Moments(s, time.Now(), 1); len(at) > 0 {
		told += ", next at " + time.Unix(at[0], 0).UTC().Format("2006-01-02 15:04") + " UTC"
	}
	return told, a.book().Link("recurring", name), nil
}

// throttlesPage looks through some of the keys of Redis a click, for no list of throttles is kept.
func (a *App) throttlesPage(c *Call, p *pages.Page) error {
	p.Title = "Throttles"
	a.head(c, p)
	cursor := c.R.URL.Query().Get("cursor")
	found, err := ops.ThrottlesFrom(c.R.Context(), a.o.Redis, cursor)
	if err != nil {
		return err
	}
	var body pages.Throttles
	for _, t := range found.Items {
		body.Rows = append(body.Rows, pages.Throttle{ID: t.ID, Maximum: t.Maximum, TTL: t.TTL, Held: t.Holders, Waits: t.Waiters})
	}
	if len(found.Items) > 0 {
		body.Says = screen.Some(len(body.Rows), "throttle")
	}
	if cursor != "" {
		body.First = a.book().Link("throttles")
	}
	if found.Next != "" {
		body.Says = screen.Some(len(body.Rows), "throttle") + " among some ten thousand keys of Redis; there are more keys to look through"
		body.Next, _ = pages.Query(a.book().Link("throttles"), "cursor", found.Next)
	}
	p.Body = body
	return nil
}

func throttleRow(t ops.Throttle) pages.Throttle {
	return pages.Throttle{ID: t.ID, Maximum: t.Maximum, TTL: t.TTL, Held: len(t.Holders), Waits: len(t.Waiters), Damage: t.Damage}
}

func (a *App) throttlePage(c *Call, p *pages.Page) error {
	id, ctx := c.Name("throttle"), c.R.Context()
	p.Title = id + " · Throttles"
	a.head(c, p)
	t, err := ops.ShowThrottle(ctx, a.sources(), id)
	if err != nil {
		return err
	}
	now := a.o.Redis.Now()
	body := pages.ThrottlePage{Throttle: throttleRow(t), Idle: t.Idle}
	for _, of := range []struct {
		jids []string
		list *pages.Jobs
		none string
	}{{t.Holders, &body.Holders, "No job holds it."}, {t.Waiters, &body.Waiters, "No job waits for it."}} {
		if of.list.Rows, err = a.related(ctx, of.jids, now); err != nil {
			return err
		}
		of.list.Empty, of.list.Print = of.none, printOf(of.jids)
		if more := len(of.jids) - len(of.list.Rows); more > 0 {
			of.list.Says = fmt.Sprintf("and %s more", screen.Count(more))
		}
	}
	if p.Write {
		for i := range body.Holders.Rows {
			row := &body.Holders.Rows[i]
			row.Deeds = []pages.Deed{{Label: "Release", Action: a.book().Link("throttles", id, "release"), Fields: []pages.Field{{Name: "jid", Value: row.JID}}}}
		}
		if t.Maximum > 0 {
			body.Deeds = []pages.Deed{{Label: "Remove the limit", Action: a.book().Link("throttles", id, "remove"), Tone: pages.Bad}}
		}
	}
	p.Body = body
	return nil
}

// throttleActs are what is done to throttles.
func (a *App) throttleActs() []act {
	set := func(c *Call, id string) (told, to string, err error) {
		c.Did(id, 0)
		most, err := strconv.Atoi(strings.TrimSpace(c.R.PostFormValue("maximum")))
		if err != nil || most < 0 {
			return "", "", badField("maximum", "%q is no number of jobs; 0 is any number", shown(c.R.PostFormValue("maximum")))
		}
		t := queue.Throttle{ID: id, Maximum: most}
		if ttl := strings.TrimSpace(c.R.PostFormValue("ttl")); ttl != "" {
			if t.TTL, err = time.ParseDuration(ttl); err != nil {
				return "", "", badField("ttl", "%q is no duration; write 15m or 2h", shown(ttl))
			}
		}
		return fmt.Sprintf("%s lets %s run at a time", id, limitWords(most)), a.book().Link("throttles", id), ops.SetThrottle(c.R.Context(), a.o.Redis, t, ops.Never)
	}
	return []act{
		{path: "/throttles", does: "set throttle", do: func(c *Call) (string, string, error) { return set(c, c.R.PostFormValue("id")) }},
		{path: "/throttles/{throttle}", does: "set throttle", do: func(c *Call) (string, string, error) { return set(c, c.Name("throttle")) }},
		{path: "/throttles/{throttle}/remove", does: "remove throttle", do: func(c *Call) (string, string, error) {
			id := c.Name("throttle")
			c.Did(id, 0)
			return id + " has no limit any more", a.book().Link("throttles"), ops.RemoveThrottle(c.R.Context(), a.o.Redis, id)
		}},
		{path: "/throttles/{throttle}/release", does: "release throttle", do: func(c *Call) (string, string, error) {
			id := c.Name("throttle")
			if err := c.R.ParseForm(); err != nil {
				return "", "", badField("form", "%v", err)
			}
			jids := c.R.PostForm["jid"]
			c.Did(id, len(jids))
			return "released", a.book().Link("throttles", id), ops.ReleaseThrottle(c.R.Context(), a.o.Redis, id, slices.Compact(jids))
		}},
	}
}
