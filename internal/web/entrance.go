package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
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
	if !e.route.Stream {
		watched.begins = c.answers
	}
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
	if err := c.knownQuery(); err != nil {
		return err
	}
	defer c.leaveAll()
	if c.R.ContentLength != 0 {
		if err := c.receive(); err != nil {
			return err
		}
	}
	if c.leave, err = e.app.limits.enter(c.R.Context(), c.place()); err != nil {
		return err
	}
	if c.streams() {
		if n := e.app.o.Monitor.Counts; n != nil {
			n.Stream(1)
			defer n.Stream(-1)
		}
		defer c.whileMay()()
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
	if e.route.Who != nil {
		who, err := e.route.Who(c)
		if c.Who = who; err == nil && !who.May(e.route.Right) {
			err = noRight(who, e.route.Right)
		}
		return err
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
		return noRight(c.Who, e.route.Right)
	}
	return nil
}

// whileMay ends the context of a stream soon after whoever listens may no more, for it would go on for as long as the connection
// does. What it returns is to be called when the stream has ended.
func (c *Call) whileMay() (end func()) {
	if c.route.Right == Open || c.route.Who != nil || c.door.Who != nil {
		return func() {} // these go by no token
	}
	ctx, over := context.WithCancel(c.R.Context())
	asked, done := c.R, make(chan struct{})
	c.R = c.R.WithContext(ctx)
	go func() {
		defer close(done)
		defer over()
		again := time.NewTicker(streamWho)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				if who, is := c.door.Gate.still(asked); !is || !who.May(c.route.Right) {
					return
				}
			}
		}
	}()
	return func() {
		over()
		<-done
	}
}

func noRight(who Caller, wanted Right) error {
	return problem(http.StatusForbidden, "no_right", "%s may %s, and this wants the right %s", who.Name, who.Rights(), wanted)
}

// errBug is what somebody is told whose request met a mistake of ours.
var errBug = errors.New("a mistake of ours; the log has it")

// answer is a response of which it is known whether it has begun.
type answer struct {
	http.ResponseWriter
	begins func() // is called when it begins; may be nil
	begun  bool
	status int
}

func (a *answer) WriteHeader(status int) {
	a.begin(status)
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(text []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.ResponseWriter.Write(text)
}

// begin notes the status, the first time.
func (a *answer) begin(status int) {
	if a.begun {
		return
	}
	a.begun, a.status = true, status
	if a.begins != nil {
		a.begins()
	}
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
	} else if isSpare(r) && !a.health[pattern] {
		w.Header().Set("Connection", "close")
		a.fail(&Call{W: w, R: r, app: a, route: &Route{}, door: d}, problem(http.StatusServiceUnavailable, "busy", "there are as many connections as there may be; try again in a moment"))
		return
	}
	a.mux.ServeHTTP(w, r)
}

// noRoute says that nothing is asked so: not this, or not by this method.
func (a *App) noRoute(d *Door, r *http.Request) error {
	if d.Monitor {
		return problem(http.StatusNotFound, "not_found", "there is nothing at %s", shown(r.URL.Path))
	}
	other := r.Clone(r.Context())
	var methods []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		other.Method = method
		if _, pattern := a.mux.Handler(other); pattern != "" {
			methods = append(methods, method)
		}
	}
	if len(methods) > 0 {
		p := problem(http.StatusMethodNotAllowed, "bad_method", "%s is not for this path; %s", shown(r.Method), areAllowed(methods))
		p.allow = methods
		return p
	}
	p := problem(http.StatusNotFound, "not_found", "there is nothing at %s", shown(r.URL.Path))
	p.noPage = true
	return p
}

// areAllowed says which methods are for a path: "GET and PUT are".
func areAllowed(methods []string) string {
	named := slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return m == "HEAD" }) // goes with GET
	if last := len(named) - 1; last > 0 {
		return strings.Join(named[:last], ", ") + " and " + named[last] + " are"
	}
	return named[0] + " is"
}
