package runner

import (
	"bytes"
	"iter"
	"strings"
	"sync"

	"oarlock/protocol"
)

// transcript keeps the last of what is printed during a run. What comes by stderr has a ring of
// its own, so that a flood on stdout, which may be read later, does not push out what went
// wrong. A nil one keeps nothing. Safe for concurrent use.
type transcript struct {
	mu    sync.Mutex // the last to be locked
	limit int
	seq   uint64 // of the next line
	out   ring   // of stdout, and the records of the log
	err   ring   // of stderr
}

// newTranscript makes one of at most limit bytes; nil if that is 0.
func newTranscript(limit int) *transcript {
	if limit <= 0 {
		return nil
	}
	limit = max(limit, 1<<10)
	return &transcript{limit: limit, out: ring{limit: limit}, err: ring{limit: limit}}
}

// A line stands in a ring behind its stream and its number, and ends with a line feed, which
// is in neither.
const (
	lineHead  = 1 + 5
	lineExtra = lineHead + 1
)

// line adds a line. Of one that is too long the end is kept.
func (t *transcript) line(kind Stream, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.out
	if kind == Stderr {
		r = &t.err
	}
	if most := t.limit - lineExtra; len(text) > most {
		r.lost += int64(len(text) - most)
		text = text[len(text)-most:]
	}
	head := [lineHead]byte{'0' + byte(kind)}
	for i := range lineHead - 1 {
		head[i+1] = 0x80 | byte(t.seq>>(7*(lineHead-2-i)))
	}
	t.seq++
	r.write(head[:])
	r.write(text)
	r.write([]byte{'\n'})
}

// add adds what is logged of a child.
func (t *transcript) add(l *LogLine) {
	switch {
	case t == nil:
	case l.Record != nil:
		t.line(StatusStream, inWords(l.Record))
	default:
		t.line(l.Stream, l.Text)
	}
}

// inWords is a log record as one line.
func inWords(r *protocol.LogRecord) []byte {
	text := []byte(r.Level + ": " + strings.ReplaceAll(r.Message, "\n", `\n`))
	for _, f := range r.Fields {
		text = append(text, ' ')
		text = append(text, f.Name...)
		text = append(text, '=')
		text = append(text, f.Value...)
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte(" ")) // between the tokens of a field
}

// take returns what was kept since it was last called, in limit bytes, of which either side has
// half if it needs so much; nil of a nil transcript.
func (t *transcript) take() *Output {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	o := &Output{}
	o.out, o.err = t.out.take(&o.Lost), t.err.take(&o.Lost)
	ofErr := min(len(o.err), max(t.limit/2, t.limit-len(o.out)))
	o.out = o.fit(o.out, t.limit-ofErr)
	o.err = o.fit(o.err, ofErr)
	return o
}

// ring keeps the last bytes written to it.
type ring struct {
	limit int
	buf   []byte // grows to limit, then the oldest bytes are overwritten
	next  int    // where the next byte goes once it has grown
	lost  int64  // bytes overwritten
}

func (r *ring) write(b []byte) {
	if room := min(r.limit-len(r.buf), len(b)); room > 0 {
		r.buf = append(r.buf, b[:room]...)
		b = b[room:]
	}
	r.lost += int64(len(b))
	for len(b) > 0 {
		n := copy(r.buf[r.next:], b)
		r.next = (r.next + n) % r.limit
		b = b[n:]
	}
}

// take empties the ring, and adds to lost what was overwritten, with the rest of a line that was
// in part.
func (r *ring) take(lost *int64) []byte {
	text := r.buf
	if r.next > 0 {
		text = append(bytes.Clone(r.buf[r.next:]), r.buf[:r.next]...)
	}
	if first := bytes.IndexByte(text, '\n') + 1; r.lost > 0 && first < len(text) {
		r.lost += int64(first)
		text = text[first:]
	}
	*lost += r.lost
	*r = ring{limit: r.limit}
	return text
}

// Output is what a run printed, as far as Spec.KeepOutput let it be kept.
type Output struct {
	Lost     int64 // about as many bytes are gone, before the first line of a stream
	out, err []byte
}

// fit drops the oldest lines until the others have at most room bytes; of the last, its end is left.
func (o *Output) fit(text []byte, room int) []byte {
	if len(text) <= room {
		return text
	}
	o.Lost += int64(len(text) - room)
	end := text[len(text)-room:]
	if whole := bytes.IndexByte(end, '\n') + 1; whole < len(end) {
		o.Lost += int64(whole)
		return end[whole:]
	}
	if room <= lineExtra {
		return nil
	}
	return append(bytes.Clone(text[:lineHead]), end[lineHead:]...)
}

// Size is how many bytes there are, about.
func (o *Output) Size() int { return len(o.out) + len(o.err) }

// Lines are the lines as they were printed, each with the stream it came by, in the order in
// which they were read. That is not always the one in which two streams were printed to.
// protocol.Visible makes them fit to be shown.
func (o *Output) Lines() iter.Seq2[Stream, []byte] {
	return func(yield func(Stream, []byte) bool) {
		out, err := o.out, o.err
		for len(out)+len(err) > 0 {
			from := &out
			if len(out) == 0 || len(err) > 0 && bytes.Compare(err[1:lineHead], out[1:lineHead]) < 0 {
				from = &err
			}
			end := bytes.IndexByte(*from, '\n')
			line := (*from)[:end]
			*from = (*from)[end+1:]
			if !yield(Stream(line[0]-'0'), line[lineHead:]) {
				return
			}
		}
	}
}

// NewOutput is the Output of a run that printed these lines by that stream.
func NewOutput(by Stream, lines string) *Output {
	t := newTranscript(len(lines) + lineExtra*(1+strings.Count(lines, "\n")) + 1<<10)
	for line := range strings.Lines(lines) {
		t.line(by, []byte(strings.TrimSuffix(line, "\n")))
	}
	return t.take()
}
