package web

import (
	"net/http"
	"net/http/pprof"
)

// profileRoutes are what the runtime of Go tells of this process, by doors at which that may be asked. What stands in the command
// line is not told: it may be secret.
func (a *App) profileRoutes() []Route {
	route := func(path string, tell http.HandlerFunc) Route {
		return Route{Method: "GET", Path: "/debug/pprof/" + path, Right: Write, Local: true, Do: func(c *Call) error {
			if !c.door.Profiles {
				return problem(http.StatusNotFound, "not_found", "profiles are for the control socket, unless pprof = true in [web]")
			}
			tell(c.W, c.R)
			return nil
		}}
	}
	return []Route{
		route("{name...}", pprof.Index), // which also knows heap, goroutine and their like
		route("profile", pprof.Profile),
		route("symbol", pprof.Symbol),
		route("trace", pprof.Trace),
		route("cmdline", http.NotFound),
	}
}
