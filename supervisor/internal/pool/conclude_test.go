package pool

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"oarlock/protocol"
	"oarlock/queue"
)

// What became of the jobs that a child put is counted and said.
func TestAnswersToPutsAreRead(t *testing.T) {
	var said strings.Builder
	p := &Pool{log: slog.New(slog.NewTextHandler(&said, nil))}
	a := &attempt{job: queue.Taken{JID: "j", Queue: "q"}, wire: &protocol.Job{}}
	a.settlement.Puts = []queue.Put{{Queue: "q", JID: "a"}, {Queue: "q", JID: "b", IfExists: queue.Final}, {Queue: "q", JID: "c"}}
	p.answered(a, []queue.PutResult{{JID: "a"}, {JID: "b", Existed: true, State: "running"}, {JID: "c", Err: errors.New("no memory")}})
	if p.count.Put != 1 || p.count.NotPut != 2 {
		t.Errorf("%d put, %d not; want 1 and 2", p.count.Put, p.count.NotPut)
	}
	for _, want := range []string{"put=b queue=q state=running if_exists=final", `put=c queue=q err="no memory"`} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing says %q:\n%s", want, said.String())
		}
	}
}
