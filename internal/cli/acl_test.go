package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// withoutRedis are the commands that ask nothing of Redis, or of one of their own; `run` works
// in the tests of the queue and of the whole as that user.
var withoutRedis = strings.Fields("demo run dev try torture check init unit version completion status top quiet resume drain " +
	"stop reload recycle scale bench say retry metrics web")

// parkOne puts a job of class Pay, which parks for an hour.
func parkOne(t *testing.T, client *queue.Client, jid, correlation string) {
	t.Helper()
	must.Get(client.Put(t.Context(), queue.Put{Queue: "payments", JID: jid, Klass: "Pay"}))(t)
	w := client.Session("w")
	reply, err := w.Exchange(t.Context(), nil, queue.Take{Queues: []string{"payments"}, Count: 1})
	if err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("took %+v: %v", reply.Jobs, err)
	}
	reply, err = w.Exchange(t.Context(), []queue.Settlement{{JID: jid, Queue: "payments", Popped: reply.Jobs[0].Popped, Action: queue.Park,
		Correlation: correlation, Delay: time.Hour}}, queue.Take{})
	if err != nil || reply.Results[0].Err != nil {
		t.Fatal(err, reply.Results)
	}
}

// TestEveryCommandAsTheLeastUser runs each command that speaks to Redis as the user of
// queue/ACL.md. A command that is new has to be named here.
func TestEveryCommandAsTheLeastUser(t *testing.T) {
	server := redistest.Start(t)
	page := must.Get(os.ReadFile("../../queue/ACL.md"))(t)
	var words []any
	for word := range strings.FieldsSeq(string(regexp.MustCompile("(?s)```acl\n(.*?)```").FindSubmatch(page)[1])) {
		words = append(words, word)
	}
	words = append(words, "~hworker-*", "+blmove", "+rpoplpush") // as the page says for lists
	must.Do(t, server.Client(t).Do(t.Context(), words...).Err())
	url := "unix://oarlock:PASSWORD@" + server.Addr
	client := openAt(t, url)
	work := func() { // two jobs fail, one is throttled, one runs
		t.Helper()
		reply, err := client.Session("w").Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 9})
		if err != nil || len(reply.Jobs) < 2 {
			t.Fatalf("took %+v: %v", reply.Jobs, err)
		}
		var failed []queue.Settlement
		for _, job := range reply.Jobs[:len(reply.Jobs)-1] {
			failed = append(failed, queue.Settlement{JID: job.JID, Queue: "q", Popped: job.Popped, Action: queue.Fail, Group: "g", Message: "m"})
		}
		must.Get(client.Session("w").Exchange(t.Context(), failed, queue.Take{}))(t)
	}
	s := scriptAt(t, url, "-- c.toml --\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"cat\"]\n-- rules.toml --\nthrottles.t.limit = 2\nwindows.day.open = [\"06:00-18:00\"]\nklass.K.queues = [\"other\"]\n-- c.json --\n{\"heartbeat\": 70}\n")

	tried := map[string]bool{}
	run := func(path, args string) {
		t.Helper()
		tried[path] = true
		err := s.oarlock(0, s.words(path+" "+args))
		all := s.said["stdout"] + s.said["stderr"]
		denied := strings.Contains(strings.ReplaceAll(all, "Redis does not let us see this: ", ""), "NOPERM") && path != "doctor"
		if err != nil || denied {
			t.Errorf("oarlock %s %s: %v\n%s", path, args, err, all)
		}
	}
	admin := server.Client(t)
	admin.LPush(t.Context(), "hworker-failed-mail", `["id",1]`)
	admin.HSet(t.Context(), "hworker-broken-mail", "odd", `"2026-07-01T12:00:00Z"`)
	admin.HSet(t.Context(), "ql:oarlock:tries:hworker:mail", `["other",1]`, `{"retries":1}`)
	run("downgrade", "--check")
	parkOne(t, client, "j1", "order-1")
	run("throttle set", "t 1")
	for _, put := range []string{"a --priority 9 --tag x", "b --priority 8 --tag x", "c --throttle t --priority 7", "d --throttle t", "e --delay 1h", "f --depends e"} {
		run("put", "q {} --jid "+put)
	}
	work()
	for _, jid := range strings.Fields("a b c d e f") {
		run("job why", jid)
	}
	for _, line := range [][2]string{
		{"doctor", ""}, {"queue ls", ""}, {"queue show", "q"}, {"queue peek", "q"}, {"queue eta", "q --over 1s"}, {"queue jobs", "q"}, {"queue now", "q"}, {"queue kill", "q"}, {"search", "a"}, {"search", "state:failed"}, {"queue pause", "q"}, {"queue resume", "q"}, {"queue limit", "q 5"}, {"queue limit", "q"},
		{"throttle release", "t c"}, {"job show", "a"}, {"job log", "a looked"}, {"job log", "a"}, {"job tag", "a y"}, {"job track", "a"}, {"job depend", "f d"},
		{"job priority", "e 3"}, {"job move", "e other"}, {"job timeout", "c"}, {"job cancel", "e f"},
		{"failed ls", ""}, {"failed ls", "g"}, {"replay", "a -- cat"}, {"job retry", "a"}, {"failed retry", "--all"}, {"failed drop", "--all"},
		{"recur add", "q {} --every 1h --jid r"}, {"recur ls", ""}, {"recur show", "r"}, {"recur update", "r --every 2h"}, {"recur rm", "r"},
		{"recur add", "q {} --cron @daily --jid n"}, {"recur ls", ""}, {"recur show", "n"}, {"recur pause", "n"}, {"recur resume", "n"}, {"recur update", "n --zone UTC"}, {"recur diff", "-c c.toml"}, {"recur rm", "n"},
		{"worker ls", ""}, {"worker show", "w"}, {"worker forget", "w"},
		{"throttle ls", ""}, {"throttle show", "t"}, {"throttle rm", "t"},
		{"rules show", ""}, {"rules diff", "-c c.toml"}, {"rules apply", "-c rules.toml"}, {"rules explain", "--queue q"}, {"window ls", ""}, {"window next", "day"}, {"klass ls", ""}, {"klass show", "K"},
		{"throttle set", "t 1"}, {"throttle unset", "t"}, {"rules rm", "throttles.t"},
		{"tag ls", ""}, {"tag show", "x"}, {"stats", "q"}, {"config set", "heartbeat 70"}, {"config get", ""}, {"config unset", "heartbeat"},
		{"config load", "c.json --clear"}, {"config clear", ""}, {"job ls", "tracked"}, {"job ls", "complete"},
		{"put", "q {} --jid g --tag x --throttle t"}, {"queue mv", "q elsewhere"}, {"queue purge", "elsewhere"},
		{"queue pause", "q --stop"}, {"queue resume", "q"},
		{"park ls", ""}, {"park show", "j1"}, {"park extend", "j1 --timeout 1h"}, {"park fail", "j1"}, {"respond", "Pay order-1 {}"},
		{"put", "ordered {} --key k"}, {"put", "ordered {} --key k"}, {"put", "ordered {} --key other --delay 1h"}, {"key ls", "ordered"}, {"key ls", "ordered --by name"},
		{"key show", "ordered k"}, {"key drop", "ordered k"}, {"key free", "ordered"},
		{"list put", "hworker:mail {}"}, {"list ls", "hworker:mail"}, {"list show", "hworker:mail"}, {"list failed", "hworker:mail"},
		{"list broken", "hworker:mail"}, {"list retry", "hworker:mail"}, {"list drop", "hworker:mail --broken --failed --yes"}, {"doctor", "--fix"}, {"list destroy", "hworker:mail --yes"},
		{"lua", "--install"}, {"doctor", ""}, {"queue forget", "q"},
	} {
		run(line[0], line[1])
		if line[0] == "doctor" && !strings.Contains(s.said["stdout"], "jobs are where they say they are") {
			t.Errorf("doctor did not look at the keys:\n%s", s.said["stdout"])
		}
	}
	for range 2 {
		run("put", "ordered {} --key stuck")
	}
	server.Client(t).HSet(t.Context(), "ql:oarlock:turns:ordered", "stuck", "!0 - ") // of a run that is over
	run("key pass", "ordered stuck")
	s.follow(func() error {
		_, err := client.Put(t.Context(), queue.Put{Queue: "q", Klass: "K"})
		return err
	}, "--count", "1")
	tried["events"] = true
	tried["job output"] = true // which asks a supervisor
	tried["list watch"] = true // which shows what list ls does, again and again

	var missing []string
	for _, path := range leaves(testProgram(nil, nil, nil).app().Commands, "") {
		top, _, _ := strings.Cut(path, " ")
		if !tried[path] && !slices.Contains(withoutRedis, top) {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		t.Errorf("commands that are not tried: %s", strings.Join(missing, ", "))
	}
}

