package web

import (
	"fmt"
	"slices"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
)

// keyViews are the pages of keys, of whose jobs one runs at a time.
func (a *App) keyViews() []view {
	return []view{
		{path: "/queues/{queue}/keys", template: "keys", section: "/queues", fill: a.keysPage},
		{path: "/queues/{queue}/keys/{key}", template: "key", section: "/queues", fill: a.keyPage},
	}
}

func (a *App) keysPage(c *Call, p *pages.Page) error {
	name, query := c.Name("queue"), c.R.URL.Query()
	p.Title = "Keys of " + name
	a.head(c, p)
	by, at := query.Get("by"), max(0, atoi(query.Get("at")))
	if !slices.Contains([]string{ops.ByBlocked, ops.ByName}, by) {
		by = ops.ByBlocked
	}
	all, err := ops.ListKeys(c.R.Context(), a.o.Redis, name, by, ops.Page{Offset: at, Limit: pageRows})
	if err != nil {
		return err
	}
	here := a.book().Link("queues", name, "keys")
	body := pages.Keys{Queue: name, By: by, Empty: "Nobody stands behind another job of its key here."}
	if by == ops.ByName {
		body.Empty = "No job that waits or runs here has a key."
	}
	var names []string
	for _, k := range all.Items {
		body.Rows, names = append(body.Rows, keyRow(k, all.AsOf)), append(names, k.Key)
	}
	body.Print = printOf(names)
	if all.Total > 0 {
		body.Says = fmt.Sprintf("%s of %s; %s behind", screen.Count(len(body.Rows)), screen.Some(all.Total, "key"), screen.Some(all.Behind, "job"))
	}
	page := func(at int) string {
		href, _ := pages.Query(here, "by", by, "at", at)
		return href
	}
	if at > 0 {
		body.First = page(0)
	}
	if at+pageRows < all.Total {
		body.Next = page(at + pageRows)
	}
	if p.Write && all.Total > 0 {
		body.Deeds = []pages.Deed{{Label: "Give the order up…", Form: a.book().Link("queues", name, "free"), Tone: pages.Bad}}
	}
	p.Body = body
	return nil
}

// keyRow is a key in a list.
func keyRow(k ops.Key, now float64) pages.Key {
	row := pages.Key{Queue: k.Queue, Name: k.Key, Holder: k.Holder, Behind: k.Behind}
	if k.Since > 0 {
		row.Waits = pages.Span(max(0, now-k.Since))
	}
	if k.Holder == "" && k.Until > now {
		row.Nobody = "nobody before the end of a run that was taken from its worker, in " + pages.Span(k.Until-now) + " at the latest"
	} else if k.Holder == "" {
		row.Nobody = "nobody; a supervisor gives it on with its next look"
	}
	return row
}

func (a *App) keyPage(c *Call, p *pages.Page) error {
	name, key, ctx := c.Name("queue"), c.Name("key"), c.R.Context()
	p.Title = key + " · Keys of " + name
	a.head(c, p)
	k, err := ops.ShowKey(ctx, a.sources(), name, key, ops.Page{Limit: mostRelated})
	if err != nil {
		return err
	}
	now := a.o.Redis.Now()
	body := pages.KeyPage{Key: keyRow(k, now), State: k.State}
	for _, why := range k.Why {
		body.Why = append(body.Why, a.hide(why))
	}
	if body.Next.Rows, err = a.related(ctx, k.Next, now); err != nil {
		return err
	}
	body.Next.Print, body.Next.Empty = printOf(k.Next), "Nobody stands behind."
	if more := k.Behind - len(body.Next.Rows); more > 0 {
		body.Next.Says = fmt.Sprintf("and %s more", screen.Count(more))
	}
	if p.Write {
		if k.State == "failed" {
			body.Deeds = append(body.Deeds, pages.Deed{Label: "Let it go on", Action: a.book().Link("queues", name, "keys", key, "pass"), Tone: pages.Good})
		}
		body.Deeds = append(body.Deeds, pages.Deed{Label: "Cancel all its jobs…", Form: a.book().Link("queues", name, "keys", key, "drop"), Tone: pages.Bad})
	}
	p.Body = body
	return nil
}

// keyActs are what is done to keys.
func (a *App) keyActs() []act {
	return []act{
		{path: "/queues/{queue}/keys/{key}/pass", does: "pass key", do: func(c *Call) (string, string, error) {
			name, key := c.Name("queue"), c.Name("key")
			c.Did(name+" "+key, 0)
			passed, err := ops.PassKey(c.R.Context(), a.o.Redis, name, key, false)
			if err == nil {
				a.sign(c, passed.From, "pass key")
			}
			return "key " + key + " goes on, without " + passed.From, a.book().Link("queues", name, "keys"), err
		}},
		{path: "/queues/{queue}/keys/{key}/drop", does: "drop key", form: a.dropKeyForm, do: func(c *Call) (string, string, error) {
			name, key := c.Name("queue"), c.Name("key")
			dropped, err := ops.DropKey(c.R.Context(), a.o.Redis, name, key, false)
			c.Did(name+" "+key, dropped.Jobs)
			told := screen.Some(dropped.Jobs, "job") + " of key " + key + " canceled"
			if dropped.Kept > 0 {
				told += fmt.Sprintf("; %s left: %s", screen.Some(dropped.Kept, "job"), dropped.Left[0].Why)
			}
			return told, a.book().Link("queues", name, "keys"), err
		}},
		{path: "/queues/{queue}/free", does: "free keys", form: a.freeKeysForm, do: func(c *Call) (string, string, error) {
			name := c.Name("queue")
			freed, err := ops.FreeKeys(c.R.Context(), a.o.Redis, name, false)
			c.Did(name, freed.Jobs)
			return "the order of " + name + " is given up: " + screen.Some(freed.Jobs, "job") + " that stood behind wait as any", a.book().Link("queues", name), err
		}},
	}
}

func (a *App) dropKeyForm(c *Call) (pages.Form, error) {
	name, key := c.Name("queue"), c.Name("key")
	would, err := ops.DropKey(c.R.Context(), a.o.Redis, name, key, true)
	if err != nil {
		return pages.Form{}, err
	}
	return pages.Form{
		Heading: fmt.Sprintf("Cancel %s of key %s", screen.Some(would.Jobs, "job"), screen.Shorten(key, 80)), Label: "Cancel them", Danger: true,
		Says:   []string{"The job that has the turn, even if it runs, and all that stand behind it are removed for good. Failed and delayed ones stay.", "This cannot be taken back."},
		Action: a.book().Link("queues", name, "keys", key, "drop"), Back: a.book().Link("queues", name, "keys", key),
	}, nil
}

func (a *App) freeKeysForm(c *Call) (pages.Form, error) {
	name := c.Name("queue")
	would, err := ops.FreeKeys(c.R.Context(), a.o.Redis, name, true)
	if err != nil {
		return pages.Form{}, err
	}
	return pages.Form{
		Heading: "Give up the order of " + screen.Shorten(name, 80), Label: "Give it up", Danger: true,
		Says:   []string{fmt.Sprintf("%s now; from then on they wait as any job, so that several of a key may run at the same time, and in any order.", would.Behind()), "The next put of a key begins the order anew."},
		Action: a.book().Link("queues", name, "free"), Back: a.book().Link("queues", name, "keys"),
	}, nil
}
