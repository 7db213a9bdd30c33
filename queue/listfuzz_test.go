package queue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// FuzzListEntry has any bytes as an entry: of a plain list they are a job, whose data is JSON; of an hworker's a job or
// broken. Done, failed or put back, nothing else is left of them than is said.
func FuzzListEntry(f *testing.F) {
	for _, entry := range []string{
		"", " ", "0", "false", "null", `""`, `"\ud800"`, "\xff\xfe\x00", "a\x00b", "\r\n", `["id",{}]`, `["id", 1 ]`, `["",1]`, `["\u0000",1]`, `["id",1,2]`, `[["id"],1]`, `["id",{}]x`,
		`{"a":1,"a":2}`, "1e999", "\u202e", `["` + strings.Repeat("x", 300) + `",1]`, strings.Repeat("[", 1500), strings.Repeat("x", 70_000), `["id",` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + "]",
	} {
		f.Add(entry)
	}
	server := redistest.Shared(f)
	db := server.Client(f)
	c, err := queue.Open(f.Context(), queue.Options{URL: server.URL})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	f.Fuzz(func(t *testing.T, entry string) {
		ctx := t.Context()
		if err := db.FlushDB(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"plain", "hworker:mail"} {
			l := hworker()
			l.Name = name
			w := &listed{t: t, redis: db, c: c, list: l}
			w.s = c.ListSession(queue.NewJID(), l)
			defer w.s.Close()
			w.push(entry)
			jobs := w.take(2)
			if len(jobs) == 0 {
				if _, _, err := queue.ReadEnvelope(entry); name == "plain" || err == nil {
					t.Fatalf("of list %s %q is no job", name, entry)
				}
				if got := w.counts(); got != "0 waiting, 0 in work, 0 failed, 1 broken" {
					t.Error(got)
				}
				continue
			}
			if !json.Valid(jobs[0].Data) || jobs[0].JID == "" || len(jobs[0].JID) > 255 {
				t.Errorf("of list %s %q is %+v", name, entry, jobs[0])
			}
			w.settle(jobs[0], queue.Settlement{Action: queue.Retry, Checkpoint: []byte("1")})
			if lies := w.lies(); len(lies) != 1 || lies[0] != entry {
				t.Errorf("%q is put back as %q", entry, lies)
			}
			again := w.take(1)
			if len(again) != 1 || again[0].JID != jobs[0].JID || again[0].Retries-again[0].Remaining != 1 {
				t.Fatalf("then it is %+v", again)
			}
			w.settle(again[0], queue.Settlement{Action: queue.Fail, Group: "g", Message: entry})
			failed, err := c.ListFailed(ctx, name, 0, 9)
			if err != nil || len(failed) != 1 || failed[0].Entry != entry || failed[0].Failure == nil || failed[0].Failure.Attempt != 2 {
				t.Errorf("failed are %+v (%v)", failed, err)
			}
			if n, err := c.RetryListFailed(ctx, name); n != 1 || err != nil {
				t.Errorf("put back are %d (%v)", n, err)
			}
			w.settle(w.take(1)[0], queue.Settlement{Action: queue.Complete})
			if got := w.counts(); got != "0 waiting, 0 in work, 0 failed, 0 broken" {
				t.Errorf("left of %q is %s", entry, got)
			}
		}
	})
}
