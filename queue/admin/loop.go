package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// loopWorker is the name of the worker that a Loop is.
const loopWorker = "oarlock-bench-loop"

// Loop is the plainest worker there can be: over one connection it pops one job by the protocol's `pop`, does nothing, calls
// `complete`, and goes on. What it does stays as it is, so that others can be measured against it. It is for one goroutine.
type Loop struct {
	client *queue.Client
	conn   *redis.Conn
	script string // the hash of the unified script
}

// NewLoop connects one to the Redis of client. The caller closes it.
func NewLoop(ctx context.Context, client *queue.Client) (*Loop, error) {
	node, err := serverOf(ctx, client)
	if err != nil {
		return nil, err
	}
	one, ok := node.(*redis.Client)
	if !ok {
		return nil, fmt.Errorf("a plain loop needs one Redis: %T is many", node)
	}
	l := &Loop{client: client, conn: one.Conn()}
	if l.script, err = l.conn.ScriptLoad(ctx, queue.Unified(client.Namespace(), queue.Qless)).Result(); err != nil {
		return nil, errors.Join(readable(err), l.conn.Close())
	}
	return l, nil
}

// Work works n jobs of a queue, which must all be there. The error says so if they are not.
func (l *Loop) Work(ctx context.Context, name string, n int) error {
	for i := range n {
		popped, err := l.call(ctx, "pop", name, loopWorker, 1)
		if err != nil {
			return err
		}
		var jobs []struct {
			JID  string `json:"jid"`
			Data string `json:"data"`
		}
		if json.Unmarshal([]byte(popped), &jobs) != nil || len(jobs) != 1 { // no job: {}
			return fmt.Errorf("the plain loop was given no job after %d of %d", i, n)
		}
		if _, err := l.call(ctx, "complete", jobs[0].JID, loopWorker, name, jobs[0].Data); err != nil {
			return err
		}
	}
	return nil
}

// call is one of the unified script, which wants the time behind the command's name.
func (l *Loop) call(ctx context.Context, command string, args ...any) (string, error) {
	now := strconv.FormatFloat(l.client.Now(), 'f', -1, 64)
	reply, err := l.conn.EvalSha(ctx, l.script, nil, append([]any{command, now}, args...)...).Text()
	return reply, readable(err)
}

// Close ends the connection.
func (l *Loop) Close() error { return l.conn.Close() }
