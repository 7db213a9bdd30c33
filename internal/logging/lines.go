package logging

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"

	"oarlock/internal/screen"
	"oarlock/protocol"
)

// newHandler makes a handler that writes to out what is fit for w.
func newHandler(out, w io.Writer, format string, level *slog.LevelVar) slog.Handler {
	switch {
	case format == "json":
	case isJournal(w):
		return &lineHandler{out: out, level: level, journal: true}
	case format == "text", screen.IsTerminal(w):
		return &lineHandler{out: out, level: level, colour: screen.Paint(w, screen.Dim, "") != ""}
	}
	return slog.NewJSONHandler(visibleWriter{out}, &slog.HandlerOptions{Level: level, ReplaceAttr: readable})
}

// visibleWriter escapes in JSON what a terminal could take for a command.
type visibleWriter struct{ w io.Writer }

func (v visibleWriter) Write(record []byte) (int, error) {
	if _, err := v.w.Write(protocol.VisibleJSON(nil, record)); err != nil {
		return 0, err
	}
	return len(record), nil
}

// readable makes durations, signals and the like text; JSON would make them numbers.
func readable(_ []string, attr slog.Attr) slog.Attr {
	switch attr.Value.Kind() {
	case slog.KindDuration:
		attr.Value = slog.StringValue(attr.Value.Duration().String())
	case slog.KindAny:
		if text, ok := attr.Value.Any().(fmt.Stringer); ok {
			attr.Value = slog.StringValue(text.String())
		}
	}
	return attr
}

// isJournal reports whether w is the socket that journald gave to the service: its
// device and inode are in JOURNAL_STREAM.
func isJournal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// lineHandler writes a record as one line: time, level, message, then key=value.
type lineHandler struct {
	out     io.Writer // takes each line as one write; safe for concurrent use
	level   slog.Leveler
	journal bool // a priority in front, and no time: journald has its own
	colour  bool
	prefix  string // of keys, from groups
	attrs   string // written already
}

// Lines makes a handler that writes each record from level on as a line of text for people, with one
// write to out, which is safe for concurrent use if loggers are to be.
func Lines(out io.Writer, level slog.Leveler, colour bool) slog.Handler {
	return &lineHandler{out: out, level: level, colour: colour}
}

func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

func (h *lineHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.prefix += name + "."
	return &with
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	var text bytes.Buffer
	for _, attr := range attrs {
		h.attr(&text, h.prefix, attr)
	}
	with.attrs += text.String()
	return &with
}

func (h *lineHandler) Handle(_ context.Context, record slog.Record) error {
	var line bytes.Buffer
	switch {
	case h.journal:
		fmt.Fprintf(&line, "<%d>", priority(record.Level))
	default:
		line.WriteString(h.paint(screen.Dim, record.Time.Format("15:04:05.000")))
		line.WriteByte(' ')
		line.WriteString(h.paint(levelColour(record.Level), fmt.Sprintf("%-5s", record.Level)))
		line.WriteByte(' ')
	}
	line.WriteString(phrase(record.Message))
	line.WriteString(h.attrs)
	record.Attrs(func(attr slog.Attr) bool {
		h.attr(&line, h.prefix, attr)
		return true
	})
	line.WriteByte('\n')
	_, err := h.out.Write(line.Bytes())
	return err
}

// attr writes " key=value", quoting a value that would not be one word on one line.
func (h *lineHandler) attr(line *bytes.Buffer, prefix string, attr slog.Attr) {
	value := attr.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		for _, member := range value.Group() {
			h.attr(line, prefix+attr.Key+".", member)
		}
		return
	}
	line.WriteString(" " + h.paint(screen.Dim, OneWord(prefix+attr.Key)+"=") + OneWord(value.String()))
}

// OneWord quotes text that would not be one word on one line.
func OneWord(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' || !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// phrase is a message in front of what is key=value: quoted if a part of it could be taken for that.
func phrase(text string) string {
	if strings.Contains(text, "=") || strings.HasPrefix(text, `"`) {
		return strconv.Quote(text)
	}
	return screen.Visible(text)
}

func (h *lineHandler) paint(colour, text string) string {
	if !h.colour {
		return text
	}
	return colour + text + screen.Plain
}

// priority is the level in the numbers of syslog.
func priority(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 4
	case level >= slog.LevelInfo:
		return 6
	}
	return 7
}

func levelColour(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return screen.Red
	case level >= slog.LevelWarn:
		return screen.Yellow
	case level >= slog.LevelInfo:
		return screen.Green
	}
	return screen.Dim
}
