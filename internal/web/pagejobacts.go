package web

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/web/pages"
)

// jobActs are what is done to one job.
func (a *App) jobActs() []act { return slices.Concat(a.plainJobActs(), a.askedJobActs()) }

// noting is what the deed does that leaves a note.
const noting = "note on job"

// onJob is a deed on the job that the path names, which has an entry in its history of who did it.
func (a *App) onJob(path, does string, do func(ctx context.Context, c *Call, jid string) (string, error)) act {
	return act{path: "/jobs/{jid}/" + path, does: does, do: func(c *Call) (string, string, error) {
		jid := c.Name("jid")
		c.Did(jid, 0)
		told, err := do(c.R.Context(), c, jid)
		if err == nil && does != noting { // a note says itself whose it is
			a.sign(c, jid, does)
		}
		return told, a.book().Link("jobs", jid), ops.Worded(jid, err)
	}}
}

// asking is a deed that a form at the same path asks something for.
func (a *App) asking(one act, form func(jid string) pages.Form) act {
	one.form = func(c *Call) (pages.Form, error) {
		jid := c.Name("jid")
		f := form(jid)
		f.Action, f.Back = a.o.Prefix+c.R.URL.EscapedPath(), a.book().Link("jobs", jid)
		if query := c.R.URL.RawQuery; query != "" {
			f.Action += "?" + query
		}
		return f, nil
	}
	return one
}

// amended does what changes a job only if it is as it was seen.
func amended(change func(context.Context, string) (ops.Amended, error), told string) func(context.Context, *Call, string) (string, error) {
	return func(ctx context.Context, _ *Call, jid string) (string, error) {
		done, err := change(ctx, jid)
		if err == nil && len(done.Changed) > 0 {
			return "", problem(409, "changed", "%s changed just now: look at it again; nothing was done", shown(jid))
		}
		if err == nil {
			err = done.Err()
		}
		return told, err
	}
}

// plainJobActs are those that one button does.
func (a *App) plainJobActs() []act {
	return []act{
		a.onJob("retry", "retry job", func(ctx context.Context, _ *Call, jid string) (string, error) {
			in, err := ops.Retry(ctx, a.o.Redis, jid)
			return "it is in " + in + " again, with all its retries", err
		}),
		a.onJob("take-back", "take back job", amended(func(ctx context.Context, jid string) (ops.Amended, error) {
			return ops.TakeBack(ctx, a.o.Redis, []string{jid})
		}, "it was taken from its worker and is the first of its queue")),
		a.onJob("now", "run job now", a.runNow),
		a.onJob("track", "track job", func(ctx context.Context, _ *Call, jid string) (string, error) {
			_, err := a.o.Redis.Track(ctx, jid)
			return "it is tracked: what happens to it is published", err
		}),
		a.onJob("untrack", "untrack job", func(ctx context.Context, _ *Call, jid string) (string, error) {
			return "it is tracked no longer", ops.Untrack(ctx, a.o.Redis, jid)
		}),
	}
}

