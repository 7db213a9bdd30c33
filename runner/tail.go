package runner

import (
	"bytes"

	"oarlock/protocol"
)

// tailSize is how much of what a child printed is kept for the record of a bad ending.
const tailSize = 8 << 10

// tail keeps the last bytes of the lines written to it, in a ring.
type tail struct {
	ring []byte
	next int // where the next byte goes
	full bool
}

// line adds one line.
func (t *tail) line(text []byte) {
	if t.ring == nil {
		t.ring = make([]byte, tailSize)
	}
	if len(text) >= tailSize {
		text = text[len(text)-tailSize+1:]
	}
	t.write(text)
	t.write([]byte{'\n'})
}

func (t *tail) write(b []byte) {
	n := copy(t.ring[t.next:], b)
	t.next += n
	if t.next == tailSize {
		t.next = copy(t.ring, b[n:])
		t.full = true
	}
}

func (t *tail) reset() { t.next, t.full = 0, false }

// text returns what is kept, made visible line by line, at most tailSize bytes
// of it; nil if there is nothing.
func (t *tail) text() []byte {
	kept := t.ring[:t.next]
	if t.full {
		kept = append(bytes.Clone(t.ring[t.next:]), kept...)
	}
	if len(kept) == 0 {
		return nil
	}
	var out []byte
	for line := range bytes.Lines(kept) {
		out = protocol.Visible(out, bytes.TrimSuffix(line, []byte("\n")))
		out = append(out, '\n')
	}
	if len(out) > tailSize {
		out = bytes.ToValidUTF8(out[len(out)-tailSize:], nil)
	}
	return out
}
