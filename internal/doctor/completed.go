package doctor

import (
	"context"

	"github.com/dustin/go-humanize"

	"oarlock/queue/admin"
)

// completedMuch is how many bytes of data of completed jobs are worth a word.
const completedMuch = 100 << 20

// completed looks at how much of Redis the data of completed jobs takes.
func (d *Doctor) completed(ctx context.Context) error {
	const subject = "completed jobs"
	jobs, bytes, err := admin.Completed(ctx, d.Client)
	switch {
	case err != nil:
		return d.hidden(subject, err)
	case bytes > completedMuch:
		d.found(Warning, subject, "Keep fewer: oarlock config set jobs-history SECONDS, or jobs-history-count N. Or let programs acknowledge with small data.",
			"The data of %d completed jobs takes about %s of Redis; it is kept as long as they are.", jobs, humanize.IBytes(uint64(bytes)))
	}
	return nil
}
