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

// TestAQueueThatRedisRefuses: of a queue into which our user may not look no key is blamed, for whoever deletes that loses jobs.
func TestAQueueThatRedisRefuses(t *testing.T) {
	log := new(bytes.Buffer)
	o := &Lookout{log: slog.New(slog.NewTextHandler(log, nil))}
	for _, reason := range []string{"ql:q:q-work: ERR The user executing the script can't run this command or subcommand", "ql:q:q-work is a string"} {
		log.Reset()
		o.name([]queue.QueueOutlook{{Queue: "q", Damage: reason}})
		if blamed := strings.Contains(log.String(), "delete"); blamed != strings.HasSuffix(reason, "string") {
			t.Errorf("of %q it says %s", reason, log)
		}
	}
}

// What the server refuses is not said to be damaged.
func TestComplaintsBlameNoKeyForTheServer(t *testing.T) {
	log := new(bytes.Buffer)
	c := NewComplaints(slog.New(slog.NewTextHandler(log, nil)), func() time.Duration { return 0 })
	c.LeftOut("", []queue.Broken{{Reason: "OOM command not allowed when used memory > 'maxmemory'."}, {Queue: "q", Reason: "NOPERM no permissions to run zadd"}})
	if n := strings.Count(log.String(), "left out: Redis refused it"); n != 2 || strings.Contains(log.String(), "doctor") {
		t.Errorf("said:\n%s", log)
	}
	c.LeftOut("", []queue.Broken{{Reason: "ql:oarlock:turns is a string"}})
	if !strings.Contains(log.String(), "oarlock doctor names it") {
		t.Errorf("said:\n%s", log)
	}
}
