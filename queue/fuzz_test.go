package queue_test

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// FuzzMerges puts payloads that merge, by our command and by that of other clients, into a queue of any name, with any key, score and text for what its
// order is: what is refused leaves nothing, and whatever was put is given once, byte for byte, and is nowhere then.
func FuzzMerges(f *testing.F) {
	for _, payload := range []string{"1", "null", `""`, "[]", "[1]", "{}", `{"a":1,"a":2}`, " [ 1 ] ", `"\u0000\ud800"`, `"é` + "\u202e" + `"`, "1e999", strings.Repeat("[", 500) + strings.Repeat("]", 500), `"` + strings.Repeat("x", 300) + `"`, "nan", "[-inf]", "0x1F", "[01]", "-", "1.", "\"\n\"", `{"a\"b":"c\\"}`, "[-0.5e+3,true]", "", "[1"} {
		f.Add("q", "k", payload, "1", "order=key merge=set")
	}
	for _, name := range []string{"a b", "1:q:", "é\u202e", "\x00", "\xff", "%d(", strings.Repeat("x", 512), strings.Repeat("x", 513), "", "-work", "a\nb"} {
		f.Add(name, name, "7", "0", "order=key merge=all")
		f.Add("q", name, "7", "-0", "order=key merge=all")
	}
	for _, score := range []string{"", "x", "nan", "inf", "-1e308", "1e-320", "0x10", " 5", "5 ", "1e400"} {
		f.Add("q", "k", "7", score, "order=key")
	}
	for _, order := range []string{"", "merge=sum", "merge=set score=mean run_payloads=0", "run_payloads=2 merge=all", "run_bytes=3 merge=set score=max", "run_payloads=nan run_bytes=-1 merge=all", "\x00merge=all"} {
		f.Add("q", "k", "[1]", "2", order)
	}
	c := fresh(f)
	w := session(f, c, "w")
	f.Fuzz(func(t *testing.T, name, key, payload, score, order string) {
		ctx := t.Context()
		ok(t, c.Redis().FlushDB(ctx).Err())
		ok(t, c.Redis().HSet(ctx, "ql:oarlock:rules", "o:"+name, order).Err())
		put := map[string]int{}
		add := func(what string, err error) {
			if err == nil {
				put[what]++
			}
		}
		by, bad := strconv.ParseFloat(score, 64)
		for i := range 3 {
			p := queue.Put{Queue: name, Klass: "K", Key: key, Merge: queue.MergeAll, Data: []byte(payload)}
			if i > 0 {
				p.Data = []byte(strconv.Itoa(i))
			}
			if bad == nil {
				p.Score = &by
			}
			_, err := c.Put(ctx, p)
			add(string(p.Data), err)
			sound := name != "" && key != "" && len(key) <= 512 && utf8.ValidString(key) && json.Valid(p.Data) && (bad != nil || !math.IsInf(by, 0) && !math.IsNaN(by))
			never(t, sound && utf8.ValidString(name) && !strings.Contains(name, "\x00") && err != nil, "%q, %q, %q: %v", name, key, p.Data, err)
		}
		for _, jid := range []string{"other", "clients"} {
			err := queue.Protocol(queue.Qless).Run(ctx, c.Redis(), nil, "put", c.Now(), "w", name, jid, "K", payload, 0, "key", key, "merge", "all", "score", score).Err()
			add(payload, err)
		}
		for range 9 {
			reply, err := w.Exchange(ctx, nil, queue.Take{Queues: []string{name}, Count: 9})
			stop(t, err != nil || len(reply.Broken) > 0, "took %+v, %v", reply, err)
			for _, job := range reply.Jobs {
				var list []json.RawMessage
				if err := json.Unmarshal(job.Data, &list); err != nil || len(list) != len(job.Scores) || job.Damage != "" {
					t.Fatalf("given was %q with %v, %q: %v", job.Data, job.Scores, job.Damage, err)
				}
				for _, one := range list {
					put[givenAs(put, string(one))]--
				}
				if r := settle(t, w, job, queue.Settlement{Action: queue.Complete}); r.State != "complete" {
					t.Fatalf("settled: %+v", r)
				}
			}
		}
		for what, n := range put {
			never(t, n != 0, "%q is left %d times of %v", what, n, put)
		}
		if n := c.Redis().Exists(ctx, "ql:oarlock:turns:"+name, "ql:oarlock:lanes:"+name, "ql:oarlock:behind").Val(); n != 0 {
			t.Errorf("keys of %q are left", name)
		}
	})
}

