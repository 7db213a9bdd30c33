package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// entryViews are the pages of lists that any program can push to.
func (a *App) entryViews() []view {
	return []view{
		{path: "/lists", template: "lists", section: "/lists", still: true, fill: a.listsPage}, // it looks through names of keys: once, and not every second
		{path: "/lists/{list}", template: "list", section: "/lists", fill: a.listPage},
	}
}

func (a *App) listsPage(c *Call, p *pages.Page) error {
	p.Title = "Lists"
	a.head(c, p)
	cursor := c.query("cursor")
	part, err := ops.ListsIn(c.R.Context(), a.o.Redis, cursor, a.ownLists())
	if err != nil {
		return err
	}
	var body pages.Lists
	for _, l := range part.Items {
		body.Rows = append(body.Rows, listRow(l))
	}
	body.Says = lookedThrough(len(body.Rows), "list", part.Next != "")
	if cursor != "" {
		body.First = a.book().Link("lists")
	}
	if part.Next != "" {
		body.Next, _ = pages.Query(a.book().Link("lists"), "cursor", part.Next)
	}
	p.Body = body
	return nil
}

// lookedThrough says how many of what were found among the keys of Redis, of which there are more to look through; "" of none among all.
func lookedThrough(found int, what string, more bool) string {
	switch {
	case more:
		return screen.Some(found, what) + ", as far as was looked through the keys of Redis; there are more keys, and perhaps more " + what + "s"
	case found > 0:
		return screen.Some(found, what)
	}
	return ""
}

func listRow(l ops.ListCounts) pages.List {
	return pages.List{Name: l.Name, Damage: l.Damage, Waiting: l.Waiting, Progress: l.Progress, Failed: l.Failed, Broken: l.Broken}
}

func (a *App) listPage(c *Call, p *pages.Page) error {
	name, ctx := c.Name("list"), c.R.Context()
	p.Title = name + " · Lists"
	a.head(c, p)
	if err := a.seesList(c, name); err != nil {
		return err
	}
	counts, err := ops.Lists(ctx, a.o.Redis, []string{name}, nil)
	if err != nil {
		return err
	}
	part := ops.ListPart(c.query("part"))
	if !slices.Contains(ops.ListParts, part) {
		part = ops.PartWaiting
	}
	body := pages.ListPage{List: listRow(counts[0]), Part: string(part), Empty: part.Empty()}
	here := a.book().Link("lists", name)
	for _, each := range ops.ListParts {
		href, _ := pages.Query(here, "part", string(each))
		body.Parts = append(body.Parts, pages.State{Name: strings.ReplaceAll(string(each), "-", " "), Jobs: counts[0].Of(each), Href: href, Here: each == part})
	}
	at := max(0, atoi(c.query("at")))
	entries, err := ops.Entries(ctx, a.o.Redis, name, part, ops.Page{Offset: at, Limit: pageRows})
	if err != nil {
		return err
	}
	var prints []string
	for _, e := range entries {
		row := a.entryRow(part, a.redactor.entry(e), a.o.Redis.Now())
		body.Rows, prints = append(body.Rows, row), append(prints, e.Entry)
	}
	body.Print = printOf(prints)
	all := counts[0].Of(part)
	if len(entries) > 0 {
		body.Says = fmt.Sprintf("%s to %s of %s", screen.Count(at+1), screen.Count(at+len(entries)), entryWords(all))
	}
	page := func(at int) string {
		href, _ := pages.Query(here, "part", string(part), "at", at)
		return href
	}
	if at > 0 {
		body.First = page(0)
	}
	if part == ops.PartBroken && all > queue.BrokenLooked {
		body.Says += fmt.Sprintf(", of which %s are looked at", screen.Count(queue.BrokenLooked))
		all = queue.BrokenLooked
	}
	if at+pageRows < all {
		body.Next = page(at + pageRows)
	}
	if p.Write {
		if lost := counts[0].Failed + counts[0].Broken; lost > 0 {
			body.Deeds = append(body.Deeds, pages.Deed{Label: "Put all that failed or is broken back…", Form: a.book().Link("lists", name, "retry")})
		}
		body.Deeds = append(body.Deeds, pages.Deed{Label: "Destroy…", Form: a.book().Link("lists", name, "destroy"), Tone: pages.Bad})
	}
	p.Body = body
	return nil
}

