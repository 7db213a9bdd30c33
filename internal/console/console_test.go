package console

import (
	"bytes"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"oarlock/internal/logging"
	"oarlock/internal/must"
	"oarlock/internal/screen"
	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor"
)

func childLine(pool string, slot int, l runner.LogLine) supervisor.Line {
	return supervisor.Line{Pool: pool, Slot: slot, LogLine: l}
}

var somePools = map[string]int{"mail": 2, "thumbnails": 100}

func TestLinesOfAScreen(t *testing.T) {
	var out bytes.Buffer
	s := New(&out, &out, somePools)
	s.Line(childLine("mail", 0, runner.LogLine{Text: []byte("hello")}))
	s.Line(childLine("thumbnails", 99, runner.LogLine{Stream: runner.Stderr, Text: []byte("\x1b[2J\r\xff")}))
	s.Line(childLine("mail", 1, runner.LogLine{Dropped: 1234}))
	s.Line(childLine("mail", 1, runner.LogLine{Text: []byte("begin"), Cut: 7}))
	s.Line(childLine("mail", 1, runner.LogLine{Text: []byte(`{"@":"ack"}`), Refused: "it names no run"}))
	s.Line(childLine("mail", 1, runner.LogLine{Stream: runner.StatusStream, Record: &protocol.LogRecord{Level: "warn", Message: "a\nb", Fields: []protocol.Field{{Name: "n", Value: []byte("1")}}}}))
	slog.New(logging.Lines(s.Ours(), slog.LevelInfo, false)).Info("ready", "name", "x\ny")
	want := strings.Join([]string{
		`mail[0]        | hello`,
		`thumbnails[99] ! \x1b[2J\r\xff`,
		`mail[1]        | 1234 lines dropped (log_rate)`,
		`mail[1]        | begin … and 7 bytes more`,
		`mail[1]        | {"@":"ack"} (refused: it names no run)`,
		`mail[1]        | warn: a\nb n=1`,
		`oarlock        | TIME INFO  ready name="x\ny"`,
	}, "\n") + "\n"
	if got := regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+`).ReplaceAllString(out.String(), "TIME"); got != want {
		t.Errorf("it shows\n%swant\n%s", got, want)
	}
}

// On a terminal each pool has a colour, and stderr another mark; nowhere else, and not where the
// user wants none.
func TestColoursOfAScreen(t *testing.T) {
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	for _, tt := range []struct {
		noColour string
		want     string
	}{
		{"", colourOf("mail") + "mail[0]        " + screen.Plain + screen.Red + "!" + screen.Plain + " x\n"},
		{"1", "mail[0]        ! x\n"},
	} {
		t.Setenv("NO_COLOR", tt.noColour)
		t.Setenv("TERM", "xterm")
		var out bytes.Buffer
		s := New(&out, theirs, somePools)
		s.Line(childLine("mail", 0, runner.LogLine{Stream: runner.Stderr, Text: []byte("x")}))
		if out.String() != tt.want {
			t.Errorf("NO_COLOR=%q: %q, want %q", tt.noColour, out.String(), tt.want)
		}
	}
}

// Lines of many children stay whole.
func TestLinesAreNotMixed(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	logs := logging.New(write, "text", "info")
	s := New(logs, write, somePools)
	var all sync.WaitGroup
	for slot := range 20 {
		all.Go(func() {
			for range 50 {
				s.Line(childLine("mail", slot%10, runner.LogLine{Text: []byte(strings.Repeat("x", 900))}))
			}
		})
	}
	go func() {
		all.Wait()
		logs.Close()
		write.Close()
	}()
	var text bytes.Buffer
	must.Get(text.ReadFrom(read))(t)
	whole := regexp.MustCompile(`^mail\[\d\]        \| x{900}$`)
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for _, line := range lines {
		if !whole.MatchString(line) {
			t.Fatalf("a line is %q", line)
		}
	}
	if len(lines) != 1000 {
		t.Errorf("%d lines", len(lines))
	}
}
