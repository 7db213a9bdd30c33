package queue

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// scripts knows the SHA of each small script and the texts to load. It is safe for
// concurrent use.
type scripts struct {
	ns string
	mu sync.Mutex
	by map[scriptName]script // as far as used
}

type scriptName struct {
	dialect Dialect
	command string
}

type script struct{ sha, text string }

func newScripts(ns string) *scripts {
	return &scripts{ns: ns, by: make(map[scriptName]script)}
}

// get assembles a command's script at its first use.
func (s *scripts) get(name scriptName) (script, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.by[name]; ok {
		return known, nil
	}
	text, ok := Script(name.dialect, name.command, s.ns)
	if !ok {
		return script{}, fmt.Errorf("%s has no command %q", name.dialect, name.command)
	}
	made := newScript(text)
	s.by[name] = made
	return made, nil
}

func newScript(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{hex.EncodeToString(sum[:]), text}
}

// evaler is what runs scripts: a client of many connections or of one.
type evaler interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
	ScriptLoad(ctx context.Context, script string) *redis.StringCmd
}

// loadTries is how often a call loads its script before it gives up: somebody may flush
// all scripts just in between, again and again.
const loadTries = 5

// loadTimeout bounds the wait for a script to be loaded. The server has just answered; over
// a slow line the text, a hundred kilobytes, takes longer than any call may.
const loadTimeout = 30 * time.Second

// run calls a small script over conn with now and args. Where the server does not know
// the script it is loaded and called once more; nothing has run by then.
//
// The reply is nil for a null reply. Errors are classified.
func (c *Client) run(ctx context.Context, conn evaler, name scriptName, now float64, args ...any) (any, error) {
	s, err := c.scripts.get(name)
	if err != nil {
		return nil, err
	}
	words := make([]any, 0, 5+len(args))
	words = append(words, "evalsha", s.sha)
	words = append(words, c.routingKeys()...)
	words = append(append(words, number(now)), args...)
	reply, err := conn.Do(ctx, words...).Result()
	for try := 0; try < loadTries && isUnknown(err); try++ {
		if err := c.load(ctx, conn, s); err != nil {
			return nil, classify(name.command, err)
		}
		reply, err = conn.Do(ctx, words...).Result()
	}
	if isNull(err) {
		reply, err = nil, nil
	}
	err = classify(name.command, err)
	c.noteReach(err)
	return reply, err
}

// isUnknown tells whether the server did not know the script.
func isUnknown(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }

// isNull tells the driver's way of saying null from errors.
func isNull(err error) bool { return errors.Is(err, redis.Nil) }

// load makes a script known to the server, or to each master of a cluster.
func (c *Client) load(ctx context.Context, conn evaler, s script) error {
	if single, ok := conn.(*redis.Client); ok {
		return single.WithTimeout(loadTimeout).ScriptLoad(ctx, s.text).Err()
	}
	if cluster, ok := conn.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			return node.ScriptLoad(ctx, s.text).Err()
		})
	}
	return conn.ScriptLoad(ctx, s.text).Err()
}

// routingKeys is how many keys a call names, and these. In a cluster it is one, so that
// the call goes to the node that holds the namespace; the scripts ignore it. The protocol
// passes no keys.
func (c *Client) routingKeys() []any {
	if c.cluster {
		return []any{"1", c.ns}
	}
	return []any{"0"}
}

// call runs a script at the current time over the shared connections.
func (c *Client) call(ctx context.Context, dialect Dialect, command string, args ...any) (any, error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx, c.redis, scriptName{dialect, command}, c.clock.Now(), args...)
}
