package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// put calls put of the unified script, as a client of the protocol does, with options.
func unifiedPut(t *testing.T, c *queue.Client, dialect queue.Dialect, jid, data string, delay any, options ...any) (string, error) {
	t.Helper()
	word := map[queue.Dialect]string{queue.Qless: "put", queue.Reqless: "queue.put"}[dialect]
	args := append([]any{word, c.Now(), "w", "q", jid, "K", data, delay}, options...)
	return queue.Protocol(dialect).Run(t.Context(), c.Redis(), nil, args...).Text()
}

// TestOtherClientsPutWhatMerges puts by the protocol's own command: the reply is the jid of the job that has the data, and what is wrong is one sentence
// and changes nothing.
func TestOtherClientsPutWhatMerges(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		for _, dialect := range []queue.Dialect{queue.Qless, queue.Reqless} {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			s := session(t, c, "w")
			put := func(jid, data string, options ...any) string {
				t.Helper()
				got, err := unifiedPut(t, c, dialect, jid, data, 0, options...)
				ok(t, err)
				return got
			}
			all := []any{"key", "k 1", "merge", "all"}
			into := []string{
				put("a", "1", append(all, "score", 5)...), put("b", "2", append(all, "score", 4)...), put("c", "3", all...), put("c", "3", all...), // that again: its answer was lost
				put("d", "4", "key", "k 1"), put("e", "5", all...), put("e", "5", all...), // d is no run: e is one, behind it
			}
			equal(t, string(dialect)+" put", into, []string{"a", "a", "a", "a", "d", "e", "e"})
			var told []string
			for range 3 {
				jobs, some := runs(t, s)
				told = append(told, some...)
				for _, job := range jobs {
					settle(t, s, job, queue.Settlement{Action: queue.Complete})
				}
			}
			if len(told) != 3 || !strings.HasPrefix(told[0], "[2,1,3] [4 5 ") || told[1] != "4 []" || !strings.HasPrefix(told[2], "[5] [") {
				t.Errorf("%s: given were %q", dialect, told)
			}

			before := c.Redis().Keys(t.Context(), "ql:*").Val()
			for says, options := range map[string][]any{
				"merge needs a key": {"merge", "all"},
				"score needs merge": {"score", "1", "key", "k"},
				`merge must be none, all, last, first or set: sum`: {"key", "k", "merge", "sum"},
				`score must be a finite number: nan`:               {"key", "k", "merge", "all", "score", "nan"},
				"key must have 1 to 512 bytes":                     {"key", "", "merge", "all"},
				`merge needs a jid that no job has: a is complete`: {"key", "k", "merge", "all"},
			} {
				jid := "x"
				if strings.Contains(says, "jid") {
					jid = "a"
				}
				if _, err := unifiedPut(t, c, dialect, jid, "{}", 0, options...); err == nil || !strings.Contains(err.Error(), "Put(): "+says) {
					t.Errorf("%s %v: %v, want %s", dialect, options, err, says)
				}
			}
			if after := c.Redis().Keys(t.Context(), "ql:*").Val(); len(after) != len(before) {
				t.Errorf("refused puts have left %q, where %q was", after, before)
			}
			// A run that is over, and is put again by who knows nothing of it, is a job as any other.
			put("a", `{"anew":1}`)
			if jobs, _ := runs(t, s); len(jobs) != 1 || jobs[0].Merge != "" || string(jobs[0].Data) != `{"anew":1}` {
				t.Errorf("%s: put anew, given was %+v", dialect, jobs)
			}
		}
	})
}

// TestOtherClientsPutDelayedWhatMerges: it has the turn at once, so that what is put meanwhile finds it.
func TestOtherClientsPutDelayedWhatMerges(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		must(unifiedPut(t, c, queue.Qless, "late", `"old"`, 3600, "key", "k", "merge", "last"))(t)
		equal(t, "merged into", must(unifiedPut(t, c, queue.Qless, "x", `"new"`, 0, "key", "k", "merge", "last"))(t), "late")
		if jobs, _ := runs(t, s); len(jobs) > 0 {
			t.Errorf("given were %+v", jobs)
		}
		now(t, c, "late")
		if _, told := runs(t, s); len(told) != 1 || !strings.HasPrefix(told[0], `"new" [`) {
			t.Errorf("given was %q", told)
		}
	})
}

