package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"oarlock/internal/ops"
	"oarlock/supervisor"
)

// supervisorRoutes are what is asked of the supervisor of this process, and of its pools.
func (a *App) supervisorRoutes() []Route {
	steer := func(path, does string, do func(*Call, supervisor.Snapshot) (string, error)) Route {
		return Route{Method: "POST", Path: path, Right: Write, Local: true, Does: does, Do: func(c *Call) error { return a.apiSteer(c, do) }}
	}
	return []Route{
		{Method: "GET", Path: "/status", Right: Read, Do: a.apiStatus},
		{Method: "POST", Path: "/supervisor/reload", Right: Write, Local: true, Does: "reload", Do: a.apiReload},
		steer("/supervisor/quiet", "quiet", func(c *Call, shot supervisor.Snapshot) (string, error) {
			return ops.Quiet(c.R.Context(), a.o.Supervisor, shot)
		}),
		steer("/supervisor/resume", "resume", func(c *Call, shot supervisor.Snapshot) (string, error) {
			return ops.ResumeTaking(c.R.Context(), a.o.Supervisor, shot)
		}),
		steer("/supervisor/drain", "drain", a.leaving("drain", "draining: it leaves when what runs has finished")),
		steer("/supervisor/stop", "stop", a.leaving("stop", "stopping: it leaves when what runs has finished, at the latest after drain_timeout")),
		{Method: "GET", Path: "/pools", Right: Read, Local: true, Do: a.apiPools},
		{Method: "GET", Path: "/pools/{pool}", Right: Read, Local: true, Do: a.apiPool},
		steer("/pools/{pool}/scale", "scale pool", a.apiScale),
		steer("/pools/{pool}/quiet", "quiet pool", onPool("it takes no more jobs until it is resumed; what runs goes on", func(pool string) error { return a.o.Supervisor.QuietPool(pool) })),
		steer("/pools/{pool}/resume", "resume pool", onPool("it takes jobs again", func(pool string) error { return a.o.Supervisor.ResumePool(pool) })),
		steer("/pools/{pool}/abandon", "give roll up", onPool("the roll is given up: the old generation has its slots again", func(pool string) error { return a.o.Supervisor.AbandonRoll(pool) })),
		steer("/pools/{pool}/slots/{slot}/recycle", "recycle slot", a.apiRecycleSlot),
		steer("/pools/{pool}/slots/{slot}/stop", "stop job", a.apiStopJob),
		steer("/pools/{pool}/recycle", "recycle pool", func(c *Call, shot supervisor.Snapshot) (string, error) {
			c.Did(c.Name("pool"), 0)
			return ops.Recycle(c.R.Context(), a.o.Supervisor, shot, c.Name("pool"))
		}),
	}
}

// errNoSupervisor says that there is none here.
var errNoSupervisor = problem(http.StatusNotFound, "no_supervisor", "no supervisor runs in the process that answers here, which knows Redis only")

// done is the answer to a deed that has none of its own.
type done struct {
	Done string `json:"done"` // what was done, in a sentence
}

func (a *App) apiStatus(c *Call) error {
	if a.o.Supervisor == nil {
		return errNoSupervisor
	}
	return c.JSON(http.StatusOK, a.o.Supervisor.Status(a.o.Supervisor.Snapshot()))
}

// apiSteer has something done to the supervisor, which may go on after the answer.
func (a *App) apiSteer(c *Call, do func(*Call, supervisor.Snapshot) (string, error)) error {
	if a.o.Supervisor == nil {
		return errNoSupervisor
	}
	told, err := do(c, a.o.Supervisor.Snapshot())
	var missing *ops.Missing
	switch {
	case errors.As(err, &missing) && c.R.PathValue("pool") != "" && poolNamed(a.o.Supervisor.Snapshot(), c.Name("pool")) == nil:
		return problem(http.StatusNotFound, "no_such_pool", "%v", err)
	case errors.As(err, &missing):
		return problem(http.StatusConflict, "changed", "%v", err)
	case err != nil:
		return err
	}
	return c.JSON(http.StatusAccepted, done{told})
}

func (a *App) leaving(verb, told string) func(*Call, supervisor.Snapshot) (string, error) {
	return func(c *Call, _ supervisor.Snapshot) (string, error) {
		return told, a.o.Supervisor.Do(context.WithoutCancel(c.R.Context()), verb)
	}
}

// onPool is a deed to a pool.
func onPool(told string, do func(pool string) error) func(*Call, supervisor.Snapshot) (string, error) {
	return func(c *Call, shot supervisor.Snapshot) (string, error) {
		name := c.Name("pool")
		c.Did(name, 0)
		if poolNamed(shot, name) == nil {
			return "", noPool(shot, name)
		}
		if err := do(name); err != nil {
			return "", problem(http.StatusConflict, "changed", "%v", err)
		}
		return told, nil
	}
}

