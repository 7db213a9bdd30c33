package doctor

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestNamesThatAreKeysOfOthers: a job, or a limit, that has a key of another is named, and a job that waits gets another jid, with all it has.
func TestNamesThatAreKeysOfOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client := must.Get(queue.Open(t.Context(), queue.Options{URL: server.URL}))(t)
	defer client.Close()
	for _, jid := range []string{"v3-history", "v4-dependents", "v5-history", "v5"} {
		put := queue.Put{Queue: "q", JID: jid, Klass: "K", Data: []byte(`{"n":1}`), Tags: []string{"x"}, AnyName: true}
		if jid == "v5" { // as another program puts it
			raw := server.Client(t)
			raw.HSet(t.Context(), "ql:j:v5", raw.HGetAll(t.Context(), "ql:j:v5-history").Val())
			raw.HSet(t.Context(), "ql:j:v5", "jid", "v5")
			raw.ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: 1, Member: "v5"})
			continue
		}
		must.Get(client.Put(t.Context(), put))(t)
	}
	server.Client(t).HSet(t.Context(), "ql:th:t-locks", "id", "t-locks", "maximum", 1)
	look := func(fix bool) (found []Finding) {
		d := &Doctor{Client: client, Fix: fix, Report: func(f Finding) { found = append(found, f) }}
		must.Do(t, d.Keys(t.Context()))
		return found
	}
	want := map[string]Level{
		"job v3-history has the key of the history of job v3": Warning, "job v4-dependents has the key of the dependents of job v4": Warning,
		"job v5-history has the key of the history of job v5":                    Bad,
		"the limit of throttle t-locks has the key of the holders of throttle t": Bad,
	}
	for _, f := range look(false) {
		if level, known := want[f.Text]; !known || f.Level != level || f.Advice == "" {
			t.Errorf("found %+v", f)
		}
		delete(want, f.Text)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
	fixed := 0
	for _, f := range look(true) {
		if f.Level == Fixed {
			fixed++
		}
	}
	if fixed != 3 {
		t.Errorf("%d were mended, want 3", fixed)
	}
	for _, f := range look(false) {
		if strings.Contains(f.Text, "job ") && f.Level != OK {
			t.Errorf("found afterwards: %+v", f)
		}
	}
	jobs, err := client.GetMany(t.Context(), "v3.history", "v4.dependents", "v5.history", "v5")
	if err != nil || len(jobs) != 4 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	for _, job := range jobs[:3] {
		if len(job.History) != 1 || string(job.Data) != `{"n":1}` || len(job.Tags) != 1 {
			t.Errorf("%+v", job)
		}
	}
	counts, err := client.Queue(t.Context(), "q")
	if err != nil || counts.Waiting != 4 {
		t.Errorf("%+v, %v", counts, err)
	}
	tagged, total, err := client.Tagged(t.Context(), "x", 0, 10)
	if err != nil || total != 3 {
		t.Errorf("%v, %d, %v", tagged, total, err)
	}
}
