package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// pauseVerb is `queue pause`.
func pauseVerb() verb {
	return verb{name: "pause", usage: "hand out no more jobs; what runs goes on", words: "QUEUE…", least: 1, most: -1, do: queuePause,
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "stop", Usage: "take what runs from its workers, too: children are told, and killed after kill_grace; it costs the jobs nothing"},
			forceFlag(), jsonFlag(),
		}}
}

// stopAll takes what runs in queues that were just paused from its workers.
func stopAll(c *cli.Context, q *queue.Client, names []string) error {
	stopped := 0
	for _, name := range names {
		n, err := stopRunning(c, q, name)
		stopped += n
		if err != nil {
			return fmt.Errorf("%s: paused; after %s taken back: %w", strings.Join(names, ", "), screen.Some(stopped, "job"), err)
		}
	}
	return show(c, map[string]any{"paused": names, "stopped": stopped}, func(w io.Writer) {
		if stopped == 0 {
			screen.Printf(w, "paused %s; nothing ran there\n", strings.Join(names, ", "))
			return
		}
		screen.Printf(w, "paused %s; %s taken from their workers, and next when that ends\n", strings.Join(names, ", "), screen.Some(stopped, "running job"))
	})
}

// stopRunning takes the jobs that run from their workers, who are told, and puts them in front of
// their queue. It goes on as long as there are some: others may have been on their way.
func stopRunning(c *cli.Context, q *queue.Client, name string) (stopped int, err error) {
	for {
		jids, err := q.Jobs(c.Context, "running", name, 0, failedPage)
		if err != nil || len(jids) == 0 {
			return stopped, err
		}
		jobs, err := q.GetMany(c.Context, jids...)
		if err != nil {
			return stopped, err
		}
		changes := make([]queue.Amendment, len(jobs))
		for i, job := range jobs {
			changes[i] = job.Amend(queue.AmendTimeout)
		}
		a, err := amend(c, q, changes)
		stopped += len(a.done)
		switch {
		case err != nil:
			return stopped, err
		case len(a.done) == 0 && len(a.changed) == 0: // what is left cannot be taken back
			return stopped, fmt.Errorf("%s of %s: %v", screen.Some(len(jids), "job"), name, a.refused)
		}
	}
}
