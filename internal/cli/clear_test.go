package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// says runs a command that must leave with this code, and wants words in what it prints.
func (s *script) says(t *testing.T, code int, command string, words ...string) string {
	t.Helper()
	if err := s.oarlock(code, strings.Fields(command)); err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, s.said["stdout"], s.said["stderr"])
	}
	text := s.said["stdout"] + s.said["stderr"]
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s says\n%s\nwithout %q", command, text, word)
		}
	}
	return text
}

// atWork puts a job and takes it for a worker.
func atWork(t *testing.T, c *queue.Client, worker, jid string) {
	t.Helper()
	must.Get(c.Put(t.Context(), queue.Put{Queue: "q", JID: jid, Klass: "K"}))(t)
	session := c.Session(worker)
	defer session.Close()
	reply, err := session.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1})
	if err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("%+v, %v", reply, err)
	}
}

func TestPurgeAndMoveAQueue(t *testing.T) {
	s, c := scriptOn(t, "")
	atWork(t, c, "w", "runs")
	for _, command := range []string{"put q 1 --jid a", "put q 1 --jid b --delay 1h", "put q 1 --jid needed", "put other 1 --depends needed"} {
		s.says(t, 0, command)
	}
	s.says(t, 0, "queue purge q --dry-run", "3 jobs of q would be canceled", "2 waiting", "1 scheduled", "1 job left alone: running")
	s.says(t, 0, "queue purge q --state scheduled", "1 job of q canceled")
	s.says(t, exitUsage, "queue purge q --state failed", "oarlock failed drop")
	s.says(t, exitUsage, "queue mv q q", "are in q already")
	if err := s.oarlock(exitGone, []string{"queue", "purge", ""}); err != nil || !strings.Contains(s.said["stderr"], "there is no queue without a name") { // a variable that is not set
		t.Errorf("a purge of no queue: %v, %s", err, s.said["stderr"])
	}
	s.says(t, 0, "queue mv q to --dry-run --json", `"dry_run": true`, `"waiting": 2`)
	var view ops.Clearing
	text := s.says(t, 0, "queue purge q --json")
	if err := json.Unmarshal([]byte(text), &view); err != nil || view.Done != 1 || view.Kept != 1 || view.Left[0].JID != "needed" || view.Running != 1 {
		t.Errorf("%+v, %v", view, err)
	}
	s.says(t, 0, "queue mv q to", "1 job of q moved to to")
	s.says(t, 0, "queue purge q", "0 jobs of q canceled")
	s.says(t, 0, "queue peek to", "needed")
}

// On a terminal a purge asks, and no is the answer to all else than yes.
func TestPurgeAsksOnATerminal(t *testing.T) {
	s, c := scriptOn(t, "")
	s.says(t, 0, "put q 1")
	for answer, want := range map[string]int{"\n": 1, "no\n": 1, "y\n": 0} {
		terminal, theirs, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		must.Get(terminal.WriteString(answer))(t)
		var out, errs bytes.Buffer
		s.main(t.Context(), theirs, &out, &errs, "queue", "purge", "q")
		terminal.Close()
		theirs.Close()
		counts, err := c.Queue(t.Context(), "q")
		if err != nil || counts.Waiting != want || !strings.Contains(errs.String(), "Remove 1 job of the queue q for good? [y/N]") {
			t.Errorf("%q: %d left, want %d; %v\n%s", answer, counts.Waiting, want, err, &errs)
		}
		if want == 0 {
			s.says(t, 0, "put q 1")
		}
	}
}

