package web

import (
	"slices"
)

// Right is what somebody must be allowed for a route.
type Right int

// The rights. Write includes the others; Put is for queues that are named, Respond for classes, and neither includes Read.
const (
	Open    Right = iota + 1 // anybody may
	Read                     // may look at everything
	Put                      // may put jobs into some queues
	Respond                  // may answer parked jobs of some classes
	Write                    // may change everything
)

func (r Right) String() string {
	return [...]string{"none", "open", "read", "put", "respond", "write"}[r]
}

// Route is one thing that can be asked: a row of the table from which rights are enforced, and from which the tests
// of rights and of the API's description are made.
type Route struct {
	Method string // GET is also HEAD
	Path   string // below the prefix, with wildcards as net/http.ServeMux has them
	Right  Right
	Does   string // of a route that changes something: how the audit calls it, such as "pause queue"
	Body   int64  // the longest body, in bytes; 0 is 1 MiB

	Query []string // of a route of the API: the parameters that its query may have; nil of others, which pass over what they do not know

	Page   bool // it answers browsers: errors are pages
	Stream bool // it answers for as long as somebody listens, and counts among the streams
	Once   bool // with once in its query, a stream tells what is so now, and is over: that needs no place among the streams
	Local  bool // it needs no Redis, and so no place among the requests that ask it

	Here bool // it is answered in this process, also where a supervisor runs in another

	// Who, if not nil, says who asks in place of the door: for what programs ask that have no token of a file, and no browser. Such a
	// route is open at doors for looking, too.
	Who func(*Call) (Caller, error)

	// Do answers. An error that it returns is answered for it, so that nothing may have been written before.
	Do func(*Call) error
}

// pattern is the route as net/http.ServeMux wants it.
func (r *Route) pattern() string { return r.Method + " " + r.Path }

// safe reports whether the route changes nothing.
func (r *Route) safe() bool { return r.Method == "GET" }

// table is all that can be asked.
func (a *App) table() []Route {
	return slices.Concat(a.loginRoutes(), a.apiRoutes(), a.pageRoutes(), a.monitorRoutes(), a.profileRoutes())
}
