package cli

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"sync/atomic"

	"oarlock/internal/config"
	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor"
)

// screen shows what children print, and what we have to say ourselves, as a process manager
// does: each line behind the name of who said it, in a column.
//
//	thumbs[0] | on stdout
//	thumbs[0] ! on stderr
//	oarlock   | INFO ready
//
// Each line is one write, so that none begins in the middle of another. Safe for concurrent use.
type screen struct {
	out    io.Writer // takes each line as one write, and never waits
	colour bool
	width  atomic.Int64 // of the column; it grows
}

// ourName stands in front of our own lines.
const ourName = "oarlock"

// nameColours are those of pools; red is kept for what goes wrong.
var nameColours = []string{cyan, green, yellow, "\x1b[34m", "\x1b[35m", "\x1b[96m", "\x1b[92m", "\x1b[94m", "\x1b[95m"}

// newScreen makes a screen that writes to out what is fit for w. The column is as wide as the
// names of the pools need.
func newScreen(out, w io.Writer, pools map[string]config.Pool) *screen {
	s := &screen{out: out, colour: paint(w, dim, "") != ""}
	s.widen(len(ourName))
	for name, p := range pools {
		s.widen(len(slotName(name, max(p.Children, p.MaxChildren)-1)))
	}
	return s
}

func slotName(pool string, slot int) string { return fmt.Sprintf("%s[%d]", pool, slot) }

// widen makes the column at least so wide, and returns how wide it is.
func (s *screen) widen(width int) int {
	for {
		now := s.width.Load()
		if int64(width) <= now {
			return int(now)
		}
		if s.width.CompareAndSwap(now, int64(width)) {
			return width
		}
	}
}

// print writes a line behind its name.
func (s *screen) print(name, colour, mark string, text painted) {
	column := fmt.Sprintf("%-*s ", s.widen(len(name)), name)
	if s.colour {
		column = colour + column + plain
		if mark == "!" {
			mark = red + mark + plain
		}
	}
	printf(s.out, "%s%s %s\n", painted(column), painted(mark), text) // to a queue, which takes it or counts it
}

// line shows a line of a child.
func (s *screen) line(l supervisor.Line) {
	mark := "|"
	if l.Stream == runner.Stderr {
		mark = "!"
	}
	var text string
	switch {
	case l.Dropped > 0:
		text = runner.TooManyLines(l.Dropped)
	case l.Record != nil:
		text = visible(l.Record.Level + ": " + l.Record.Message)
		for _, f := range l.Record.Fields {
			text += " " + oneWord(f.Name) + "=" + visible(string(f.Value))
		}
	default:
		text = string(protocol.Visible(nil, l.Text))
	}
	if l.Cut > 0 {
		text += fmt.Sprintf(" … and %d bytes more", l.Cut)
	}
	if l.Refused != "" {
		text += " (refused: " + visible(l.Refused) + ")"
	}
	s.print(slotName(l.Pool, l.Slot), colourOf(l.Pool), mark, painted(text))
}

// colourOf is the colour of a pool, always the same.
func colourOf(pool string) string {
	h := fnv.New32a()
	h.Write([]byte(pool))
	return nameColours[h.Sum32()%uint32(len(nameColours))]
}

// ours takes our own lines, one a write.
func (s *screen) ours() io.Writer { return ourLines{s} }

type ourLines struct{ s *screen }

func (o ourLines) Write(line []byte) (int, error) {
	o.s.print(ourName, dim, "|", painted(strings.TrimSuffix(string(line), "\n")))
	return len(line), nil
}
