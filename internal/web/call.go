package web

import (
	"encoding/json"
	"net/http"
)

// Call is a request that was let in, with who asks. A handler owns it until it returns.
type Call struct {
	W   http.ResponseWriter
	R   *http.Request
	Who Caller

	app   *App
	route *Route
	door  *Door
	deed  deed   // of a route that changes something
	leave func() // the place that it holds
}

// wait gives up the place among the requests that ask Redis for one among those that listen, which wait for long.
func (c *Call) wait() error {
	leave, err := c.app.limits.enter(c.R.Context(), &Route{Stream: true})
	if err == nil {
		c.leave()
		c.leave = leave
	}
	return err
}

// Name is a name in the path, by its wildcard. Where a path cannot carry it (".", "..", empty), the segment is "_", and
// the name is in the query.
func (c *Call) Name(wildcard string) string {
	name := c.R.PathValue(wildcard)
	if query := c.R.URL.Query(); name == "_" && query.Has("name") {
		return query.Get("name")
	}
	return name
}

// Did tells the audit to what a deed was done, and how many of it; 0 says nothing.
func (c *Call) Did(what string, count int) { c.deed.What, c.deed.Count = what, count }

// JSON answers with a value.
func (c *Call) JSON(status int, value any) error {
	text, err := marshal(value)
	if err != nil {
		return err
	}
	c.W.Header().Set("Content-Type", "application/json")
	c.W.WriteHeader(status)
	_, _ = c.W.Write(text) // the other side is gone if it fails
	return nil
}

// marshal is a value as JSON with a line feed. Angle brackets stay as they are: nobody takes what is sent as JSON for HTML.
func marshal(value any) ([]byte, error) {
	var out jsonBuffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return out, err
}

// jsonBuffer gathers what is written.
type jsonBuffer []byte

func (b *jsonBuffer) Write(text []byte) (int, error) {
	*b = append(*b, text...)
	return len(text), nil
}
