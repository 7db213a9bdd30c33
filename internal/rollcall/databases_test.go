package rollcall

import (
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/supervisor"
)

// Channels of Redis know no databases: a supervisor of another one is neither told of nor missed.
func TestRollIsOfOneDatabase(t *testing.T) {
	server := redistest.Start(t)
	clients := make([]*queue.Client, 2)
	for db, url := range []string{server.URL, server.URL + "?db=1"} {
		client := must.Get(queue.Open(t.Context(), queue.Options{URL: url, ReadTimeout: 30 * time.Second}))(t)
		t.Cleanup(func() { client.Close() })
		clients[db] = client
		name := []string{"zero", "one"}[db]
		speak(t, client, &Voice{Who: Who{name, 7}, Snapshot: func() supervisor.Snapshot { return shot(name, 1) }, Host: name})
	}
	awaitHearers(t, clients[0], 2)
	for db, want := range []string{"zero", "one"} {
		roll := must.Get(New(clients[db]).Call(t.Context()))(t)
		if len(roll.Items) != 1 || roll.Items[0].Status.Name != want || roll.Asked != 1 || roll.Answered != 1 || roll.Missing != 0 || roll.Unread != 0 {
			t.Errorf("in database %d: asked %d, answered %d, missing %d, %+v", db, roll.Asked, roll.Answered, roll.Missing, roll.Items)
		}
	}
	// One that says no database, as an older version, hears all.
	asks := struct{ Asker }{clients[0]}
	if roll := must.Get(New(asks).Call(t.Context()))(t); len(roll.Items) != 2 {
		t.Errorf("an older version hears %d", len(roll.Items))
	}
}
