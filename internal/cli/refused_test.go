package cli

import (
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// A queue that is not there is told by the exit code for that, by a pause as by a purge; one without a name cannot even be meant.
func TestAPauseOfAQueueThatIsNotThere(t *testing.T) {
	s, _ := scriptOn(t, "")
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
	s, c := scriptAt(t, server.URL, ""), openAt(t, server.URL)
	must.Get(c.Put(t.Context(), queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
	must.Do(t, c.Redis().ConfigSet(t.Context(), "maxmemory", "1mb").Err())
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
	s, c := scriptOn(t, "")
	for _, jid := range []string{"a", "b"} {
		must.Get(c.Put(t.Context(), queue.Put{Queue: "q", JID: jid, Klass: "K"}))(t)
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

// What is wrong with the words of a command line is said whether Redis answers or not; what is right waits for Redis.
func TestArgumentsAreJudgedWithoutRedis(t *testing.T) {
	s := newScript(t, "")
	s.env["REDIS_URL"], s.env["LONG"] = "redis://127.0.0.1:1/0", strings.Repeat("a", 1025)
	for _, test := range []struct{ line, says string }{
		{"queue mv q ''", "the queue to move to is empty"},
		{"queue mv q q", "the jobs of q are in q already"},
		{"queue purge q --state x", "--state x: there is depends"},
		{"queue show q --limit -1", "--limit is negative"},
		{"queue jobs q --by x", `--by "x" is none`},
		{"queue eta --over 0s", "--over must be a second"},
		{"queue limit q x", `"x" is no limit`},
		{"queue limit '' 3", "the queue is empty"},
		{"queue limit 'q ' 3", "begins or ends with a blank"},
		{"job ls x", "name one of tracked, complete"},
		{"job log j ''", "the message is empty"},
		{"job move j ''", "the queue is empty"},
		{"job priority j x", `"x" is no number`},
		{"job tag j ''", "the tag is empty"},
		{"key ls q --by x", "--by x: there is blocked and name"},
		{"respond '' c", "the class is empty"},
		{"respond K c {", "the data is not JSON"},
		{"respond K c --end x", "bad end"},
		{"respond K $LONG 1", "longer than 1024 bytes"},
		{"park extend j --timeout 0s", "a second at least"},
		{"failed retry", "name a GROUP"},
		{"failed ls g --limit -1", "--limit is negative"},
		{"list put hworker:x {", "the payload of an hworker's job is JSON"},
		{"list drop l", "say which entries"},
		{"recur add q --every 1ns", "--every must be a millisecond"},
		{"recur add q { --every 1h", "the data is not JSON"},
		{"recur add q --cron x", "five are wanted"},
		{"recur update j --every -1s", "--every must be a millisecond"},
		{"recur update j --cron x", "five are wanted"},
		{"recur update j --overlap x", `--overlap "x" is none of allow`},
		{"throttle set t x", `"x" is no limit`},
		{"throttle set '' 3", "the throttle is empty"},
		{"rules explain --queue q --data {", "the data is not JSON"},
		{"rules explain --queue q --weight 101", "weight must be from 1 to 100"},
		{"search state:x", "state: x is none"},
		{"stats q --day x", `--day "x" is not of the form`},
		{"config set heartbeat x", "heartbeat must be a number"},
		{"config set '' 1", "the setting is empty"},
		{"events --kinds x", "there are no events of kind x"},
		{"put q --correlation $LONG", "--correlation must have 1 to 1024 bytes"},
		{"replay j --mode x", `--mode: "x" is none of`},
		{"replay j --pool x", `there is no pool "x"`},
		{"replay j --timeout -1s true", "--timeout is negative"},
	} {
		if err := s.oarlock(exitUsage, s.words(test.line)); err != nil || !strings.Contains(s.said["stderr"], test.says) {
			t.Errorf("oarlock %s: %v\n%s\nwant %q", test.line, err, s.said["stderr"], test.says)
		}
	}
	for _, line := range []string{"queue mv q r", "job show ''", "park extend j --timeout 1h", "config clear", "list watch l", "events --count 1", "recur update j --cron @daily"} {
		if err := s.oarlock(exitTempFail, s.words(line)); err != nil || !strings.Contains(s.said["stderr"], "does not answer") || s.said["stdout"] != "" {
			t.Errorf("oarlock %s: %v\n%s%s", line, err, s.said["stdout"], s.said["stderr"])
		}
	}
}

// Data that the gate does not look into is not looked into by who tells what a job needs, and that is said.
func TestExplainOfLongData(t *testing.T) {
	s := newScript(t, "-- c.toml --\n[throttles.region]\nby = \"/region\"\neach = 5\n[queues.mail]\nthrottles = [\"region\"]\n")
	s.says(t, exitOK, "rules apply -c c.toml")
	for size, value := range map[int]string{60_000: "east", 66_000: "-"} {
		data := `{"region":"east","text":"` + strings.Repeat("x", size) + `"}`
		if err := s.oarlock(exitOK, []string{"rules", "explain", "--queue", "mail", "--data", data}); err != nil {
			t.Fatal(err, s.said["stderr"])
		}
		said := s.said["stdout"]
		if !strings.Contains(said, "region="+value+" ") || strings.Contains(said, "more than 64 KiB and is not looked into") != (value == "-") {
			t.Errorf("of %d bytes it says\n%s", len(data), said)
		}
	}
}

// Of several recurring jobs all end or none, and who names one that is not there hears which.
func TestRecurringJobsOfWhichOneIsNotThere(t *testing.T) {
	s, _ := scriptOn(t, "")
	s.says(t, exitOK, "recur add q {} --every 1h --jid a", "a")
	s.says(t, exitOK, "recur add q {} --cron @daily --jid b", "b")
	s.says(t, exitGone, "recur rm a nosuch b", "there is no recurring job nosuch; nothing was done")
	s.says(t, exitOK, "recur rm b a a", "recurs no more: a b")
	s.says(t, exitGone, "recur rm a", "there is no recurring job a")
}

// A job that is there, and not as it would have to be, is told by the exit code for that.
func TestJobsThatAreNotAtRest(t *testing.T) {
	s, c := scriptOn(t, "")
	parkOne(t, c, "parked", "order-1")
	s.says(t, exitOK, "put q 1 --jid runs")
	if reply, err := c.Session("w").Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}); err != nil || len(reply.Jobs) != 1 {
		t.Fatal(reply, err)
	}
	for _, command := range []string{"job retry JID", "job move JID q"} {
		s.says(t, exitGone, strings.Replace(command, "JID", "parked", 1), "parked is parked until its answer comes; answer it (oarlock respond), or cancel it")
		s.says(t, exitGone, strings.Replace(command, "JID", "runs", 1), "runs is running; `oarlock job timeout runs` takes it from its worker")
	}
	s.says(t, exitGone, "job timeout parked", "parked is not running but parked: nobody has it")
}
