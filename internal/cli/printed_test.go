package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// What cannot be written was not said: a script must not take it for done. Whoever reads no more had enough.
func TestOutputThatCannotBeWritten(t *testing.T) {
	s := newScript(t, workFiles)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("SKIPPED there is no /dev/full")
	}
	defer full.Close()
	unread, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	unread.Close()
	for _, line := range []string{"check", "check --json", "--help", "version", "lua", "completion bash", "init -", "unit", "queue ls", "queue ls --json", "put q", "config get --json"} {
		for _, tt := range []struct {
			out  *os.File
			code int
			says string
		}{
			{full, exitFailed, "no space left on device"},
			{pipe, exitPipe, ""},
		} {
			var errs bytes.Buffer
			code := s.main(t.Context(), strings.NewReader(""), tt.out, &errs, strings.Fields(line)...)
			if code != tt.code || tt.says == "" && strings.Contains(errs.String(), "oarlock: ") || !strings.Contains(errs.String(), tt.says) {
				t.Errorf("%s to %s: exit code %d, want %d; it says %q", line, tt.out.Name(), code, tt.code, errs.String())
			}
		}
	}
}
