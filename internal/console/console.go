// Package console is the screen of `oarlock dev`: what children print, and what the supervisor says itself,
// each line behind the name of who said it. It owns the column of names, and writes each line at once to
// the log's queue. It must not know the configuration, Redis, or how a child runs.
package console

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"sync/atomic"

	"oarlock/internal/logging"
	"oarlock/internal/screen"
	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Console shows what children print, and what we have to say ourselves, as a process manager
// does: each line behind the name of who said it, in a column.
//
//	thumbs[0] | on stdout
//	thumbs[0] ! on stderr
//	oarlock   | INFO ready
//
// Each line is one write, so that none begins in the middle of another. Safe for concurrent use.
type Console struct {
	// Colour is whether the screen wants colours; it does not change.
	Colour bool

	out   io.Writer    // takes each line as one write, and never waits
	width atomic.Int64 // of the column; it grows
}

// ourName stands in front of our own lines.
const ourName = "oarlock"

// nameColours are those of pools; red is kept for what goes wrong.
var nameColours = []string{screen.Cyan, screen.Green, screen.Yellow, "\x1b[34m", "\x1b[35m", "\x1b[96m", "\x1b[92m", "\x1b[94m", "\x1b[95m"}

// New makes one that writes to out what is fit for w. The column is as wide as the names of
// children need; slots is how many of them a pool has at most, by its name.
func New(out, w io.Writer, slots map[string]int) *Console {
	s := &Console{out: out, Colour: screen.Paint(w, screen.Dim, "") != ""}
	s.widen(len(ourName))
	for pool, most := range slots {
		s.widen(len(slotName(pool, most-1)))
	}
	return s
}

func slotName(pool string, slot int) string { return fmt.Sprintf("%s[%d]", pool, slot) }

// widen makes the column at least so wide, and returns how wide it is.
func (s *Console) widen(width int) int {
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
func (s *Console) print(name, colour, mark string, text screen.Painted) {
	column := fmt.Sprintf("%-*s ", s.widen(len(name)), name)
	if s.Colour {
		column = colour + column + screen.Plain
		if mark == "!" {
			mark = screen.Red + mark + screen.Plain
		}
	}
	screen.Printf(s.out, "%s%s %s\n", screen.Painted(column), screen.Painted(mark), text) // to a queue, which takes it or counts it
}

// Line shows a line of a child.
func (s *Console) Line(l supervisor.Line) {
	mark := "|"
	if l.Stream == runner.Stderr {
		mark = "!"
	}
	var text string
	switch {
	case l.Dropped > 0:
		text = runner.TooManyLines(l.Dropped)
	case l.Record != nil:
		text = screen.Visible(l.Record.Level + ": " + l.Record.Message)
		for _, f := range l.Record.Fields {
			text += " " + logging.OneWord(f.Name) + "=" + screen.Visible(string(f.Value))
		}
	default:
		text = string(protocol.Visible(nil, l.Text))
	}
	if l.Cut > 0 {
		text += fmt.Sprintf(" … and %d bytes more", l.Cut)
	}
	if l.Refused != "" {
		text += " (refused: " + screen.Visible(l.Refused) + ")"
	}
	s.print(slotName(l.Pool, l.Slot), colourOf(l.Pool), mark, screen.Painted(text))
}

// colourOf is the colour of a pool, always the same.
func colourOf(pool string) string {
	h := fnv.New32a()
	h.Write([]byte(pool))
	return nameColours[h.Sum32()%uint32(len(nameColours))]
}

// Ours takes our own lines, one a write.
func (s *Console) Ours() io.Writer { return ourLines{s} }

type ourLines struct{ s *Console }

func (o ourLines) Write(line []byte) (int, error) {
	o.s.print(ourName, screen.Dim, "|", screen.Painted(strings.TrimSuffix(string(line), "\n")))
	return len(line), nil
}
