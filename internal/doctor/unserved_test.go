package doctor

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestClocksOfProducersAreNamed: a job that was put by a clock ahead of that of Redis has waited for no time that anybody knows, so that nobody works its
// queue is told by that; not where one of it runs, or it is paused.
func TestClocksOfProducersAreNamed(t *testing.T) {
	p := blankPatient(t, redistest.Shared(t))
	ctx, db := t.Context(), p.server.Client(t)
	for _, name := range []string{"ahead", "right", "paused", "worked"} {
		for _, jid := range []string{"a", "b"} {
			must.Get(p.client.Put(ctx, queue.Put{JID: name + jid, Queue: name, Klass: "K"}))(t)
		}
	}
	s := p.client.Session("w")
	defer s.Close()
	if reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"worked"}, Count: 1}); err != nil || len(reply.Jobs) != 1 {
		t.Fatal(reply, err)
	}
	must.Do(t, p.client.Pause(ctx, "paused"))
	for _, name := range []string{"ahead", "paused", "worked"} {
		for _, jid := range []string{"a", "b"} {
			db.HSet(ctx, "ql:j:"+name+jid, "time", p.client.Now()+3600)
			db.ZAddXX(ctx, "ql:q:"+name+"-work", redis.Z{Score: -(p.client.Now() + 3600) / 1e10, Member: name + jid})
		}
	}
	found := p.examine(t, false, func(d *Doctor) error { return d.Unserved(ctx, func(string) []string { return nil }) })
	if len(found) != 1 || found[0].Level != Warning || found[0].Subject != "queue ahead" ||
		!strings.HasPrefix(found[0].Text, "2 jobs are waiting, and none runs; the next was put by a clock that is ") || !strings.Contains(found[0].Text, " ahead of that of Redis") {
		t.Errorf("%+v", found)
	}
}
