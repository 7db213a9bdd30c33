package ops

import (
	"fmt"
	"strings"
	"testing"

	"oarlock/internal/accord"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// TestAFairQueueIsShown: queue show says by what a queue is fair, how many values wait, which is next and which has waited longest.
func TestAFairQueueIsShown(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	set := rules.Set{Queues: map[string]rules.Queue{"q": {FairBy: "/tenant"}, "limited": {Limit: 1}}}
	doc, _ := rules.Document{}.Agree(rules.File{Owner: "test", Set: set}, false)
	must.Get(q.InstallRules(ctx, "", accord.New(doc, set, q.Now())))(t)
	shown := func(name string) *Fair { return must.Get(ShowQueue(ctx, q, name, Page{Limit: 10}))(t).Fair }
	put(t, q, queue.Put{Queue: "limited", JID: "l", Klass: "K"}, queue.Put{Queue: "q", JID: "a0", Klass: "K", Data: []byte(`{"tenant":"a"}`)})
	if f := shown("limited"); f != nil {
		t.Errorf("of a queue that is not fair it says %+v", f)
	}
	if f := shown("q"); f == nil || f.Values != 0 || f.AtLeast || f.Unsorted != 1 || f.Words() != "values of /tenant take turns; none waits" {
		t.Errorf("before a take it says %+v: %s", f, f.Words())
	}
	for i := range 5 {
		put(t, q, queue.Put{Queue: "q", JID: fmt.Sprint("more", i), Klass: "K", Data: fmt.Appendf(nil, `{"tenant":%q}`, []string{"a", "it's b", "c"}[i%3])})
	}
	s := q.Session("w")
	defer s.Close()
	reply := must.Get(s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t)
	if f := shown("q"); len(reply.Jobs) != 1 || f.By != "/tenant" || f.Values != 3 || f.AtLeast || f.Next == "" || f.Longest == "" || f.LongestFor > 600 ||
		!strings.HasPrefix(f.Words(), "values of /tenant take turns; 3 values wait, next "+screen.InShell(f.Next)+", longest "+screen.InShell(f.Longest)+" for ") {
		t.Errorf("%d run, and it says %+v: %s", len(reply.Jobs), f, f.Words())
	}
	put(t, q, queue.Put{Queue: "q", JID: "d", Klass: "K", Data: []byte(`{"tenant":"d"}`)})
	if f := shown("q"); !f.AtLeast || !strings.Contains(f.Words(), "; at least 3 values wait, next ") || !strings.HasSuffix(f.Words(), "; 1 job not sorted by value yet") {
		t.Errorf("beside a job that is not sorted it says %+v: %s", f, f.Words())
	}
	must.Do(t, q.Redis().Del(ctx, "ql:oarlock:open:q").Err())
	must.Do(t, q.Redis().Set(ctx, "ql:oarlock:open:q", "x", 0).Err())
	if f := shown("q"); f.Damage == "" || !strings.HasPrefix(f.Words(), "turns cannot be read: ") {
		t.Errorf("of a damaged key it says %+v", f)
	}
}
