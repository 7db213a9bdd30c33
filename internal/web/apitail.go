package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"oarlock/internal/hub"
	"oarlock/internal/rollcall"
)

// supervisorCalled is the supervisor of that name or host, or of that name and process as web2/4711, as far as it answers.
func (a *App) supervisorCalled(ctx context.Context, on string) (*rollcall.Answer, error) {
	var roll rollcall.Roll
	if a.o.Others != nil {
		var err error
		if roll, err = a.o.Others.Call(ctx); err != nil {
			return nil, err
		}
	}
	roll = a.withOwn(roll)
	var found *rollcall.Answer
	for i := range roll.Items {
		answer := &roll.Items[i]
		if name := answer.Status.Name; on != answer.Host && on != name && on != fmt.Sprintf("%s/%d", name, answer.Status.PID) {
			continue
		}
		if found != nil {
			return nil, badField("on", "several supervisors are called %s: name one with its process, as %s/%d", shown(on), shown(found.Status.Name), found.Status.PID)
		}
		found = answer
	}
	if found == nil {
		return nil, problem(http.StatusNotFound, "no_such_supervisor", "no supervisor called %s answered; GET /supervisors lists those that do", shown(on))
	}
	return found, nil
}

// apiTail tells the last lines of a child of another supervisor, which is asked once: they cannot be followed.
func (a *App) apiTail(c *Call, of *rollcall.Answer) error {
	if strings.Contains(c.R.Header.Get("Accept"), "text/event-stream") {
		return badField("on", "what a child of another supervisor prints can be read but not followed: ask again, without Accept: text/event-stream")
	}
	most, err := c.number("lines", shownLines)
	if err != nil {
		return err
	}
	pool := c.Name("pool")
	slot, err := strconv.Atoi(c.R.PathValue("slot"))
	if !of.Cut || err != nil { // else it has told of some pools and slots only
		_, in, err := slotOf(c, of.Status)
		if err != nil {
			return err
		}
		slot = in.Slot
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), tailPatience)
	defer cancel()
	tail, err := a.o.Others.Tail(ctx, of.Who(), pool, slot, min(max(most, 1), mostLines))
	switch {
	case errors.Is(err, rollcall.ErrSilent):
		return problem(http.StatusServiceUnavailable, "busy", "%s did not tell in time what the child printed; ask again", shown(of.Status.Name))
	case err != nil:
		return err
	case tail.Refused != "":
		return problem(http.StatusUnprocessableEntity, "refused", "%s tells no lines: %s", shown(of.Status.Name), shown(tail.Refused))
	}
	lines := []hub.Line{}
	jid, stream := c.query("jid"), c.query("stream")
	for i, line := range tail.Lines {
		if (jid == "" || jid == line.JID) && (stream == "" || stream == line.Stream) {
			lines = append(lines, hub.Line{N: uint64(i) + 1, At: line.At, Stream: line.Stream, Level: line.Level, JID: line.JID, Text: line.Text})
		}
	}
	return c.JSON(http.StatusOK, whole(lines))
}
