package queue

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Needs are the words for what a key space has that whoever works it must know of; see BATCH.md. A version that does not know
// one takes no jobs from it: it settles and renews what it has.
var Needs = []string{NeedKeys, NeedRules, NeedPark, NeedFair}

// The words that this version knows.
const (
	NeedKeys  = "keys"  // jobs in order
	NeedRules = "rules" // limits, windows and order for all who work a queue
	NeedPark  = "park"  // jobs that wait for answers
	NeedFair  = "fair"  // queues with fair_by
)

// lacks begins the reason of what is left out because it needs what is not known here; see lua/lib/needs.lua.
const lacks = "needs "

// Lacks tells what of the needs of the key space is not known to the version that left something out; "" if that is not why.
func (b Broken) Lacks() string { return lackOf(b.Reason) }

// Refused reports whether the server refused a command, for want of memory, a disk or a permission, say: what lies there may be sound.
func (b Broken) Refused() bool { return withheld("", b.Reason) != nil }

// Lacks is as of Broken: of which word the queue is not worked.
func (q *QueueOutlook) Lacks() string { return lackOf(q.Damage) }

func lackOf(reason string) string {
	words, is := strings.CutPrefix(reason, lacks)
	if !is {
		return ""
	}
	return words
}

// Needs are the words that were written for this key space, in their order.
func (c *Client) Needs(ctx context.Context) ([]string, error) {
	words, err := c.redis.SMembers(ctx, c.ns+"oarlock:needs").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, harmless(classify("smembers", err))
	}
	slices.Sort(words)
	return words, nil
}

// Unknown are those words of a key space that this version does not know.
func Unknown(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(Needs, word) })
}

// Unneed takes words away that nothing in the key space needs any more, as the caller has seen.
func (c *Client) Unneed(ctx context.Context, words ...string) error {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	return classify("srem", c.redis.SRem(ctx, c.ns+"oarlock:needs", args...).Err())
}

// QueuesWithKeys are the queues that have keys, in their order.
func (c *Client) QueuesWithKeys(ctx context.Context) ([]string, error) { return c.queuesIn(ctx, "o:") }

// RuledQueues are the queues that rules concern, or did and jobs stand by them still; in their order.
func (c *Client) RuledQueues(ctx context.Context) ([]string, error) { return c.queuesIn(ctx, "q:") }

// queuesIn are the queues of which something is said in oarlock:rules, behind a prefix.
func (c *Client) queuesIn(ctx context.Context, prefix string) ([]string, error) {
	fields, err := c.redis.HKeys(ctx, c.ns+"oarlock:rules").Result()
	if err != nil {
		return nil, harmless(classify("hkeys", err))
	}
	var names []string
	for _, field := range fields {
		if name, is := strings.CutPrefix(field, prefix); is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