// askedJobActs are those that want to know something first, or a word to be sure.
func (a *App) askedJobActs() []act {
	return []act{
		a.asking(a.onJob("move", "move job", a.moveJob), func(jid string) pages.Form {
			return pages.Form{Heading: "Move " + jid, Says: []string{"It keeps its data, its priority and its tags, and has all its retries."}, Label: "Move", Asks: []pages.Ask{
				{Name: "to", Label: "into queue", Wanted: true}, {Name: "delay", Label: "after", Hint: "as 10m; empty is at once"}}}
		}),
		a.asking(a.onJob("tag", "tag job", a.tagJob), func(jid string) pages.Form {
			return pages.Form{Heading: "Tag " + jid, Label: "Change tags", Asks: []pages.Ask{
				{Name: "add", Label: "give it", Hint: "tags with blanks between them"}, {Name: "remove", Label: "take from it"}}}
		}),
		a.asking(a.onJob("priority", "set priority", func(ctx context.Context, c *Call, jid string) (string, error) {
			n, err := strconv.ParseFloat(strings.TrimSpace(c.R.PostFormValue("priority")), 64)
			if err != nil {
				return "", badField("priority", "%q is no number; higher comes first", shown(c.R.PostFormValue("priority")))
			}
			return fmt.Sprintf("its priority is %g", n), ops.SetPriority(ctx, a.o.Redis, jid, n)
		}), func(jid string) pages.Form {
			return pages.Form{Heading: "Priority of " + jid, Label: "Set", Asks: []pages.Ask{{Name: "priority", Label: "priority", Hint: "a number; higher comes first", Wanted: true, Kind: "number"}}}
		}),
		a.asking(a.onJob("note", noting, func(ctx context.Context, c *Call, jid string) (string, error) {
			text := strings.TrimSpace(c.R.PostFormValue("text"))
			if text == "" {
				return "", badField("text", "the note is empty")
			}
			by, err := json.Marshal(map[string]string{"by": c.Who.Name})
			if err != nil {
				return "", err
			}
			return "the note stands in its history", a.o.Redis.Log(ctx, jid, text, by)
		}), func(jid string) pages.Form {
			return pages.Form{Heading: "Note on " + jid, Says: []string{"It stands in the history of the job, for all to read."}, Label: "Add", Asks: []pages.Ask{{Name: "text", Label: "note", Wanted: true}}}
		}),
		a.asking(a.onJob("depends", "change what job waits for", a.dependJob), func(jid string) pages.Form {
			return pages.Form{Heading: "What " + jid + " waits for", Label: "Change", Asks: []pages.Ask{
				{Name: "on", Label: "wait also for", Hint: "jids with blanks between them"}, {Name: "off", Label: "wait no longer for"}, {Name: "none", Label: "wait for none any more", Kind: "check"}}}
		}),
		a.asking(a.onJob("cancel", "cancel job", amended(func(ctx context.Context, jid string) (ops.Amended, error) {
			return ops.Cancel(ctx, a.o.Redis, []string{jid})
		}, "it is canceled and gone")), func(jid string) pages.Form {
			return pages.Form{Heading: "Cancel " + jid, Says: []string{"It is removed for good, with its data and history; if it runs, its child is stopped. This cannot be taken back."}, Label: "Cancel the job", Danger: true}
		}),
	}
}

// runNow lets a scheduled job run at once.
func (a *App) runNow(ctx context.Context, _ *Call, jid string) (string, error) {
	job, err := ops.Glance(ctx, a.o.Redis, jid)
	if err != nil {
		return "", err
	}
	if job.State != "scheduled" {
		return "", problem(409, "changed", "%s is %s, not scheduled; nothing was done", shown(jid), job.State)
	}
	return "it waits for a child now, and no longer for its time", ops.Move(ctx, a.o.Redis, jid, job.Queue, 0, ops.Always)
}

func (a *App) moveJob(ctx context.Context, c *Call, jid string) (string, error) {
	delay := time.Duration(0)
	if text := strings.TrimSpace(c.R.PostFormValue("delay")); text != "" {
		var err error
		if delay, err = time.ParseDuration(text); err != nil {
			return "", badField("delay", "%q is no duration; write 90s, 15m or 2h", shown(text))
		}
	}
	to := c.R.PostFormValue("to")
	return "it is in " + to + " now", ops.Move(ctx, a.o.Redis, jid, to, delay, ops.Never)
}

func (a *App) tagJob(ctx context.Context, c *Call, jid string) (string, error) {
	add, remove := words(c.R.PostFormValue("add")), words(c.R.PostFormValue("remove"))
	if len(add)+len(remove) == 0 {
		return "", badField("add", "name a tag")
	}
	if len(add) > 0 {
		if _, err := ops.Tag(ctx, a.o.Redis, jid, add, ops.Never); err != nil {
			return "", err
		}
	}
	if len(remove) > 0 {
		if _, err := ops.Untag(ctx, a.o.Redis, jid, remove); err != nil {
			return "", err
		}
	}
	return "its tags are changed", nil
}

func (a *App) dependJob(ctx context.Context, c *Call, jid string) (string, error) {
	on, off := words(c.R.PostFormValue("on")), words(c.R.PostFormValue("off"))
	var err error
	switch {
	case c.R.PostFormValue("none") != "":
		_, err = ops.DependOnNone(ctx, a.o.Redis, jid)
	case len(on)+len(off) == 0:
		err = badField("on", "name a job")
	default:
		if len(on) > 0 {
			_, err = ops.DependMore(ctx, a.o.Redis, jid, on)
		}
		if err == nil && len(off) > 0 {
			_, err = ops.DependLess(ctx, a.o.Redis, jid, off)
		}
	}
	return "what it waits for is changed", err
}