// slotOf is the slot that a call is about.
func slotOf(c *Call, shot supervisor.Snapshot) (pool string, slot supervisor.SlotSnapshot, err error) {
	p := poolNamed(shot, c.Name("pool"))
	if p == nil {
		return "", slot, noPool(shot, c.Name("pool"))
	}
	n, err := strconv.Atoi(c.R.PathValue("slot"))
	c.Did(fmt.Sprintf("%s[%d]", p.Name, n), 0)
	at := slices.IndexFunc(p.Slots, func(s supervisor.SlotSnapshot) bool { return s.Slot == n })
	if err != nil || at < 0 {
		return "", slot, problem(http.StatusNotFound, "no_such_slot", "pool %s has no slot %s; it has %d of them, from 0 on", shown(p.Name), shown(c.R.PathValue("slot")), len(p.Slots))
	}
	return p.Name, p.Slots[at], nil
}

func (a *App) apiRecycleSlot(c *Call, shot supervisor.Snapshot) (string, error) {
	pool, slot, err := slotOf(c, shot)
	if err != nil {
		return "", err
	}
	if err := a.o.Supervisor.RecycleSlot(pool, slot.Slot); err != nil {
		return "", problem(http.StatusConflict, "changed", "%v", err)
	}
	return "its child is replaced as soon as its job is over", nil
}

// apiStopJob stops what runs in a slot: the job is given back, and costs nothing.
func (a *App) apiStopJob(c *Call, shot supervisor.Snapshot) (string, error) {
	pool, slot, err := slotOf(c, shot)
	if err != nil {
		return "", err
	}
	if len(slot.Runs) == 0 {
		return "", problem(http.StatusConflict, "changed", "slot %d of %s has no job now", slot.Slot, shown(pool))
	}
	run := slot.Runs[0]
	if named := c.query("run"); named != "" && named != run.Run {
		return "", problem(http.StatusConflict, "changed", "slot %d of %s works on another run now; nothing was done", slot.Slot, shown(pool))
	}
	if err := a.o.Supervisor.StopRun(pool, run.Run); err != nil {
		return "", problem(http.StatusConflict, "changed", "%v", err)
	}
	return "job " + run.JID + " is told to stop, and is given back", nil
}

func (a *App) apiReload(c *Call) error {
	if a.o.Supervisor == nil {
		return errNoSupervisor
	}
	return c.JSON(http.StatusAccepted, a.o.Supervisor.Reload(c.Who.Name))
}

func (a *App) apiScale(c *Call, shot supervisor.Snapshot) (string, error) {
	var in struct {
		Children *int `json:"children"`
	}
	if err := c.body(&in); err != nil {
		return "", err
	}
	if in.Children == nil || *in.Children < 0 {
		return "", badField("children", `a number of children is wanted, such as {"children": 4}`)
	}
	c.Did(c.Name("pool"), *in.Children)
	return ops.Scale(c.R.Context(), a.o.Supervisor, shot, c.Name("pool"), *in.Children)
}

func (a *App) apiPools(c *Call) error {
	if a.o.Supervisor == nil {
		return errNoSupervisor
	}
	return c.JSON(http.StatusOK, whole(a.o.Supervisor.Snapshot().Pools))
}

func (a *App) apiPool(c *Call) error {
	if a.o.Supervisor == nil {
		return errNoSupervisor
	}
	shot := a.o.Supervisor.Snapshot()
	if pool := poolNamed(shot, c.Name("pool")); pool != nil {
		return c.JSON(http.StatusOK, pool)
	}
	return noPool(shot, c.Name("pool"))
}

// poolNamed is a pool of a supervisor; one that leaves comes after one that works. Nil if there is none.
func poolNamed(shot supervisor.Snapshot, name string) *supervisor.PoolSnapshot {
	var leaving *supervisor.PoolSnapshot
	for i := range shot.Pools {
		switch p := &shot.Pools[i]; {
		case p.Name != name:
		case !p.Draining:
			return p
		default:
			leaving = p
		}
	}
	return leaving
}

func noPool(shot supervisor.Snapshot, name string) error {
	var names []string
	for _, p := range shot.Pools {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	if slices.Contains(shot.Stuck, name) {
		return problem(http.StatusServiceUnavailable, "stuck", "%s", shown(supervisor.StuckWords(name)))
	}
	return problem(http.StatusNotFound, "no_such_pool", "there is no pool %s here%s", shown(name), ops.Nearest(name, names))
}
