package web

import (
	"cmp"
	"sync"
	"time"
)

// deed is what somebody did, as the audit tells it.
type deed struct {
	At     float64 `json:"at"` // seconds since the epoch
	Who    string  `json:"who"`
	From   string  `json:"from"` // the door, and the address
	Action string  `json:"action"`
	What   string  `json:"what,omitempty"` // to which queue, job, pool
	Count  int     `json:"count,omitempty"`
	Result string  `json:"result"` // done, or the code of the problem
	Took   float64 `json:"took"`   // seconds
}

// mostDeeds is how many deeds are kept.
const mostDeeds = 200

// deeds are the last ones.
type deeds struct {
	mu  sync.Mutex
	all []deed // the oldest first
}

func (d *deeds) add(one deed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == mostDeeds {
		d.all = append(d.all[:0:0], d.all[1:]...)
	}
	d.all = append(d.all, one)
}

// newest are all that are kept, the newest first.
func (d *deeds) newest() []deed {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]deed, 0, len(d.all))
	for i := len(d.all) - 1; i >= 0; i-- {
		out = append(out, d.all[i])
	}
	return out
}

// audit tells of a deed that was asked for, done or not.
func (a *App) audit(c *Call, status int, took time.Duration, err error) {
	one := c.deed
	one.At = float64(time.Now().UnixMilli()) / 1e3
	one.Who, one.From, one.Action, one.Took = c.Who.Name, c.from(), c.route.Does, took.Seconds()
	one.Result = cmp.Or(one.Result, "done")
	if err != nil {
		one.Result = problemOf(err).Code
	}
	a.deeds.add(one)
	if n := a.o.Monitor.Counts; n != nil {
		n.Action(one.Action, one.Result)
	}
	a.o.Log.Info("web action", "who", one.Who, "from", one.From, "action", one.Action, "what", one.What, "count", one.Count, "result", one.Result, "status", status, "took", took)
}

// from is whence a call came.
func (c *Call) from() string {
	if c.door.Who != nil || c.R.RemoteAddr == "" || c.R.RemoteAddr == "@" {
		return c.door.Name
	}
	return c.door.Name + " " + c.R.RemoteAddr
}
