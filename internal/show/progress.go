package show

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"oarlock/internal/screen"
)

// Progress is a bar on a terminal that tells how far something is; elsewhere nothing is seen of it. For one
// goroutine.
type Progress struct{ bar *progressbar.ProgressBar }

// Bytes is the progress of what is called what, in bytes of all; all below zero is unknown.
func Bytes(w io.Writer, what string, all int64) Progress {
	return newProgress(w, what, all, progressbar.OptionShowBytes(true))
}

// Number is the progress of what is called what, in things of all.
func Number(w io.Writer, what string, all int) Progress {
	return newProgress(w, what, int64(all), progressbar.OptionShowCount())
}

func newProgress(w io.Writer, what string, all int64, of progressbar.Option) Progress {
	return Progress{progressbar.NewOptions64(all, of,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetVisibility(screen.IsTerminal(w)),
		progressbar.OptionSetDescription(what),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// Add tells of n more.
func (p Progress) Add(n int) { _ = p.bar.Add(n) } // on a terminal that is gone: no matter

// Done takes the bar away.
func (p Progress) Done() { _ = p.bar.Finish() }
