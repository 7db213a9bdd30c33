package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// What rules say of a class counts for new jobs of it, whoever of ours puts them, where the put says nothing itself.
func TestPutsOfClasses(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		must(c.InstallRules(ctx, "", queue.NewRules{Doc: "{}", Puts: `{"klass":{"Pay":{"priority":"2.5","retries":"1","correlation":["path","order","id"],"existing":true},"Plain":{}},
			"globs":[{"glob":"P*","klass":{"retries":"0","correlation":["path","order"]}}]}`}))(t)
		get := func(jid string) *queue.Job { return must(c.Get(ctx, jid))(t) }
		put := func(p queue.Put) string { p.Queue = "q"; return must(c.Put(ctx, p))(t) }

		pay := get(put(queue.Put{JID: "a", Klass: "Pay", Data: []byte(`{"order":{"id":17}}`)}))
		if pay.Priority != 2.5 || pay.Retries != 1 || pay.Kept.Correlation != "17" {
			t.Errorf("by the table: %v, %v, %q", pay.Priority, pay.Retries, pay.Kept.Correlation)
		}
		zero, three := 0.0, 3
		said := get(put(queue.Put{JID: "b", Klass: "Pay", Priority: &zero, Retries: &three, Correlation: "mine", Data: []byte(`{"order":{"id":17}}`)}))
		if said.Priority != 0 || said.Retries != 3 || said.Kept.Correlation != "mine" {
			t.Errorf("said by the put: %v, %v, %q", said.Priority, said.Retries, said.Kept.Correlation)
		}
		again := get(put(queue.Put{JID: "b", Klass: "Pay", Data: []byte(`{}`)}))
		if again.Priority != 0 || again.Retries != 3 || again.Kept.Correlation != "mine" {
			t.Errorf("put again: %v, %v, %q", again.Priority, again.Retries, again.Kept.Correlation)
		}
		glob := get(put(queue.Put{Klass: "Post", Data: []byte(`{"order":"x"}`)}))
		if glob.Priority != 0 || glob.Retries != 0 || glob.Kept.Correlation != "x" {
			t.Errorf("by the glob: %v, %v, %q", glob.Priority, glob.Retries, glob.Kept.Correlation)
		}
		for _, tt := range []struct {
			klass, data string
			retries     int
		}{{"Plain", `{"order":"x"}`, 5}, {"Other", `{"order":"x"}`, 5}, {"Post", `{"order":[1]}`, 0}} {
			if job := get(put(queue.Put{Klass: tt.klass, Data: []byte(tt.data)})); job.Kept.Correlation != "" || job.Retries != tt.retries {
				t.Errorf("of class %s: %q, %d retries", tt.klass, job.Kept.Correlation, job.Retries)
			}
		}
	})
}

// A job that has the correlation stands for one that is put, or the put is refused, as the rules say; and never another's answer is taken for its own.
func TestPutsOfAClassWhoseCorrelationLives(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		must(c.InstallRules(ctx, "", queue.NewRules{Doc: "{}", Puts: `{"klass":{"Pay":{"correlation":["path","id"],"existing":true},"Ask":{"correlation":["path","id"]}}}`}))(t)
		put := func(klass, data string) queue.PutResult {
			return must(c.PutAll(ctx, []queue.Put{{Queue: "q", Klass: klass, Data: []byte(data)}}))(t)[0]
		}
		first := put("Pay", `{"id":"17"}`)
		second := put("Pay", `{"id":"17"}`)
		never(t, !second.Held || !second.Existed || second.JID != first.JID || second.State != "waiting" || second.Err != nil, "the second: %+v", second)
		if jid, err := c.Put(ctx, queue.Put{Queue: "q", Klass: "Pay", Correlation: "17"}); err != nil || jid != first.JID {
			t.Errorf("named by the put: %s, %v", jid, err)
		}
		asked := put("Ask", `{"id":"17"}`)
		if refused := put("Ask", `{"id":"17"}`); refused.Err == nil || !strings.Contains(refused.Err.Error(), "correlation 17 of class Ask is held by job "+asked.JID) {
			t.Errorf("where they are refused: %+v", refused)
		}
		for data, want := range map[string]string{
			`{"id":12345678901234567}`: "more than 14 digits",
			`{"id":""}`:                "the correlation is empty",
			`{"id":"a","x":"` + strings.Repeat("x", 65536) + `"}`: "more than 64 KiB; name it in the put",
		} {
			if r := put("Pay", data); r.Err == nil || !strings.Contains(r.Err.Error(), want) {
				t.Errorf("of %.30s: %+v, want %q", data, r, want)
			}
		}
		for _, number := range []string{"1e400", "1e500"} { // both are too large to be told apart
			if r := must(c.PutAll(ctx, []queue.Put{{Queue: "huge", Klass: "Pay", Data: []byte(`{"id":` + number + `}`)}}))(t)[0]; r.Existed {
				t.Errorf("another job stands for that of order %s: %+v", number, r)
			}
		}
		ok(t, c.Cancel(ctx, first.JID))
		if r := put("Pay", `{"id":"17"}`); r.Existed || r.Err != nil || r.JID == first.JID {
			t.Errorf("after the end of the first: %+v", r)
		}
		equal(t, "jobs", must(c.Queue(ctx, "q"))(t).Waiting, 2)
	})
}

// A child's puts, and those of one call, are told the same.
func TestPutsOfClassesByOthers(t *testing.T) {
	c := fresh(t)
	ctx := t.Context()
	must(c.InstallRules(ctx, "", queue.NewRules{Doc: "{}", Puts: `{"klass":{"Pay":{"retries":"2","correlation":["path"],"existing":true}}}`}))(t)
	must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)
	s := c.Session("w")
	defer s.Close()
	taken := must(s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t)
	data := func(i int) []byte { return fmt.Appendf(nil, `"order %d"`, i%2) }
	puts := make([]queue.Put, 4)
	for i := range puts {
		puts[i] = queue.Put{Queue: "n", Klass: "Pay", Data: data(i)}
	}
	reply := must(s.Exchange(ctx, []queue.Settlement{{JID: taken.Jobs[0].JID, Queue: "q", Action: queue.Complete, Popped: taken.Jobs[0].Popped, Puts: puts}}, queue.Take{}))(t)
	results := reply.Results[0].Puts
	stop(t, len(results) != 4 || results[0].Held || results[1].Held || results[2].JID != results[0].JID || results[3].JID != results[1].JID, "%+v", results)
	job := must(c.Get(ctx, results[0].JID))(t)
	never(t, job.Retries != 2 || job.Kept.Correlation != "order 0" || job.Kept.Timeout != 0*time.Second, "%+v", job)
}

// What somebody damaged does not keep jobs from being put, and is told.
func TestPutsWhereTheirRulesAreDamaged(t *testing.T) {
	c := fresh(t)
	ctx := t.Context()
	for _, text := range []string{"{", "[1", "7", `{"klass":7}`, `{"klass":{"K":{"correlation":"/x"}}}`, `{"klass":{"K":"x"}}`} {
		must(c.InstallRules(ctx, must(c.Rules(ctx))(t).Version, queue.NewRules{Doc: "{}"}))(t)
		ok(t, c.Redis().HSet(ctx, "ql:oarlock:rules", "puts", text).Err())
		must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)
		if damaged := must(c.DamagedRules(ctx, ""))(t); len(damaged) != 1 {
			t.Errorf("of %s is told %v", text, damaged)
		}
	}
}
