package queue_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// at runs a command of ours as at a moment of the server's clock, in seconds since the epoch.
func at(t *testing.T, c *queue.Client, moment float64, command string, args ...any) any {
	t.Helper()
	text, found := queue.Script(queue.Batch, command, queue.DefaultNamespace)
	stop(t, !found, "there is no command %s", command)
	reply := must(c.Redis().Eval(t.Context(), text, nil, append([]any{strconv.FormatFloat(moment, 'f', 6, 64)}, args...)...).Result())(t)
	return reply
}

// TestPlanned: a job is due at the moment it is planned for, to the microsecond, by whichever call it is put; one that is past is ready.
func TestPlanned(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		when := time.Unix(int64(c.Now())+7200, 123456000)
		for jid, p := range map[string]queue.Put{"plain": {At: when}, "keyed": {At: when, Key: "k"}, "past": {At: when.Add(-24 * time.Hour)}, "past too": {At: time.Unix(0, 0), Key: "k"}} {
			p.Queue, p.Klass, p.JID = "q", "K", jid
			must(c.Put(t.Context(), p))(t)
		}
		for jid, want := range map[string]string{"plain": "scheduled", "keyed": "scheduled", "past": "waiting", "past too": "waiting"} {
			glances := must(c.Glances(t.Context(), queue.Brief, jid))(t)
			if g := glances[0]; g.Row != want || want == "scheduled" && time.Duration(1e9*(g.Moment-float64(when.UnixMicro())/1e6)).Abs() > 2*time.Microsecond {
				t.Errorf("%s is %s until %f, want %s until %f", jid, g.Row, g.Moment, want, float64(when.UnixMicro())/1e6)
			}
		}
		ok(t, c.Requeue(t.Context(), queue.Put{Queue: "q", JID: "past", Klass: "K", At: when}))
		if due := c.Redis().ZScore(t.Context(), "ql:q:q-scheduled", "past").Val(); due < float64(when.Unix())-60 || due > float64(when.Unix())+60 {
			t.Errorf("a job that is put again is due at %f, want %d", due, when.Unix())
		}
		if _, err := c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", At: when, Delay: time.Second}); err == nil || err.Error() != "put: delay and at exclude each other" {
			t.Errorf("of both: %v", err)
		}
	})
}

// TestPlannedForOneMoment: of jobs of a key that are planned for the same moment the first one put begins first, more than one look
// brings in, and whether they come in one call or many.
func TestPlannedForOneMoment(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		when := time.Unix(int64(c.Now())+3600, 0)
		var want []string
		for call := range 4 {
			puts := make([]queue.Put, 30)
			for i := range puts {
				puts[i] = queue.Put{Queue: "q", Klass: "K", Key: "k", At: when, Data: fmt.Appendf(nil, "%d", call)}
			}
			results := must(c.PutAll(t.Context(), puts))(t)
			for _, r := range results {
				want = append(want, r.JID)
			}
		}
		must(c.Put(t.Context(), queue.Put{Queue: "q", JID: "before", Klass: "K", Key: "k", At: when.Add(-time.Millisecond)}))(t)
		later := float64(when.Unix() + 60)
		for range 5 {
			at(t, c, later, "tend", "0", "0", "q")
		}
		lane := must(c.Lane(t.Context(), "q", "k", 0, 200))(t)
		lines := must(c.KeyLines(t.Context(), "q", []string{"k"}))(t)
		equal(t, "the turn", lines[0].Holder, "before")
		never(t, !slices.Equal(lane, want), "behind stand %q, want %q", lane, want)
	})
}

