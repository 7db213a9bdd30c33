package queue

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Session takes and settles jobs under one worker name, which nothing else may use
// during its life: the name is all that Redis knows of who holds a lock.
//
// Exchange has a connection of its own, so that after an outcome in doubt it can be
// fenced: closed on the server's side, after which nothing of it can still run.
// All methods are safe for concurrent use.
type Session struct {
	client *Client
	worker string

	mu    sync.Mutex
	conn  redis.UniversalClient
	peers []peer // connections made since the last fence
	doubt bool   // one of peers may still have a call under way
}

// peer is how the server names one of our connections.
type peer struct {
	id   int64
	addr string // ours as the server sees it; ids begin anew after a restart, addresses differ
}

// Session returns the session of a worker name; the caller closes it. It connects
// with the first Exchange.
func (c *Client) Session(worker string) *Session {
	s := &Session{client: c, worker: worker}
	s.conn = c.target.dedicated(s.connected)
	c.mu.Lock()
	c.sessions[s] = struct{}{}
	c.mu.Unlock()
	return s
}

// Worker is the session's name.
func (s *Session) Worker() string { return s.worker }

// Close ends the session's connection. It changes nothing in Redis: what the worker
// holds, it holds until the locks end.
func (s *Session) Close() error {
	s.client.mu.Lock()
	delete(s.client.sessions, s)
	s.client.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Close()
}

// Notices is Client.Notices for this worker alone.
func (s *Session) Notices(ctx context.Context) <-chan Notice {
	return s.client.Notices(ctx, s.worker)
}

// Deregister takes the worker off the list of workers. What it holds stays locked.
func (s *Session) Deregister(ctx context.Context) error {
	return s.client.ForgetWorkers(ctx, s.worker)
}

func (s *Session) connection() redis.UniversalClient {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}
