package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// recurringRoutes are what is asked of recurring jobs, and done to them.
func (a *App) recurringRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/recurring", Right: Read, Do: a.apiAllRecurring},
		{Method: "POST", Path: "/recurring", Right: Write, Does: "add recurring job", Do: a.apiAddRecurring},
		{Method: "GET", Path: "/recurring/{jid}", Right: Read, Do: a.apiOneRecurring},
		{Method: "PATCH", Path: "/recurring/{jid}", Right: Write, Does: "change recurring job", Do: a.apiChangeRecurring},
		{Method: "DELETE", Path: "/recurring/{jid}", Right: Write, Does: "end recurring job", Do: a.apiEndRecurring},
	}
}

// mostRecurring is how many recurring jobs of a queue are listed.
const mostRecurring = 1000

func (a *App) apiAllRecurring(c *Call) error {
	all, err := ops.ListRecurring(c.R.Context(), a.o.Redis, c.R.URL.Query()["match"], ops.Page{Limit: mostRecurring})
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Data = a.redactor.data(all[i].Data)
	}
	return c.JSON(http.StatusOK, whole(all))
}

func (a *App) apiOneRecurring(c *Call) error {
	return a.apiTellRecurring(c, http.StatusOK, c.Name("jid"))
}

// apiTellRecurring tells of one.
func (a *App) apiTellRecurring(c *Call, status int, jid string) error {
	r, err := ops.ShowRecurring(c.R.Context(), a.o.Redis, jid)
	if errors.Is(err, queue.ErrNoJob) {
		return noRecurring(jid)
	}
	if err != nil {
		return err
	}
	r.Data = a.redactor.data(r.Data)
	return c.JSON(status, r)
}

func noRecurring(jid string) error {
	return problem(http.StatusNotFound, "no_such_job", "there is no recurring job %s", shown(jid))
}

// recurring is what a request says of a recurring job; what is nil is not said.
type recurring struct {
	JID       *string         `json:"jid"`
	Queue     *string         `json:"queue"`
	Klass     *string         `json:"klass"`
	Data      json.RawMessage `json:"data"`
	Priority  *float64        `json:"priority"`
	Retries   *int            `json:"retries"`
	Tags      []string        `json:"tags"`  // of a new one
	Tag       []string        `json:"tag"`   // of a change: more
	Untag     []string        `json:"untag"` // and less
	Throttles []string        `json:"throttles"`

	Every   *float64 `json:"every"`  // seconds; or cron
	Offset  *float64 `json:"offset"` // seconds, of a new one
	Backlog *int     `json:"backlog"`

	Cron    *string `json:"cron"`
	Zone    *string `json:"zone"`
	Missed  *string `json:"missed"`
	Overlap *string `json:"overlap"`
	Paused  *bool   `json:"paused"` // of a change of one with a schedule
}

// orElse is what is said, or what is usual.
func orElse[T any](said *T, usual T) T {
	if said == nil {
		return usual
	}
	return *said
}

func (a *App) apiAddRecurring(c *Call) error {
	var in recurring
	if err := c.body(&in); err != nil {
		return err
	}
	if in.Tag != nil || in.Untag != nil || in.Paused != nil {
		return badField("tags", "tag, untag and paused are for a change of one that is there")
	}
	if in.Data == nil {
		in.Data = json.RawMessage("{}")
	}
	jid := orElse(in.JID, "")
	var err error
	switch {
	case (in.Cron == nil) == (in.Every == nil):
		return badField("cron", `say when, by one of both: {"cron": "0 4 * * Mon-Fri"}, or {"every": 3600}`)
	case in.Cron != nil:
		if in.Offset != nil || in.Backlog != nil || in.Throttles != nil {
			return badField("cron", "offset, backlog and throttles are for one that comes by an interval (every)")
		}
		cron := queue.Cron{Name: jid, Schedule: *in.Cron, Zone: orElse(in.Zone, ""), Missed: queue.Missed(orElse(in.Missed, "run-once")), Overlap: queue.Overlap(orElse(in.Overlap, "allow"))}
		cron.Queue, cron.Klass, cron.Data, cron.Priority, cron.Retries, cron.Tags = orElse(in.Queue, ""), orElse(in.Klass, "job"), in.Data, orElse(in.Priority, 0), orElse(in.Retries, 5), in.Tags
		jid, _, err = ops.AddCron(c.R.Context(), a.o.Redis, cron, c.sure())
	default:
		if in.Zone != nil || in.Missed != nil || in.Overlap != nil {
			return badField("every", `zone, missed and overlap are for one with a schedule; an interval with them is {"cron": "@every 1h"}`)
		}
		if *in.Every <= 0 {
			return badField("every", "it is not more than zero")
		}
		jid, err = ops.Recur(c.R.Context(), a.o.Redis, queue.Recurring{
			JID: jid, Queue: orElse(in.Queue, ""), Klass: orElse(in.Klass, "job"), Data: in.Data, Interval: queue.Duration(*in.Every),
			Offset: queue.Duration(orElse(in.Offset, 0)), Priority: orElse(in.Priority, 0), Retries: orElse(in.Retries, 5), Backlog: orElse(in.Backlog, 0),
			Tags: in.Tags, Throttles: in.Throttles,
		}, c.sure())
	}
	c.Did(jid, 1)
	if err != nil {
		return err
	}
	return a.apiTellRecurring(c, http.StatusCreated, jid)
}

func (a *App) apiChangeRecurring(c *Call) error {
	jid := c.Name("jid")
	c.Did(jid, 1)
	var in recurring
	if err := c.body(&in); err != nil {
		return err
	}
	if in.JID != nil || in.Tags != nil || in.Throttles != nil || in.Offset != nil {
		return badField("tags", "a change has tag and untag, and neither jid, throttles nor offset")
	}
	change := ops.RecurringChange{
		Queue: in.Queue, Klass: in.Klass, Data: in.Data, Priority: in.Priority, Retries: in.Retries, Tag: in.Tag, Untag: in.Untag,
		Backlog: in.Backlog, Schedule: in.Cron, Zone: in.Zone, Missed: in.Missed, Overlap: in.Overlap,
	}
	if in.Every != nil {
		every := queue.Duration(*in.Every)
		change.Interval = &every
	}
	if in.Paused != nil {
		if err := a.apiPauseRecurring(c, jid, *in.Paused); err != nil {
			return err
		}
	}
	if _, err := ops.UpdateRecurring(c.R.Context(), a.o.Redis, jid, change, c.sure()); errors.Is(err, queue.ErrNoJob) {
		return noRecurring(jid)
	} else if err != nil {
		return err
	}
	return a.apiTellRecurring(c, http.StatusOK, jid)
}

// apiPauseRecurring lets one with a schedule put nothing, or go on.
func (a *App) apiPauseRecurring(c *Call, jid string, pause bool) (err error) {
	if pause {
		_, err = ops.PauseCron(c.R.Context(), a.o.Redis, jid)
	} else {
		_, _, err = ops.ResumeCron(c.R.Context(), a.o.Redis, jid)
	}
	if errors.Is(err, queue.ErrNoJob) {
		return noRecurring(jid)
	}
	return err
}

func (a *App) apiEndRecurring(c *Call) error {
	jid := c.Name("jid")
	c.Did(jid, 1)
	err := ops.EndRecurring(c.R.Context(), a.o.Redis, jid)
	if errors.Is(err, queue.ErrNoJob) {
		return noRecurring(jid)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, done{"it recurs no more; copies that were made stay"})
}
