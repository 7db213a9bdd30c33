package connection

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
)

// TestFenceAfterARestart has a link in doubt when Redis restarts, after which another client has the id that its connection had: that one's connection is left
// alone, also on a Unix socket, where all have the same address. The link's own next connection is ended.
func TestFenceAfterARestart(t *testing.T) {
	server := redistest.Start(t)
	target, err := Parse(Config{URL: server.URL, Namespace: "ql:", ClientName: "oarlock", ReadTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	link := target.Link(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { link.Close() })
	ping := func() {
		t.Helper()
		if err := link.Redis().Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	ping()
	old := link.peers[0]
	link.Doubt()
	server.Kill()
	server.Restart()

	var other *redis.Conn // the one that has the id now; each is given the next
	by := server.Client(t)
	for id := int64(0); id < old.ID; {
		other = server.Client(t).Conn()
		t.Cleanup(func() { other.Close() })
		if id, err = other.ClientID(t.Context()).Result(); err != nil || id > old.ID {
			t.Fatal(id, old.ID, err)
		}
	}
	kill := func(ctx context.Context, p Peer) error { return p.Kill(ctx, by) }
	if err := link.Fence(t.Context(), kill); err != nil {
		t.Fatal(err)
	}
	if err := other.Ping(t.Context()).Err(); err != nil {
		t.Errorf("the connection of another client was ended: %v", err)
	}

	before := link.Redis()
	ping()
	link.Doubt()
	if err := link.Fence(t.Context(), kill); err != nil {
		t.Fatal(err)
	}
	clients, err := by.ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parsePeers(clients) {
		if p.name == link.name {
			t.Errorf("after the fence the server still has %+v", p)
		}
	}
	if link.Redis() == before || link.Connections() != 0 {
		t.Error("the link goes on over what it fenced")
	}
}
