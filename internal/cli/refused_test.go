package cli

import (
	"strings"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// A queue that is not there is told by the exit code for that, by a pause as by a purge; one without a name cannot even be meant.
func TestAPauseOfAQueueThatIsNotThere(t *testing.T) {
	s, _ := scriptOn(t)
	s.says(t, exitGone, "queue pause nosuch", "There is no queue nosuch.", "--force")
	s.says(t, exitOK, "queue pause --force nosuch", "paused nosuch")
	for _, force := range []string{"", "--force"} {
		if err := s.oarlock(exitGone, append(strings.Fields("queue pause "+force), "")); err != nil {
			t.Errorf("%v: %s", err, s.said["stderr"])
		}
		if said := s.said["stderr"]; !strings.Contains(said, "there is no queue without a name; name one") {
			t.Errorf("it says %s", said)
		}
	}
}

// Where Redis is out of memory a command says so in our words, and what to do; what it advises works.
func TestRedisOutOfMemory(t *testing.T) {
	server := redistest.Start(t)
	s := newScript(t, "")
	s.env["REDIS_URL"] = server.URL
	c, err := queue.Open(t.Context(), queue.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Put(t.Context(), queue.Put{Queue: "q", JID: "j", Klass: "K"}); err != nil {
		t.Fatal(err)
	}
	if err := server.Client(t).ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"queue pause q", "put q", "recur add q {} --every 1m", "throttle set t 3"} {
		said := s.says(t, exitTempFail, command, "Redis is out of memory", "maxmemory", "oarlock queue purge")
		if strings.Contains(said, "script") {
			t.Errorf("%s says %s", command, said)
		}
	}
	s.says(t, exitOK, "queue purge q", "1 job of q canceled")
}
