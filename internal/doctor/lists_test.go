package doctor

import (
	"context"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/queue"
)

// Lists that are well have nothing said of them; of others is said what is odd, in words that say what to do, and with Fix
// what a monitor would do is done, once.
func TestLists(t *testing.T) {
	p := newPatient(t)
	ctx, db := t.Context(), p.client.Redis()
	worked := map[string]time.Duration{"hworker:mail": time.Minute, "outbox": time.Minute, "new-orders": 0}
	look := func(d *Doctor) error { return d.Lists(context.WithoutCancel(ctx), worked) }
	session := p.client.ListSession("w", queue.List{Name: "hworker:mail", Timeout: time.Minute, Heartbeat: true, Failed: 9})
	defer session.Close()
	db.LPush(ctx, "hworker-jobs-mail", `["a",1]`, `["b",1]`, `["c",1]`)
	reply, err := session.Exchange(ctx, nil, queue.Take{Count: 2})
	if err != nil || len(reply.Jobs) != 2 {
		t.Fatal(reply, err)
	}
	again := queue.Settlement{JID: "a", Action: queue.Retry, Delay: time.Hour}
	must.Get(session.Exchange(ctx, []queue.Settlement{again}, queue.Take{}))(t)
	db.LPush(ctx, "new-orders", "x")
	if found := p.examine(t, false, look); len(found) > 0 {
		t.Fatalf("of lists that are well: %+v", found)
	}
	db.HSet(ctx, "hworker-progress-mail", "false", `"2026-07-01T12:00:00Z"`)
	db.HSet(ctx, "hworker-progress-mail", `["odd",1]`, "yesterday", `["late",1]`, time.Now().UTC().Add(-2*time.Minute).Format(`"`+time.RFC3339Nano+`"`))
	db.HSet(ctx, "ql:oarlock:tries:hworker:mail", `["lost",1]`, `{"retries":1,"at":1}`, `["c",1]`, `{"retries":1,"at":4e9}`)
	db.HSet(ctx, "ql:oarlock:tries:gone\n", "x", "{}")
	db.LPush(ctx, "hworker-failed-mail", `["f",1]`)
	db.HSet(ctx, "hworker-broken-other", "x", `"2026-07-01T12:00:00Z"`)
	db.LPush(ctx, "hworker-jobs-other", `["x",1]`)
	db.Set(ctx, "outbox", "no list", 0)
	want := []struct {
		subject string
		level   Level
		text    string
		fixed   bool
	}{
		{"list gone\n", Note, "Nothing is left of it but what was kept", false},
		{"list hworker:mail", Note, "1 entry failed: that waits", false},
		{"list hworker:mail", Note, "`false` is in work", true},
		{"list hworker:mail", Bad, "1 entry is in work without a start time that can be read", true},
		{"list hworker:mail", Warning, "1 entry is abandoned in work", true},
		{"list hworker:mail", Note, "Of 1 entry is kept how often", true},
		{"list hworker:other", Note, "1 entry waits, and none is in work", false},
		{"list hworker:other", Warning, "1 entry cannot be a job, one for: ", false},
		{"list outbox", Bad, "One of its keys is not what it should be: ", false},
	}
	for _, fix := range []bool{false, true} {
		found := p.examine(t, fix, look)
		if len(found) != len(want) {
			t.Fatalf("found is %+v", found)
		}
		for i, f := range found {
			w := want[i]
			if fix && w.fixed {
				w.level = Fixed
			}
			if f.Subject != w.subject || f.Level != w.level || !strings.HasPrefix(f.Text, w.text) || f.Advice == "" || strings.Contains(f.Advice, "--fix: ") != (w.fixed && !fix) {
				t.Errorf("finding %d is %+v, want %+v", i, f, w)
			}
		}
	}
	for _, f := range p.examine(t, true, look) {
		if f.Level == Fixed || strings.Contains(f.Text, "in work") && f.Subject == "list hworker:mail" {
			t.Errorf("it is mended, and found again: %+v", f)
		}
	}
	if left := db.HKeys(ctx, "hworker-progress-mail").Val(); len(left) != 3 { // a and b are somebody's, odd begins now
		t.Errorf("in work are %q", left)
	}
	if kept := db.HGetAll(ctx, "ql:oarlock:tries:hworker:mail").Val(); len(kept) != 2 || kept[`["lost",1]`] != "" {
		t.Errorf("kept are %q", kept)
	}
	if next, err := p.client.NextOfList(ctx, "hworker:mail", 1); err != nil || len(next) != 1 || next[0] != `["late",1]` {
		t.Errorf("next is %q (%v)", next, err)
	}
}
