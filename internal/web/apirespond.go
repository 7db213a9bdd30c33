package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"oarlock/internal/ops"
	"oarlock/queue"
	"oarlock/supervisor"
)

// respondDoes is how the audit calls an answer.
const respondDoes = "respond"

// answerRoutes are about jobs that wait for an answer. A right to answer is for classes, not for queues: an answer names no queue,
// and may be there before its job.
func (a *App) answerRoutes() []Route {
	return []Route{
		{Method: "POST", Path: "/respond/{klass}/{correlation}", Right: Respond, Body: queue.MaxResponse, Does: respondDoes, Who: a.answers, Do: a.apiRespond},
		{Method: "GET", Path: "/parked", Right: Read, Do: a.apiAllParked},
		{Method: "GET", Path: "/parked/{klass}/{correlation}", Right: Read, Do: a.apiParked},
	}
}

// answers says who answers: who holds the token of one job, which is good for that job alone, or who shows one of the file. What a
// browser sends by itself counts for nothing, so no page of others can answer anything.
func (a *App) answers(c *Call) (Caller, error) {
	if c.door.Who != nil {
		return c.door.Who(c.R), nil
	}
	if token := c.query("token"); token != "" {
		jid := c.query("jid")
		if a.o.Callback == nil || !a.o.Callback(c.Name("klass"), jid, token) {
			return Caller{}, c.door.Gate.refuse(c.R, "this token is not that of the job; it may be that of another job or class, or signed with another secret")
		}
		return Caller{Name: "whoever was asked by " + shown(jid), Respond: []string{"*"}, addressed: true}, nil
	}
	return c.door.program(c.R)
}

// apiRespond answers a job. The body is JSON, kept byte for byte, or a text, which becomes a JSON string.
func (a *App) apiRespond(c *Call) error {
	r := queue.Response{Klass: c.Name("klass"), Correlation: c.Name("correlation"), JID: c.query("jid"), End: queue.AnswerEnd(c.query("end"))}
	c.Did(r.Klass+" "+r.Correlation, 1)
	if !c.Who.MayRespond(r.Klass) {
		return mayNotRespond(c, r.Klass)
	}
	text, err := io.ReadAll(c.R.Body)
	if err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	r.Error = c.R.Header.Get("X-Oarlock-Error")
	switch {
	case foreignTypes[kind]:
		return problem(http.StatusUnsupportedMediaType, "media_type", "%s is not understood here; send application/json, or text/plain", shown(kind))
	case r.Error != "" && len(text) > 0:
		return problem(http.StatusBadRequest, "bad_request", "there is a body, and X-Oarlock-Error says that there is no answer; send one of them")
	case r.Error != "":
	case strings.HasPrefix(kind, "text/"):
		if r.Data, err = marshal(string(text)); err != nil {
			return err
		}
	case len(text) > 0:
		r.Data = text
	}
	answered, err := ops.Respond(c.R.Context(), a.o.Redis, r)
	a.answered(&r, answered.JID, string(answered.Word), err)
	if c.query("token") != "" && answered.JID != r.JID {
		answered.JID = "" // who may answer one job alone does not hear which other has a correlation
	}
	switch {
	case errors.Is(err, ops.ErrAnswersFull):
		return problem(http.StatusTooManyRequests, "full", "%v; send it again when there are jobs for them", err)
	case errors.Is(err, ops.ErrAnswerLong):
		return problem(http.StatusRequestEntityTooLarge, "too_large", "%v", err)
	case errors.Is(err, ops.ErrNobodyWaits):
		return problem(http.StatusNotFound, "no_such_job", "%v", err)
	case err != nil:
		return err
	case answered.Word == queue.Again || answered.Word == queue.Late:
		return c.JSON(http.StatusOK, answered)
	}
	return c.JSON(http.StatusAccepted, answered)
}

// mayNotRespond refuses an answer to a job of another class than those that the caller may answer.
func mayNotRespond(c *Call, klass string) *Problem {
	return problem(http.StatusForbidden, "no_right", "%s may %s, and so answer no parked job of class %s", c.Who.Name, c.Who.Rights(), shown(klass))
}

// answered tells that an answer came, and what became of it.
func (a *App) answered(r *queue.Response, jid, word string, err error) {
	switch {
	case a.o.Hub == nil:
		return
	case errors.Is(err, ops.ErrAnswersFull), errors.Is(err, ops.ErrAnswerLong), errors.Is(err, ops.ErrNobodyWaits):
		word = "refused"
	case err != nil: // nobody knows, or it will be sent again
		return
	}
	a.o.Hub.Note(supervisor.Event{Kind: supervisor.Answered, JID: jid, Klass: r.Klass, Name: r.Correlation, Reason: word})
}

// apiJobExtend lets a parked job wait longer, or less long.
func (a *App) apiJobExtend(c *Call, jid string) error {
	var in struct {
		Timeout *float64 `json:"timeout"` // seconds
	}
	if err := c.body(&in); err != nil {
		return err
	}
	if in.Timeout == nil {
		return badField("timeout", `say for how many seconds it waits from now: {"timeout": 7200}`)
	}
	return c.seen().ExtendPark(c.R.Context(), a.o.Redis, jid, queue.Duration(*in.Timeout))
}

// apiAllParked lists the jobs that wait for an answer, in queues that a glob matches, a part at a time.
func (a *App) apiAllParked(c *Call) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	scheduled, err := a.scheduledIn(c.R.Context(), c.query("match"))
	if err != nil {
		return err
	}
	found, err := ops.ParkedIn(c.R.Context(), a.o.Redis, scheduled, w)
	if err != nil {
		return err
	}
	for i := range found.Items {
		found.Items[i] = a.redactor.job(found.Items[i])
	}
	return c.JSON(http.StatusOK, found)
}

// apiParked tells of the job that has a correlation.
func (a *App) apiParked(c *Call) error {
	job, err := a.o.Redis.Correlated(c.R.Context(), c.Name("klass"), c.Name("correlation"))
	if err != nil {
		return noneCalled("no_such_job", err)
	}
	view, err := a.apiGlance(c.R.Context(), job.JID)
	if err != nil {
		return noneCalled("no_such_job", err)
	}
	c.W.Header().Set("ETag", `"`+view.Tag()+`"`)
	return c.JSON(http.StatusOK, a.redactor.job(view))
}
