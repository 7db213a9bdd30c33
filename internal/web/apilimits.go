package web

import (
	"errors"
	"net/http"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// limitRoutes are what is asked of throttles and settings, and done to them.
func (a *App) limitRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/throttles", Right: Read, Do: a.apiThrottles},
		{Method: "GET", Path: "/throttles/{id}", Right: Read, Do: a.apiThrottle},
		{Method: "PUT", Path: "/throttles/{id}", Right: Write, Does: "set throttle", Do: a.apiSetThrottle},
		{Method: "DELETE", Path: "/throttles/{id}", Right: Write, Does: "remove throttle", Do: a.apiRemoveThrottle},
		{Method: "POST", Path: "/throttles/{id}/unset", Right: Write, Does: "unset throttle", Do: a.apiUnsetThrottle},
		{Method: "POST", Path: "/throttles/{id}/release", Right: Write, Does: "release throttle", Do: a.apiReleaseThrottle},
		{Method: "GET", Path: "/settings", Right: Read, Do: a.apiSettings},
		{Method: "PUT", Path: "/settings/{name}", Right: Write, Does: "change setting", Do: a.apiSetSetting},
		{Method: "DELETE", Path: "/settings/{name}", Right: Write, Does: "unset setting", Do: a.apiUnsetSetting},
	}
}

func (a *App) apiThrottles(c *Call) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	some, err := ops.ThrottlesIn(c.R.Context(), a.o.Redis, w)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, some)
}

func (a *App) apiThrottle(c *Call) error {
	t, err := ops.ShowThrottle(c.R.Context(), a.sources(), c.Name("id"))
	if err != nil {
		return noneCalled("no_such_throttle", err)
	}
	return c.JSON(http.StatusOK, t)
}

func (a *App) apiSetThrottle(c *Call) error {
	var in struct {
		Maximum *int    `json:"maximum"`
		TTL     float64 `json:"ttl"` // seconds
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if in.Maximum == nil || *in.Maximum < 0 {
		return badField("maximum", `how many jobs may hold it; 0 is any number: {"maximum": 4}`)
	}
	id := c.Name("id")
	c.Did(id, *in.Maximum)
	if err := ops.SetThrottle(c.R.Context(), a.o.Redis, queue.Throttle{ID: id, Maximum: *in.Maximum, TTL: queue.Duration(in.TTL)}, c.sure()); err != nil {
		return err
	}
	t, err := ops.ShowThrottle(c.R.Context(), a.sources(), id)
	var missing *ops.Missing
	if errors.As(err, &missing) {
		return c.JSON(http.StatusOK, ops.Throttle{ID: id, Holders: []string{}, Waiters: []string{}}) // it has no limit, and nobody names it
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, t)
}

// apiUnsetThrottle lets a limit be again what the rules say.
func (a *App) apiUnsetThrottle(c *Call) error {
	id := c.Name("id")
	c.Did(id, 0)
	limit, _, err := ops.UnsetThrottle(c.R.Context(), a.o.Redis, id)
	if err != nil {
		return noneCalled("no_such_throttle", err)
	}
	c.Did(id, limit)
	return a.apiThrottle(c)
}

func (a *App) apiRemoveThrottle(c *Call) error {
	c.Did(c.Name("id"), 0)
	if err := ops.RemoveThrottle(c.R.Context(), a.o.Redis, c.Name("id")); err != nil {
		return noneCalled("no_such_throttle", err)
	}
	return c.JSON(http.StatusOK, done{"it has no limit any more"})
}

func (a *App) apiReleaseThrottle(c *Call) error {
	var in struct {
		JIDs []string `json:"jids"`
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if len(in.JIDs) == 0 {
		return badField("jids", `name the jobs that are to give it up: {"jids": ["…"]}`)
	}
	c.Did(c.Name("id"), len(in.JIDs))
	if err := ops.ReleaseThrottle(c.R.Context(), a.o.Redis, c.Name("id"), in.JIDs); err != nil {
		return err
	}
	for _, jid := range in.JIDs {
		a.sign(c, jid, "release throttle")
	}
	return a.apiThrottle(c)
}

func (a *App) apiSettings(c *Call) error {
	all, err := a.o.Redis.Settings(c.R.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, all)
}

func (a *App) apiSetSetting(c *Call) error {
	var in struct {
		Value *string `json:"value"`
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if in.Value == nil {
		return badField("value", `a text is wanted: {"value": "60"}`)
	}
	c.Did(c.Name("name"), 0)
	if err := ops.SetSetting(c.R.Context(), a.o.Redis, c.Name("name"), *in.Value, c.sure()); err != nil {
		return err
	}
	return a.apiSettings(c)
}

func (a *App) apiUnsetSetting(c *Call) error {
	c.Did(c.Name("name"), 0)
	if err := a.o.Redis.Unset(c.R.Context(), c.Name("name")); err != nil {
		return err
	}
	return a.apiSettings(c)
}
