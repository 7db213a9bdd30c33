package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"oarlock/internal/hub"
	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// listViews are the pages that are lists: workers, tags, tracked and completed jobs, settings, events, what a search found.
func (a *App) listViews() []view {
	return []view{
		{path: "/workers", template: "workers", section: "/workers", fill: a.workersPage},
		{path: "/workers/{worker}", template: "worker", section: "/workers", fill: a.workerPage},
		{path: "/tags", template: "tags", section: "/tags", still: true, fill: a.tagsPage},
		{path: "/tags/{tag}", template: "jobs", section: "/tags", fill: func(c *Call, p *pages.Page) error {
			tag := c.Name("tag")
			return a.shelfPage(c, p, "Jobs tagged "+tag, "", queue.Shelf{Kind: queue.ShelfTag, Name: tag}, a.book().Link("tags", tag))
		}},
		{path: "/tracked", template: "jobs", section: "/tracked", fill: func(c *Call, p *pages.Page) error {
			return a.shelfPage(c, p, "Tracked jobs", "What happens to these is published, and kept where they are gone. oarlock job track JID adds one.", queue.Shelf{Kind: queue.ShelfTracked}, a.book().Link("tracked"))
		}},
		{path: "/completed", template: "jobs", section: "/completed", fill: func(c *Call, p *pages.Page) error {
			return a.shelfPage(c, p, "Completed jobs", "The newest first. They are kept as long as jobs-history and jobs-history-count say.", queue.Shelf{Kind: queue.ShelfComplete}, a.book().Link("completed"))
		}},
		{path: "/search", template: "search", still: true, fill: a.searchPage},
		{path: "/settings", template: "settings", section: "/settings", still: true, fill: a.settingsPage},
		{path: "/events", template: "events", section: "/events", local: true, fill: a.eventsPage},
	}
}

// shelfPage is a list of jobs and nothing else.
func (a *App) shelfPage(c *Call, p *pages.Page, heading, says string, shelf queue.Shelf, here string) error {
	p.Title = heading
	a.head(c, p)
	cursor := c.R.URL.Query().Get("cursor")
	part, err := ops.JobsOn(c.R.Context(), a.o.Redis, shelf, ops.Window{Cursor: cursor, Limit: pageRows})
	if err != nil {
		return err
	}
	body := pages.JobsPage{Heading: heading, Says: says, List: a.jobList(part, here, cursor != "")}
	a.choose(p, &body.List)
	p.Body = body
	return nil
}

func (a *App) workersPage(c *Call, p *pages.Page) error {
	p.Title = "Workers"
	a.head(c, p)
	all, err := ops.Workers(c.R.Context(), a.o.Redis)
	if err != nil {
		return err
	}
	at := min(max(0, atoi(c.R.URL.Query().Get("at"))), len(all))
	shownOf := all[at:min(at+pageRows, len(all))]
	body := pages.Workers{}
	var names []string
	for _, w := range shownOf {
		body.Rows = append(body.Rows, a.workerRow(w))
		names = append(names, w.Name)
	}
	body.Print = printOf(names)
	if len(all) > 0 {
		body.Says = fmt.Sprintf("%s of %s", screen.Count(len(shownOf)), screen.Some(len(all), "worker"))
	}
	if at > 0 {
		body.First = a.book().Link("workers")
	}
	if at+pageRows < len(all) {
		body.Next, _ = pages.Query(a.book().Link("workers"), "at", at+pageRows)
	}
	p.Body = body
	return nil
}

// workerRow takes the name of a worker apart, if one of our supervisors made it.
func (a *App) workerRow(w ops.Worker) pages.Worker {
	row := pages.Worker{Name: w.Name, Seen: pages.Ago(a.o.Redis.Now() - w.Seen), Jobs: w.Jobs, Stalled: w.Stalled, Odd: w.Damage}
	if who, pool := rollcall.WhoseWorker(w.Name); who.Name != "" {
		row.Host, row.PID, row.Pool = who.Name, strconv.Itoa(who.PID), pool
	}
	return row
}

