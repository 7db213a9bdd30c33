package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// A mebibyte in every field that others fill, names, data, tags, failures, what a child printed, workers, or as much as is taken, makes no page large and no
// answer fail, and is a script nowhere.
func TestAMebibyteInEveryField(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a mebibyte for every field of every page")
	}
	a, q := browsed(t)
	ctx := t.Context()
	long := strings.Repeat("</td><script>alert(1)</script>é", (1<<20)/32)
	quoted := must.Get(json.Marshal(long))(t)
	record, err := marshal(map[string]string{"ending": "exited", "group": "g", "message": long[:8<<10], "stderr": long[:32<<10]}) // 64 KiB at most
	if err != nil {
		t.Fatal(err)
	}
	data := []byte(`{"text":` + string(quoted) + `}`)
	script, _ := queue.Script(queue.Reqless, "queue.put", queue.DefaultNamespace)
	texts := asJSON([]string{long})
	for _, jid := range []string{"large", long} { // our own doors refuse such names
		must.Do(t, q.Redis().Eval(ctx, script, nil, fmt.Sprint(q.Now()), "", long, jid, long, data, "0", "tags", texts, "throttles", texts).Err())
	}
	s := q.Session(long)
	defer s.Close()
	taken, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{long}, Count: 2, MaxJob: 64 << 20})
	if err != nil || len(taken.Jobs) == 0 {
		t.Fatalf("%d jobs are taken: %v", len(taken.Jobs), err)
	}
	for _, job := range taken.Jobs {
		if job.JID != "large" {
			continue
		}
		done, err := s.Exchange(ctx, []queue.Settlement{{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Fail, Group: long, Message: long, Record: record}}, queue.Take{})
		if err != nil || len(done.Results) != 1 || done.Results[0].Err != nil {
			t.Fatalf("%+v, %v", done.Results, err)
		}
	}
	must.Do(t, q.Log(ctx, "large", long, data))
	g := as(t, "write")
	for _, path := range []string{"/", "/queues", "/queues?sort=name", "/failures", "/workers", "/tags", "/completed", "/tracked", "/throttles", "/jobs/large", "/search?q=large", "/search?q=group:broken", "/events", "/audit"} {
		code, text, _ := g.browse(a, "GET", path, "")
		if code != http.StatusOK || len(text) > 256<<10 || strings.Contains(text, "<script>alert") {
			t.Errorf("%s: %d, %d bytes", path, code, len(text))
		}
	}
	for _, path := range []string{"/queues", "/failures", "/workers", "/tags", "/jobs/large", "/jobs/large/why", "/jobs/large/history", "/jobs/large/record", "/search?q=large", "/stats"} {
		if w := g.ask(a, "GET", "/api/v1"+path, ""); w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %.300s", path, w.Code, w.Body)
		}
	}
}
