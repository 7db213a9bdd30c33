package show

import (
	"io"
	"strings"
	"time"

	"oarlock/internal/screen"
	"oarlock/internal/service"
)

// Reloaded says what the reload did.
func Reloaded(w io.Writer, r service.Reloaded) {
	did := r.Did()
	for _, key := range r.Restart {
		did = append(did, key+" needs a restart")
	}
	switch {
	case r.Ago > 0:
		screen.Printf(w, "reloaded %s ago already, by %s: ", screen.Span(time.Duration(r.Ago*float64(time.Second))), r.By)
	case len(did) == 0:
		did = []string{"nothing has changed"}
	}
	screen.PrintLine(w, strings.Join(did, "; "))
	for _, pool := range r.GivenUp {
		screen.Printf(w, "of %s a generation was given up, see `oarlock status`; `oarlock recycle %s` tries again\n", pool, screen.InShell(pool))
	}
}
