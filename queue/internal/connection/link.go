package connection

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// callBuffer is how much of a call and of its reply a link keeps in each direction: a supervisor
// has one for each pool, and most exchange a few jobs at a time.
const callBuffer = 8 << 10

// Link is at most one connection at a time, which can be fenced: closed on the server's side,
// after which nothing that was sent over it can still run. It is safe for concurrent use.
type Link struct {
	target *Target
	log    *slog.Logger
	name   string // of its connections

	mu    sync.Mutex
	conn  redis.UniversalClient
	peers []Peer // connections made since the last fence
	doubt bool   // one of peers may still have a call under way
}

// Peer is how the server names one of our connections. Ids begin anew when it restarts, so that by then another client may have ours: what
// tells them apart besides is the address, and on a Unix socket, where all have the same, the name.
type Peer struct {
	ID   int64
	addr string // ours as the server sees it, "" before Redis 6.2
	unix bool   // connected by a Unix socket, where addr is its path, for all alike
	name string // no other link has the same, and other clients will not either
}

// Link returns a link, which connects when it is used. The caller closes it. log hears of a
// connection that cannot be fenced.
func (t *Target) Link(log *slog.Logger) *Link {
	l := &Link{target: t, log: log, name: t.ClientName + "-" + rand.Text()}
	l.conn = l.connect()
	return l
}

// connect returns a client that keeps at most one connection, and notes each that it makes before
// anything else is sent over it.
func (l *Link) connect() redis.UniversalClient {
	o := l.target.UniversalOptions
	o.PoolSize, o.MaxActiveConns = 1, 1
	o.ConnMaxIdleTime = -1 * time.Nanosecond // keep it however long the queues are empty
	o.ReadBufferSize, o.WriteBufferSize = callBuffer, callBuffer
	o.ClientName, o.OnConnect = l.name, l.connected
	return l.target.watched(redis.NewUniversalClient(&o))
}

// connected notes how the server names a new connection.
func (l *Link) connected(ctx context.Context, conn *redis.Conn) error {
	p := Peer{}
	if info, err := conn.Do(ctx, "CLIENT", "INFO").Text(); err == nil {
		p = parsePeers(info)[0]
	} else if p.ID, err = conn.ClientID(ctx).Result(); err != nil {
		// The embedded server has no such names, and permissions may forbid asking. Without
		// a fence, what a lost call has done is found by looking.
		l.log.Debug("connection cannot be fenced", "err", err)
		return nil
	}
	l.mu.Lock()
	l.peers = append(l.peers, p)
	l.mu.Unlock()
	return nil
}

// parsePeers reads the lines that CLIENT INFO and CLIENT LIST answer, at least one.
func parsePeers(lines string) (all []Peer) {
	for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\n"), "\n") {
		var p Peer
		for field := range strings.FieldsSeq(line) {
			switch name, value, _ := strings.Cut(field, "="); name {
			case "id":
				p.ID, _ = strconv.ParseInt(value, 10, 64)
			case "addr":
				p.addr = value
			case "name":
				p.name = value
			case "flags":
				p.unix = strings.Contains(value, "U")
			}
		}
		all = append(all, p)
	}
	return all
}

// Redis is what sends over the connection, until the next fence.
func (l *Link) Redis() redis.UniversalClient {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// Connections counts those made since the last fence.
func (l *Link) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.peers)
}

// Doubt says that a call over the link ended in doubt, and may still run.
func (l *Link) Doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt = true
}

// Fence makes sure that nothing sent over the link can still run: kill ends a connection on the
// server's side (see Peer.Kill). It does nothing unless there is doubt.
func (l *Link) Fence(ctx context.Context, kill func(context.Context, Peer) error) error {
	l.mu.Lock()
	doubt, peers := l.doubt, l.peers
	l.mu.Unlock()
	if !doubt {
		return nil
	}
	for _, p := range peers {
		if err := kill(ctx, p); err != nil {
			return fmt.Errorf("fence connection %d: %w", p.ID, err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.doubt { // nobody was faster
		l.doubt, l.peers = false, nil
		l.conn.Close()
		l.conn = l.connect()
	}
	return nil
}

// Close ends the connection.
func (l *Link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn.Close()
}

// Kill ends the connection on the server's side, by another one; one that is gone already is as good. It ends no other client's.
func (p Peer) Kill(ctx context.Context, by redis.UniversalClient) error {
	filter := []string{"ID", strconv.FormatInt(p.ID, 10)}
	if p.unix {
		there, err := by.Do(ctx, "client", "list", "id", p.ID).Text()
		if err != nil || parsePeers(there)[0].name != p.name {
			return err
		}
	} else if p.addr != "" {
		filter = append(filter, "ADDR", p.addr)
	}
	if cluster, ok := by.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			return node.ClientKillByFilter(ctx, filter...).Err()
		})
	}
	return by.ClientKillByFilter(ctx, filter...).Err()
}
