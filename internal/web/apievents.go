package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// eventRoutes tell what happens as it happens, as server-sent events.
func (a *App) eventRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/events", Right: Read, Stream: true, Do: a.apiEvents},
		{Method: "GET", Path: "/pools/{pool}/slots/{slot}/log", Right: Read, Stream: true, Do: a.apiLog},
	}
}

// begin begins a stream.
func (c *Call) begin() *stream {
	h := c.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	c.W.WriteHeader(http.StatusOK)
	s := &stream{c: c, control: http.NewResponseController(c.W), told: time.Now()}
	_ = s.control.Flush() // whoever listens learns that it has begun
	return s
}

// tell sends an event; id may be "". A kind that Redis told may be any text: whoever can publish there says it.
func (s *stream) tell(id, kind string, value any) error {
	text, err := marshal(value)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return s.send("%sevent: %s\ndata: %s\n", id, screen.Visible(kind), text)
}

// lastSeen is the id of the last event that whoever listens again had; 0 if there is none.
func (c *Call) lastSeen() (uint64, error) {
	text := c.R.Header.Get("Last-Event-ID")
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, badField("Last-Event-ID", "%s is none of our ids", shown(text))
	}
	return id, nil
}

// wanted chooses among events by jid, queue and kinds of the query; there are these kinds.
func (c *Call) wanted(there []string) (func(jid, name, kind string) bool, error) {
	jid, name := c.query("jid"), c.query("queue")
	var kinds []string
	if text := c.query("kinds"); text != "" {
		kinds = strings.Split(text, ",")
	}
	for _, kind := range kinds {
		if !slices.Contains(there, kind) {
			return nil, badField("kinds", "there are no events of kind %s; there are %s", shown(kind), strings.Join(there, ", "))
		}
	}
	return func(itsJID, itsQueue, kind string) bool {
		return (jid == "" || jid == itsJID) && (name == "" || queue.Match(name, itsQueue)) && (kinds == nil || slices.Contains(kinds, kind))
	}, nil
}

// apiEvents tells what happens in this process, from the event after Last-Event-ID on; or, with everywhere, what Redis
// tells of all hosts from now on.
func (a *App) apiEvents(c *Call) error {
	if c.flag("everywhere") {
		return a.apiRedisEvents(c)
	}
	if a.o.Hub == nil {
		return errNoSupervisor
	}
	wanted, err := c.wanted(hub.KindNames())
	if err != nil {
		return err
	}
	last, err := c.lastSeen()
	if err != nil {
		return err
	}
	listener := a.o.Hub.Listen()
	if last > 0 {
		listener.Close()
		listener = a.o.Hub.ListenAfter(last)
	}
	defer listener.Close()
	s := c.begin()
	for err == nil {
		err = a.pass(s, listener, wanted)
	}
	return nil // whoever listened has gone, or the supervisor leaves
}

// pass sends the next events on, or a comment where there are none for a while.
func (a *App) pass(s *stream, listener *hub.Listener, wanted func(jid, name, kind string) bool) error {
	ctx, over := context.WithTimeout(s.c.R.Context(), streamComment)
	defer over()
	batch, missed, err := listener.Next(ctx)
	switch {
	case err != nil && s.c.R.Context().Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return s.send(":\n\n")
	case err != nil:
		return err
	}
	if missed {
		if err := s.tell("", string(hub.Missed), hub.Event{At: float64(time.Now().UnixMilli()) / 1e3, Kind: hub.Missed}); err != nil {
			return err
		}
	}
	for _, e := range batch {
		if !wanted(e.JID, e.Queue, string(e.Kind)) {
			continue
		}
		e.Message, e.Progress, e.Name, e.Key = a.redactor.text(e.Message), a.redactor.text(e.Progress), a.redactor.text(e.Name), a.redactor.text(e.Key)
		if err := s.tell(strconv.FormatUint(e.ID, 10), string(e.Kind), e); err != nil {
			return err
		}
	}
	return nil
}

// apiRedisEvents tells what Redis tells of all hosts. What happens while the connection to it is broken is told nowhere.
func (a *App) apiRedisEvents(c *Call) error {
	wanted, err := c.wanted(queue.EventNames)
	if err != nil {
		return err
	}
	s := c.begin()
	for e, err := range a.o.Redis.Events(c.R.Context()) {
		if err != nil {
			return nil // whoever listened has gone
		}
		e.Message = a.redactor.text(e.Message)
		if e.Event != "missed" && !wanted(e.JID, e.Queue, e.Event) {
			continue
		}
		if s.tell("", e.Event, ops.EventView(e, float64(time.Now().UnixMilli())/1e3)) != nil {
			return nil
		}
	}
	return nil
}

// mostLines is how many lines of a slot are told at once.
const mostLines = 1000

// apiLog tells the last lines that the child in a slot printed, here or on another supervisor; of one here, to who accepts
// text/event-stream, the next ones too.
func (a *App) apiLog(c *Call) error {
	if on := c.query("on"); on != "" {
		of, err := a.supervisorCalled(c.R.Context(), on)
		if err != nil {
			return err
		}
		if !a.itself(of) {
			return a.apiTail(c, of)
		}
	}
	if a.o.Supervisor == nil || a.o.Hub == nil {
		return errNoSupervisor
	}
	pool, in, err := slotOf(c, a.o.Supervisor.Snapshot())
	if err != nil {
		return err
	}
	slot := in.Slot
	most, err := c.number("lines", 200)
	if err != nil {
		return err
	}
	after, err := c.lastSeen()
	if err != nil {
		return err
	}
	lines := a.o.Hub.Lines(pool, slot, after, min(max(most, 1), mostLines))
	kept := func(all []hub.Line) []hub.Line {
		out := []hub.Line{}
		for _, line := range all {
			stream, jid := c.query("stream"), c.query("jid")
			if (stream == "" || stream == line.Stream) && (jid == "" || jid == line.JID) {
				line.Text = a.redactor.text(line.Text)
				out = append(out, line)
			}
		}
		return out
	}
	if !strings.Contains(c.R.Header.Get("Accept"), "text/event-stream") {
		return c.JSON(http.StatusOK, whole(kept(lines)))
	}
	s := c.begin()
	for {
		for _, line := range kept(lines) {
			if s.tell(fmt.Sprint(line.N), "line", line) != nil {
				return nil
			}
		}
		if len(lines) > 0 {
			after = lines[len(lines)-1].N
		}
		if lines, err = a.follow(s, pool, slot, after); err != nil {
			return nil // whoever listened has gone, or the supervisor leaves
		}
	}
}

// follow waits for the next lines of a slot; none where there are none for a while.
func (a *App) follow(s *stream, pool string, slot int, after uint64) ([]hub.Line, error) {
	ctx, over := context.WithTimeout(s.c.R.Context(), streamComment)
	defer over()
	lines, err := a.o.Hub.Follow(ctx, pool, slot, after)
	if err != nil && s.c.R.Context().Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, s.send(":\n\n")
	}
	return lines, err
}
