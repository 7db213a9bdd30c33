package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/web/pages"
)

// How a stream goes: a comment after so long without anything else, for so long a slow reader is waited for, how often
// a slot is looked at for lines, and how often it is asked whether who listens may still.
const (
	streamComment = 15 * time.Second
	streamWrite   = 10 * time.Second
	linesPause    = 250 * time.Millisecond
	streamWho     = time.Second
)

// mostView is how long the address of a view may be.
const mostView = 4 << 10

// liveDoor is how the pages themselves are asked for, to see what is live on them.
var liveDoor = &Door{
	Name: "live", ReadOnly: true,
	Who: func(*http.Request) Caller { return Caller{Name: "live", Read: true} },
}

// live sends what changes on a page for as long as somebody looks at it: of one view the same bytes to all.
func (a *App) live(c *Call) error {
	view := c.R.URL.Query().Get("view")
	r, err := a.viewed(view)
	if err != nil {
		return err
	}
	compute := func(ctx context.Context) hub.View { return a.compute(r.WithContext(ctx)) }
	if !c.streams() {
		v := compute(c.R.Context())
		return c.JSON(http.StatusOK, struct {
			Set  map[string]string `json:"set"`
			Attr map[string]string `json:"attr"`
		}{v.Set, v.Attr})
	}
	if a.o.Hub == nil {
		return problem(http.StatusServiceUnavailable, "busy", "this process keeps no streams; ask again with &once=1")
	}
	watcher := a.o.Hub.Watch(view, compute)
	defer watcher.Close()
	h := c.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	s := stream{c: c, control: http.NewResponseController(c.W), told: time.Now(), lines: a.linesOf(r)}
	c.W.WriteHeader(http.StatusOK)
	for err == nil {
		err = s.step(watcher)
	}
	return nil // whoever listened has gone, or the supervisor leaves
}

// stream is what one listener is sent.
type stream struct {
	c       *Call
	control *http.ResponseController
	told    time.Time              // when something was sent last
	lines   func() []pages.LogLine // the next ones of a slot; nil for other views
}

// step waits for something to send for a while.
func (s *stream) step(watcher *hub.Watcher) error {
	wait := streamComment
	if s.lines != nil {
		wait = linesPause
	}
	ctx, cancel := context.WithTimeout(s.c.R.Context(), wait)
	frame, err := watcher.Next(ctx)
	cancel()
	switch {
	case err == nil:
		return errors.Join(s.send("data: %s\n\n", frame), s.sendLines())
	case s.c.R.Context().Err() != nil || errors.Is(err, hub.ErrOver):
		return err
	}
	if err := s.sendLines(); err != nil {
		return err
	}
	if time.Since(s.told) >= streamComment {
		return s.send(":\n\n")
	}
	return nil
}

// sendLines sends what was printed meanwhile.
func (s *stream) sendLines() error {
	if s.lines == nil {
		return nil
	}
	lines := s.lines()
	if len(lines) == 0 {
		return nil
	}
	text, err := marshal(map[string]any{"lines": map[string]any{"lines": lines}})
	if err != nil {
		return err
	}
	return s.send("data: %s\n", text)
}

func (s *stream) send(format string, args ...any) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWrite)) // of a connection without deadlines: it is a test's
	s.told = time.Now()
	if _, err := fmt.Fprintf(s.c.W, format, args...); err != nil {
		return err
	}
	return s.control.Flush()
}

// viewed is the request by which a view is asked for: a page of ours that changes by itself.
func (a *App) viewed(view string) (*http.Request, error) {
	u, err := url.ParseRequestURI(view)
	if err != nil || len(view) > mostView || u.IsAbs() || u.Host != "" {
		return nil, badField("view", "%s is the path of no page", shown(view))
	}
	r, err := http.NewRequest(http.MethodGet, view, nil)
	if err != nil {
		return nil, badField("view", "%s is the path of no page", shown(view))
	}
	if _, pattern := a.mux.Handler(r); !a.changing[pattern] {
		return nil, badField("view", "nothing is live at %s", shown(view))
	}
	return r, nil
}

// compute reads what is live from the page itself, asked for as a browser does that may only look.
func (a *App) compute(r *http.Request) hub.View {
	var page reply
	a.mux.ServeHTTP(&page, r.WithContext(context.WithValue(r.Context(), visitKey{}, visit{liveDoor})))
	if page.status != http.StatusOK {
		return hub.View{}
	}
	texts, attributes := pages.Live(page.text.Bytes())
	return hub.View{Set: texts, Attr: attributes}
}

// reply is an answer to ourselves.
type reply struct {
	header http.Header
	status int
	text   bytes.Buffer
}

func (r *reply) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

func (r *reply) WriteHeader(status int) { r.status = status }

func (r *reply) Write(text []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.text.Write(text)
}
