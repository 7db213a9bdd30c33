package supervisor

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"oarlock/protocol"
	"oarlock/runner"
)

// TestARecordOfAChildIsMarked has a child send a record that reads as a line of ours.
func TestARecordOfAChildIsMarked(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	record := &protocol.LogRecord{Level: "info", Message: "attempt ended"}
	LogLine(log, Line{Pool: "mail", JID: "a1", LogLine: runner.LogLine{Stream: runner.StatusStream, Record: record}})
	if want := `"msg":"attempt ended","stream":"status","pool":"mail","jid":"a1"}`; !strings.Contains(out.String(), want) {
		t.Errorf("not %s in %s", want, out.String())
	}
}

// TestARecordOfAnyLevelIsLogged has a child name levels as loggers of its language do, and one that nobody knows.
func TestARecordOfAnyLevelIsLogged(t *testing.T) {
	for word, want := range map[string]string{
		"debug": `"DEBUG"`, "WARNING": `"WARN"`, "warn": `"WARN"`, "critical": `"ERROR"`, "fatal": `"ERROR"`, "notice": `"INFO"`,
		"7": `"INFO"`, "lo\nud": `"INFO"`, "ERROR+9": `"INFO"`,
	} {
		var out bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		LogLine(log, Line{LogLine: runner.LogLine{Stream: runner.StatusStream, Record: &protocol.LogRecord{Level: word, Message: "m"}}})
		if !strings.Contains(out.String(), `"level":`+want) {
			t.Errorf("a record of the level %q is logged as %q", word, out.String())
		}
		if _, known := levelOf(word); !known && !strings.Contains(out.String(), `"child.level":`) {
			t.Errorf("nothing tells of the level %q: %s", word, out.String())
		}
	}
}
