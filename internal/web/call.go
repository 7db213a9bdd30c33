package web

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"time"

	"oarlock/internal/screen"
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
	leave func() // the place that it holds; nil for none
	drop  func() // that of its body; nil for none
}

// leaveAll gives up the places that it holds.
func (c *Call) leaveAll() {
	for _, place := range []*func(){&c.leave, &c.drop} {
		if *place != nil {
			(*place)()
			*place = nil
		}
	}
}

// answers is called when the answer begins, which asks Redis nothing more: whoever reads it slowly, or not at all, has a while for it
// and keeps nobody else waiting.
func (c *Call) answers() {
	c.leaveAll()
	_ = http.NewResponseController(c.W).SetWriteDeadline(time.Now().Add(writePatience)) // of a connection without deadlines: it is a test's
}

// receive reads the body, before the call has a place among those that ask Redis: who sends slowly keeps nobody from them. What
// came before an error is read by the handler, and then the error.
func (c *Call) receive() error {
	most, places := c.mostBody()
	if how := c.R.Header.Get("Content-Encoding"); how != "" && !strings.EqualFold(how, "identity") {
		return problem(http.StatusUnsupportedMediaType, "media_type", "the body is encoded as %s, and bodies are read as they are; send it without", shown(how))
	}
	if c.R.ContentLength > most {
		return &http.MaxBytesError{Limit: most}
	}
	var err error
	if most > shortBody && (c.R.ContentLength < 0 || c.R.ContentLength > shortBody) {
		if c.drop, err = take(c.R.Context(), places, false); err != nil {
			return err
		}
	}
	control := http.NewResponseController(c.W)
	_ = control.SetReadDeadline(time.Now().Add(bodyPatience)) // as above
	var text bytes.Buffer
	_, err = text.ReadFrom(http.MaxBytesReader(c.W, c.R.Body, most))
	_ = control.SetReadDeadline(time.Time{}) // whoever waits for the answer has sent all
	c.R.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&text, ended{err}), c.R.Body}
	return nil
}

// mostBody is how long the body of a call may be, and the places among which it needs one if it is no short one. Whoever does not
// say who that is may send little; who has nothing but the address of a job keeps none of the others from sending.
func (c *Call) mostBody() (most int64, places chan struct{}) {
	switch {
	case c.route.Right == Open:
		return unknownBody, nil
	case c.Who.addressed:
		return c.route.Body, c.app.limits.answers
	}
	return cmp.Or(c.route.Body, defaultBody), c.app.limits.bodies
}

// ended is read as an error, or as nothing more.
type ended struct{ err error }

func (f ended) Read([]byte) (int, error) { return 0, cmp.Or(f.err, io.EOF) }

// streams reports whether the call is answered for as long as somebody listens.
func (c *Call) streams() bool { return c.route.Stream && !(c.route.Once && c.query("once") != "") }

// place is what the call needs a place for.
func (c *Call) place() *Route {
	if c.route.Stream && !c.streams() {
		return &Route{Local: true} // what it asks Redis has a place of its own
	}
	return c.route
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
// the name is in the query: as that of the wildcard, or as "name".
func (c *Call) Name(wildcard string) string {
	name, query := c.R.PathValue(wildcard), c.R.URL.Query()
	for _, parameter := range []string{wildcard, "name"} {
		if name == "_" && query.Has(parameter) {
			return query.Get(parameter)
		}
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

// marshal is a value as JSON on a line, with its line feed, as the command line prints it: what jobs and children said is
// UTF-8 in it, whatever it was, and nothing that a terminal or a reader of lines would obey. Angle brackets stay as they are:
// nobody takes what is sent as JSON for HTML.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	err := screen.EncodeJSON(&out, value, "")
	return out.Bytes(), err
}