// TestEveryLookAsWhoOnlyLooks runs each command that lists or shows as the user of queue/ACL.md who may write nothing.
func TestEveryLookAsWhoOnlyLooks(t *testing.T) {
	page := must.Get(os.ReadFile("../../queue/ACL.md"))(t)
	server := redistest.Start(t)
	var words []any
	for word := range strings.FieldsSeq(string(regexp.MustCompile("(?s)```acl\n(ACL SETUSER looker .*?)```").FindSubmatch(page)[1])) {
		words = append(words, word)
	}
	must.Do(t, server.Client(t).Do(t.Context(), words...).Err())
	s := scriptAt(t, server.URL, "-- c.toml --\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"cat\"]\n-- k.toml --\n[klass.K]\nretries = 1\n")
	for _, put := range []string{"put q {} --jid a --tag x --delay 1s", "put q {} --jid b --depends a"} {
		must.Do(t, s.oarlock(0, s.words(put)))
	}
	s.env["REDIS_URL"] = "unix://looker:PASSWORD@" + server.Addr
	for _, line := range []string{
		"queue ls", "queue show q", "queue peek q", "queue eta q --over 1s", "queue jobs q --by tries", "queue now q --dry-run", "queue kill q --dry-run", "queue limit q", "job show a", "job why a", "job why b", "job ls tracked", "job ls complete",
		"failed ls", "failed retry --all --dry-run", "recur ls", "worker ls", "throttle ls", "rules show", "rules diff -c c.toml", "rules explain --queue q", "window ls", "window next 06:00-18:00", "klass ls", "klass show K -c k.toml", "tag ls", "tag show x", "stats q", "config get", "search a", "search state:failed",
		"key ls q", "key ls q --by name",
	} {
		if err := s.oarlock(0, s.words(line)); err != nil || strings.Contains(s.said["stdout"]+s.said["stderr"], "NOPERM") {
			t.Errorf("oarlock %s: %v\n%s", line, err, s.said["stdout"]+s.said["stderr"])
		}
	}
	if err := s.oarlock(0, s.words("queue pause q")); err == nil {
		t.Error("who only looks paused a queue")
	}
}

// leaves are the paths of all commands that have none below them.
func leaves(commands []*cli.Command, prefix string) (paths []string) {
	for _, command := range commands {
		switch {
		case command.Hidden:
		case len(command.Subcommands) > 0:
			paths = append(paths, leaves(command.Subcommands, prefix+command.Name+" ")...)
		default:
			paths = append(paths, prefix+command.Name)
		}
	}
	return paths
}
