package show

import (
	"fmt"
	"io"
	"time"

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
