package show

import (
	"fmt"
	"io"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Event shows what happened to a job, as of now. It returns an error of w.
func Event(w io.Writer, e queue.Event) error {
	_, err := screen.Printf(w, "%s  %s\n", screen.Paint(w, screen.Dim, time.Now().Format("15:04:05.000")), eventText(e))
	return err
}

func eventText(e queue.Event) string {
	text := fmt.Sprintf("%-10s %s", e.Event, e.JID)
	for _, fact := range []struct{ name, value string }{
		{"queue", e.Queue}, {"to", e.To}, {"worker", e.Worker}, {"group", e.Group}, {"message", screen.Shorten(e.Message, 100)},
		{"option", e.Option}, {"value", e.Value},
	} {
		if fact.value != "" {
			text += " " + fact.name + "=" + fact.value
		}
	}
	return text
}

// EventHere shows what a supervisor told of itself, by its clock. It returns an error of w.
func EventHere(w io.Writer, e hub.Event) error {
	at := time.UnixMilli(int64(e.At * 1e3))
	_, err := screen.Printf(w, "%s  %s\n", screen.Paint(w, screen.Dim, at.Format("15:04:05.000")), eventHereText(e))
	return err
}

func eventHereText(e hub.Event) string {
	text := fmt.Sprintf("%-15s", e.Kind)
	if e.JID != "" {
		text += " " + e.JID
	}
	if e.Pool != "" {
		text += " pool=" + e.Pool
	}
	if e.Slot != nil {
		text += fmt.Sprintf(" slot=%d", *e.Slot)
	}
	for _, fact := range []struct {
		name  string
		value int
	}{{"pid", e.PID}, {"attempt", e.Attempt}, {"count", e.Count}, {"broken", e.Broken}, {"from", e.From}, {"to", e.To}} {
		if fact.value != 0 {
			text += fmt.Sprintf(" %s=%d", fact.name, fact.value)
		}
	}
	for _, fact := range []struct{ name, value string }{
		{"klass", e.Klass}, {"queue", e.Queue}, {"key", e.Key}, {"name", e.Name}, {"outcome", e.Outcome}, {"ending", e.Ending}, {"state", e.State},
		{"reason", e.Reason}, {"group", e.Group}, {"progress", e.Progress}, {"message", screen.Shorten(e.Message, 100)},
	} {
		if fact.value != "" {
			text += " " + fact.name + "=" + fact.value
		}
	}
	for _, fact := range []struct {
		name    string
		seconds float64
	}{{"waited", e.Waited}, {"duration", e.Duration}} {
		if fact.seconds > 0 {
			text += " " + fact.name + "=" + screen.Seconds(fact.seconds)
		}
	}
	return text
}
