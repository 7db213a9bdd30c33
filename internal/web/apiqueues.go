package web

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"oarlock/internal/ops"
)

// queueRoutes are what is asked of queues, and done to them.
func (a *App) queueRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/queues", Right: Read, Do: a.apiQueues},
		{Method: "GET", Path: "/queues/{queue}", Right: Read, Do: a.apiQueue},
		{Method: "GET", Path: "/queues/{queue}/stats", Right: Read, Do: a.apiQueueStats},
		{Method: "GET", Path: "/queues/{queue}/jobs", Right: Read, Do: a.apiQueueJobs},
		{Method: "POST", Path: "/queues/{queue}/pause", Right: Write, Does: "pause queue", Do: a.apiQueueDeed(func(c *Call, name string) error {
			return ops.Pause(c.R.Context(), a.o.Redis, []string{name}, c.sure())
		})},
		{Method: "POST", Path: "/queues/{queue}/resume", Right: Write, Does: "resume queue", Do: a.apiQueueDeed(func(c *Call, name string) error {
			return ops.Resume(c.R.Context(), a.o.Redis, []string{name})
		})},
		{Method: "POST", Path: "/queues/{queue}/forget", Right: Write, Does: "forget queue", Do: a.apiForgetQueue},
		{Method: "POST", Path: "/queues/{queue}/limit", Right: Write, Does: "limit queue", Do: a.apiQueueDeed(a.apiLimitQueue)},
		{Method: "GET", Path: "/stats", Right: Read, Do: a.apiStats},
	}
}

// queueOrders are in which order queues are listed.
var queueOrders = map[string]func(a, b ops.Queue) int{
	"name": func(a, b ops.Queue) int { return cmp.Compare(a.Name, b.Name) },
	"lag":  func(a, b ops.Queue) int { return cmp.Or(cmp.Compare(b.Lag, a.Lag), cmp.Compare(a.Name, b.Name)) },
	"waiting": func(a, b ops.Queue) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Name, b.Name))
	},
}

func (a *App) apiQueues(c *Call) error {
	order, known := queueOrders[cmp.Or(c.query("sort"), "name")]
	if !known {
		return badField("sort", "%s is none of name, lag, waiting", shown(c.query("sort")))
	}
	w, err := c.window()
	if err != nil {
		return err
	}
	at := 0
	if w.Cursor != "" {
		if at, err = strconv.Atoi(w.Cursor); err != nil || at < 0 {
			return badField("cursor", "it is none that this list gave")
		}
	}
	all, err := ops.Queues(c.R.Context(), a.o.Redis, c.R.URL.Query()["match"])
	if err != nil {
		return err
	}
	slices.SortFunc(all, order)
	part := whole(all)
	end := min(at+cmp.Or(w.Limit, 50), len(all))
	part.Items = all[min(at, len(all)):end]
	if end < len(all) {
		part.Next = strconv.Itoa(end)
	}
	return c.JSON(http.StatusOK, part)
}

func (a *App) apiQueue(c *Call) error {
	view, err := ops.QueueOf(c.R.Context(), a.o.Redis, c.Name("queue"))
	if err != nil {
		return noneCalled("no_such_queue", err)
	}
	return c.JSON(http.StatusOK, view)
}

func (a *App) apiQueueStats(c *Call) error {
	stats, err := ops.StatsOf(c.R.Context(), a.o.Redis, c.Name("queue"), c.query("day"))
	if err != nil {
		return noneCalled("no_such_queue", err)
	}
	return c.JSON(http.StatusOK, stats)
}

func (a *App) apiQueueJobs(c *Call) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	found, err := ops.JobsIn(c.R.Context(), a.o.Redis, c.Name("queue"), cmp.Or(c.query("state"), "waiting"), w)
	if err != nil {
		return noneCalled("no_such_queue", err)
	}
	return a.apiJobs(c, found)
}

// apiQueueDeed is a deed after which the queue is told of.
func (a *App) apiQueueDeed(do func(c *Call, name string) error) func(*Call) error {
	return func(c *Call) error {
		name := c.Name("queue")
		c.Did(name, 0)
		if err := do(c, name); err != nil {
			return noneCalled("no_such_queue", err)
		}
		return a.apiQueue(c)
	}
}

func (a *App) apiForgetQueue(c *Call) error {
	name := c.Name("queue")
	c.Did(name, 0)
	if err := ops.ForgetQueues(c.R.Context(), a.o.Redis, []string{name}); err != nil {
		return noneCalled("no_such_queue", err)
	}
	return c.JSON(http.StatusOK, done{"the queue is off the list; jobs in it stay"})
}

func (a *App) apiLimitQueue(c *Call, name string) error {
	var in struct {
		Limit *int `json:"limit"`
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if in.Limit == nil || *in.Limit < 0 {
		return badField("limit", `how many jobs may run at a time; 0 is any number: {"limit": 4}`)
	}
	c.Did(name, *in.Limit)
	return ops.SetLimit(c.R.Context(), a.o.Redis, name, *in.Limit, c.sure())
}

func (a *App) apiStats(c *Call) error {
	all, err := ops.BacklogStats(c.R.Context(), a.o.Redis)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, all)
}
