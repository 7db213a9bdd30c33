package ops

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadLine(t *testing.T) {
	from := bufio.NewReaderSize(strings.NewReader("12345\n1234567890\n"+strings.Repeat("x", 100)), 16)
	for _, want := range []string{"12345\n", "1234567890\n"} {
		if line, err := readLine(from, 10); err != nil || string(line) != want {
			t.Errorf("read %q, %v; want %q", line, err, want)
		}
	}
	if line, err := readLine(from, 10); !errors.Is(err, errLong) {
		t.Errorf("read %q, %v of a line that is too long", line, err)
	}
	if line, err := readLine(bufio.NewReader(strings.NewReader("end")), 10); err != io.EOF || string(line) != "end" {
		t.Errorf("the end is %q, %v", line, err)
	}
}
