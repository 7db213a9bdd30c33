package show

import (
	"io"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// Downgrade tells what a key space needs, and what of it must be drained.
func Downgrade(w io.Writer, d ops.Downgrade) {
	for _, n := range d.Needs {
		if len(n.Left) == 0 {
			screen.Printf(w, "%s: nothing is left\n", n.Word)
			continue
		}
		screen.Printf(w, "%s: to be drained before a version that does not know it works here:\n", n.Word)
		for _, left := range n.Left {
			screen.Printf(w, "  %s\n", left)
		}
	}
	switch {
	case d.Ready:
		screen.PrintLine(w, "Any version may work here.")
	case len(d.Taken) > 0:
		screen.Printf(w, "What nothing needs is no longer asked of those who work here. Taken away: %s. What is left above still keeps older versions out.\n", strings.Join(d.Taken, ", "))
	}
}