func (a *App) workerPage(c *Call, p *pages.Page) error {
	name, cursor := c.Name("worker"), c.R.URL.Query().Get("cursor")
	p.Title = name + " · Workers"
	a.head(c, p)
	part, err := ops.HeldBy(c.R.Context(), a.o.Redis, name, ops.Window{Cursor: cursor, Limit: pageRows})
	if err != nil {
		return err
	}
	seen, err := a.o.Redis.WorkerSeen(c.R.Context(), name)
	if err != nil {
		return err
	}
	body := pages.WorkerPage{Worker: a.workerRow(ops.Worker{Name: name, Seen: seen}), List: a.jobList(part, a.book().Link("workers", name), cursor != "")}
	body.List.Empty = "It holds no job now."
	a.choose(p, &body.List)
	if seen == 0 {
		body.Seen = "at a time that nobody knows: it is off the list, and holds jobs still"
	}
	if p.Write && part.Total == 0 {
		body.Deeds = []pages.Deed{{Label: "Forget it", Action: a.book().Link("workers", name, "forget")}}
	}
	p.Body = body
	return nil
}

func (a *App) tagsPage(c *Call, p *pages.Page) error {
	p.Title = "Tags"
	a.head(c, p)
	at := max(0, atoi(c.R.URL.Query().Get("at")))
	tags, err := ops.TopTags(c.R.Context(), a.o.Redis, ops.Page{Offset: at, Limit: 2 * pageRows})
	if err != nil {
		return err
	}
	body := pages.Tags{Rows: tags}
	if at > 0 {
		body.First = a.book().Link("tags")
	}
	if len(tags) == 2*pageRows {
		body.Next, _ = pages.Query(a.book().Link("tags"), "at", at+len(tags))
	}
	p.Body = body
	return nil
}

// searchPage looks for what somebody typed. What is no query is said on the page, over how one is written.
func (a *App) searchPage(c *Call, p *pages.Page) error {
	query := c.R.URL.Query()
	term, cursor := query.Get("q"), query.Get("cursor")
	p.Title = "Search"
	a.head(c, p)
	body := pages.Search{Term: term}
	found, err := ops.Search(c.R.Context(), a.o.Redis, term, ops.Window{Cursor: cursor, Limit: pageRows})
	var wrong *ops.Wrong
	switch {
	case errors.As(err, &wrong):
		body.Wrong = sentence(wrong.Error())
	case err != nil:
		return err
	}
	for _, hit := range found.Hits {
		one := pages.Hit{Kind: hit.Kind, Name: hit.Name, Href: a.book().Link(places[hit.Kind], hit.Name)}
		if hit.Queue != "" {
			one.Href, one.Says = a.book().Link("queues", hit.Queue, "keys", hit.Name), "of queue "+hit.Queue
		}
		body.Exact = append(body.Exact, one)
	}
	here, _ := pages.Query(a.book().Link("search"), "q", term)
	if jobs := found.Jobs; jobs != nil {
		body.List = a.jobList(jobs.Part, here, cursor != "")
		body.List.Says, body.List.Empty = "", "None of those that were looked at."
		body.Looked = fmt.Sprintf("Looked at %s of %s; %s found.", screen.Count(jobs.LookedAt), screen.Count(jobs.Total), screen.Count(len(jobs.Items)))
		body.Onward, body.List.Next = body.List.Next, ""
		a.choose(p, &body.List)
	}
	if term != "" && found.Jobs == nil && len(body.Exact) == 0 && body.Wrong == "" {
		body.Wrong = "Nothing has exactly that name: no job, recurring job, queue, group, tag, worker, throttle or key."
		if none := ops.NotTerm(term); none != "" {
			body.Wrong += " " + none + "."
		}
	}
	body.Help = found.Jobs == nil
	p.Body = body
	return nil
}

// places are the pages of what can be found by its name.
var places = map[string]string{"job": "jobs", "recurring": "recurring", "queue": "queues", "group": "failures", "tag": "tags", "worker": "workers", "throttle": "throttles"}

