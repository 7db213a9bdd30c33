package queue_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

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
			if sound && utf8.ValidString(name) && !strings.Contains(name, "\x00") && err != nil {
				t.Errorf("%q, %q, %q: %v", name, key, p.Data, err)
			}
		}
		for _, jid := range []string{"other", "clients"} {
			err := queue.Protocol(queue.Qless).Run(ctx, c.Redis(), nil, "put", c.Now(), "w", name, jid, "K", payload, 0, "key", key, "merge", "all", "score", score).Err()
			add(payload, err)
		}
		for range 9 {
			reply, err := w.Exchange(ctx, nil, queue.Take{Queues: []string{name}, Count: 9})
			if err != nil || len(reply.Broken) > 0 {
				t.Fatalf("took %+v, %v", reply, err)
			}
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
			if n != 0 {
				t.Errorf("%q is left %d times of %v", what, n, put)
			}
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
