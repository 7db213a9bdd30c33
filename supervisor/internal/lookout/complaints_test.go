package lookout

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

func TestComplaintsAreMadeOnce(t *testing.T) {
	log, now := new(bytes.Buffer), time.Duration(0)
	c := NewComplaints(slog.New(slog.NewTextHandler(log, nil)), func() time.Duration { return now })
	broken := []queue.Broken{{Queue: "q", JID: "j", Reason: "no job"}}
	said := func() int { return strings.Count(log.String(), "jid=j") }
	for range 100 {
		c.LeftOut("p", broken)
		now += time.Second
	}
	if n := said(); n != 1 {
		t.Errorf("met a hundred times, said %d times", n)
	}
	now += 2 * complaintPause
	c.LeftOut("p", broken)
	if n := said(); n != 2 {
		t.Errorf("met again after a pause, said %d times", n)
	}
}
