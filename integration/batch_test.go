package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// A job that is the end of whatever message it comes in is alone in at most eight rounds of a hundred
// jobs, only then it counts for it, and it costs those that came with it nothing.
func TestABadJobAmongAHundredIsAloneInEightRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ does, more, group string }{
		{"die", "max_crashes = 0", "signal-KILL"},
		{"exit", "", "exit-1"},
		{"hang", `timeout = "5s"`, "timeout"},
		{"hang", `stall_timeout = "5s"`, "stalled"},
		{"raise", "", ""},
	} {
		t.Run(c.does+" "+c.more, func(t *testing.T) {
			if c.does == "hang" {
				long(t, "eight timeouts")
			}
			t.Parallel()
			r := newRig(t, 1, rigOptions{lock: 20 * time.Second})
			bad := r.putHundred(t, c.does, 37)
			messages := filepath.Join(r.dir, "messages")
			r.start(t, "a", pool{children: 1, grace: "100ms", command: append(command(t, "batch-worker.py"), messages), more: "batch = 100\n" + c.more})
			r.othersUnharmed(t, bad, c.group)
			rounds := sizesWith(t, messages, bad)
			for i, n := range rounds[1:] {
				if n > (rounds[i]+1)/2 {
					t.Errorf("it came in messages of %v, want each of half as many as the one before at most", rounds)
				}
			}
			// The first message has what one take gave, which may be some less than all.
			if n := len(rounds); rounds[0] <= 64 || n > 8 || slices.Index(rounds, 1) != n-1 {
				t.Errorf("it came in messages of %v, want eight at most, the last of it alone", rounds)
			}
		})
	}
}

// A job that kills its supervisors is alone as soon as it is suspected of that, and fails at the next.
func TestAJobOfABatchThatKillsItsSupervisors(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, rigOptions{lock: 20 * time.Second})
	bad := r.putHundred(t, "supervisor", 0)
	messages := filepath.Join(r.dir, "messages")
	r.restartUntilSettled(t, pool{children: 1, command: append(command(t, "batch-worker.py"), messages), more: "batch = 100\nmax_crashes = 0"})
	r.othersUnharmed(t, bad, "supervisor-died")
	if rounds := sizesWith(t, messages, bad); len(rounds) != queue.SuspectDeaths+1 || rounds[len(rounds)-1] != 1 {
		t.Errorf("it came in messages of %v, want %d, the last of it alone", rounds, queue.SuspectDeaths+1)
	}
}

// putHundred puts a hundred jobs of which one, at a place, does something, without retries, and returns its jid.
func (r *rig) putHundred(t *testing.T, does string, at int) string {
	t.Helper()
	none := 0
	puts := make([]queue.Put, 100)
	for i := range puts {
		puts[i] = queue.Put{Queue: "work", Klass: "Work", Data: []byte(`"well"`), Retries: &none}
	}
	puts[at].Data, _ = json.Marshal(does)
	r.jids = r.putAll(t, puts)
	return r.jids[at]
}

// othersUnharmed waits until all is settled, and checks that the bad job failed and all others are complete
// and have paid nothing.
func (r *rig) othersUnharmed(t *testing.T, bad, group string) {
	t.Helper()
	for _, j := range r.settled(t) {
		switch {
		case j.jid == bad && (j.state != "failed" || group != "" && j.group != group):
			t.Errorf("the bad job is %s in group %q, want failed in %q", j.state, j.group, group)
		case j.jid != bad && (j.state != "complete" || j.crashes != 0 || j.remaining != j.retries):
			t.Errorf("%s is %s, crashed %d times, has %d of %d retries", j.jid, j.state, j.crashes, j.remaining, j.retries)
		}
	}
}

// sizesWith is how many jobs were in each of the messages that a job came in.
func sizesWith(t *testing.T, file, jid string) (sizes []int) {
	t.Helper()
	text := got(os.ReadFile(file))(t)
	for line := range strings.Lines(string(text)) {
		var jids []string
		must(t, json.Unmarshal([]byte(line), &jids))
		if slices.Contains(jids, jid) {
			sizes = append(sizes, len(jids))
		}
	}
	return sizes
}
