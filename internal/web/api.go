package web

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"oarlock/internal/ops"
)

// description is the API in the form of OpenAPI 3.1. The tests hold every answer that they see against it.
//
//go:embed openapi.json
var description []byte

func (a *App) apiDescription(c *Call) error {
	c.W.Header().Set("Content-Type", "application/json")
	_, _ = c.W.Write(description) // the other side is gone if it fails
	return nil
}

// apiRoutes are what programs can ask, each file of the API with its own.
func (a *App) apiRoutes() []Route {
	routes := slices.Concat([]Route{
		{Method: "GET", Path: "/{$}", Right: Read, Local: true, Do: a.apiRoot},
		{Method: "GET", Path: "/openapi.json", Right: Read, Local: true, Do: a.apiDescription},
	}, a.supervisorRoutes(), a.queueRoutes(), a.keyRoutes(), a.putRoutes(), a.jobRoutes(), a.answerRoutes(), a.listRoutes(), a.recurringRoutes(), a.limitRoutes(), a.ruleRoutes(), a.entryRoutes(), a.eventRoutes(), a.searchRoutes())
	known := described()
	for i := range routes {
		r := &routes[i]
		r.Query = known[strings.ToLower(r.Method)+" "+strings.TrimSuffix(r.Path, "{$}")]
		r.Path = "/api/v1" + r.Path
	}
	return routes
}

// described are the parameters that the queries of the API may have, by method and path, as its description says. The names of the
// path may stand there, too; see Call.Name.
var described = sync.OnceValue(func() map[string][]string {
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(description, &doc); err != nil {
		panic(err) // it is part of the program
	}
	known := map[string][]string{}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			names := []string{}
			for _, p := range operation.Parameters {
				switch p.In {
				case "query":
					names = append(names, p.Name)
				case "path":
					names = append(names, p.Name, "name")
				}
			}
			known[method+" "+path] = names
		}
	}
	return known
})

// knownQuery refuses a request to the API whose query has a parameter that it has not: what is misspelled would be passed over in silence.
func (c *Call) knownQuery() error {
	if c.route.Query == nil {
		return nil
	}
	for name := range c.R.URL.Query() {
		if !slices.Contains(c.route.Query, name) {
			return badField(shown(name), "there is no such parameter%s", ops.Nearest(name, c.route.Query))
		}
	}
	return nil
}

// apiRoot says what answers here, and what the caller may.
func (a *App) apiRoot(c *Call) error {
	return c.JSON(http.StatusOK, struct {
		Version    string `json:"version"`
		Supervisor bool   `json:"supervisor"` // one runs in the process that answers
		Who        string `json:"who"`
		Rights     string `json:"rights"`
	}{a.o.Version, a.o.Supervisor != nil, c.Who.Name, c.Who.Rights()})
}

// whole is a list of which nothing is missing, as every list is told.
func whole[T any](all []T) ops.Part[T] {
	if all == nil {
		all = []T{}
	}
	return ops.Part[T]{Items: all, Total: len(all), AsOf: float64(time.Now().UnixMilli()) / 1e3}
}

// usualPage is how many entries of a list without a cursor of its own are told at a time, as by the command line.
const usualPage = 25

// page is which part of a list is asked for whose cursor is a number: how many were told before.
func (c *Call) page() (ops.Page, error) {
	at, err := c.number("cursor", 0)
	if err != nil {
		return ops.Page{}, err
	}
	limit, err := c.number("limit", usualPage)
	return ops.Page{Offset: at, Limit: min(limit, mostPage)}, err
}

// mostPage is how many entries a page has at most.
const mostPage = 1000

// window is which part of a long list is asked for, by cursor and limit in the query.
func (c *Call) window() (ops.Window, error) {
	limit, err := c.number("limit", 0)
	return ops.Window{Cursor: c.query("cursor"), Limit: limit}, err
}

// query is a parameter of the query, "" if it is not there.
func (c *Call) query(name string) string { return c.R.URL.Query().Get(name) }

// several are a parameter of the query that may stand several times.
func (c *Call) several(name string) []string { return c.R.URL.Query()[name] }

// number is a parameter of the query that is a whole number from zero on; without it, it is what is usual.
func (c *Call) number(name string, usual int) (int, error) {
	text := c.query(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badField(name, "%s is no whole number from 0 on", shown(text))
	}
	return n, nil
}

// flag is a parameter of the query that is there or not; "0" and "false" are not.
func (c *Call) flag(name string) bool {
	text := c.query(name)
	return c.R.URL.Query().Has(name) && text != "0" && !strings.EqualFold(text, "false")
}

// sure is whether odd things are meant: by force in the query.
func (c *Call) sure() ops.Sure {
	if c.flag("force") {
		return ops.Always
	}
	return ops.Never
}
