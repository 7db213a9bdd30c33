package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"oarlock/protocol"
)

// jsonFlag is what every listing has.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON"}
}

// show prints value as JSON if --json asks for it, and otherwise calls text.
func show(c *cli.Context, value any, text func(w io.Writer)) error {
	if c.Bool("json") {
		return printJSON(c.App.Writer, value)
	}
	text(c.App.Writer)
	return nil
}

// printJSON prints value as one indented JSON document.
func printJSON(w io.Writer, value any) error { return encodeJSON(w, value, "  ") }

// encodeJSON prints value as JSON and ends the line. What a terminal could take for a
// command is escaped in it.
func encodeJSON(w io.Writer, value any, indent string) error {
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

// table prints rows in columns; the first row is the heading. Without rows it says so
// in the words of empty.
func table(w io.Writer, empty string, heading []string, rows [][]string) {
	if len(rows) == 0 {
		printLine(w, empty)
		return
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{heading}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.ReplaceAll(visible(cell), "\t", `\t`)
		}
		fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	columns.Flush()
}

// visible is text as protocol.Visible shows it: on one line, with nothing in it that a
// terminal would obey.
func visible(text string) string { return string(protocol.Visible(nil, []byte(text))) }

// lines is text of several lines, which stay lines when it is printed.
type lines string

func (l lines) visible() string {
	text := strings.Split(string(l), "\n")
	for i := range text {
		text[i] = visible(text[i])
	}
	return strings.Join(text, "\n")
}

// painted is text that may be printed as it is: visible, and perhaps in colour.
type painted string

// printf prints to a screen as fmt.Fprintf does. It and its like are the only way there:
// whoever wrote a text among args, it is made visible first, and only lines have lines.
func printf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, fit(args)...)
}

// printLine is printf for args with blanks between them, and ends the line.
func printLine(w io.Writer, args ...any) (int, error) { return fmt.Fprintln(w, fit(args)...) }

// fit makes texts fit to be shown.
func fit(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case painted:
			out[i] = string(arg)
		case lines:
			out[i] = arg.visible()
		case string:
			out[i] = visible(arg)
		case error:
			out[i] = visible(arg.Error())
		case fmt.Stringer:
			out[i] = visible(arg.String())
		case []string:
			out[i] = visible(fmt.Sprint(arg))
		default:
			out[i] = arg
		}
	}
	return out
}

// Colours, as a terminal wants to be told.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	dim    = "\x1b[2m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// paint makes text visible, and colours it if w is a terminal whose user wants colours.
func paint(w io.Writer, colour, text string) painted {
	return paintLines(w, colour, lines(visible(text)))
}

// paintLines is paint for text of several lines.
func paintLines(w io.Writer, colour string, text lines) painted {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return painted(text.visible())
	}
	return painted(colour + text.visible() + plain)
}

// isTerminal reports whether w is one.
func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ago says how long before now the moment at, in seconds since the epoch, was; "-" if
// it is zero.
func ago(at, now float64) string {
	if at == 0 {
		return "-"
	}
	const most = 200 * 365 * 24 * 3600 // a duration holds no three centuries
	return span(time.Duration(max(-most, min(now-at, most)) * float64(time.Second)))
}

// span is a duration with two units at most: "3d 4h", "12m 5s", "250ms".
func span(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
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

// count is a whole number with separators.
func count(n int) string { return humanize.Comma(int64(n)) }

// some is a number of things: "1 job", "1,000 jobs".
func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}

// noYear is after all that can be written as a date.
const noYear = 1e11

// moment is a time in seconds since the epoch, in local time.
func moment(at float64) string {
	switch {
	case at == 0:
		return "-"
	case at >= noYear:
		return "never"
	case at <= -noYear:
		return "before all time"
	}
	return time.UnixMicro(int64(at * 1e6)).Format("2006-01-02 15:04:05")
}

// shorten cuts text for a column; the whole of it is in the JSON.
func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
