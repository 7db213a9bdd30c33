package redistest

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Pair is two servers, of which one is the master of the other.
type Pair struct {
	Master, Replica *Server
}

// StartPair starts two private servers, which end with the test.
func StartPair(t testing.TB) *Pair {
	t.Helper()
	p := &Pair{Start(t, "--port", Port(t)), Start(t, "--port", Port(t))}
	p.follow(t)
	return p
}

// FailOver stops writes, waits until the replica has everything, promotes it, calls promoted, which may be nil, and makes the old master its replica.
// Connections stay with the server that they have.
func (p *Pair) FailOver(t testing.TB, promoted func()) {
	t.Helper()
	master, replica := p.Master.Client(t), p.Replica.Client(t)
	if err := master.Do(t.Context(), "CLIENT", "PAUSE", time.Minute.Milliseconds(), "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	offset := func(c *redis.Client, field string) string {
		_, after, _ := strings.Cut(c.Info(t.Context(), "replication").Val(), field+":")
		return strings.Fields(after + " none")[0]
	}
	for late := time.Now().Add(time.Minute); offset(master, "master_repl_offset") != offset(replica, "slave_repl_offset"); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("redistest: the replica does not get what the master has")
		}
	}
	if err := p.Replica.Client(t).ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	p.Master, p.Replica = p.Replica, p.Master
	if promoted != nil {
		promoted()
	}
	p.follow(t)
	if err := master.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
}

// follow makes one the replica of the other, and waits until it is connected.
func (p *Pair) follow(t testing.TB) {
	t.Helper()
	port, err := p.Master.Client(t).ConfigGet(t.Context(), "port").Result()
	if err == nil {
		err = p.Replica.Client(t).ReplicaOf(t.Context(), "127.0.0.1", port["port"]).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		info, err := p.Replica.Client(t).Info(t.Context(), "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("redistest: the replica does not find its master: %v\n%s", err, info)
		}
	}
}