// TestDueInThreeCenturiesIsNotShelved: jobs without a key that are due from 2286 to 2343, where shelved ones stand, stay where
// they are in a queue that has keys, and keep nobody on the shelf.
func TestDueInThreeCenturiesIsNotShelved(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		keyed(t, c, "k", "first")
		late, when := time.Unix(10_000_000_000, 0), time.Unix(int64(c.Now())+3600, 0)
		for i := range 130 {
			must(c.Put(t.Context(), queue.Put{Queue: "q", JID: fmt.Sprint("late ", i), Klass: "K", At: late.Add(time.Duration(i) * time.Hour)}))(t)
		}
		for _, p := range []queue.Put{{JID: "shelved", Key: "k", At: when}, {JID: "too", Key: "other", At: when}} {
			p.Queue, p.Klass = "q", "K"
			must(c.Put(t.Context(), p))(t)
		}
		looks, _, err := c.Outlook(t.Context(), []string{"q"})
		ok(t, err)
		equal(t, "the next is due", looks[0].NextDue, float64(when.Unix()))
		at(t, c, float64(when.Unix()+60), "tend", "0", "0", "q")
		s := session(t, c, "w")
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 100})
		var taken []string
		for _, job := range reply.Jobs {
			taken = append(taken, job.JID)
		}
		slices.Sort(taken)
		equal(t, "taken", taken, []string{"first", "too"})
		equal(t, "behind", c.Redis().LLen(t.Context(), "ql:oarlock:lane:1:q:k").Val(), 1)
		equal(t, "still to come", c.Redis().ZCard(t.Context(), "ql:q:q-scheduled").Val(), 130)
		must(c.FreeKeys(t.Context(), "q"))(t)
		if score := c.Redis().ZScore(t.Context(), "ql:q:q-scheduled", "late 0").Val(); score != 1e10 {
			t.Errorf("after the order was given up it is due at %f", score)
		}
	})
}

// TestKeyFrom: the key is what the data has at a place, a text or a number as it is written.
func TestKeyFrom(t *testing.T) {
	server := fresh(t)
	for _, tt := range []struct{ data, pointer, key, says string }{
		{`{"order_id":"17"}`, "/order_id", "17", ""},
		{`{"order_id":17}`, "/order_id", "17", ""},
		{`{"order_id":1.70e1}`, "/order_id", "1.70e1", ""},
		{`{"order_id":12345678901234567890123}`, "/order_id", "12345678901234567890123", ""},
		{` { "order" : { "id" : "a\u00e9\n" } } `, "/order/id", "aé\n", ""},
		{`{"a/b":{"~":[1,"x"]}}`, "/a~1b/~0/1", "x", ""},
		{`{"":"x"}`, "/", "x", ""},
		{`{"a":1,"a":2}`, "/a", "2", ""},
		{`[["x"]]`, "/0/0", "x", ""},
		{`{"a":1}`, "/order_id", "", "the data has no string or number at /order_id"},
		{`{"order_id":null}`, "/order_id", "", "the data has no string or number at /order_id"},
		{`{"order_id":{}}`, "/order_id", "", "the data has no string or number at /order_id"},
		{`{"order_id":true}`, "/order_id", "", "the data has no string or number at /order_id"},
		{`["x"]`, "/00", "", "the data has no string or number at /00"},
		{`["x"]`, "/-1", "", "the data has no string or number at /-1"},
		{`"x"`, "/a", "", "the data has no string or number at /a"},
		{``, "/a", "", "the data has no string or number at /a"},
		{`{"a":""}`, "/a", "", "the data has an empty string at /a; a key must have 1 to 512 bytes"},
		{`{"a":"` + strings.Repeat("x", 513) + `"}`, "/a", "", "key must have 1 to 512 bytes: it has 513"},
		{`{"a":1}`, "a", "", `"a" is no JSON pointer; write it as /order_id, or /order/id`},
		{`{"a":1}`, "/~2", "", `"/~2": in a JSON pointer ~ is written ~0, and / is ~1`},
	} {
		put := queue.Put{Queue: "q", JID: "j", Klass: "K", KeyFrom: tt.pointer}
		if tt.data != "" {
			put.Data = []byte(tt.data)
		}
		_, err := server.Put(t.Context(), put)
		if tt.says != "" {
			never(t, err == nil || err.Error() != "put: "+tt.says, "%s at %s: %v, want %s", tt.data, tt.pointer, err, tt.says)
			continue
		}
		ok(t, err)
		lines := must(server.KeyLines(t.Context(), "q", []string{tt.key}))(t)
		equal(t, tt.data, lines[0].Holder, "j")
		ok(t, server.Redis().FlushDB(t.Context()).Err())
	}
	put := queue.Put{Queue: "q", JID: "j", Klass: "K", Key: "k", KeyFrom: "/none"}
	if _, err := server.Put(t.Context(), put); err != nil {
		t.Errorf("of a job with a key of its own: %v", err)
	}
}