// TestNothingMergesWhereALimitIsByAValue: a put that would is refused with a sentence, by whomever; what merges not, or is of a class that the
// limit does not concern, is put.
func TestNothingMergesWhereALimitIsByAValue(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		rules := `{"shape":"1","throttles":["region"],"by":{"region":["path","to","region"],"kind":["klass"]},"klass":{"Free":{"bypass":true}}}`
		must(c.InstallRules(t.Context(), "", queue.NewRules{Doc: "{}", Queues: []queue.RuledQueue{{Queue: "q", Rules: rules}},
			Throttles: []queue.RuledThrottle{{Name: "region", Rules: `{"by":["path","to","region"],"each":1}`}}}))(t)
		const says = `: it would merge in queue q, where throttle region counts by /to/region of the data, and a job that merges may have many; name merge none, ` +
			"or let the throttle count by $klass, $queue or $tag:"
		put := func(p queue.Put) error {
			p.Queue, p.Key = "q", "k"
			_, err := c.Put(t.Context(), p)
			return err
		}
		refused := []error{put(queue.Put{Klass: "K", Merge: queue.MergeAll})}
		_, err := unifiedPut(t, c, queue.Qless, "f", "{}", 0, "key", "k", "merge", "all")
		refused = append(refused, err)
		merging(t, c, queue.KeyOrder{Merge: queue.MergeSet})
		for _, err := range append(refused, put(queue.Put{Klass: "K"})) {
			if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "put: :") {
				t.Errorf("refused with %v, want %s", err, says)
			}
		}
		ok(t, put(queue.Put{Klass: "K", Merge: queue.MergeNone}))
		ok(t, put(queue.Put{Klass: "Free"}))
		if keys := c.Redis().Keys(t.Context(), "ql:j:*").Val(); len(keys) != 4 { // two jobs and their histories
			t.Errorf("there are %q", keys)
		}
	})
}

// TestRunsOfASchedule have the key of a tag key:, as they are put, and merge where their queue does: with what others put, and with one another.
func TestRunsOfASchedule(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		for _, of := range []struct {
			order queue.KeyOrder
			told  string
		}{
			{queue.KeyOrder{}, `["mine" []]`},
			{queue.KeyOrder{Merge: queue.MergeSet}, `[["mine","ours"] `},
		} {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			s := session(t, c, "w")
			merging(t, c, of.order)
			must(c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", Key: "k", Data: []byte(`"mine"`)}))(t)
			d := makeCron(t, c, queue.Cron{Name: "often", Schedule: "@hourly", CronWork: queue.CronWork{Queue: "q", Klass: "K", Data: []byte(`"ours"`), Tags: []string{"key:k"}}}, 2*time.Hour)
			ran := runCron(t, c, d, 2*time.Hour, time.Hour)
			if ran.Put != 2 || ran.Why != "" {
				t.Errorf("%+v: ran %+v", of.order, ran)
			}
			jobs, told := runs(t, s)
			if !strings.HasPrefix(fmt.Sprint(told), of.told) {
				t.Errorf("%+v: given were %s", of.order, told)
			}
			began := 0
			for ; len(jobs) > 0; jobs, _ = runs(t, s) {
				began += len(jobs)
				if len(jobs) > 1 {
					t.Errorf("%+v: side by side are %+v", of.order, jobs)
				}
				settle(t, s, jobs[0], queue.Settlement{Action: queue.Complete})
			}
			if want := map[bool]int{true: 1, false: 3}[of.order.Merge != ""]; began != want {
				t.Errorf("%+v: %d jobs, want %d", of.order, began, want)
			}
		}
	})
}
