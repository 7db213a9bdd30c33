package web

import (
	"net/http"

	"oarlock/internal/ops"
)

// keyRoutes are what is asked of keys, of whose jobs one runs at a time, and done to them.
func (a *App) keyRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/queues/{queue}/keys", Right: Read, Do: a.apiKeys},
		{Method: "GET", Path: "/queues/{queue}/keys/{key}", Right: Read, Do: a.apiKey},
		{Method: "POST", Path: "/queues/{queue}/keys/{key}/pass", Right: Write, Does: "pass key", Do: a.apiPassKey},
		{Method: "POST", Path: "/queues/{queue}/keys/{key}/drop", Right: Write, Does: "drop key", Do: a.apiDropKey},
		{Method: "POST", Path: "/queues/{queue}/free", Right: Write, Does: "free keys", Do: a.apiFreeKeys},
	}
}

func (a *App) apiKeys(c *Call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	keys, err := ops.ListKeys(c.R.Context(), a.o.Redis, c.Name("queue"), c.query("by"), page)
	if err != nil {
		return noneCalled("no_such_queue", err)
	}
	return c.JSON(http.StatusOK, keys)
}

func (a *App) apiKey(c *Call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	key, err := ops.ShowKey(c.R.Context(), a.sources(), c.Name("queue"), c.Name("key"), page)
	if err != nil {
		return noneCalled("no_such_key", err)
	}
	for i, why := range key.Why {
		key.Why[i] = a.hide(why)
	}
	return c.JSON(http.StatusOK, key)
}

func (a *App) apiPassKey(c *Call) error {
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	name, key := c.Name("queue"), c.Name("key")
	c.Did(name+" "+key, 0)
	passed, err := ops.PassKey(c.R.Context(), a.o.Redis, name, key, dry)
	if err != nil {
		return noneCalled("no_such_key", err)
	}
	if !dry {
		a.sign(c, passed.From, "pass key")
	}
	return c.JSON(http.StatusOK, passed)
}

func (a *App) apiDropKey(c *Call) error {
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	name, key := c.Name("queue"), c.Name("key")
	c.Did(name+" "+key, 0)
	dropped, err := ops.DropKey(c.R.Context(), a.o.Redis, name, key, dry)
	if err != nil {
		return noneCalled("no_such_key", err)
	}
	if !dry {
		c.Did(name+" "+key, dropped.Jobs)
	}
	return c.JSON(http.StatusOK, dropped)
}

func (a *App) apiFreeKeys(c *Call) error {
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	name := c.Name("queue")
	c.Did(name, 0)
	freed, err := ops.FreeKeys(c.R.Context(), a.o.Redis, name, dry)
	if err != nil {
		return noneCalled("no_such_queue", err)
	}
	if !dry {
		c.Did(name, freed.Jobs)
	}
	return c.JSON(http.StatusOK, freed)
}
