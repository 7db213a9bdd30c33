package queue

import (
	"context"
	"sync/atomic"

	"oarlock/queue/internal/connection"
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
	link   *connection.Link

	// ruledBy are the rules by which queues of this session are ruled; nil if none is, as far as is known.
	ruledBy  atomic.Pointer[ruling]
	late     atomic.Bool          // the last call that should have brought jobs was not answered in time
	beside   editions             // which rules there are, as far as they concern none of its queues
	lastLook atomic.Pointer[look] // nil: the next Exchange is not to hurry
	special  atomic.Pointer[look] // since this one something special was with a job: no call asks whether nothing is until the next look
}

// Session returns the session of a worker name; the caller closes it. It connects
// with the first Exchange.
func (c *Client) Session(worker string) *Session {
	s := &Session{client: c, worker: worker, link: c.target.Link(c.log.With("worker", worker))}
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
	return s.link.Close()
}

// Notices is Client.Notices for this worker alone.
func (s *Session) Notices(ctx context.Context) <-chan Notice {
	return s.client.Notices(ctx, s.worker)
}

// Deregister takes the worker off the list of workers. What it holds stays locked.
func (s *Session) Deregister(ctx context.Context) error {
	return s.client.ForgetWorkers(ctx, s.worker)
}

// Fence makes sure that nothing sent over the session's connection can still run. It
// does nothing unless an Exchange ended in doubt. On success whatever Held and
// Resolve read is final.
func (s *Session) Fence(ctx context.Context) error {
	return s.link.Fence(ctx, s.client.kill)
}

// kill ends one connection on the server's side. Where that cannot be, what a lost take has locked
// is found by the next Held.
func (c *Client) kill(ctx context.Context, p connection.Peer) error {
	switch err := harmless(classify("client kill", p.Kill(ctx, c.redis))); Class(err) {
	case Denied:
		c.log.Warn("not permitted to fence a connection; allow client|kill, and client|list on a Unix socket", "err", err)
		return nil
	case Refused:
		// A service that is like Redis and has no such command.
		c.log.Warn("the server cannot end a connection of ours, so that the last call may still run", "err", err)
		return nil
	default:
		return err
	}
}
