package cli

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/service"
	"oarlock/queue"
)

const emptyFiles = `
-- oarlock.toml --
[log]
format = "text"
[pools.chain]
queues = ["chain*"]
command = ["sh", "-c", 'read -r n; [ "$n" = 3 ] || echo "{\"@\":\"put\",\"run\":\"$OARLOCK_RUN\",\"queue\":\"chain$n\",\"data\":$((n + 1))}"']
input = "data"
next_queues = ["chain*"]
[pools.work]
queues = ["work", "idle"]
command = ["sh", "-c", 'read -r what; case $what in *bad*) exit 65 ;; *later*) [ "$OARLOCK_ATTEMPT" != 1 ] || exit 75 ;; *slow*) echo slow; sleep 60 ;; esac']
input = "data"
[pools.work.retry]
delay = "1s"
`

// A run until empty does all there is, what comes of it and what is due soon included, and
// says what it leaves.
func TestRunUntilEmpty(t *testing.T) {
	s := newScript(t, emptyFiles)
	p := begin(t, s, "run", "--until-empty")
	p.await("^empty after .*: 0 done, 0 failed, 0 retried, 0 given back")
	p.await("^left: nothing$")
	p.leaves(exitOK)

	p.ask("put", "chain0", "0")
	p.ask("put", "work", `"later"`)
	p.ask("put", "work", `"bad"`, "--jid", "bad")
	p.ask("put", "work", `"good"`, "--delay", "1h")
	p.ask("put", "idle", `"good"`)
	p.ask("queue", "pause", "idle")
	for _, last := range []struct {
		args []string
		code int
	}{{[]string{"run", "--until-empty", "--json", "--fail-on-failed"}, exitFailed}, {[]string{"run", "--until-empty=1s", "--fail-on-failed", "--json"}, exitOK}} {
		if code := s.anyCode(last.args); code != last.code {
			t.Fatalf("%v: exit code %d\n%s%s", last.args, code, s.said["stdout"], s.said["stderr"])
		}
		var done service.Emptied
		if err := json.Unmarshal([]byte(s.said["stdout"]), &done); err != nil {
			t.Fatalf("%v: %s", err, s.said["stdout"])
		}
		if !done.Empty || done.Left == nil || done.Left.Scheduled != 1 || len(done.Left.Paused) != 1 || done.Left.Paused[0] != (service.PausedQueue{Queue: "idle", Jobs: 1}) {
			t.Errorf("%s", s.said["stdout"])
		}
		if last.code == exitFailed && (done.Done != 5 || done.Failed != 1 || done.Retried != 1 || len(done.Failures) != 1 || done.Failures[0] != (service.Failure{JID: "bad", Queue: "work", Group: "exit-65"})) {
			t.Errorf("%s", s.said["stdout"])
		}
		if last.code == exitOK && done.Done+done.Failed != 0 {
			t.Errorf("%s", s.said["stdout"])
		}
	}
}

// A job that has no retries left has failed, whatever its program said.
func TestRunUntilEmptyCountsTheLastRetry(t *testing.T) {
	s := newScript(t, emptyFiles)
	begin(t, s).ask("put", "work", `"later"`, "--retries", "0", "--jid", "last")
	if code := s.anyCode([]string{"run", "--until-empty=0s", "--fail-on-failed"}); code != exitFailed || !strings.Contains(s.said["stdout"], "0 done, 1 failed, 0 retried") || !strings.Contains(s.said["stdout"], "failed: last of work exit-75") {
		t.Errorf("exit code %d: %s", code, s.said["stdout"])
	}
}

// What a dead worker holds is worked when its lock has run out; what a living one holds is left.
func TestRunUntilEmptyBesideOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a lock of seconds has to run out")
	}
	s := newScript(t, emptyFiles)
	client := must.Get(queue.Open(t.Context(), queue.Options{URL: s.env["REDIS_URL"]}))(t)
	defer client.Close()
	for name, value := range map[string]string{"heartbeat": "2", "grace-period": "0"} {
		must.Do(t, client.Set(t.Context(), name, value))
	}
	must.Get(client.PutAll(t.Context(), []queue.Put{{Queue: "work", JID: "held", Klass: "x", Data: []byte(`"good"`)}}))(t)
	dead := client.Session("dead")
	if reply, err := dead.Exchange(t.Context(), nil, queue.Take{Queues: []string{"work"}, Count: 1}); err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("%v, %v", reply, err)
	}
	p := begin(t, s, "run", "--until-empty=0s")
	p.await("^empty after .*: 1 done")
	p.await("^left: nothing$")
	p.leaves(exitOK)
}

// TERM ends it as any run, and it says that it was not done.
func TestRunUntilEmptyIsToldToLeave(t *testing.T) {
	s := newScript(t, strings.Replace(emptyFiles, "[log]", "[supervisor]\ndrain_timeout = \"0s\"\n[log]", 1))
	p := begin(t, s, "run", "--until-empty", "--fail-on-failed")
	p.ask("put", "work", `"slow"`)
	p.await(`line=slow`)
	p.signal(syscall.SIGTERM)
	p.await("^left before its queues were empty, after .* 0 done, 0 failed, 0 retried, 1 given back")
	p.await("^left: 1 ready$")
	p.leaves(exitOK)
}

func TestUntilEmptyIsWrittenRight(t *testing.T) {
	s := newScript(t, emptyFiles)
	for args, want := range map[string]string{
		"run --until-empty 5s":      "write --until-empty=5s",
		"run --until-empty=5":       `--until-empty: "5" has no unit; write "5s" for seconds`,
		"run --until-empty=-5s":     "is negative",
		"run --until-empty=false":   `"false" is no duration`,
		"run --json":                "go with --until-empty",
		"run --fail-on-failed":      "go with --until-empty",
		"run --until-empty nothing": "one argument too many",
	} {
		if code := s.anyCode(strings.Fields(args)); code != exitUsage || !strings.Contains(s.said["stderr"], want) {
			t.Errorf("%s: exit code %d, %s", args, code, s.said["stderr"])
		}
	}
}
