package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// connected notes how the server names a new connection.
func (s *Session) connected(ctx context.Context, conn *redis.Conn) error {
	p := peer{}
	if info, err := conn.Do(ctx, "CLIENT", "INFO").Text(); err == nil {
		p = parsePeer(info)
	} else if p.id, err = conn.ClientID(ctx).Result(); err != nil {
		// The embedded server has no such names, and permissions may forbid asking. Without
		// a fence, what a lost take has locked is found by the next Held.
		s.client.log.Debug("connection cannot be fenced", "worker", s.worker, "err", err)
		return nil
	}
	s.mu.Lock()
	s.peers = append(s.peers, p)
	s.mu.Unlock()
	return nil
}

// parsePeer reads the line that CLIENT INFO answers (Redis 6.2 on).
func parsePeer(info string) peer {
	var p peer
	for field := range strings.FieldsSeq(info) {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "id":
			p.id, _ = strconv.ParseInt(value, 10, 64)
		case "addr":
			p.addr = value
		}
	}
	return p
}

// Fence makes sure that nothing sent over the session's connection can still run. It
// does nothing unless an Exchange ended in doubt. On success whatever Held and
// Resolve read is final.
func (s *Session) Fence(ctx context.Context) error {
	s.mu.Lock()
	doubt, peers := s.doubt, s.peers
	s.mu.Unlock()
	if !doubt {
		return nil
	}
	for _, p := range peers {
		if err := s.client.kill(ctx, p); err != nil {
			return fmt.Errorf("fence connection %d: %w", p.id, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubt { // nobody was faster
		s.doubt, s.peers = false, nil
		s.conn.Close()
		s.conn = s.client.target.dedicated(s.connected)
	}
	return nil
}

// kill ends one connection on the server's side; one that is gone already is as good.
func (c *Client) kill(ctx context.Context, p peer) error {
	filter := []string{"ID", strconv.FormatInt(p.id, 10)}
	if p.addr != "" {
		filter = append(filter, "ADDR", p.addr)
	}
	var err error
	if cluster, ok := c.redis.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			return node.ClientKillByFilter(ctx, filter...).Err()
		})
	} else {
		err = c.redis.ClientKillByFilter(ctx, filter...).Err()
	}
	switch err = harmless(classify("client kill", err)); Class(err) {
	case Denied:
		c.log.Warn("not permitted to fence a connection; allow client|kill", "err", err)
		return nil
	case Refused:
		// A service that is like Redis and has no such command. Without a fence, what a lost take has
		// locked is found by the next Held.
		c.log.Warn("the server cannot end a connection of ours, so that the last call may still run", "err", err)
		return nil
	}
	return err
}
