package supervisor

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"oarlock/runner"
)

// Lines that were dropped are said as such, and not as an empty line of the child.
func TestDroppedLinesAreSaid(t *testing.T) {
	var out bytes.Buffer
	w := newFakeWorld(t)
	w.cfg.Logger = slog.New(slog.NewTextHandler(&out, nil))
	build(w.cfg, w.redis, w.host).logLine(Line{Pool: "mail", Slot: 3, JID: "j1", LogLine: runner.LogLine{Stream: runner.Stderr, Dropped: 1234}})
	for _, want := range []string{`level=WARN msg="1234 lines dropped (log_rate)"`, "pool=mail", "slot=3", "stream=stderr", "jid=j1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %q: %s", want, out.String())
		}
	}
}
