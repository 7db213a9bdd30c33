package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
	"oarlock/supervisor"
)

// failureViews are the pages of failed jobs.
func (a *App) failureViews() []view {
	return []view{
		{path: "/failures", template: "failures", section: "/failures", fill: a.failuresPage},
		{path: "/failures/{group}", template: "failure", section: "/failures", fill: a.failurePage},
		{path: "/dead", template: "failures", section: "/failures", fill: a.failuresPage},
	}
}

func (a *App) failuresPage(c *Call, p *pages.Page) error {
	p.Title = "Failures"
	a.head(c, p)
	cursor := c.R.URL.Query().Get("cursor")
	found, err := ops.Failures(c.R.Context(), a.o.Redis, ops.Window{Cursor: cursor, Limit: pageRows})
	if err != nil {
		return err
	}
	body := pages.Failures{Total: found.Total, Sorted: found.Sorted}
	body.Groups, body.Print = a.groupRows(found.Items, found.AsOf)
	if cursor != "" {
		body.First = a.book().Link("failures")
	}
	if found.Next != "" {
		body.Next, _ = pages.Query(a.book().Link("failures"), "cursor", found.Next)
	}
	p.Body = body
	return nil
}

// failurePage is one group: its newest failure at once, then those that a filter means.
func (a *App) failurePage(c *Call, p *pages.Page) error {
	group, ctx, query := c.Name("group"), c.R.Context(), c.R.URL.Query()
	p.Title = group + " · Failures"
	a.head(c, p)
	body := pages.FailureGroup{Name: group, Filter: pages.Filter{
		Queue: query.Get("queue"), Klass: query.Get("klass"), Key: query.Get("key"), Message: query.Get("message"), Since: query.Get("since"), Before: query.Get("before"),
	}}
	where, err := a.failureFilter(group, body.Filter)
	if err != nil {
		return err
	}
	found, err := ops.Find(ctx, a.o.Redis, where, ops.Window{Cursor: query.Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	body.Jobs = found.Total
	here := a.filtered(a.book().Link("failures", group), body.Filter)
	body.List = a.jobList(found.Part, here, query.Get("cursor") != "")
	body.List.Failed, body.List.Says = true, ""
	body.List.Empty = "No job of this group " + matchWords(body.Filter.Any()) + ". It may have been retried, dropped, or moved."
	if body.Filter.Any() {
		body.Matched = fmt.Sprintf("%s of %s looked at match.", screen.Count(len(found.Items)), screen.Count(found.LookedAt))
		if found.Next != "" {
			body.Matched = fmt.Sprintf("The first %s that match, of %s looked at; there are %s in the group.", screen.Count(len(found.Items)), screen.Count(found.LookedAt), screen.Count(found.Total))
		}
	}
	if len(found.Items) > 0 && query.Get("cursor") == "" {
		if body.Newest, err = a.story(c, found.Items[0].JID); err != nil {
			return err
		}
	}
	if p.Write && found.Total > 0 {
		body.Deeds = a.bulkDeeds(group, body.Filter)
		a.choose(p, &body.List)
	}
	p.Body = body
	return nil
}

func matchWords(filtered bool) string {
	if filtered {
		return "matches"
	}
	return "is there"
}

// filtered puts a filter behind a path.
func (a *App) filtered(path string, f pages.Filter) string {
	href, _ := pages.Query(path, "queue", f.Queue, "klass", f.Klass, "key", f.Key, "message", f.Message, "since", f.Since, "before", f.Before)
	return href
}

// failureFilter is a filter as it was typed; since and before are how long ago.
func (a *App) failureFilter(group string, f pages.Filter) (ops.Filter, error) {
	where := ops.Filter{Group: group, Queue: f.Queue, Klass: f.Klass, Key: f.Key, Message: f.Message}
	for _, of := range []struct {
		name, text string
		at         **float64
	}{{"since", f.Since, &where.Since}, {"before", f.Before, &where.Before}} {
		if of.text == "" {
			continue
		}
		ago, err := time.ParseDuration(strings.ReplaceAll(of.text, " ", ""))
		if err != nil || ago < 0 {
			return where, badField(of.name, "%q is no duration; write 90s, 15m or 2h", shown(of.text))
		}
		at := a.o.Redis.Now() - ago.Seconds()
		*of.at = &at
	}
	return where, nil
}

// story is what the last bad attempt of a job said; nil if the job is gone.
func (a *App) story(c *Call, jid string) (*pages.Story, error) {
	found, err := a.o.Redis.Glances(c.R.Context(), queue.Whole, jid)
	if err != nil || found[0].Row == queue.RowGone {
		return nil, err
	}
	return a.storyOf(ops.ViewGlance(found[0]), a.o.Redis.Now()), nil
}

// storyOf tells of the last attempt of a job that did not end well; nil if there was none.
func (a *App) storyOf(job ops.Job, now float64) *pages.Story {
	failed := job.Failed()
	if len(job.Record) == 0 && failed.Group == "" {
		return nil
	}
	s := &pages.Story{JID: job.JID}
	var r supervisor.Record
	if len(job.Record) > 0 && json.Unmarshal(job.Record, &r) == nil {
		s.Told = explain.Record(r)
		s.Stderr, s.Stdout, s.OOM = a.hide(r.Stderr), a.hide(r.Stdout), r.OOM
	}
	group, message := failed.Group, failed.Message
	if group == "" {
		group, message = r.Group, r.Message
	}
	s.Title = fmt.Sprintf("%s in %s, attempt %d: %s: %s", screen.Shorten(job.Klass, 60), screen.Shorten(job.Queue, 60), max(r.Attempt, job.Attempt), screen.Shorten(group, 100), screen.Shorten(message, 300))
	if failed.When > 0 {
		s.Title += ", " + pages.Ago(now-failed.When)
	}
	for i := range s.Told {
		s.Told[i] = sentence(a.hide(strings.Join(strings.Fields(s.Told[i]), " ")))
	}
	s.Title = a.hide(s.Title)
	return s
}

const (
	// mostShown is how much of a text of others is shown on a page, in bytes, and mostHistory how much of one of many; commands and
	// API tell all of it.
	mostShown   = 8 << 10
	mostHistory = 1 << 10
	// mostSearched is in how much of it is looked for what is secret: more than is shown, so that no secret is cut before it is found.
	mostSearched = 64 << 10
)

// hide blanks what is secret in a text of several lines, of which the beginning is shown.
func (a *App) hide(text string) string {
	text, _ = a.redacted(beginning(text, mostSearched))
	return beginning(text, mostShown)
}

// beginning is the beginning of a text, of so many bytes at most, with a sign where it was cut.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// redacted is hide, and says whether something was blanked.
func (a *App) redacted(text string) (string, bool) { return a.redactor.any(text) }
