package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestHooks has a pool write down what it is told: of jobs that failed, and of a supervisor that was killed; and, after a reload that
// wants it no more, of nothing.
func TestHooks(t *testing.T) {
	t.Parallel()
	server, dir := redistest.Start(t), t.TempDir()
	ledger, config := filepath.Join(dir, "ledger"), filepath.Join(dir, "c.toml")
	db := server.Client(t)
	write := func(events string) {
		text := fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\nname = \"web1\"\n[hooks]\nevents = [%s]\n"+
			"[pools.work]\nqueues = [\"work\"]\ncommand = [\"sh\", \"-c\", \"echo oops >&2; exit 65\"]\ninput = \"none\"\n"+
			"[pools.hooks]\nqueues = [\"oarlock-hooks\"]\nchildren = 1\ninput = \"data\"\ncommand = [\"sh\", \"-c\", \"cat >>%s\"]\n", server.URL, filepath.Join(dir, "state"), events, ledger)
		must(t, os.WriteFile(config, []byte(text), 0o600))
	}
	write(`"dead", "died"`)
	if out, err := exec.Command(oarlock(t), "check", config).CombinedOutput(); err != nil || strings.Contains(string(out), "hooks.queue") {
		t.Errorf("check says %s (%v)", out, err)
	}
	client := got(queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: 30 * time.Second}))(t)
	defer client.Close()
	fail := func(jid string) {
		got(client.Put(t.Context(), queue.Put{Queue: "work", Klass: "K", JID: jid}))(t)
		until(t, jid+" has failed", func() bool { return db.HGet(t.Context(), "ql:j:"+jid, "state").Val() == "failed" })
	}
	type event struct {
		Event, JID, Group, Supervisor, Reason string
		PID                                   int
	}
	heard := func() (all []event) {
		text, _ := os.ReadFile(ledger)
		for in := json.NewDecoder(strings.NewReader(string(text))); ; {
			var e event
			if in.Decode(&e) != nil {
				return all
			}
			all = append(all, e)
		}
	}
	settled := func(n int64) { // else a supervisor that is killed meanwhile leaves its event to be told once more
		until(t, "the job of the event is complete", func() bool { return db.ZCard(t.Context(), "ql:completed").Val() == n })
	}
	run := begin(t, config)
	until(t, "Redis is told", func() bool { return db.HLen(t.Context(), "ql:oarlock:hooks").Val() == 1 })
	fail("a")
	until(t, "the failure is heard of", func() bool { return len(heard()) == 1 })
	if e := heard()[0]; e.Event != "dead" || e.JID != "a" || e.Group != "exit-65" {
		t.Errorf("heard is %+v", e)
	}
	settled(1)
	killed := run.Process.Pid
	endNow(run)
	begin(t, config)
	until(t, "the death is heard of", func() bool { return len(heard()) == 2 })
	if e := heard()[1]; e.Event != "died" || e.Supervisor != "web1" || e.PID != killed || e.Reason == "" {
		t.Errorf("heard is %+v", e)
	}
	settled(2)
	write("")
	until(t, "Redis is told that nothing is wanted", func() bool { return db.HLen(t.Context(), "ql:oarlock:hooks").Val() == 0 })
	fail("b")
	if n := db.ZCard(t.Context(), "ql:completed").Val(); n != 2 || len(heard()) != 2 {
		t.Errorf("heard are %+v, and %d jobs are complete", heard(), n)
	}
}

// until waits until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !so(); {
		if time.Now().After(end) {
			t.Fatalf("it is not so that %s", what)
		}
		time.Sleep(5 * time.Millisecond) // nobody tells
	}
}
