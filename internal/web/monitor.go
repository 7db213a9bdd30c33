package web

import (
	"net/http"
	"time"
)

// Monitor is what is told to those who watch a supervisor from outside: scrapers and orchestrators. Each may be nil where
// none runs in this process.
type Monitor struct {
	Metrics http.Handler // of this process
	Queues  http.Handler // of all queues
	Health  Health
	Counts  Counts // hears what is asked of the App
}

// Health tells how a supervisor is.
type Health interface {
	Alive(http.ResponseWriter, *http.Request)
	Ready(w http.ResponseWriter, r *http.Request, verbose bool)
}

// Counts are what is counted of requests. Its methods are safe for concurrent use and wait for nothing.
type Counts interface {
	Request(route, code string, took time.Duration) // took is negative of one that streamed
	Denied()
	Action(action, result string)
	Merged(word string) // of a put that made no job
	Stream(by int)      // 1 for one that begins, -1 for one that ends
}

// monitorRoutes are what they ask.
func (a *App) monitorRoutes() []Route {
	m := a.o.Monitor
	scrape := func(path string, h http.Handler) Route {
		return Route{Method: "GET", Path: path, Right: Read, Local: true, Do: func(c *Call) error {
			if h == nil {
				return errNoSupervisor
			}
			h.ServeHTTP(c.W, c.R)
			return nil
		}}
	}
	health := func(path string, tell func(*Call)) Route {
		return Route{Method: "GET", Path: path, Right: Open, Local: true, Do: func(c *Call) error {
			if m.Health == nil {
				return errNoSupervisor
			}
			tell(c)
			return nil
		}}
	}
	return []Route{
		scrape("/metrics", m.Metrics),
		scrape("/metrics/queues", m.Queues),
		health("/healthz", func(c *Call) { m.Health.Alive(c.W, c.R) }),
		health("/readyz", func(c *Call) { m.Health.Ready(c.W, c.R, c.mayKnowMore()) }),
	}
}

// mayKnowMore reports whether somebody asks an open route for more than a word, and may read.
func (c *Call) mayKnowMore() bool {
	if !c.R.URL.Query().Has("verbose") {
		return false
	}
	who, _, err := c.door.who(c.R)
	return err == nil && who.May(Read)
}

// count counts an answer.
func (a *App) count(c *Call, status int, took time.Duration) {
	n := a.o.Monitor.Counts
	if n == nil {
		return
	}
	if c.route.Stream {
		took = -1
	}
	n.Request(c.route.pattern(), codeClass(status), took)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		n.Denied()
	}
}

// codeClass is the class of a status, as "2xx".
func codeClass(status int) string {
	if status < 100 || status > 599 { // nothing was answered: the connection is gone
		return "none"
	}
	return string('0'+rune(status/100)) + "xx"
}
