package web

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// throttleViews are the pages of throttles.
func (a *App) throttleViews() []view {
	return []view{
		{path: "/throttles", template: "throttles", section: "/throttles", fill: a.throttlesPage},
		{path: "/throttles/{throttle}", template: "throttle", section: "/throttles", fill: a.throttlePage},
	}
}

// throttlesPage looks through some of the keys of Redis a click, for no list of throttles is kept.
func (a *App) throttlesPage(c *Call, p *pages.Page) error {
	p.Title = "Throttles"
	a.head(c, p)
	cursor := c.R.URL.Query().Get("cursor")
	found, err := ops.ThrottlesFrom(c.R.Context(), a.o.Redis, ops.Window{Cursor: cursor, Limit: pageRows})
	if err != nil {
		return err
	}
	var body pages.Throttles
	for _, t := range found.Items {
		body.Rows = append(body.Rows, pages.Throttle{ID: t.ID, Maximum: t.Maximum, TTL: t.TTL, Limit: ops.LimitWords(t.Maximum, t.Limits), Held: t.Holders, Waits: t.Waiters})
	}
	body.Says = lookedThrough(len(body.Rows), "throttle", found.Next != "")
	if cursor != "" {
		body.First = a.book().Link("throttles")
	}
	if found.Next != "" {
		body.Next, _ = pages.Query(a.book().Link("throttles"), "cursor", found.Next)
	}
	p.Body = body
	return nil
}

// throttleBody is a throttle on its page, at the server's time now, but for its jobs.
func throttleBody(t ops.Throttle, now float64) pages.ThrottlePage {
	body := pages.ThrottlePage{
		Throttle: pages.Throttle{ID: t.ID, Maximum: t.Maximum, TTL: t.TTL, Held: t.Used, Waits: t.Waiting, Damage: t.Damage}, Idle: t.Idle, By: t.By,
	}
	switch {
	case t.ByHand && *t.Rule == 0 && len(t.Limits) > 0:
		body.Ruled = fmt.Sprintf("Somebody set this limit by hand; the rules limit it by %s alone.", strings.Join(t.Limits, ", "))
	case t.ByHand:
		body.Ruled = fmt.Sprintf("Somebody set this limit by hand; the rules say that it lets %s run at a time.", limitWords(*t.Rule))
	}
	if t.Oldest > 0 {
		body.Oldest = pages.Span(max(0, now-t.Oldest))
	}
	if r := t.Rate; r != nil {
		body.Rate = fmt.Sprintf("It starts %s in %s at most, which lets one start now.", screen.Count(r.Starts), pages.Span(r.Period))
		if r.Next > now {
			body.Rate = fmt.Sprintf("It starts %s in %s at most, which lets the next start in %s.", screen.Count(r.Starts), pages.Span(r.Period), pages.Span(r.Next-now))
		}
	}
	if d := t.Decider; d != nil {
		words := d.Words(now)
		body.Rate = strings.ToUpper(words[:1]) + words[1:] + "."
	}
	for _, v := range t.Values {
		row := pages.Value{Name: v.Value, Cap: v.Cap, Used: v.Used, Waits: v.Waiting}
		if v.Share > 0 {
			row.Share = fmt.Sprintf("%g %%", math.Round(v.Share*1000)/10)
		}
		if v.Cap > 0 {
			row.Part = min(100, 100*v.Used/v.Cap)
		}
		body.Values = append(body.Values, row)
	}
	for _, list := range t.Waitlists {
		body.Waitlists = append(body.Waitlists, pages.Waitlist{Queue: list.Queue, Party: list.Party, Places: list.Places, Jobs: list.Jobs, For: pages.Span(max(0, now-list.Since))})
	}
	return body
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
	body := throttleBody(t, now)
	for _, of := range []struct {
		jids []string
		all  int
		list *pages.Jobs
		none string
	}{{t.Holders, len(t.Holders), &body.Holders, "No job holds it."}, {t.Waiters, t.Waiting, &body.Waiters, "No job waits for it" + t.BesideWords() + "."}} {
		if of.list.Rows, err = a.related(ctx, of.jids, now); err != nil {
			return err
		}
		of.list.Empty, of.list.Print = of.none, printOf(of.jids)
		if more := of.all - len(of.list.Rows); more > 0 {
			of.list.Says = fmt.Sprintf("and %s more", screen.Count(more))
		}
	}
	if p.Write {
		for i := range body.Holders.Rows {
			row := &body.Holders.Rows[i]
			row.Deeds = []pages.Deed{{Label: "Release", Action: a.book().Link("throttles", id, "release"), Fields: []pages.Field{{Name: "jid", Value: url.QueryEscape(row.JID)}}}}
		}
		if t.ByHand {
			body.Deeds = append(body.Deeds, pages.Deed{Label: "As the rules say", Action: a.book().Link("throttles", id, "unset")})
		}
		if t.Maximum > 0 {
			body.Deeds = append(body.Deeds, pages.Deed{Label: "Remove the limit", Action: a.book().Link("throttles", id, "remove"), Tone: pages.Bad})
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
		{path: "/throttles/{throttle}/unset", does: "unset throttle", do: func(c *Call) (string, string, error) {
			id := c.Name("throttle")
			limit, beside, err := ops.UnsetThrottle(c.R.Context(), a.o.Redis, id)
			c.Did(id, limit)
			return fmt.Sprintf("%s: what the rules say counts again: %s", id, ops.LimitWords(limit, beside)), a.book().Link("throttles", id), err
		}},
		{path: "/throttles/{throttle}/release", does: "release throttle", do: func(c *Call) (string, string, error) {
			id := c.Name("throttle")
			if err := c.R.ParseForm(); err != nil {
				return "", "", badField("form", "%v", err)
			}
			jids := slices.Clone(c.R.PostForm["jid"])
			for i, jid := range jids {
				var err error
				if jids[i], err = url.QueryUnescape(jid); err != nil { // forms change line breaks
					return "", "", badField("jid", "%q is none that the page named", shown(jid))
				}
			}
			jids = slices.Compact(jids)
			c.Did(id, len(jids))
			err := ops.ReleaseThrottle(c.R.Context(), a.o.Redis, id, jids)
			for _, jid := range jids {
				if err == nil {
					a.sign(c, jid, "release throttle")
				}
			}
			return "released", a.book().Link("throttles", id), err
		}},
	}
}