func (a *App) entryRow(part ops.ListPart, e ops.Entry, now float64) pages.Entry {
	row := pages.Entry{Text: screen.Shorten(e.Entry, 400), JID: e.JID, Why: e.Why()}
	if e.Group != "" {
		row.Why = e.Group + ": " + e.Message
	}
	switch at := cmp.Or(e.Failed, e.Since); {
	case part == ops.PartInWork && e.Waits:
		row.When = "put off"
	case at > 0:
		row.When = pages.Ago(now - at)
	}
	return row
}

// entryWords count entries.
func entryWords(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return screen.Count(n) + " entries"
}

// entryActs are what is done to them.
func (a *App) entryActs() []act {
	return []act{
		{path: "/lists/{list}/push", does: "push to list", do: func(c *Call) (string, string, error) {
			name := c.Name("list")
			c.Did(name, 1)
			data := strings.TrimSpace(c.R.PostFormValue("data"))
			if data == "" {
				return "", "", badField("data", "there is nothing to push")
			}
			_, err := ops.PushList(c.R.Context(), a.o.Redis, name, []byte(data), ops.Never)
			return "pushed to " + name, a.book().Link("lists", name), err
		}},
		{path: "/lists/{list}/retry", does: "retry list", form: a.retryListForm, do: func(c *Call) (string, string, error) {
			name := c.Name("list")
			c.Did(name, 0)
			n, err := ops.RetryList(c.R.Context(), a.o.Redis, name, ops.Lost{})
			c.Did(name, n)
			return entryWords(n) + " of " + name + " put back", a.book().Link("lists", name), err
		}},
		{path: "/lists/{list}/destroy", does: "destroy list", form: a.destroyListForm, do: func(c *Call) (string, string, error) {
			name := c.Name("list")
			c.Did(name, 0)
			if c.R.PostFormValue("sure") == "" {
				return "", "", badField("sure", "check the box if it is meant; nothing was done")
			}
			was, err := ops.DestroyList(c.R.Context(), a.o.Redis, name, false)
			n := was.Waiting + was.Progress + was.Failed + was.Broken
			c.Did(name, n)
			return name + " is deleted, with " + entryWords(n), a.book().Link("lists"), err
		}},
	}
}

func (a *App) retryListForm(c *Call) (pages.Form, error) {
	name := c.Name("list")
	counts, err := ops.Lists(c.R.Context(), a.o.Redis, []string{name}, nil)
	if err != nil {
		return pages.Form{}, err
	}
	return pages.Form{
		Heading: "Put entries of " + screen.Shorten(name, 80) + " back", Label: "Put them back",
		Says:   []string{fmt.Sprintf("%s that failed and %s that are broken stand in the list again, behind what waits. What is broken fails the same way again unless who works it has changed.", screen.Count(counts[0].Failed), screen.Count(counts[0].Broken))},
		Action: a.book().Link("lists", name, "retry"), Back: a.book().Link("lists", name),
	}, nil
}

func (a *App) destroyListForm(c *Call) (pages.Form, error) {
	name := c.Name("list")
	counts, err := ops.Lists(c.R.Context(), a.o.Redis, []string{name}, nil)
	if err != nil {
		return pages.Form{}, err
	}
	l := counts[0]
	return pages.Form{
		Heading: "Destroy " + screen.Shorten(name, 80), Label: "Destroy it", Danger: true,
		Says: []string{
			fmt.Sprintf("It and all that is kept beside it is deleted: %s waiting, %s in work, %s failed, %s broken.", screen.Count(l.Waiting), screen.Count(l.Progress), screen.Count(l.Failed), screen.Count(l.Broken)),
			"What is in work goes on, and nothing is left of it if it fails. This cannot be taken back.",
		},
		Asks:   []pages.Ask{{Name: "sure", Label: "it is meant", Kind: "check"}},
		Action: a.book().Link("lists", name, "destroy"), Back: a.book().Link("lists", name),
	}, nil
}
