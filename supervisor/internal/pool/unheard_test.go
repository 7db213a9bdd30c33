package pool

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/supervisor/internal/clock"
)

// Refused verdicts are counted one by one, and warned of once in a while, by pool and job.
func TestRefusedVerdictsAreSaid(t *testing.T) {
	var said strings.Builder
	var now time.Duration
	p := &Pool{Shared: &Shared{Clock: func() time.Duration { return now }}, log: slog.New(slog.NewTextHandler(&said, nil)).With("pool", "mail")}
	e := reporter{&member{pool: p}}
	for range 1000 {
		e.Refused(&protocol.Job{JID: "j1"}, "fail", "it does not name its run")
	}
	if got := strings.Count(said.String(), "level=WARN"); got != 1 {
		t.Errorf("%d warnings of 1,000 in one moment; want 1", got)
	}
	now += clock.Often
	e.Refused(nil, "ack", "there is no job that it could be about")
	for _, want := range []string{"pool=mail", "verdict=fail", "jid=j1", `why="it does not name its run"`, "refused_so_far=1001"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no warning says %s:\n%s", want, said.String())
		}
	}
	if got := p.unheard.Count(); got != 1001 {
		t.Errorf("%d counted, want 1001", got)
	}
}
