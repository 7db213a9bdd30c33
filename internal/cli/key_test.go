package cli

import (
	"encoding/json"
	"fmt"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// TestKeysByHand is what one does who finds a key that stands still: list, look, pass, drop, and at the end give the order up.
func TestKeysByHand(t *testing.T) {
	s, c := scriptOn(t, "")
	s.says(t, exitGone, "key ls q", "there is no queue q")
	s.says(t, 0, "put q 1 --jid plain")
	s.says(t, 0, "key ls q", "Nobody stands behind another there; `oarlock key ls q --by name` lists all keys.")
	s.says(t, 0, "key ls q --by name", "No job that waits or runs there has a key.")
	s.says(t, exitUsage, "key ls q --by age", "--by age: there is blocked and name")
	s.says(t, exitGone, "key show q k", "no job of key k waits or runs in q; one that failed or is delayed is none of them")
	s.says(t, exitGone, "key free q", "q has no keys")
	for _, command := range []string{"put q 1 --jid a --key k", "put q 1 --jid b --key k", "put q 1 --jid c --key k", "put q 1 --jid alone --key other"} {
		s.says(t, 0, command)
	}
	var keys ops.Keys
	if err := json.Unmarshal([]byte(s.says(t, 0, "key ls q --json")), &keys); err != nil || keys.Total != 1 || keys.Behind != 2 ||
		keys.Items[0].Key != "k" || keys.Items[0].Holder != "a" || keys.Items[0].Behind != 2 || keys.Items[0].Since == 0 {
		t.Errorf("%+v, %v", keys, err)
	}
	s.says(t, 0, "key ls q --by name --limit 1", "k", "2 keys in all; 2 jobs behind")
	s.says(t, 0, "key show q k", "k: a has the turn", "behind: 2 jobs", "  b\n  c\n")
	s.says(t, 0, "key show q k --limit 1", "…; --limit shows more")
	var key ops.Key
	if err := json.Unmarshal([]byte(s.says(t, 0, "key show q k --json")), &key); err != nil || key.State != "waiting" || len(key.Why) == 0 || len(key.Next) != 2 {
		t.Errorf("%+v, %v", key, err)
	}
	s.says(t, exitGone, "key pass q k", "the turn of key k is not held by a failed job: a is waiting")
	s.says(t, exitGone, "key pass q k --dry-run", "the turn of key k is not held by a failed job: a is waiting")

	c.Redis().HSet(t.Context(), "ql:oarlock:turns:q", "taken", fmt.Sprintf("!%f - gone", c.Now()+3600))
	s.says(t, exitGone, "key pass q taken", "the turn of key taken is not held by a failed job: it waits for the end of a run that was taken from its worker, and goes on by itself")
	c.Redis().HDel(t.Context(), "ql:oarlock:turns:q", "taken")

	c.Redis().HSet(t.Context(), "ql:oarlock:rules", "o:q", "order=key after_fail=hold")
	session := c.Session("w")
	defer session.Close()
	reply := must.Get(session.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 3}))(t)
	for _, job := range reply.Jobs {
		if job.JID == "a" {
			_, err := session.Exchange(t.Context(), []queue.Settlement{{JID: "a", Queue: "q", Popped: job.Popped, Action: queue.Fail, Group: "g"}}, queue.Take{})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	s.says(t, 0, "key show q k", "k: a has the turn", "It keeps the turn of key k meanwhile (2 jobs behind it): `oarlock key pass q k` lets the key go on without it.")
	s.says(t, 0, "job why c", "a has the turn", "1 other comes before it.")
	s.says(t, 0, "key pass q k --dry-run", "the turn of k would be taken from a, which failed")
	s.says(t, 0, "key pass q k", "k goes on without a, which failed")
	s.says(t, 0, "key show q k", "k: b has the turn")
	s.says(t, 0, "key drop q k --dry-run", "2 jobs of key k would be canceled")
	s.says(t, 0, "put elsewhere 1 --depends c --jid waits")
	s.says(t, 0, "key drop q k", "1 job of key k canceled", "1 job left:", "c: another job waits for it")
	s.says(t, 0, "put q 1 --jid d --key k")
	s.says(t, 0, "key free q --dry-run --json", `"jobs": 1`, `"keys": 2`, `"dry_run": true`)
	s.says(t, 0, "key free q", "q has no order any more: 1 job released")
	s.says(t, exitGone, "key free q", "q has no keys")
}

// TestFailedJobsOfAKey finds the failed jobs of one key by its name, whatever their groups and jids are, and retries no others.
func TestFailedJobsOfAKey(t *testing.T) {
	s, c := scriptOn(t, "")
	session := c.Session("w")
	defer session.Close()
	fail := func(command, group string) {
		t.Helper()
		s.says(t, 0, command)
		reply := must.Get(session.Exchange(t.Context(), nil, queue.Take{Queues: []string{"orders"}, Count: 1}))(t)
		if len(reply.Jobs) != 1 {
			t.Fatalf("%s: took %d jobs", command, len(reply.Jobs))
		}
		job := reply.Jobs[0]
		reply = must.Get(session.Exchange(t.Context(), []queue.Settlement{{JID: job.JID, Queue: "orders", Popped: job.Popped, Action: queue.Fail, Group: group, Message: "broken"}}, queue.Take{}))(t)
		if err := reply.Results[0].Err; err != nil {
			t.Fatal(err)
		}
	}
	fail("put orders 1 --jid a1 --key a", "g")
	fail("put orders 2 --jid a2 --key a", "h")
	fail("put orders 3 --jid b1 --key b", "g")
	fail("put orders 4 --jid plain", "g")
	jids := func(command string) (all []string) {
		t.Helper()
		var jobs []ops.Job
		if err := json.Unmarshal([]byte(s.says(t, 0, command)), &jobs); err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs {
			all = append(all, job.JID+" "+job.Key)
		}
		return all
	}
	for command, want := range map[string]string{
		"failed ls --key a --json": "[a1 a a2 a]", "failed ls g --key a --json": "[a1 a]", "failed ls --klass job --key b --json": "[b1 b]",
		"failed ls --klass job --json": "[plain  b1 b a1 a a2 a]", "failed ls g --json": "[plain  b1 b a1 a]", "failed ls --key none --json": "[]",
	} {
		if got := fmt.Sprint(jids(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
	s.says(t, 0, "failed ls --key a", "JID", "KEY", "a1", "a2")
	s.says(t, 0, "failed ls -n 5", "GROUP")
	s.says(t, 0, "job show a1", "key           a")
	s.says(t, 0, "search key:a", "a1", "2 jobs found; looked at 4 of 4")
	s.says(t, 0, "search group:g key:a", "1 job found; looked at 3 of 3")
	s.says(t, 0, "search key:none", "No failed job of that key was found.")
	s.says(t, exitGone, "failed retry --key none", "no failed job like that has the key none")
	s.says(t, exitUsage, "failed retry a1 --key a", "need no --queue, --klass, --key")
	s.says(t, exitUsage, "failed retry", "or a --key, or say --all")
	s.says(t, 0, "failed retry --key a --dry-run", "2 jobs would be retried")
	s.says(t, 0, "failed retry --key a", "2 jobs retried")
	s.says(t, 0, "failed ls --key a", "No job like that has failed.")
	if got := fmt.Sprint(jids("failed ls g --json")); got != "[plain  b1 b]" {
		t.Errorf("left are %s", got)
	}
	s.says(t, 0, "search key:a", "key", "oarlock key show orders a", "No failed job of that key was found.")
	s.says(t, 0, "search a", "key", "oarlock key show orders a")
	s.says(t, 0, "failed drop g --key b", "1 job dropped")
}
