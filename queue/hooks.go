package queue

import (
	"context"
	"strings"
)

// Hooks say of whose jobs a job is put that tells when one has failed for good.
type Hooks struct {
	Queue  string   // where the jobs that tell go; its own failures are told nobody. Without NUL
	Queues []string // names or globs of those whose jobs are meant; see Match
}

// DeadKlass is the class of a job that tells that another has failed.
const DeadKlass = "oarlock.dead"

// SetHooks replaces what a fleet wants to be told; nil is nothing. From then on whichever script of ours fails a job puts a job into
// the queue of each fleet that wants it, in the same moment: by a verdict, for want of retries, after a crash too many,
// when its lock ran out, or killed. Where fleets name one queue, one job tells both. What a client of the protocol fails is told nobody.
// It may be repeated.
func (c *Client) SetHooks(ctx context.Context, fleet string, h *Hooks) error {
	key := c.ns + "oarlock:hooks"
	if h == nil {
		return harmless(classify("hdel", c.redis.HDel(ctx, key, fleet).Err()))
	}
	words := []string{h.Queue}
	for _, glob := range h.Queues {
		words = append(words, luaPattern(glob))
	}
	return harmless(classify("hset", c.redis.HSet(ctx, key, fleet, strings.Join(words, "\x00")).Err()))
}

// luaPattern is a glob as a pattern of Lua, without a NUL.
func luaPattern(glob string) string {
	var p strings.Builder
	p.WriteByte('^')
	for i := range len(glob) {
		switch b := glob[i]; {
		case b == '*' && i > 0 && glob[i-1] == '*':
		case b == '*':
			p.WriteString(".*")
		case b == '?':
			p.WriteByte('.')
		case b == 0:
			p.WriteString("%z")
		case b < 128 && !('0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'):
			p.WriteByte('%')
			p.WriteByte(b)
		default:
			p.WriteByte(b)
		}
	}
	p.WriteByte('$')
	return p.String()
}
