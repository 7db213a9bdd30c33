package queue_test

import (
	"strings"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// JSON is UTF-8: what is not is refused at every door by which data comes in, and what a foreign client put
// passes unchanged.
func TestDataThatIsNotUTF8(t *testing.T) {
	server := redistest.Shared(t)
	c, ctx := openURL(t, server.URL), t.Context()
	bad := []byte("\"caf\xe9\"")
	results, _ := c.PutAll(ctx, []queue.Put{{Queue: "q", JID: "a", Klass: "k", Data: bad}})
	_, recur := c.Recur(ctx, queue.Recurring{Queue: "q", JID: "r", Klass: "k", Data: bad, Interval: time.Minute})
	for door, err := range map[string]error{"put": results[0].Err, "recur": recur} {
		if err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %v", door, err)
		}
	}
	putAll(t, c, queue.Put{Queue: "q", JID: "b", Klass: "k", Data: []byte("1")})
	if err := server.Client(t).HSet(ctx, "ql:j:b", "data", bad).Err(); err != nil { // as a foreign client may
		t.Fatal(err)
	}
	reply, err := c.Session("w").Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 2})
	if err != nil || len(reply.Jobs) != 1 || string(reply.Jobs[0].Data) != string(bad) {
		t.Errorf("took %+v, %v", reply.Jobs, err)
	}
}
