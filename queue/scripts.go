package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// Dialect is a family of commands: a directory of lua.
type Dialect = script.Dialect

// The dialects.
const (
	Qless   = script.Qless   // the commands of qless, one flat list of names
	Reqless = script.Reqless // those of reqless, with dotted names and throttles
	Oarlock = script.Oarlock // our own, about one job, for clients of either
	Batch   = script.Batch   // our own, about many jobs in one call
)

// DefaultNamespace is what the names of all keys and channels begin with
// wherever other clients of the protocol share the Redis.
const DefaultNamespace = script.DefaultNamespace

// Script returns the text of the script that runs one command, for SCRIPT LOAD.
// Its ARGV is the time of the call in seconds since the epoch, then the
// command's arguments; KEYS are ignored, so that a cluster may be given one to
// route by. The second result says whether there is such a command.
func Script(dialect Dialect, command, namespace string) (text string, ok bool) {
	return script.Text(dialect, command, namespace)
}

// Commands returns the names of a dialect's commands, sorted.
func Commands(dialect Dialect) []string { return script.Commands(dialect) }

// Unified returns one script that speaks both dialects, and Oarlock, in the calling form of
// the protocol, EVALSHA sha 0 command now argument…, which clients of qless and
// reqless can load in place of their own. The names the dialects have in common
// (config.get, config.set, config.unset, queue.forget) answer as shared does,
// which is Qless or Reqless.
func Unified(namespace string, shared Dialect) string { return script.Unified(namespace, shared) }

// evaler is what runs scripts: a client of many connections or of one.
type evaler interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
	ScriptLoad(ctx context.Context, text string) *redis.StringCmd
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
func (c *Client) run(ctx context.Context, conn evaler, name script.Name, now float64, args ...any) (any, error) {
	return c.runBy(ctx, "evalsha", conn, name, now, args...)
}

// runBy is run by EVALSHA, or by another command that is like it.
func (c *Client) runBy(ctx context.Context, by string, conn evaler, name script.Name, now float64, args ...any) (any, error) {
	s, err := c.scripts.Get(name)
	if err != nil {
		return nil, err
	}
	words := make([]any, 0, 5+len(args))
	words = append(words, by, s.SHA)
	words = append(words, c.routingKeys()...)
	words = append(append(words, wire.Number(now)), args...)
	began := time.Now()
	reply, err := conn.Do(ctx, words...).Result()
	for try := 0; try < loadTries && isUnknown(err); try++ {
		if err := c.load(ctx, conn, s); err != nil {
			err = classify(name.Command, err)
			c.told(name.Command, began, err)
			return nil, err
		}
		reply, err = conn.Do(ctx, words...).Result()
	}
	if isNull(err) {
		reply, err = nil, nil
	}
	err = classify(name.Command, err)
	c.noteReach(err)
	c.told(name.Command, began, err)
	return reply, err
}

// isUnknown tells whether the server did not know the script.
func isUnknown(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }

// isNull tells the driver's way of saying null from errors.
func isNull(err error) bool { return errors.Is(err, redis.Nil) }

// load makes a script known to the server, or to each master of a cluster.
func (c *Client) load(ctx context.Context, conn evaler, s script.Script) error {
	if single, ok := conn.(*redis.Client); ok {
		return single.WithTimeout(loadTimeout).ScriptLoad(ctx, s.Text).Err()
	}
	if cluster, ok := conn.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			return node.ScriptLoad(ctx, s.Text).Err()
		})
	}
	return conn.ScriptLoad(ctx, s.Text).Err()
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

// timely are the commands that call sends in which a delay counts. A renewal is none: a process that stood still asks by it, before it
// does anything else, what is still its own.
var timely = map[string]bool{"amend": true, "requeue": true, "retry": true}

// call runs a script at the current time over the shared connections.
func (c *Client) call(ctx context.Context, dialect Dialect, command string, args ...any) (any, error) {
	fresh := c.clock.Fresh
	if timely[command] {
		fresh = c.clock.Precise
	}
	if err := fresh(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx, c.redis, script.Name{Dialect: dialect, Command: command}, c.clock.Now(), args...)
}
