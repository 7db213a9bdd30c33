package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// backOff has jobs of q tried n times, each to be tried again in an hour.
func backOff(t *testing.T, c *queue.Client, jid string, tries int) {
	t.Helper()
	s := c.Session("w")
	defer s.Close()
	retries := 3
	must.Get(c.Put(t.Context(), queue.Put{Queue: "q", JID: jid, Klass: "K" + jid, Retries: &retries}))(t)
	for n := range tries {
		reply, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1})
		if err != nil || len(reply.Jobs) != 1 {
			t.Fatal(reply, err)
		}
		again := queue.Settlement{JID: jid, Queue: "q", Action: queue.Retry, Group: "exit-1", Message: fmt.Sprint("try ", n+1)}
		if n == tries-1 {
			again.Delay = time.Duration(10-tries) * time.Hour
		}
		must.Get(s.Exchange(t.Context(), []queue.Settlement{again}, queue.Take{}))(t)
	}
}

// Who stands behind others of a key is listed by keys, those of one in the order in which they run; who was canceled is not.
func TestJobsBehind(t *testing.T) {
	s, c := scriptOn(t, "")
	for i, key := range []string{"b", "a", "b", "a", "a", "b"} {
		must.Get(c.Put(t.Context(), queue.Put{Queue: "q", JID: fmt.Sprint("j", 9-i), Klass: "K", Key: key}))(t)
	}
	must.Do(t, c.Cancel(t.Context(), "j4"))
	list := func(line string) (jids string) {
		var found ops.SortedJobs
		must.Do(t, json.Unmarshal([]byte(s.says(t, 0, "queue jobs q --json --state behind "+line)), &found))
		for _, job := range found.Items {
			jids += job.Key + ":" + job.JID + ":" + job.State + " "
		}
		return strings.TrimSpace(jids)
	}
	for line, want := range map[string]string{
		"--by key": "a:j6:behind a:j5:behind b:j7:behind", "--by key --reverse": "b:j7:behind a:j6:behind a:j5:behind", "--by key --from b": "b:j7:behind",
		"--by jid -n 1": "a:j5:behind",
	} {
		if got := list(line); got != want {
			t.Errorf("queue jobs --state behind %s lists %q, want %q", line, got, want)
		}
	}
	s.says(t, 0, "queue jobs q --state behind --by key", "JID  KEY  KLASS", "j6   a    K")
	s.says(t, 0, "queue show q", "2 keys, 2 of them with jobs behind: 4 jobs", "oarlock key ls")
	s.says(t, 0, "queue ls q --json", `"keys": 2`, `"busy_keys": 2`, `"behind": 4`, `"blocked": `)
	s.says(t, exitGone, "queue jobs other --state behind", "there is no queue other")
	for _, data := range []string{"1", "2", "2"} {
		must.Get(c.Put(t.Context(), queue.Put{Queue: "merging", Klass: "K", Key: "k", Merge: queue.MergeSet, Data: []byte(data)}))(t)
	}
	jobs, err := c.Peek(t.Context(), "merging", 0, 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("there are %v, %v", jobs, err)
	}
	s.says(t, 0, "job why "+jobs[0].JID, "It has 2 payloads", "(set)")
}

// What is scheduled is listed by what it is sorted by, let go now, and killed; what failed is brought back by its jid.
func TestMorgueVerbs(t *testing.T) {
	s, c := scriptOn(t, "")
	s.says(t, exitGone, "queue jobs q", "there is no queue q")
	s.says(t, exitGone, "queue now q", "there is no queue q")
	s.says(t, exitGone, "queue kill q", "there is no queue q")
	for i, jid := range []string{"b", "a", "c"} {
		backOff(t, c, jid, i+1)
	}
	must.Get(c.Put(t.Context(), queue.Put{Queue: "q", JID: "new", Klass: "K", Delay: time.Minute}))(t)
	jobs := func(line string) (jids string, found ops.SortedJobs) {
		must.Do(t, json.Unmarshal([]byte(s.says(t, 0, "queue jobs q --json --state scheduled "+line)), &found))
		for _, job := range found.Items {
			jids += job.JID + " "
		}
		return strings.TrimSpace(jids), found
	}
	for line, want := range map[string]string{
		"": "new c a b", "--reverse": "b a c new", "--by jid": "a b c new", "--by tries": "new b a c", "--by tries --from 1 --to 2": "b a", "--by klass --from Kb": "b c",
		"--from 2m": "c a b", "--to 2m": "new", "--by jid --from b --to c": "b c", "-n 2": "new c", "--by put --to -1h": "", "--from 2100-01-01T00:00:00Z": "",
	} {
		if got, _ := jobs(line); got != want {
			t.Errorf("queue jobs %s lists %q, want %q", line, got, want)
		}
	}
	if _, found := jobs("-n 1"); found.Matched != 4 || found.Partial {
		t.Errorf("found are %+v", found)
	}
	s.says(t, 0, "queue jobs q --state scheduled -n 3", "JID  KLASS  TRIED", "try 3", "1 more")
	s.says(t, 0, "queue jobs q", "There is no job like that.")
	s.says(t, exitUsage, "queue jobs q --state odd", "odd is none")
	s.says(t, exitUsage, "queue jobs q --by tims", "did you mean time?")
	s.says(t, exitUsage, "queue jobs q --from noon", `"noon" is no time`)
	s.says(t, exitUsage, "queue jobs q --by tries --to x", `"x" is no number`)
	s.says(t, exitUsage, "queue jobs q -n 0", "must be 1 or more")

	s.says(t, 0, "queue kill q --dry-run", "3 jobs of q would fail")
	s.says(t, 0, "queue kill q --json", `"done": 3`, `"count": 3`, `"dry_run": false`)
	s.says(t, 0, "failed ls killed", "exit-1: try 2 (killed while it waited to be tried again)", "Kb")
	if got, _ := jobs(""); got != "new" {
		t.Errorf("scheduled are %q still", got)
	}
	s.says(t, 0, "failed retry a b --dry-run", "2 jobs would be retried")
	s.says(t, exitGone, "failed retry a new", "new has not failed but is scheduled")
	s.says(t, exitGone, "failed retry a nobody", "nobody")
	s.says(t, exitGone, "failed retry nobody", "no job has failed in group nobody")
	s.says(t, exitUsage, "failed retry a b --queue q", "need no --queue")
	s.says(t, exitUsage, "failed retry a --all", "not both")
	s.says(t, 0, "failed retry a b --json", `"retried": 2`)
	s.says(t, 0, "failed drop c", "1 job dropped")
	s.says(t, 0, "queue now q --dry-run", "1 job of q would run now")
	s.says(t, 0, "queue now q", "1 job of q may run now")
	s.says(t, 0, "queue now q", "0 jobs of q may run now")
	if n := c.Redis().ZCard(t.Context(), "ql:q:q-work").Val(); n != 3 {
		t.Errorf("%d jobs wait, want 3", n)
	}
	must.Do(t, c.Cancel(t.Context(), "a", "b", "new"))
	backOff(t, c, "d", 1)
	s.says(t, 0, "queue kill q --drop", "1 job of q removed")
	if job, err := c.Get(t.Context(), "d"); err == nil {
		t.Errorf("d is %s", job.State)
	}
}
