package web

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"oarlock/internal/ops"
)

// usualSorted is how many jobs are listed sorted, as by the command line.
const usualSorted = 100

// apiSortedJobs lists the jobs of a queue in one state, sorted by something by which Redis has them not.
func (a *App) apiSortedJobs(c *Call) error {
	limit, err := c.number("limit", usualSorted)
	if err != nil {
		return err
	}
	found, err := ops.Sorted{
		Queue: c.Name("queue"), State: cmp.Or(c.query("state"), "waiting"), By: cmp.Or(c.query("by"), "time"), From: c.query("from"), To: c.query("to"),
		Reverse: c.flag("reverse"), Limit: min(max(limit, 1), mostPage),
	}.List(c.R.Context(), a.o.Redis)
	if err != nil {
		return noneCalled("no_such_queue", err)
	}
	for i := range found.Items {
		found.Items[i] = a.redactor.job(found.Items[i])
	}
	return c.JSON(http.StatusOK, found)
}

// deedLasts is how long a request does something to many jobs; who asks again goes on with the others.
const deedLasts = 10 * time.Second

// apiScheduledDeed is a deed on all scheduled jobs of a queue that are meant: counted, or done to as many as a request has time for.
func (a *App) apiScheduledDeed(plan func(c *Call, name string, drop bool) (*ops.ScheduledDeed, error)) func(*Call) error {
	return func(c *Call) error {
		var in struct {
			DryRun bool `json:"dry_run"`
			Drop   bool `json:"drop"` // of kill: they are removed for good, in place of failing
		}
		if err := c.body(&in); err != nil {
			return err
		}
		name := c.Name("queue")
		c.Did(name, 0)
		deed, err := plan(c, name, in.Drop)
		if err != nil {
			return noneCalled("no_such_queue", err)
		}
		if in.DryRun {
			return c.JSON(http.StatusOK, deed)
		}
		ctx, over := context.WithTimeout(c.R.Context(), deedLasts)
		defer over()
		err = deed.Do(ctx, a.o.Redis)
		c.Did(name, deed.Done)
		if err != nil && (ctx.Err() == nil || c.R.Context().Err() != nil) {
			return err
		}
		return c.JSON(http.StatusOK, deed)
	}
}
