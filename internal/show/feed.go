package show

import (
	"io"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Merged says what became of a put that made no job, and of its data.
func Merged(how queue.Merged) string {
	switch how {
	case queue.MergedEqual:
		return "The job that waits has an equal one: no other was made."
	case queue.MergedReplaced:
		return "It replaced the data of the job that waits: no other was made."
	case queue.MergedKept:
		return "The job that waits keeps the data that it has: no other was made."
	}
	return "The job that waits has it, too: no other was made."
}

// Fed says how many jobs of a file were put.
func Fed(w io.Writer, fed ops.Fed) {
	into := fed.Queue
	if fed.Elsewhere {
		into = "the queues that their lines name"
	}
	screen.Printf(w, "%s put into %s\n", screen.Some(fed.Put, "job"), into)
	if fed.Replaced > 0 {
		screen.Printf(w, "%s of them in place of one that existed\n", screen.Count(fed.Replaced))
	}
	if fed.Merged > 0 {
		screen.Printf(w, "%s merged with jobs that wait\n", screen.Some(fed.Merged, "put"))
	}
	if fed.Existed > 0 {
		screen.Printf(w, "%s left alone, which existed\n", screen.Some(fed.Existed, "job"))
	}
}
