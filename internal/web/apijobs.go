package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// jobRoutes are what is asked of one job, and done to it.
func (a *App) jobRoutes() []Route {
	deed := func(verb, does string, do func(c *Call, jid string) error) Route {
		return Route{Method: "POST", Path: "/jobs/{jid}/" + verb, Right: Write, Does: does, Do: a.apiJobDeed(does, do)}
	}
	return []Route{
		{Method: "GET", Path: "/jobs/{jid}", Right: Read, Do: a.apiJob},
		{Method: "GET", Path: "/jobs/{jid}/why", Right: Read, Do: a.apiJobWhy},
		{Method: "GET", Path: "/jobs/{jid}/history", Right: Read, Do: a.apiJobHistory},
		{Method: "GET", Path: "/jobs/{jid}/record", Right: Read, Do: a.apiJobRecord},
		deed("retry", "retry job", func(c *Call, jid string) error { return c.seen().Retry(c.R.Context(), a.o.Redis, jid) }),
		deed("move", "move job", a.apiMove),
		deed("cancel", "cancel job", func(c *Call, jid string) error { return c.seen().Cancel(c.R.Context(), a.o.Redis, jid) }),
		deed("timeout", "take job back", func(c *Call, jid string) error { return c.seen().TakeBack(c.R.Context(), a.o.Redis, jid) }),
		deed("priority", "change priority of job", a.apiJobPriority),
		deed("extend", "extend park of job", a.apiJobExtend),
		deed("tags", "tag job", a.apiJobTags),
		deed("track", "track job", a.apiJobTrack),
		deed("depends", "change what job depends on", a.apiJobDepends),
		deed("note", "note about job", a.apiJobNote),
	}
}

