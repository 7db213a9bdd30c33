package web

import (
	"net/http"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// listRoutes are the lists that are no queue's, and what stands behind their names.
func (a *App) listRoutes() []Route {
	on := func(kind queue.ShelfKind, wildcard string) func(*Call) error {
		return func(c *Call) error { return a.apiShelf(c, queue.Shelf{Kind: kind, Name: c.Name(wildcard)}) }
	}
	return []Route{
		{Method: "GET", Path: "/failures", Right: Read, Do: a.apiFailures},
		{Method: "GET", Path: "/failures/{group}", Right: Read, Do: on(queue.ShelfFailed, "group")},
		{Method: "GET", Path: "/tracked", Right: Read, Do: on(queue.ShelfTracked, "")},
		{Method: "GET", Path: "/completed", Right: Read, Do: on(queue.ShelfComplete, "")},
		{Method: "GET", Path: "/tags", Right: Read, Do: a.apiTags},
		{Method: "GET", Path: "/tags/{tag}", Right: Read, Do: on(queue.ShelfTag, "tag")},
		{Method: "GET", Path: "/workers", Right: Read, Do: a.apiWorkers},
		{Method: "GET", Path: "/workers/{worker}", Right: Read, Do: a.apiWorker},
		{Method: "DELETE", Path: "/workers/{worker}", Right: Write, Does: "forget worker", Do: a.apiForgetWorker},
		{Method: "GET", Path: "/audit", Right: Read, Local: true, Do: func(c *Call) error { return c.JSON(http.StatusOK, whole(a.deeds.newest())) }},
	}
}

// apiShelf lists the jobs that stand together.
func (a *App) apiShelf(c *Call, shelf queue.Shelf) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	found, err := ops.JobsOn(c.R.Context(), a.o.Redis, shelf, w)
	if err != nil {
		return err
	}
	return a.apiJobs(c, found)
}

func (a *App) apiFailures(c *Call) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	found, err := ops.Failures(c.R.Context(), a.o.Redis, w)
	if err != nil {
		return err
	}
	for i := range found.Items {
		if newest := found.Items[i].Newest; newest != nil {
			newest.Message = a.redactor.text(newest.Message)
		}
	}
	return c.JSON(http.StatusOK, found)
}

// mostTags is how many tags are listed.
const mostTags = 1000

func (a *App) apiTags(c *Call) error {
	tags, err := ops.TopTags(c.R.Context(), a.o.Redis, ops.Page{Limit: mostTags})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, whole(tags))
}

func (a *App) apiWorkers(c *Call) error {
	workers, err := ops.Workers(c.R.Context(), a.o.Redis)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, whole(workers))
}

func (a *App) apiWorker(c *Call) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	found, err := ops.HeldBy(c.R.Context(), a.o.Redis, c.Name("worker"), w)
	if err != nil {
		return noneCalled("no_such_worker", err)
	}
	return a.apiJobs(c, found)
}

func (a *App) apiForgetWorker(c *Call) error {
	name := c.Name("worker")
	c.Did(name, 0)
	if err := ops.ForgetWorkers(c.R.Context(), a.o.Redis, []string{name}); err != nil {
		return noneCalled("no_such_worker", err)
	}
	return c.JSON(http.StatusOK, done{"the worker is off the list; what it holds stays locked"})
}
