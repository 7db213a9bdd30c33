package protocol

import (
	"bytes"
	"io"
)

// LineKind is what a line from a child is.
type LineKind uint8

// Kinds of lines.
const (
	LogLine    LineKind = iota // something the program printed
	StatusLine                 // a status line
	Oversized                  // longer than the limit, and dropped but for its beginning
)

// Line is one line from a child.
type Line struct {
	Kind LineKind
	// Text is the line without its end; of an oversized one the first KiB. It is
	// valid until the next call of Next.
	Text    []byte
	Status  Status // of a StatusLine; of an Oversized one, Verb and Run if they can be read at its beginning. Shares no memory with Text
	Dropped int64  // of an Oversized line: bytes dropped behind Text
	End     []byte // of an Oversized line: the last of those, as far as they are known. Valid as Text is
	Unended bool   // the last line, without a line feed
	// Overwritten: no whole line, but what a carriage return, and no line feed, ended; see Reader.Bars.
	Overwritten bool
	Continued   bool // something of the same line was Overwritten before it
}

const (
	firstBuffer = 512      // bytes a Reader begins with: most streams of most children stay silent
	busyBuffer  = 4 << 10  // and goes on with once more came at a time
	keepBuffer  = 64 << 10 // a buffer that grew beyond this is given up when empty
	keptOfLong  = 1 << 10  // bytes shown of a line that is too long, and at least kept of its end
)

// Reader cuts what a child writes into lines.
//
// It copes with any bytes, and holds no more of them than twice the longest line
// that it may return.
type Reader struct {
	r       io.Reader
	maxLine int
	logOnly bool
	bars    bool

	buf        []byte
	start, end int   // the bytes of buf that were not returned yet
	scanned    int   // of those, how many are known to hold no line feed
	busy       bool  // there was more to read than there was room
	returns    int   // of those, how many are known to hold no carriage return that ends a bar
	continued  bool  // something of this line was returned as Overwritten
	joined     bool  // no more of it is: a status line may stand in it
	skipping   bool  // within a line that is too long; its beginning is at start
	dropped    int64 // bytes of that line that are gone
	err        error // why r will give nothing more
}

// NewReader returns a Reader of the lines of r of at most maxLine bytes;
// DefaultMaxLine if maxLine is not positive.
func NewReader(r io.Reader, maxLine int) *Reader {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	return &Reader{r: r, maxLine: max(maxLine, keptOfLong)}
}

// LogOnly makes every further line a log line, whatever it looks like.
func (r *Reader) LogOnly() { r.logOnly = true }

// Bars lets the parts of a line be returned as soon as something comes behind the carriage
// return that ends them, for programs that draw progress bars, which end in a line feed hours later. Where
// a status line may stand in a line, it stays whole from there on.
func (r *Reader) Bars() { r.bars = true }

// Next returns the next line. A last line without a line feed is returned before
// the error of the reader below, [io.EOF] at the end.
//
// An error that has a method Temporary returning true, as that of a descriptor
// that would block, ends nothing: what was read so far is kept, and Next may be
// called again.
func (r *Reader) Next() (Line, error) {
	for {
		if line, ok := r.cut(); ok {
			return line, nil
		}
		if r.err != nil {
			return r.last()
		}
		if err := r.fill(); err != nil {
			if t, ok := err.(interface{ Temporary() bool }); ok && t.Temporary() {
				return Line{}, err
			}
			r.err = err
		}
	}
}

// cut returns the next whole line of the buffer, if there is one.
func (r *Reader) cut() (Line, bool) {
	i := bytes.IndexByte(r.buf[r.start+r.scanned:r.end], '\n')
	whole := i >= 0
	if r.scanned += i; !whole {
		r.scanned = r.end - r.start
	}
	if r.bars && !r.joined && !r.skipping {
		if line, ok := r.bar(); ok {
			return line, true
		}
	}
	if !whole {
		return Line{}, false
	}
	text := r.buf[r.start : r.start+r.scanned]
	r.start += r.scanned + 1
	r.scanned = 0
	return r.line(text), true
}

// bar returns the next part of the line that begins at start, of which as much is there as was scanned,
// if a carriage return ends it and something else than a line feed comes behind.
func (r *Reader) bar() (Line, bool) {
	for {
		text := r.buf[r.start : r.start+r.scanned]
		i := bytes.IndexByte(text[r.returns:], '\r')
		if i < 0 {
			r.returns = len(text)
			return Line{}, false
		}
		r.returns += i
		part, rest := text[:r.returns], bytes.TrimLeft(text[r.returns:], "\r")
		switch {
		case len(rest) == 0: // the end of the line, or one that has not come yet
			return Line{}, false
		case len(part) > 0 && part[0] == '{', bytes.Contains(part, []byte(`"@"`)), len(part) > r.maxLine:
			r.joined = true
			return Line{}, false
		}
		continued := r.continued
		r.start, r.scanned = r.start+len(text)-len(rest), len(rest)
		r.returns, r.continued = 0, true
		if len(part) > 0 {
			return Line{Kind: LogLine, Text: part, Overwritten: true, Continued: continued}, true
		}
	}
}

// last returns what was left without a line feed, then the error.
func (r *Reader) last() (Line, error) {
	text := r.buf[r.start:r.end]
	r.start, r.end, r.scanned = 0, 0, 0
	if len(text) == 0 && !r.skipping {
		r.buf = nil
		return Line{}, r.err
	}
	line := r.line(text)
	line.Unended = true
	return line, nil
}

// line makes a Line of text, the whole of a line or, while skipping, its
// beginning and what came after the gap.
func (r *Reader) line(text []byte) Line {
	continued := r.continued
	r.returns, r.continued, r.joined = 0, false, false
	if r.skipping || len(text) > r.maxLine+1 || len(text) == r.maxLine+1 && text[r.maxLine] != '\r' {
		dropped := r.dropped + int64(len(text)-keptOfLong)
		r.skipping, r.dropped = false, 0
		line := Line{Kind: Oversized, Text: text[:keptOfLong], Dropped: dropped, End: text[keptOfLong:], Continued: continued}
		if !r.logOnly {
			line.Status = Beginning(line.Text)
		}
		return line
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	if !r.logOnly && !continued && len(text) > 0 && text[0] == '{' {
		if status, ok := ParseStatus(text); ok {
			return Line{Kind: StatusLine, Text: text, Status: status}
		}
	}
	return Line{Kind: LogLine, Text: text, Continued: continued}
}

// fill makes room and reads once.
func (r *Reader) fill() error {
	switch {
	case r.start == r.end:
		r.start, r.end = 0, 0
		if len(r.buf) > keepBuffer || r.busy && len(r.buf) < busyBuffer {
			r.buf = nil
		}
	case r.end-r.start > r.maxLine+1:
		// Longer than any line we return: keep its beginning and what may become its end.
		r.skipping = true
		rest := r.buf[r.start+keptOfLong : r.end]
		end := rest[len(rest)-min(len(rest), max(r.maxLine/2, keptOfLong)):]
		r.dropped += int64(len(rest) - len(end))
		r.end = r.start + keptOfLong + copy(rest, end)
		r.scanned = r.end - r.start
	}
	if r.end == len(r.buf) && r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == len(r.buf) {
		first := firstBuffer
		if r.busy {
			first = busyBuffer
		}
		grown := make([]byte, max(first, 2*len(r.buf)))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	n, err := r.r.Read(r.buf[r.end:])
	r.end += max(n, 0)
	r.busy = r.busy || r.end == len(r.buf)
	if n > 0 {
		return nil // an error comes again, alone
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}
