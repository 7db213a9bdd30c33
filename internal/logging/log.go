// Package logging is the way of a process' log to whoever reads it: as lines for a person, for journald, or
// as JSON, by a goroutine of its own, so that a reader that stands still holds nobody up. It owns the queue
// of lines that wait and the file that standard error is. It must not know jobs, children or the configuration.
package logging

import (
	"context"
	"io"
	"log/slog"
	"time"

	"oarlock/internal/screen"
)

// Log is a log that can be changed while it is written: its level, and the file that it goes into.
// Whoever made it closes it. Safe for concurrent use, but for Into.
type Log struct {
	logger *slog.Logger
	level  *slog.LevelVar
	queue  *queue
	file   file
}

// New makes a log that writes to w: text for a person if format is "text" or w a terminal, lines with a
// priority for journald, JSON for everything else, and always if format is "json". level is debug, info, warn
// or error.
func New(w io.Writer, format, level string) *Log {
	l := &Log{level: new(slog.LevelVar), file: findFile()}
	l.SetLevel(level)
	straight := newHandler(w, w, format, l.level)
	l.queue = newQueue(w, func(lines int, blocked time.Duration, why error) error {
		record := slog.NewRecord(time.Now(), slog.LevelWarn, screen.Some(lines, "line")+" of the log dropped: nobody took them", 0)
		record.Add("for", blocked.Round(time.Millisecond))
		if why != nil {
			record.Message = screen.Some(lines, "line") + " of the log dropped: they could not be written"
			record.Add("err", why)
		}
		return straight.Handle(context.Background(), record)
	})
	l.logger = slog.New(newHandler(l.queue, w, format, l.level))
	return l
}

// Into makes what is logged lines of text that go to out, one a write, in colour if so. They wait for
// out, which is to pass them on to Write. It is called before anything is logged, and before Logger.
func (l *Log) Into(out io.Writer, colour bool) {
	l.logger = slog.New(Lines(out, l.level, colour))
}

// Logger is what to log with.
func (l *Log) Logger() *slog.Logger { return l.logger }

// Write takes one line that is no record, or drops it where there is no room. It never waits and never fails.
func (l *Log) Write(line []byte) (int, error) { return l.queue.Write(line) }

// SetLevel sets from which level on records are written; see New.
func (l *Log) SetLevel(name string) {
	var parsed slog.Level
	_ = parsed.UnmarshalText([]byte(name)) // validated
	l.level.Set(parsed)
}

// Reopen opens the file that standard error is again, by its name, between the lines that were logged before and
// those that come later. It does not wait for that; that it failed is logged, and stays in the state.
func (l *Log) Reopen() {
	l.queue.do(func() error { // where it is written: what was logged before is in the old file
		err := l.file.reopen()
		if err != nil {
			l.logger.Error("the log could not be opened again", "err", err)
		}
		return err
	})
}

// State tells how the log is.
func (l *Log) State() State { return l.queue.state() }

// Close ends the log, and reports whether all lines were written in time. Where one stands still it goes on
// standing; the program may end.
func (l *Log) Close() bool { return l.queue.close() }
