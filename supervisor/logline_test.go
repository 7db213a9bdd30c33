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
	s := &Supervisor{log: slog.New(slog.NewJSONHandler(&out, nil))}
	record := &protocol.LogRecord{Level: "info", Message: "attempt ended"}
	s.logLine(Line{Pool: "mail", JID: "a1", LogLine: runner.LogLine{Stream: runner.StatusStream, Record: record}})
	if want := `"msg":"attempt ended","stream":"status","pool":"mail","jid":"a1"}`; !strings.Contains(out.String(), want) {
		t.Errorf("not %s in %s", want, out.String())
	}
}
