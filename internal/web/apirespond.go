package web

import (
	"io"
	"mime"
	"net/http"
	"strings"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// answerRoutes are about jobs that wait for an answer. Whoever may put jobs anywhere may answer any, for an answer names no
// queue, and may be there before its job.
func (a *App) answerRoutes() []Route {
	return []Route{
		{Method: "POST", Path: "/respond/{klass}/{correlation}", Right: Put, Body: queue.MaxResponse, Does: "respond", Do: a.apiRespond},
		{Method: "GET", Path: "/parked/{klass}/{correlation}", Right: Read, Do: a.apiParked},
	}
}

// apiRespond answers a job. The body is JSON, kept byte for byte, or a text, which becomes a JSON string.
func (a *App) apiRespond(c *Call) error {
	r := queue.Response{Klass: c.Name("klass"), Correlation: c.Name("correlation"), JID: c.query("jid"), End: queue.AnswerEnd(c.query("end"))}
	c.Did(r.Klass+" "+r.Correlation, 1)
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
	switch {
	case ops.TooManyAnswers(err):
		return problem(http.StatusTooManyRequests, "full", "%v; send it again when there are jobs for them", err)
	case err != nil:
		return err
	case answered.Word == queue.Again || answered.Word == queue.Late:
		return c.JSON(http.StatusOK, answered)
	}
	return c.JSON(http.StatusAccepted, answered)
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