func (a *App) settingsPage(c *Call, p *pages.Page) error {
	p.Title = "Settings"
	a.head(c, p)
	all, err := a.o.Redis.Settings(c.R.Context())
	if err != nil {
		return err
	}
	var body pages.Settings
	for _, name := range slices.Sorted(keysOf(all)) {
		body.Rows = append(body.Rows, pages.Setting{Name: name, Value: all[name]})
	}
	p.Body = body
	return nil
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

// shownEvents is how many of the last events the page of them has.
const shownEvents = 200

func (a *App) eventsPage(c *Call, p *pages.Page) error {
	p.Title, p.Scope = "Events", "this supervisor"
	body := pages.Events{Says: "What happened in this process in the last five minutes, the newest last."}
	if shot, is := a.shot(); is {
		a.headLocal(p, shot)
	}
	if a.o.Hub == nil {
		body.Says = "The process that answers here runs no supervisor and remembers no events. `oarlock events` follows those of Redis."
	} else {
		for _, e := range a.events() {
			body.Lines = append(body.Lines, a.logLine(hub.Line{At: e.At, Stream: string(e.Kind), Text: eventWords(e)}))
		}
	}
	p.Body = body
	return nil
}

// events are the last ones of this process.
func (a *App) events() []hub.Event {
	listener := a.o.Hub.ListenAfter(0) // all that is kept
	defer listener.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // only what is there already
	var all []hub.Event
	for {
		batch, _, err := listener.Next(ctx)
		if err != nil || len(batch) == 0 {
			return all[max(0, len(all)-shownEvents):]
		}
		all = append(all, batch...)
	}
}

// eventWords is an event in one line.
func eventWords(e hub.Event) string {
	parts := []string{e.Pool}
	if e.Slot != nil {
		parts[0] += fmt.Sprintf("[%d]", *e.Slot)
	}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(e.PID != 0, "pid %d", e.PID)
	add(e.Klass != "", "%s", e.Klass)
	add(e.JID != "", "%s", e.JID)
	add(e.Queue != "", "of %s", e.Queue)
	add(e.Attempt > 0, "attempt %d", e.Attempt)
	add(e.Key != "", "key %s", e.Key)
	add(e.Name != "", "%s", e.Name)
	add(e.Count > 0, "%s", screen.Count(e.Count))
	add(e.Broken > 0, "%s broken", screen.Count(e.Broken))
	add(e.Outcome != "", "%s", e.Outcome)
	add(e.State != "", "%s", e.State)
	add(e.From != e.To && e.Count == 0, "%d → %d", e.From, e.To)
	add(e.Reason != "", "%s", e.Reason)
	add(e.Duration > 0, "%s", pages.Span(e.Duration))
	add(e.Group != "", "%s", e.Group)
	add(e.Progress != "", "%s", e.Progress)
	add(e.Message != "", "%s", e.Message)
	return strings.TrimSpace(strings.Join(parts, " "))
}

// listActs are what is done to them.
func (a *App) listActs() []act {
	return []act{
		{path: "/workers/{worker}/forget", does: "forget worker", do: func(c *Call) (string, string, error) {
			name := c.Name("worker")
			c.Did(name, 0)
			return "forgot " + name, a.book().Link("workers"), ops.ForgetWorkers(c.R.Context(), a.o.Redis, []string{name})
		}},
		{path: "/settings", does: "set setting", do: func(c *Call) (string, string, error) {
			return a.setSetting(c, c.R.PostFormValue("name"))
		}},
		{path: "/settings/{setting}", does: "set setting", do: func(c *Call) (string, string, error) {
			return a.setSetting(c, c.Name("setting"))
		}},
	}
}

func (a *App) setSetting(c *Call, name string) (told, to string, err error) {
	to = a.book().Link("settings")
	c.Did(name, 0)
	if name == "" {
		return "", "", badField("name", "name a setting")
	}
	if c.R.PostFormValue("unset") != "" {
		return name + " has its default again", to, a.o.Redis.Unset(c.R.Context(), name)
	}
	value := c.R.PostFormValue("value")
	return name + " is " + value + " now, for all clients", to, ops.SetSetting(c.R.Context(), a.o.Redis, name, value, ops.Never)
}
