package web

import (
	"net/http"
	"slices"
)

// apiRoutes are what programs can ask, each file of the API with its own.
func (a *App) apiRoutes() []Route {
	routes := slices.Concat([]Route{
		{Method: "GET", Path: "/{$}", Right: Read, Local: true, Do: a.apiRoot},
	}, a.supervisorRoutes())
	for i := range routes {
		routes[i].Path = "/api/v1" + routes[i].Path
	}
	return routes
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
