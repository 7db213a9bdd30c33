package web

import (
	"net/http"

	"oarlock/internal/ops"
)

// searchRoutes find jobs, and do something to many.
func (a *App) searchRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/search", Right: Read, Do: a.apiSearch},
		{Method: "POST", Path: "/bulk", Right: Write, Does: "bulk", Do: a.apiBulk},
		{Method: "GET", Path: "/supervisors", Right: Read, Do: a.apiSupervisors},
	}
}

func (a *App) apiSearch(c *Call) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	if c.query("q") == "" {
		return badField("q", "what is looked for: a name, or terms such as group:exit-1 klass:Resize")
	}
	found, err := ops.Search(c.R.Context(), a.o.Redis, c.query("q"), w)
	if err != nil {
		return err
	}
	if found.Jobs != nil {
		for i := range found.Jobs.Items {
			found.Jobs.Items[i] = a.redactor.job(found.Jobs.Items[i])
		}
	}
	return c.JSON(http.StatusOK, found)
}

// bulk is a deed to many jobs: without a plan, or with dry_run, it is planned and nothing is changed.
type bulk struct {
	ops.Bulk
	DryRun *bool `json:"dry_run"` // true unless it says false
}

// apiBulk plans a deed, or does it by its plan.
func (a *App) apiBulk(c *Call) error {
	var in bulk
	if err := c.body(&in); err != nil {
		return err
	}
	c.Did(in.Action, 0)
	if orElse(in.DryRun, true) {
		plan, err := in.Bulk.DryRun(c.R.Context(), a.o.Redis)
		if err != nil {
			return err
		}
		for i := range plan.Sample {
			plan.Sample[i] = a.redactor.job(plan.Sample[i])
		}
		c.Did(in.Action+", planned", plan.Count)
		return c.JSON(http.StatusOK, plan)
	}
	done, err := in.Bulk.Do(c.R.Context(), a.o.Redis)
	c.Did(in.Action, done.Done)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, done)
}

// apiSupervisors tells what all supervisors of the namespace say of themselves; this one alone where others are not asked,
// and what Redis knows of those that do not answer.
func (a *App) apiSupervisors(c *Call) error {
	if a.o.Others == nil {
		roll, _ := a.roll(c.R.Context())
		return c.JSON(http.StatusOK, a.withUnheard(c.R.Context(), roll))
	}
	roll, err := a.o.Others.Call(c.R.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, a.withUnheard(c.R.Context(), a.withOwn(roll)))
}