func TestPauseAndStop(t *testing.T) {
	s, c := scriptOn(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := c.Redis().Subscribe(ctx, "ql:w:w")
	defer told.Close()
	must.Get(told.Receive(ctx))(t)
	atWork(t, c, "w", "one")
	s.says(t, 0, "queue pause q", "paused")
	if job, err := c.Get(t.Context(), "one"); err != nil || job.State != "running" {
		t.Fatalf("%+v, %v", job, err)
	}
	s.says(t, 0, "queue pause q --stop", "1 running job taken from their workers")
	job, err := c.Get(t.Context(), "one")
	if err != nil || job.State != "stalled" || job.Remaining != job.Retries {
		t.Errorf("%s, %d of %d retries left, %v", job.State, job.Remaining, job.Retries, err)
	}
	if message, err := told.ReceiveMessage(ctx); err != nil || !strings.Contains(message.Payload, "lock_lost") {
		t.Errorf("its worker was told %v: %v", message, err)
	}
	s.says(t, 0, "queue pause q --stop --json", `"stopped": 0`)
	s.says(t, 0, "queue pause q --stop", "paused q; nothing ran there")
	s.says(t, 0, "queue resume q")
	s.says(t, 0, "queue peek q", "one")
}

func TestListsOfJobs(t *testing.T) {
	s, c := scriptOn(t, "")
	session := c.Session("w")
	defer session.Close()
	for _, jid := range []string{"mail-1", "mail-2", "other-1"} {
		must.Get(c.Put(t.Context(), queue.Put{Queue: "q", JID: jid, Klass: "K"}))(t)
		must.Get(c.Track(t.Context(), jid))(t)
	}
	s.says(t, 0, "job ls complete", "No job like that is complete.")
	s.says(t, 0, "job ls tracked mail-*", "mail-1", "mail-2")
	if text := s.said["stdout"]; strings.Contains(text, "other-1") {
		t.Errorf("a glob means all:\n%s", text)
	}
	reply := must.Get(session.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 3}))(t)
	var ends []queue.Settlement
	for _, job := range reply.Jobs {
		ends = append(ends, queue.Settlement{JID: job.JID, Queue: "q", Popped: job.Popped, Action: queue.Complete})
	}
	must.Get(session.Exchange(t.Context(), ends, queue.Take{}))(t)
	s.says(t, 0, "job ls complete -n 2", "There are more")
	s.says(t, 0, "job ls complete other-* --json", `"more": false`, "other-1")
	s.says(t, 0, "job ls complete --offset 3", "No job like that is complete.")
	s.says(t, exitUsage, "job ls waiting", "queue peek")
}

func TestSettingsFromAFile(t *testing.T) {
	s, c := scriptOn(t, "")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	s.says(t, 0, "config set q-max-concurrency 7")
	good := file("good", `{"heartbeat": 90, "jobs-history": "3600"}`)
	s.says(t, 0, "config load "+good+" --dry-run", "heartbeat", "90", "Nothing was changed")
	s.says(t, 0, "config get heartbeat", "60")
	s.says(t, 0, "config load "+good, "heartbeat", "jobs-history")
	s.says(t, 0, "config load "+good, "No setting differs.")
	for setting, want := range map[string]string{"heartbeat": "90", "jobs-history": "3600", "q-max-concurrency": "7"} {
		if got, err := c.Setting(t.Context(), setting); got != want || err != nil {
			t.Errorf("%s is %q, %v", setting, got, err)
		}
	}
	for name, text := range map[string]string{"text": "heartbeat = 60", "list": "[1]", "two": "{} {}", "nested": `{"heartbeat": {}}`, "odd": `{"jobs-history": 5, "heartbeat": "soon"}`} {
		s.says(t, exitUsage, "config load "+file(name, text), "Nothing was changed")
	}
	if got, _ := c.Setting(t.Context(), "jobs-history"); got != "3600" {
		t.Errorf("jobs-history is %q: a file was half believed", got)
	}
	s.says(t, 0, "config load "+good+" --clear", "q-max-concurrency")
	if got, _ := c.Setting(t.Context(), "q-max-concurrency"); got != "" {
		t.Errorf("not cleared: %q", got)
	}
	s.says(t, 0, "config clear", "heartbeat", "jobs-history")
	s.says(t, 0, "config get heartbeat", "60")
	s.stdin = `{"heartbeat": 70}`
	s.says(t, 0, "config load -", "70")
}
