package show

import (
	"io"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// Fed says how many jobs of a file were put.
func Fed(w io.Writer, fed ops.Fed) {
	into := fed.Queue
	if fed.Elsewhere {
		into = "the queues that their lines name"
	}
	screen.Printf(w, "%s put into %s\n", screen.Some(fed.Put, "job"), into)
	if fed.Existed > 0 {
		screen.Printf(w, "%s left alone, which existed\n", screen.Some(fed.Existed, "job"))
	}
}
