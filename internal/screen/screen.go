// Package screen is all that is printed for people, and JSON for scripts: whoever wrote a text, it is made
// Visible before it reaches a terminal. It knows nothing of jobs, Redis or commands.
package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"oarlock/protocol"
)

// PrintJSON prints value as one indented JSON document.
func PrintJSON(w io.Writer, value any) error { return EncodeJSON(w, value, "  ") }

// EncodeJSON prints value as JSON and ends the line. What a terminal could take for a
// command is escaped in it.
func EncodeJSON(w io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(protocol.VisibleJSON(nil, text.Bytes()))
	return err
}

// Compact is value as JSON on one line. value is of texts, numbers, and lists and maps of them, which cannot fail.
func Compact(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return strings.TrimSpace(text.String())
}

// Visible is text as protocol.Visible shows it: on one line, with nothing in it that a
// terminal would obey.
func Visible(text string) string { return string(protocol.Visible(nil, []byte(text))) }

// Lines is text of several lines, which stay lines when it is printed.
type Lines string

func (l Lines) visible() string {
	text := strings.Split(string(l), "\n")
	for i := range text {
		text[i] = Visible(text[i])
	}
	return strings.Join(text, "\n")
}

// Painted is text that may be printed as it is: visible, and perhaps in colour.
type Painted string

// Printf prints to a screen as fmt.Fprintf does. It and its like are the only way there:
// whoever wrote a text among args, it is made visible first, and only Lines have lines.
func Printf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, fit(args)...)
}

// PrintLine is Printf for args with blanks between them, and ends the line.
func PrintLine(w io.Writer, args ...any) (int, error) { return fmt.Fprintln(w, fit(args)...) }

// fit makes texts fit to be shown.
func fit(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case Painted:
			out[i] = string(arg)
		case Lines:
			out[i] = arg.visible()
		case string:
			out[i] = Visible(arg)
		case error:
			out[i] = Visible(arg.Error())
		case fmt.Stringer:
			out[i] = Visible(arg.String())
		case []string:
			out[i] = Visible(fmt.Sprint(arg))
		default:
			out[i] = arg
		}
	}
	return out
}

// Colours, as a terminal wants to be told.
const (
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	Cyan   = "\x1b[36m"
	Dim    = "\x1b[2m"
	Bold   = "\x1b[1m"
	Plain  = "\x1b[0m"
)

// Paint makes text visible, and colours it if w is a terminal whose user wants colours.
func Paint(w io.Writer, colour, text string) Painted {
	return PaintLines(w, colour, Lines(Visible(text)))
}

// PaintLines is Paint for text of several lines.
func PaintLines(w io.Writer, colour string, text Lines) Painted {
	if !IsTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return Painted(text.visible())
	}
	return Painted(colour + text.visible() + Plain)
}

// IsTerminal reports whether w is one.
func IsTerminal(w any) bool {
	if out, is := w.(*Out); is {
		w = out.w
	}
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Ago says how long before now the moment at, in seconds since the epoch, was; "-" if
// it is zero.
func Ago(at, now float64) string {
	if at == 0 {
		return "-"
	}
	const most = 200 * 365 * 24 * 3600 // a duration holds no three centuries
	return Span(time.Duration(max(-most, min(now-at, most)) * float64(time.Second)))
}

// Ahead says of a clock that named the moment at, in seconds since the epoch, how far it is ahead of one that says now; "" if it
// is not, or by no more than a call takes.
func Ahead(at, now float64) string {
	if at < now+2 {
		return ""
	}
	return Ago(now, at) + " ahead of that of Redis"
}

// Span is a duration with two units at most: "3d 4h", "12m 5s", "250ms".
func Span(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
	case d < time.Millisecond/2:
		return "0s" // without a sign
	case d < time.Second:
		return sign + d.Round(time.Millisecond).String()
	case d < time.Minute:
		return sign + d.Round(100*time.Millisecond).String()
	case d < time.Hour:
		return fmt.Sprintf("%s%dm %ds", sign, int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%s%dh %dm", sign, int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%s%dd %dh", sign, int(d.Hours())/24, int(d.Hours())%24)
}

// Seconds is Span of so many seconds.
func Seconds(s float64) string { return Span(time.Duration(s * float64(time.Second))) }

// Count is a whole number with separators.
func Count(n int) string { return humanize.Comma(int64(n)) }

// Some is a number of things: "1 job", "1,000 jobs".
func Some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(n) + " " + what + "s"
}

// NoYear is after all that can be written as a date.
const NoYear = 1e11

// Moment is a time in seconds since the epoch, in local time.
func Moment(at float64) string {
	switch {
	case at == 0:
		return "-"
	case at >= NoYear:
		return "never"
	case at <= -NoYear:
		return "before all time"
	}
	return time.UnixMicro(int64(at * 1e6)).Format("2006-01-02 15:04:05")
}

// Gist is what a message says went wrong, cut for a column: of a trace of places the line that is none.
func Gist(message string, most int) string { return Shorten(protocol.Why(message), most) }

// Shorten cuts text for a column; the whole of it is in the JSON.
func Shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
