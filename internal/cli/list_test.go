package cli

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// A list from its first entry to its end, as somebody at a shell sees it.
func TestListVerbs(t *testing.T) {
	s, c := scriptOn(t, "")
	s.says(t, 0, "list ls", "There is no list that anybody works")
	s.says(t, 0, "list put hworker:mail {\"n\":1}", `",{"n":1}]`)
	s.says(t, 0, "list put hworker:mail 2")
	s.says(t, 0, "list put outbox plain")
	s.says(t, 64, "list put hworker:mail plain", "is JSON")
	s.says(t, 64, "list show hworker:", "name a list")
	s.says(t, 64, "list put hworker:mail", "LIST DATA")
	must.Do(t, c.Redis().LPush(t.Context(), "hworker-jobs-mail", "garbage\x1b[2J").Err())
	s.says(t, 0, "list show hworker:mail", `{"n":1}`, "ENTRY")
	session := c.ListSession("w", queue.List{Name: "hworker:mail", Timeout: time.Minute, Heartbeat: true, Failed: 9})
	t.Cleanup(func() { session.Close() })
	reply, err := session.Exchange(t.Context(), nil, queue.Take{Count: 3})
	if err != nil || len(reply.Jobs) != 2 {
		t.Fatal(reply, err)
	}
	s.says(t, 0, "list show --in-work hworker:mail", "LAST SIGN", `{"n":1}`)
	fail := queue.Settlement{JID: reply.Jobs[0].JID, Action: queue.Fail, Group: "g", Message: "it broke"}
	must.Get(session.Exchange(t.Context(), []queue.Settlement{fail}, queue.Take{}))(t)
	if text := s.says(t, 0, "list broken hworker:mail", "garbage", "not a JSON array of a text and a payload"); strings.Contains(text, "\x1b[2J") {
		t.Error("a text plays the terminal")
	}
	s.says(t, 0, "list failed hworker:mail", "it broke", `{"n":1}`)
	var failed []ops.Entry
	if err := json.Unmarshal([]byte(s.says(t, 0, "list failed hworker:mail --json")), &failed); err != nil || len(failed) != 1 ||
		failed[0].Group != "g" || failed[0].Attempt != 1 || failed[0].JID != reply.Jobs[0].JID || !strings.Contains(string(failed[0].Data), `"n": 1`) {
		t.Errorf("failed are %+v (%v)", failed, err)
	}
	s.says(t, 0, "list ls", "hworker:mail  0        1        1       1")
	s.says(t, 0, "list failed mail", "Nothing of it failed. There is an hworker's list of that name: hworker:mail")
	s.says(t, 0, "list retry mail", "put back: 0. There is an hworker's list of that name: hworker:mail")
	s.says(t, 64, "list drop hworker:mail --yes", "say which entries of hworker:mail are to go: --broken, --failed, or both")
	s.says(t, 64, "list drop hworker:mail --broken", "say --yes if it is meant")
	s.says(t, 0, "list retry hworker:mail --failed", "put back: 1")
	s.says(t, 0, "list ls", "hworker:mail  1        1        0       1")
	s.says(t, 0, "list retry hworker:mail --broken --json", `"retried": 1`)
	c.Redis().HSet(t.Context(), "hworker-broken-mail", "x", "y")
	s.says(t, 0, "list drop hworker:mail --broken --dry-run", "would be dropped: 1")
	s.says(t, 0, "list drop hworker:mail --broken --failed --dry-run --json", `"would_drop": 1`)
	s.says(t, 0, "list drop hworker:mail --broken --yes", "dropped: 1")
	if text := s.says(t, 0, "list show none", "Nothing waits there."); strings.Contains(text, "hworker") {
		t.Errorf("of a list that nobody has it says %s", text)
	}
	s.says(t, 0, "list ls hworker:mail outbox --json", `"waiting": 2`, `"progress": 1`, `"name": "outbox"`)
	s.says(t, 64, "list destroy hworker:mail", "say --yes")
	for _, beside := range []string{"hworker-failed-mail", "ql:oarlock:reasons:hworker:mail"} {
		c.Redis().LPush(t.Context(), beside, "x")
	}
	for _, beside := range []string{"hworker-broken-mail", "ql:oarlock:tries:hworker:mail"} {
		c.Redis().HSet(t.Context(), beside, "x", "y")
	}
	s.says(t, 0, "list destroy hworker:mail --dry-run", "would delete hworker:mail: 2 waited, 1 in work, 1 failed, 1 broken")
	s.says(t, 0, "list destroy hworker:mail --yes", "deleted hworker:mail: 2 waited, 1 in work, 1 failed, 1 broken")
	s.says(t, exitGone, "list destroy hworker:mail --yes", "there is no list hworker:mail")
	if keys := c.Redis().Keys(t.Context(), "*").Val(); len(keys) != 1 || keys[0] != "outbox" {
		t.Errorf("left are the keys %q", keys)
	}
	c.Redis().Set(t.Context(), "text", "x", 0)
	s.says(t, 0, "list ls text", "cannot be read: ", "WRONGTYPE")
	for _, verb := range []string{"list show text", "list put text 1"} {
		if said := s.says(t, exitGone, verb, "text is not worked as a list: Redis keeps something else under that key"); strings.Contains(said, "WRONGTYPE") {
			t.Errorf("%s says %s", verb, said)
		}
	}
}

// Watching goes on until it is ended, with a line a look.
func TestListWatch(t *testing.T) {
	s, c := scriptOn(t, "")
	must.Get(c.PushList(t.Context(), "outbox", []byte("1")))(t)
	p := begin(t, s, "list", "watch", "outbox", "--every", "0.1s")
	for range 2 {
		p.await("1 waiting, 0 in work, 0 failed, 0 broken")
	}
	p.signal(syscall.SIGINT)
	p.leaves(exitOK)
}
