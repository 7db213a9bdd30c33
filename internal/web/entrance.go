package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"
)

// entrance is the way into one route: the one place that says who may, how much at a time, and how errors are answered.
type entrance struct {
	app   *App
	route *Route
}

// visitKey is what the context of a request has its visit under.
type visitKey struct{}

// visit is by which door a request came.
type visit struct{ door *Door }

func (e entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, ok := r.Context().Value(visitKey{}).(visit)
	if !ok {
		http.Error(w, "no door", http.StatusInternalServerError) // unreachable: doors alone call the table
		return
	}
	watched := &answer{ResponseWriter: w}
	c := &Call{W: watched, R: r, app: e.app, route: e.route, door: v.door}
	began := time.Now()
	err := e.let(c)
	if err != nil && !watched.begun {
		e.app.fail(c, err)
	}
	e.app.count(c, watched.status, time.Since(began))
	if !e.route.safe() {
		e.app.audit(c, watched.status, time.Since(began), err)
	}
}

// let lets a call in, if it may, and has it answered.
func (e entrance) let(c *Call) (err error) {
	defer func() {
		switch bug := recover(); bug {
		case nil:
		case http.ErrAbortHandler:
			panic(bug) // the server knows it: the connection is closed
		default:
			e.app.o.Log.Error("a mistake of ours in the web server, please report it; jobs go on", "route", e.route.pattern(), "bug", fmt.Sprint(bug), "stack", string(debug.Stack()))
			err = errBug
		}
	}()
	if err := e.admit(c); err != nil {
		return err
	}
	if c.leave, err = e.app.limits.enter(c.R.Context(), e.route); err != nil {
		return err
	}
	defer func() { c.leave() }()
	if n := e.app.o.Monitor.Counts; n != nil && e.route.Stream {
		n.Stream(1)
		defer n.Stream(-1)
	}
	most := e.route.Body
	if most == 0 {
		most = defaultBody
	}
	if !e.route.Stream {
		_ = http.NewResponseController(c.W).SetWriteDeadline(time.Now().Add(answerPatience)) // of a connection without deadlines: it is a test's
	}
	if c.R.ContentLength != 0 {
		c.R.Body = newSlowBody(c.W, http.MaxBytesReader(c.W, c.R.Body, most))
	}
	if a := e.app; a.o.Elsewhere != nil && !e.route.Here {
		if supervisor := a.o.Elsewhere(c.R.Context()); supervisor != nil {
			return a.forward(c, supervisor)
		}
	}
	return e.route.Do(c)
}

// admit says whether somebody may.
func (e entrance) admit(c *Call) error {
	if e.route.Right == Open {
		return nil
	}
	var proof Proof
	var err error
	if c.Who, proof, err = c.door.who(c.R); err != nil {
		return err
	}
	if e.app.o.ReadOnly || c.door.ReadOnly || c.R.Header.Get(readOnlyHeader) != "" {
		if !e.route.safe() {
			return problem(http.StatusForbidden, "read_only", "this door is for looking only; nothing was done")
		}
		c.Who = c.Who.readOnly()
	}
	if !e.route.safe() {
		if err := c.door.sameOrigin(c.R, proof); err != nil {
			return err
		}
	}
	if !c.Who.May(e.route.Right) {
		return problem(http.StatusForbidden, "no_right", "%s may %s, and this wants the right %s", c.Who.Name, c.Who.Rights(), e.route.Right)
	}
	return nil
}

// errBug is what somebody is told whose request met a mistake of ours.
var errBug = errors.New("a mistake of ours; the log has it")

// answer is a response of which it is known whether it has begun.
type answer struct {
	http.ResponseWriter
	begun  bool
	status int
}

func (a *answer) WriteHeader(status int) {
	if !a.begun {
		a.begun, a.status = true, status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(text []byte) (int, error) {
	if !a.begun {
		a.begun, a.status = true, http.StatusOK
	}
	return a.ResponseWriter.Write(text)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// serve answers a request that came by a door.
func (a *App) serve(d *Door, w http.ResponseWriter, r *http.Request) {
	guard(w.Header())
	if err := d.host(r); err != nil {
		a.fail(&Call{W: w, R: r, app: a, route: &Route{}, door: d}, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, visit{d}))
	r = unprefixed(r, a.o.Prefix)
	if _, pattern := a.mux.Handler(r); pattern == "" || d.Monitor && !a.monitors[pattern] {
		a.fail(&Call{W: w, R: r, app: a, route: &Route{}, door: d}, a.noRoute(d, r))
		return
	}
	a.mux.ServeHTTP(w, r)
}

// noRoute says that nothing is asked so: not this, or not by this method.
func (a *App) noRoute(d *Door, r *http.Request) error {
	other := r.Clone(r.Context())
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		other.Method = method
		if _, pattern := a.mux.Handler(other); pattern != "" && method != r.Method && !d.Monitor {
			return problem(http.StatusMethodNotAllowed, "bad_method", "%s is not for this path; %s is", shown(r.Method), method)
		}
	}
	return problem(http.StatusNotFound, "not_found", "there is nothing at %s", shown(r.URL.Path))
}
