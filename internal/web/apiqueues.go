package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"oarlock/internal/ops"
	"oarlock/queue"
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
		{Method: "GET", Path: "/queues/{queue}/sorted", Right: Read, Do: a.apiSortedJobs},
		{Method: "POST", Path: "/queues/{queue}/now", Right: Write, Does: "run scheduled now", Do: a.apiScheduledDeed(func(c *Call, name string, _ bool) (*ops.ScheduledDeed, error) {
			return ops.PlanNow(c.R.Context(), a.o.Redis, name)
		})},
		{Method: "POST", Path: "/queues/{queue}/kill", Right: Write, Does: "kill scheduled", Do: a.apiScheduledDeed(func(c *Call, name string, drop bool) (*ops.ScheduledDeed, error) {
			return ops.PlanKill(c.R.Context(), a.o.Redis, name, drop)
		})},
		{Method: "GET", Path: "/stats", Right: Read, Do: a.apiStats},
	}
}

// queueOrders are in which order queues are listed.
var queueOrders = map[string]func(a, b ops.Queue) int{
	"name": func(a, b ops.Queue) int { return cmp.Compare(a.Name, b.Name) },
	"lag":  func(a, b ops.Queue) int { return cmp.Or(cmp.Compare(b.Lag, a.Lag), cmp.Compare(a.Name, b.Name)) },
	"waiting": func(a, b ops.Queue) int {
		return cmp.Or(cmp.Compare(b.Backlog(), a.Backlog()), cmp.Compare(a.Name, b.Name))
	},
}

// apiQueues lists queues. Those that are listed are counted now; of more than one call counts, the order is that of the census.
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
	names, err := a.queueNames(c.R.Context(), c.several("match"), order)
	if err != nil {
		return err
	}
	end := min(at+cmp.Or(w.Limit, fewQueues), len(names))
	at = min(at, len(names))
	items, err := ops.QueuesNamed(c.R.Context(), a.o.Redis, names[at:end])
	if err != nil {
		return err
	}
	slices.SortFunc(items, order)
	part := whole(a.tellQueues(c.R.Context(), items...))
	if part.Total = len(names); end < len(names) {
		part.Next = strconv.Itoa(end)
	}
	return c.JSON(http.StatusOK, part)
}

// queueNames are the queues that one of patterns matches, or all, in an order: as it is now, or, of many, was a few seconds ago.
func (a *App) queueNames(ctx context.Context, patterns []string, order func(a, b ops.Queue) int) ([]string, error) {
	names, err := a.o.Redis.QueueNames(ctx)
	if err != nil {
		return nil, err
	}
	if len(patterns) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return !queue.MatchAny(patterns, name) })
	}
	census, now, err := a.countedOf(ctx, names)
	if err != nil {
		return nil, err
	}
	known := make(map[string]ops.Queue, len(census))
	for i := range census {
		known[census[i].Name] = ops.ViewQueue(census[i], now)
	}
	slices.SortFunc(names, func(x, y string) int {
		one, other := known[x], known[y]
		one.Name, other.Name = x, y // of one that is new there is nothing else
		return order(one, other)
	})
	return names, nil
}

func (a *App) apiQueue(c *Call) error {
	name := c.Name("queue")
	if err := ops.KnownQueues(c.R.Context(), a.o.Redis, name); err != nil {
		return noneCalled("no_such_queue", err)
	}
	census, now, err := a.countedOf(c.R.Context(), []string{name})
	if err != nil {
		return err
	}
	told := a.tellQueues(c.R.Context(), ops.ViewQueue(census[0], now))[0]
	if told.Fair, err = ops.FairOf(c.R.Context(), a.o.Redis, name); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, told)
}

// queueTold is what the API tells of a queue.
type queueTold struct {
	ops.Queue
	Rate      *float64   `json:"rate"`           // jobs a second that were completed lately; nil while nobody has looked for long enough
	Listeners []listener `json:"listeners"`      // of all supervisors that answered; nil where there is nobody to be asked
	Fair      *ops.Fair  `json:"fair,omitempty"` // of one queue, not in lists; nil if it is not fair
}

// listener is a pool that takes jobs of a queue.
type listener struct {
	Host       string `json:"host"`
	Supervisor string `json:"supervisor"`
	PID        int    `json:"pid"` // of the supervisor
	Pool       string `json:"pool"`
	Busy       int    `json:"busy"` // children with a job, of any queue
	Children   int    `json:"children"`
	Trouble    string `json:"trouble,omitempty"` // why it takes nothing, or works slowly
}

// tellQueues adds who listens to queues, and how they go on, as far as somebody has looked at them here in the last minutes.
func (a *App) tellQueues(ctx context.Context, queues ...ops.Queue) []queueTold {
	roll, all := a.roll(ctx)
	told := make([]queueTold, len(queues))
	for i, q := range queues {
		t := &told[i]
		if outlook := a.looks.Outlook(q.Name, ""); outlook.Looks > 0 {
			q.Outlook = &outlook
			if outlook.Over > 0 {
				perSecond := outlook.Completed / 60
				t.Rate = &perSecond
			}
		}
		t.Queue = q
		if all || len(roll.Items) > 0 {
			t.Listeners = []listener{}
		}
		for _, l := range a.listeners(roll, q.Name) {
			t.Listeners = append(t.Listeners, l.listener)
		}
	}
	return told
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

// apiStats counts what there is in all queues: few are counted now, of many it is a few seconds old.
func (a *App) apiStats(c *Call) error {
	ctx := c.R.Context()
	names, err := a.o.Redis.QueueNames(ctx)
	if err != nil {
		return err
	}
	if len(names) > fewQueues {
		all, err := a.backlogs.get(ctx, backlogsLast, func(ctx context.Context) (ops.Backlogs, error) {
			census, now, err := a.counted(ctx)
			if err != nil {
				return ops.Backlogs{}, err
			}
			return a.backlogsOf(ctx, census, now)
		})
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, all)
	}
	census, now, err := a.o.Redis.Census(ctx, names)
	if err != nil {
		return err
	}
	all, err := a.backlogsOf(ctx, census, now)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, all)
}

// backlogsLast is how old the statistics of many queues may be.
const backlogsLast = 5 * time.Second

func (a *App) backlogsOf(ctx context.Context, census []queue.QueueCensus, now float64) (ops.Backlogs, error) {
	failed, err := ops.FailedOf(ctx, a.o.Redis, census)
	return ops.BacklogsOf(census, now, failed), err
}
