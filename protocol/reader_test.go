package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// readAll returns what a Reader makes of text, one description a line.
func readAll(t *testing.T, r *Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := r.Next()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		switch line.Kind {
		case LogLine:
			fmt.Fprintf(&b, "log %q\n", line.Text)
		case StatusLine:
			fmt.Fprintf(&b, "status %s %q\n", line.Status.Verb, line.Text)
		case Oversized:
			fmt.Fprintf(&b, "oversized %d+%d\n", len(line.Text), line.Dropped)
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"a log line", "hello\n", `log "hello"` + "\n"},
		{"a status line", `{"@":"ack"}` + "\n", `status ack "{\"@\":\"ack\"}"` + "\n"},
		{"CRLF", "a\r\n\r\nb\r\r\n", "log \"a\"\nlog \"\"\nlog \"b\\r\"\n"},
		{"no line feed at the end", "a\nb", "log \"a\"\nlog \"b\"\n"},
		{"a status line without line feed", `{"@":"ack"}`, `status ack "{\"@\":\"ack\"}"` + "\n"},
		{"a status line cut off", `{"@":"ack","da`, `log "{\"@\":\"ack\",\"da"` + "\n"},
		{"binary", "\x00\xff\x1b\n", "log \"\\x00\\xff\\x1b\"\n"},
		{"as long as may be", long[:2000] + "\n", fmt.Sprintf("log %q\n", long[:2000])},
		{"as long as may be, with CRLF", long[:2000] + "\r\n", fmt.Sprintf("log %q\n", long[:2000])},
		{"one byte longer", long[:2001] + "\nnext\n", "oversized 1024+977\nlog \"next\"\n"},
		{"much longer", long + "\n{\"@\":\"ack\"}\n", "oversized 1024+3976\nstatus ack \"{\\\"@\\\":\\\"ack\\\"}\"\n"},
		{"much longer and no end", long, "oversized 1024+3976\n"},
		{"a status line too long", `{"@":"ack","data":"` + long + `"}` + "\n", "oversized 1024+3997\n"},
	}
	for _, tt := range tests {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":       func(r io.Reader) io.Reader { return r },
			"by byte":     iotest.OneByteReader,
			"by halves":   iotest.HalfReader,
			"with errors": iotest.DataErrReader,
		} {
			got := readAll(t, NewReader(wrap(strings.NewReader(tt.in)), 2000))
			if got != tt.want {
				t.Errorf("%s, %s:\n got  %s want %s", tt.name, name, got, tt.want)
			}
		}
	}
}

func TestReaderLogOnly(t *testing.T) {
	r := NewReader(strings.NewReader("{\"@\":\"ack\"}\n{\"@\":\"ack\"}\n"), 0)
	if line, err := r.Next(); err != nil || line.Kind != StatusLine {
		t.Fatalf("%v, %v", line.Kind, err)
	}
	r.LogOnly()
	if line, err := r.Next(); err != nil || line.Kind != LogLine {
		t.Fatalf("%v, %v; want a log line", line.Kind, err)
	}
}

// hiccups returns a part of the text, or a temporary error, by turns.
type hiccups struct {
	parts []string
	odd   bool
}

func (h *hiccups) Read(b []byte) (int, error) {
	h.odd = !h.odd
	if h.odd {
		return 0, syscall.EAGAIN
	}
	if len(h.parts) == 0 {
		return 0, errors.New("broken")
	}
	n := copy(b, h.parts[0])
	h.parts = h.parts[1:]
	return n, nil
}

// A descriptor that would block loses nothing; any other error comes after the
// last line and stays.
func TestReaderErrors(t *testing.T) {
	r := NewReader(&hiccups{parts: []string{"one\ntw", "o\nthr", "ee"}}, 0)
	var lines []string
	for {
		line, err := r.Next()
		if errors.Is(err, syscall.EAGAIN) {
			continue
		}
		if err != nil {
			break
		}
		lines = append(lines, string(line.Text))
	}
	if got := strings.Join(lines, "|"); got != "one|two|three" {
		t.Errorf("lines %s", got)
	}
	for range 2 {
		if _, err := r.Next(); err == nil || err.Error() != "broken" {
			t.Errorf("error %v; want the reader's", err)
		}
	}
}

// endless yields so many bytes without a line feed, then a last line.
type endless struct{ left int }

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		if e.left < 0 {
			return 0, io.EOF
		}
		e.left = -1
		return copy(b, "\n{\"@\":\"ack\"}\n"), nil
	}
	n := min(len(b), e.left, len(dull))
	e.left -= n
	return copy(b, dull[:n]), nil
}

var dull = bytes.Repeat([]byte("x"), 1<<20)

// A gigabyte without a line feed needs no more memory than the longest line, and
// what follows is still read.
func TestReaderMemory(t *testing.T) {
	const size = 1 << 30
	r := NewReader(&endless{left: size}, 1<<20)
	line, err := r.Next()
	if err != nil || line.Kind != Oversized || line.Dropped+int64(len(line.Text)) != size {
		t.Fatalf("%v, kind %v, %d dropped", err, line.Kind, line.Dropped)
	}
	if most := 4 << 20; len(r.buf) > most {
		t.Errorf("the buffer has %d bytes; want at most %d", len(r.buf), most)
	}
	if line, err = r.Next(); err != nil || line.Kind != StatusLine {
		t.Fatalf("%v, kind %v; want the ack", err, line.Kind)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n{\"@\":\"ack\"}\n"), 3)
	f.Add(bytes.Repeat([]byte("x"), 3000), 100)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		if step < 1 || step > len(text)+1 {
			step = 1
		}
		var whole, parts []Line
		read := func(r io.Reader) (lines []Line) {
			reader := NewReader(r, 1100)
			for {
				line, err := reader.Next()
				if err != nil {
					return lines
				}
				line.Text = bytes.Clone(line.Text)
				lines = append(lines, line)
			}
		}
		whole = read(bytes.NewReader(text))
		parts = read(&stepReader{text, step})
		if len(whole) != len(parts) {
			t.Fatalf("%d lines at once, %d in parts of %d", len(whole), len(parts), step)
		}
		total := 0
		for i := range whole {
			if whole[i].Kind != parts[i].Kind || !bytes.Equal(whole[i].Text, parts[i].Text) || whole[i].Dropped != parts[i].Dropped {
				t.Fatalf("line %d: %+v at once, %+v in parts of %d", i, whole[i], parts[i], step)
			}
			total += len(whole[i].Text) + int(whole[i].Dropped)
		}
		// All bytes are accounted for, but for line ends and one CR before each.
		if ends := bytes.Count(text, []byte("\n")); total > len(text) || total < len(text)-2*ends-1 {
			t.Fatalf("%d of %d bytes are in the lines", total, len(text))
		}
	})
}

type stepReader struct {
	text []byte
	step int
}

func (r *stepReader) Read(b []byte) (int, error) {
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.text[:min(r.step, len(r.text))])
	r.text = r.text[n:]
	return n, nil
}
