package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Problem is an error as a program is told of it, after RFC 9457.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`          // what, why, and what to do
	Field  string `json:"field,omitempty"` // of the request that is wrong

	retry  int      // after so many seconds; 0 says nothing
	allow  []string // the methods that are for the path; nil says nothing
	noPage bool     // of a path at which nothing ever is
}

func (p *Problem) Error() string { return p.Detail }

// problem makes one. Its detail is a sentence.
func problem(status int, code, format string, args ...any) *Problem {
	p := &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		p.retry = 1
	}
	return p
}

// badField says that a field of a request is wrong.
func badField(field, format string, args ...any) *Problem {
	p := problem(http.StatusBadRequest, "bad_request", format, args...)
	p.Field, p.Detail = field, field+": "+p.Detail
	return p
}

// shown is somebody's text as it may stand in a sentence.
func shown(text string) string { return screen.Visible(screen.Shorten(text, 200)) }

// doubtSure is what a program is told of a doubt.
const doubtSure = " Nothing was done; ?force=1 does it all the same."

// gone is what something missing is told as: with that code where it is not there, else as what has changed.
func gone(code string, missing *ops.Missing) *Problem {
	if missing.There {
		return problem(http.StatusConflict, "changed", "%s", missing.Text)
	}
	return problem(http.StatusNotFound, code, "%s", missing.Text)
}

// problemOf is what an error is told as.
func problemOf(err error) *Problem {
	var p *Problem
	var wrong *ops.Wrong
	var missing *ops.Missing
	var doubt *ops.Doubt
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &wrong):
		p := problem(http.StatusBadRequest, "bad_request", "%s", wrong.Error())
		p.Field = wrong.Argument
		return p
	case errors.As(err, &missing):
		return gone("not_found", missing)
	case errors.As(err, &doubt):
		return problem(http.StatusUnprocessableEntity, "doubt", "%s"+doubtSure, doubt.Text)
	case errors.As(err, &long):
		return problem(http.StatusRequestEntityTooLarge, "too_large", "the body is longer than %d bytes; send less at a time", long.Limit)
	case errors.Is(err, queue.ErrNoJob):
		return problem(http.StatusNotFound, "no_such_job", "there is no such job: it may be complete and pruned, cancelled, or of another namespace")
	case errors.Is(err, queue.ErrChanged):
		return problem(http.StatusConflict, "changed", "%v; look again", err)
	case errors.Is(err, queue.ErrDoubt):
		return problem(http.StatusGatewayTimeout, "outcome_unknown", "nobody knows whether Redis did it: %v. Look before you repeat it", err)
	case errors.Is(err, queue.ErrAway):
		return problem(http.StatusServiceUnavailable, "redis_away", "Redis does not do it now (%v): nothing was done", queue.Class(err))
	case errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusGatewayTimeout, "outcome_unknown", "it took too long; look before you repeat it")
	case errors.Is(err, errBug):
		return problem(http.StatusInternalServerError, "bug", "%v", err)
	}
	return problem(http.StatusUnprocessableEntity, "refused", "%v", ops.Worded("", err))
}

// once reports whether a request that is sent again does nothing more: of the answers to a job the first counts.
func (c *Call) once() bool {
	return c.R.Method == http.MethodPut || c.R.Method == http.MethodPost && (c.R.Header.Get("Idempotency-Key") != "" || c.route.Does == respondDoes)
}

// fail answers an error.
func (a *App) fail(c *Call, err error) {
	p := problemOf(err)
	if errors.Is(err, queue.ErrDoubt) && c.once() {
		p.Detail = fmt.Sprintf("nobody knows whether Redis did it: %v. Send the same again: it is done once", err)
	}
	h := c.W.Header()
	if p.Status == http.StatusUnauthorized && c.route.Page && c.route.safe() {
		h.Set("Location", a.o.Prefix+"/login?next="+url.QueryEscape(c.R.URL.RequestURI()))
		c.W.WriteHeader(http.StatusSeeOther)
		return
	}
	if p.retry > 0 {
		h.Set("Retry-After", fmt.Sprint(p.retry))
	}
	if len(p.allow) > 0 {
		h.Set("Allow", strings.Join(p.allow, ", "))
	}
	if p.Status == http.StatusUnauthorized {
		h.Add("WWW-Authenticate", `Bearer realm="oarlock"`)
		if !c.inBrowser() { // which would ask for a password by itself, over our page
			h.Add("WWW-Authenticate", `Basic realm="oarlock", charset="UTF-8"`)
		}
	}
	if c.browses() {
		a.failPage(c, p)
		return
	}
	text, err := marshal(p)
	if err != nil {
		text = nil // of strings and numbers: cannot be
	}
	h.Set("Content-Type", "application/problem+json")
	c.W.WriteHeader(p.Status)
	_, _ = c.W.Write(text) // the other side is gone if it fails
}
