package runner

import (
	"io"
	"os"
	"testing"
)

// A child can have read a line, and be dead of it, before who sent it goes on. Where the line stands is known by then,
// or a crash would count for nobody, and a verdict would come from a child that has not read its job.
func TestWhereALineStandsIsKnownBeforeItCanBeRead(t *testing.T) {
	read, write, err := os.Pipe()
	must(t, err)
	defer read.Close()
	w, err := newStdin(write)
	must(t, err)
	defer w.close()
	var stood [][2]int64
	for _, line := range []string{"a\n", "second\n"} {
		w.send(func(buf []byte) []byte { return append(buf, line...) }, func(from, end int64) {
			if w.written != from {
				t.Errorf("%q: %d bytes are in the pipe when it is told where the line stands, which begins at %d", line, w.written, from)
			}
			if n := w.unread(); int64(n) != from {
				t.Errorf("%q: the pipe holds %d bytes, want %d", line, n, from)
			}
			stood = append(stood, [2]int64{from, end})
		})
	}
	if len(stood) != 2 || stood[0] != [2]int64{0, 2} || stood[1] != [2]int64{2, 9} {
		t.Errorf("the lines stand at %v", stood)
	}
	got := make([]byte, 9)
	if _, err := io.ReadFull(read, got); err != nil || string(got) != "a\nsecond\n" || w.consumed() != 9 {
		t.Errorf("read %q, %v; consumed %d", got, err, w.consumed())
	}
}