// seen is as what the caller saw the job, by If-Match.
func (c *Call) seen() ops.If {
	tag := c.R.Header.Get("If-Match")
	if tag == "*" {
		return ""
	}
	return ops.If(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`))
}

// noneCalled gives what is missing a code of its own.
func noneCalled(code string, err error) error {
	var missing *ops.Missing
	if errors.As(err, &missing) {
		return gone(code, missing)
	}
	return err
}

// apiJob tells of a job, at once or when it is in one of the states that are waited for.
func (a *App) apiJob(c *Call) error {
	wait, err := c.number("wait", 0)
	if err != nil {
		return err
	}
	if wait > mostWait {
		return badField("wait", "it is %d s at most; ask again then", mostWait)
	}
	until, err := c.until()
	if err != nil {
		return err
	}
	view, err := a.apiGlance(c.R.Context(), c.Name("jid"))
	if wait > 0 && err == nil && !slices.Contains(until, view.State) {
		view, err = a.apiAwait(c, time.Duration(wait)*time.Second, until)
	}
	if err != nil {
		return noneCalled("no_such_job", err)
	}
	c.W.Header().Set("ETag", `"`+view.Tag()+`"`)
	return c.JSON(http.StatusOK, a.redactor.job(view))
}

func (a *App) apiGlance(ctx context.Context, jid string) (ops.Job, error) {
	return ops.Glance(ctx, a.o.Redis, jid)
}

// mostWait is how many seconds a request waits for a job, at most.
const mostWait = 60

// until is for which states a request waits.
func (c *Call) until() ([]string, error) {
	if !c.R.URL.Query().Has("until") {
		return []string{"complete", "failed"}, nil
	}
	known := slices.Concat(ops.QueueStates, []string{"complete", "failed"})
	var states []string
	for state := range strings.SplitSeq(c.query("until"), ",") {
		if !slices.Contains(known, state) {
			return nil, badField("until", "%s is no state; there are %s", shown(state), strings.Join(known, ", "))
		}
		states = append(states, state)
	}
	return states, nil
}

// How often a job that is waited for is looked at: often at first.
const (
	lookSoon = 50 * time.Millisecond
	lookLate = time.Second
)

// apiAwait looks at a job again and again, and gives up its place among the requests meanwhile. When the time is over it
// tells of the job as it is.
func (a *App) apiAwait(c *Call, wait time.Duration, until []string) (ops.Job, error) {
	if err := c.wait(); err != nil {
		return ops.Job{}, err
	}
	ctx, over := context.WithTimeout(c.R.Context(), wait)
	defer over()
	for pause := lookSoon; ; pause = min(pause*3/2, lookLate) {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		view, err := a.apiLook(c.R.Context(), c.Name("jid"))
		if err != nil || slices.Contains(until, view.State) || ctx.Err() != nil {
			return view, err
		}
	}
}

// apiLook glances at a job from a place among the requests of its own.
func (a *App) apiLook(ctx context.Context, jid string) (ops.Job, error) {
	leave, err := a.limits.enter(ctx, &Route{})
	if err != nil {
		return ops.Job{}, err
	}
	defer leave()
	return a.apiGlance(ctx, jid)
}

// apiJobs answers with a part of a list of jobs.
func (a *App) apiJobs(c *Call, part ops.Part[ops.Job]) error {
	for i := range part.Items {
		part.Items[i] = a.redactor.job(part.Items[i])
	}
	return c.JSON(http.StatusOK, part)
}

func (a *App) apiJobWhy(c *Call) error {
	hold, err := a.sources().Why(c.R.Context(), c.Name("jid"))
	if err != nil {
		return err
	}
	for i := range hold.Reasons {
		hold.Reasons[i] = a.redactor.text(hold.Reasons[i])
	}
	return c.JSON(http.StatusOK, hold)
}

func (a *App) apiJobHistory(c *Call) error {
	view, err := a.apiGlance(c.R.Context(), c.Name("jid"))
	if err != nil {
		return noneCalled("no_such_job", err)
	}
	return c.JSON(http.StatusOK, whole(a.redactor.job(view).History))
}

func (a *App) apiJobRecord(c *Call) error {
	view, err := a.apiGlance(c.R.Context(), c.Name("jid"))
	if err != nil {
		return noneCalled("no_such_job", err)
	}
	if view.Record == nil {
		return problem(http.StatusNotFound, "no_record", "no attempt of the job has ended badly since it was put")
	}
	return c.JSON(http.StatusOK, a.redactor.job(view).Record)
}

// sign notes in the history of a job who did something to it, by whichever door. It may be gone by now.
func (a *App) sign(c *Call, jid, does string) {
	_ = a.o.Redis.Log(c.R.Context(), jid, fmt.Sprintf("%s, by %s", does, c.Who.Name), nil)
}

// apiJobDeed is a deed after which the job is told of, and has an entry in its history of who did it. Of one that is gone
// then, it tells how it was.
func (a *App) apiJobDeed(does string, do func(c *Call, jid string) error) func(*Call) error {
	return func(c *Call) error {
		jid, ctx := c.Name("jid"), c.R.Context()
		c.Did(jid, 1)
		before, err := a.apiGlance(ctx, jid)
		if err == nil {
			err = do(c, jid)
		}
		if err != nil {
			return noneCalled("no_such_job", err)
		}
		a.sign(c, jid, does)
		after, err := a.apiGlance(ctx, jid)
		var gone *ops.Missing
		if errors.As(err, &gone) {
			before.State, after, err = queue.RowGone, before, nil
			after.State = queue.RowGone
		}
		if err != nil {
			return err
		}
		c.W.Header().Set("ETag", `"`+after.Tag()+`"`)
		return c.JSON(http.StatusOK, a.redactor.job(after))
	}
}

func (a *App) apiMove(c *Call, jid string) error {
	var in struct {
		Queue string  `json:"queue"`
		Delay float64 `json:"delay"` // seconds
	}
	if err := c.body(&in); err != nil {
		return err
	}
	return c.seen().Move(c.R.Context(), a.o.Redis, jid, in.Queue, queue.Duration(in.Delay), c.sure())
}

func (a *App) apiJobPriority(c *Call, jid string) error {
	var in struct {
		Priority *float64 `json:"priority"`
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if in.Priority == nil {
		return badField("priority", `a number is wanted, higher comes first: {"priority": 5}`)
	}
	return c.seen().SetPriority(c.R.Context(), a.o.Redis, jid, *in.Priority)
}

func (a *App) apiJobTags(c *Call, jid string) error {
	var in struct {
		Add    []string `json:"add"`
		Remove []string `json:"remove"`
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if len(in.Add) == 0 && len(in.Remove) == 0 {
		return badField("add", `name tags: {"add": ["urgent"], "remove": []}`)
	}
	if len(in.Add) > 0 {
		if _, err := ops.Tag(c.R.Context(), a.o.Redis, jid, in.Add, c.sure()); err != nil {
			return err
		}
	}
	if len(in.Remove) > 0 {
		if _, err := ops.Untag(c.R.Context(), a.o.Redis, jid, in.Remove); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) apiJobTrack(c *Call, jid string) error {
	var in struct {
		Stop bool `json:"stop"`
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if in.Stop {
		return ops.Untrack(c.R.Context(), a.o.Redis, jid)
	}
	_, err := a.o.Redis.Track(c.R.Context(), jid)
	return err
}

func (a *App) apiJobDepends(c *Call, jid string) (err error) {
	var in struct {
		Add    []string `json:"add"`
		Remove []string `json:"remove"`
		All    bool     `json:"all"` // remove all
	}
	if err := c.body(&in); err != nil {
		return err
	}
	switch {
	case in.All:
		_, err = ops.DependOnNone(c.R.Context(), a.o.Redis, jid)
	case len(in.Remove) > 0:
		_, err = ops.DependLess(c.R.Context(), a.o.Redis, jid, in.Remove)
	default:
		_, err = ops.DependMore(c.R.Context(), a.o.Redis, jid, in.Add)
	}
	var missing *ops.Missing
	if errors.As(err, &missing) {
		return problem(http.StatusConflict, "changed", "%s", missing.Text)
	}
	return err
}

// mostNote is how long a note may be, in bytes.
const mostNote = 4 << 10

func (a *App) apiJobNote(c *Call, jid string) error {
	var in struct {
		Message string `json:"message"`
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if strings.TrimSpace(in.Message) == "" || len(in.Message) > mostNote {
		return badField("message", "a text of 1 to %d bytes is wanted", mostNote)
	}
	return a.o.Redis.Log(c.R.Context(), jid, in.Message, nil)
}
