package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"oarlock/internal/ops"
	"oarlock/supervisor"
)

// entryRoutes are what is asked of the lists that any program can push to, and done to them. Whoever may put jobs into queues may not
// push here, and who may only look sees those that are known to be lists: a list is a key of Redis, and any key can be named.
func (a *App) entryRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/lists", Right: Read, Do: a.apiLists},
		{Method: "GET", Path: "/lists/{list}", Right: Read, Do: a.apiList},
		{Method: "GET", Path: "/lists/{list}/entries", Right: Read, Do: a.apiEntries},
		{Method: "POST", Path: "/lists/{list}/entries", Right: Write, Does: "push to list", Body: mostPutBody, Do: a.apiPush},
		{Method: "POST", Path: "/lists/{list}/retry", Right: Write, Does: "retry list", Do: a.apiRetryList},
		{Method: "DELETE", Path: "/lists/{list}", Right: Write, Does: "destroy list", Do: a.apiDestroyList},
	}
}

// ownLists are the lists that the supervisor of this process works or takes in: one that only waits is not told from other keys of Redis.
func (a *App) ownLists() []string {
	shot, _ := a.shot()
	return listsOf(&shot)
}

// listsOf are the lists that a supervisor works or takes in.
func listsOf(shot *supervisor.Snapshot) (names []string) {
	for _, pool := range shot.Pools {
		if pool.List != nil {
			names = append(names, pool.List.Name)
		}
	}
	for _, in := range shot.Intake {
		names = append(names, in.List)
	}
	return names
}

// seesList refuses a list to who may only look, unless it is one that a supervisor works or takes in, or an hworker's, or shows in Redis that
// it was: any key of Redis can be named as a list, and with it what others keep there. Whether there is such a key is not told.
func (a *App) seesList(c *Call, name string) error {
	if c.Who.May(Write) || slices.Contains(a.ownLists(), name) {
		return nil
	}
	if known, err := a.o.Redis.ShowsList(c.R.Context(), name); err != nil || known {
		return err
	}
	roll, _ := a.roll(c.R.Context())
	for i := range roll.Items {
		if slices.Contains(listsOf(&roll.Items[i].Status), name) {
			return nil
		}
	}
	return problem(http.StatusNotFound, "no_such_list", "%s is no list that a pool works or an intake of [queues] takes in, as far as is known, and none of an hworker: name those as hworker:NAME. Other keys of Redis are for who may write", shown(name))
}

func (a *App) apiLists(c *Call) error {
	names := c.several("name")
	if len(names) == 0 {
		part, err := ops.ListsIn(c.R.Context(), a.o.Redis, c.query("cursor"), a.ownLists())
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, part)
	}
	for _, name := range names {
		if err := a.seesList(c, name); err != nil {
			return err
		}
	}
	lists, err := ops.Lists(c.R.Context(), a.o.Redis, names, nil)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, whole(lists))
}

func (a *App) apiList(c *Call) error {
	name := c.Name("list")
	if err := a.seesList(c, name); err != nil {
		return err
	}
	lists, err := ops.Lists(c.R.Context(), a.o.Redis, []string{name}, nil)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, lists[0])
}

func (a *App) apiEntries(c *Call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	part := ops.PartWaiting
	if text := c.query("part"); text != "" {
		part = ops.ListPart(text)
	}
	if !slices.Contains(ops.ListParts, part) {
		return badField("part", "%s is none of waiting, in-work, failed, broken", shown(string(part)))
	}
	name := c.Name("list")
	if err := a.seesList(c, name); err != nil {
		return err
	}
	counts, err := ops.Lists(c.R.Context(), a.o.Redis, []string{name}, nil)
	if err != nil {
		return err
	}
	entries, err := ops.Entries(c.R.Context(), a.o.Redis, name, part, page)
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i] = a.redactor.entry(entries[i])
	}
	told := whole(entries)
	told.Total = counts[0].Of(part)
	if end := page.Offset + len(entries); len(entries) > 0 && end < told.Total {
		told.Next = strconv.Itoa(end)
	}
	return c.JSON(http.StatusOK, told)
}

// entry blanks what is secret in what is told of an entry of a list.
func (r redactor) entry(e ops.Entry) ops.Entry {
	e.Entry, _ = r.any(e.Entry)
	e.Data, e.Message = r.data(e.Data), r.text(e.Message)
	return e
}

func (a *App) apiPush(c *Call) error {
	var in struct {
		Data json.RawMessage `json:"data"`
		Text *string         `json:"text"` // in place of data: as it is, where the list has no envelope
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if (in.Data == nil) == (in.Text == nil) {
		return badField("data", `what is pushed, as JSON: {"data": {"to": "ann"}}; or {"text": "…"}, which need be none`)
	}
	if in.Text != nil {
		in.Data = []byte(*in.Text)
	}
	name := c.Name("list")
	c.Did(name, 1)
	entry, err := ops.PushList(c.R.Context(), a.o.Redis, name, in.Data, c.sure())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, pushed{entry})
}

// pushed is an entry as it stands in its list now.
type pushed struct {
	Entry string `json:"entry"`
}

func (a *App) apiRetryList(c *Call) error {
	name := c.Name("list")
	c.Did(name, 0)
	n, err := ops.RetryList(c.R.Context(), a.o.Redis, name, ops.Lost{})
	if err != nil {
		return err
	}
	c.Did(name, n)
	return c.JSON(http.StatusOK, retried{n})
}

// retried is how many entries were put back into their list.
type retried struct {
	Retried int `json:"retried"`
}

func (a *App) apiDestroyList(c *Call) error {
	name := c.Name("list")
	c.Did(name, 0)
	if err := c.sure()("This deletes the list " + shown(name) + " and all that is kept beside it."); err != nil {
		return err
	}
	was, err := ops.DestroyList(c.R.Context(), a.o.Redis, name, false)
	if err != nil {
		return noneCalled("no_such_list", err)
	}
	c.Did(name, was.Waiting+was.Progress+was.Failed+was.Broken)
	return c.JSON(http.StatusOK, was)
}