// givenAs is the payload that was put so, or with blanks around it, which a list does not tell.
func givenAs(put map[string]int, text string) string {
	for what := range put {
		if strings.Trim(what, " \t\r\n") == text {
			return what
		}
	}
	return text
}

// FuzzKeys puts jobs of a key by the option and by the tag of clients that know of none, whatever is said of the queue's order: each runs once, those of
// a key in their order and one at a time, nothing is left of the key, and what is no key is refused and leaves nothing.
func FuzzKeys(f *testing.F) {
	for _, key := range []string{"k", " ", "a b", ":", "=x", "!0 - ", "1:q:", "a\nb", "\x00", "%d(", "é\u202e", "\xff", "", strings.Repeat("x", 512), strings.Repeat("x", 513)} {
		f.Add(key, "order=key")
	}
	for _, settings := range []string{"", " ", "order=key turns=fair", "order=key after_fail=hold merge=all", "turns=fairer", "merge=set score=max run_payloads=-1 run_bytes=x", "\x00\xff", "order=key run_payloads=99999999999999999999"} {
		f.Add("k", settings)
	}
	s := redistest.Shared(f)
	c := open(f, s)
	w := session(f, c, "w")
	f.Fuzz(func(t *testing.T, key, settings string) {
		ctx := t.Context()
		ok(t, c.Redis().FlushDB(ctx).Err())
		ok(t, c.Redis().HSet(ctx, "ql:oarlock:rules", "o:q", settings).Err())
		valid := utf8.ValidString(key) && len(key) <= 512
		for _, jid := range []string{"1", "2"} {
			_, err := c.Put(ctx, queue.Put{Queue: "q", JID: jid, Klass: "K", Key: key})
			stop(t, (err == nil) != valid, "key %q: %v", key, err)
		}
		want := []string{"1", "2"}
		if !valid {
			if n := c.Redis().Exists(ctx, "ql:j:1", "ql:oarlock:turns:q", "ql:queues").Val(); n != 0 {
				t.Errorf("key %q was refused, and something is there", key)
			}
			return
		}
		if key != "" {
			must(c.Put(ctx, queue.Put{Queue: "q", JID: "3", Klass: "K", Tags: []string{"key:" + key}}))(t)
			want = append(want, "3")
		}
		var began []string
		for range 10 {
			reply, err := w.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 3})
			stop(t, err != nil || len(reply.Broken) > 0 || key != "" && len(reply.Jobs) > 1, "key %q, settings %q: took %+v, %v", key, settings, reply, err)
			for _, job := range reply.Jobs {
				began = append(began, job.JID)
				if r := settle(t, w, job, queue.Settlement{Action: queue.Complete}); r.State != "complete" {
					t.Fatalf("settled: %+v", r)
				}
			}
		}
		never(t, !slices.Equal(began, want), "key %q, settings %q: began %q", key, settings, began)
		if n := c.Redis().Exists(ctx, "ql:oarlock:turns:q", "ql:oarlock:lanes:q", "ql:oarlock:behind").Val(); n != 0 {
			t.Errorf("key %q, settings %q: keys are left", key, settings)
		}
	})
}

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
	c := must(queue.Open(f.Context(), queue.Options{URL: server.URL}))(f)
	f.Cleanup(func() { c.Close() })
	f.Fuzz(func(t *testing.T, entry string) {
		ctx := t.Context()
		ok(t, db.FlushDB(ctx).Err())
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
			stop(t, len(again) != 1 || again[0].JID != jobs[0].JID || again[0].Retries-again[0].Remaining != 1, "then it is %+v", again)
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
