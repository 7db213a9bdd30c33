package cli

import (
	"strings"
	"testing"
	"time"

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
	c, err := queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: 30 * time.Second})
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

// What a variable that is not set leaves on a command line does no more than was meant: no move becomes a purge, no choice all there
// is, and no configuration the one that is found.
func TestNamesAndOptionsThatAreEmpty(t *testing.T) {
	s, c := scriptOn(t)
	for _, jid := range []string{"a", "b"} {
		if _, err := c.Put(t.Context(), queue.Put{Queue: "q", JID: jid, Klass: "K"}); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]struct {
		code int
		text string
	}{
		"queue mv q":                            {exitUsage, "the queue to move to is empty; give it a name, or `oarlock queue purge q`"},
		"failed drop --all --klass":             {exitUsage, "--klass is empty; give it a value, or leave it out"},
		"put q 1 -t":                            {exitUsage, "--tag is empty"},
		"put q 1 --merge":                       {exitUsage, "--merge is empty"},
		"queue ls -c":                           {exitUsage, "--config is empty"},
		"--redis":                               {exitUsage, "--redis is empty"},
		"job show":                              {exitGone, `there is no job ""`},
		"job cancel":                            {exitGone, `there is no job ""; nothing was done`},
		"failed retry":                          {exitGone, `no job has failed in group ""`},
		"config get":                            {exitGone, `"" is not set`},
		"search klass:":                         {exitUsage, "oarlock: klass: has no value"},
		"check":                                 {exitUsage, "the name of the file is empty"},
		"search queue:q state:waiting --cursor": {exitOK, "waiting"},
	} {
		if err := s.oarlock(want.code, append(strings.Fields(command), "")); err != nil || !strings.Contains(s.said["stdout"]+s.said["stderr"], want.text) {
			t.Errorf("%s with nothing says\n%s%s, %v; want %q", command, s.said["stdout"], s.said["stderr"], err, want.text)
		}
	}
	if counts, err := c.Queue(t.Context(), "q"); err != nil || counts.Waiting != 2 {
		t.Errorf("%d jobs are left, %v; want 2", counts.Waiting, err)
	}
}
