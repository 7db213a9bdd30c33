package protocol

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readBars returns what a reader of bars makes of text: parts in <>, status lines in [], those that go
// on after a part behind +.
func readBars(t *testing.T, r *Reader) string {
	t.Helper()
	var out []string
	for {
		line, err := r.Next()
		if err == io.EOF {
			return strings.Join(out, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		text := string(line.Text)
		switch {
		case line.Overwritten:
			text = "<" + text + ">"
		case line.Kind == StatusLine:
			text = "[" + text + "]"
		case line.Kind == Oversized:
			text = "oversized"
		}
		if line.Continued {
			text = "+" + text
		}
		out = append(out, text)
	}
}

func TestBars(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"10%\r20%\r100%\ndone\n", "<10%> +<20%> +100% done"},
		{"\r10%\r20%\r100%\n", "+<10%> +<20%> +100%"},
		{"10%\r", "10%"},
		{"10%\r20%", "<10%> +20%"},
		{"one\r\ntwo\r\n", "one two"},
		{"one\r\r\ntwo\n", "one\r two"},
		{"50%\r    \rdone\r\n", "<50%> +<    > +done"},
		{"\r\r\r\n", "\r\r"},
		{`{"@":"ack"}` + "\r\n", `[{"@":"ack"}]`},
		{"50%\r" + `{"@":"ack","run":"r"}` + "\n" + `{"@":"ack"}` + "\n", `<50%> +{"@":"ack","run":"r"} [{"@":"ack"}]`},
		{`say {"@":"ack"` + "\r" + `}` + "\n", `say {"@":"ack"` + "\r}"},
		{`{"a":` + "\r" + `"@"}` + "\nnext\rline\n", `{"a":` + "\r" + `"@"} <next> +line`},
		{"", ""},
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(tt.text), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.text))} {
			reader := NewReader(r, 0)
			reader.Bars()
			if got := readBars(t, reader); got != tt.want {
				t.Errorf("%s, %q: %q, want %q", name, tt.text, got, tt.want)
			}
		}
		plain := readBars(t, NewReader(strings.NewReader(tt.text), 0))
		if strings.ContainsAny(plain, "<+") {
			t.Errorf("%q: without Bars %q", tt.text, plain)
		}
	}
}

// A bar that never ends needs no memory, and hides nothing that comes behind it.
func TestALongBar(t *testing.T) {
	var text strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&text, "%d of 200000\r", i)
	}
	text.WriteString("\n" + `{"@":"ack"}` + "\n")
	r := NewReader(strings.NewReader(text.String()), 4<<10)
	r.Bars()
	parts := 0
	for {
		line, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if line.Kind == StatusLine {
			break
		}
		if line.Kind != LogLine || len(r.buf) > keepBuffer {
			t.Fatalf("%v, a buffer of %d bytes", line.Kind, len(r.buf))
		}
		parts++
	}
	if parts != 200_000 {
		t.Errorf("%d parts", parts)
	}
}
