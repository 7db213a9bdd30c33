package queue

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// ThrottleState is how a throttle stands.
type ThrottleState struct {
	RuledLimit
	TTL       time.Duration // until it is forgotten, and with it the limit; 0 means never
	Holders   []Holder      // with how many of its places
	Pending   []string      // jobs that wait for it by the protocol, longest first; a thousand at most
	Waiting   int           // how many those are
	Waitlists []Waitlist    // of those that wait by rules, as Client.Waitlists has them
	Err       error         // what is wrong with its keys, of class Refused; nil if nothing is
}

// statesChunk is how many throttles are read in one round trip.
const statesChunk = 100

// mostPending is how many of the jobs that wait for a throttle by the protocol are named.
const mostPending = 1000

// ThrottleStates reads throttles, a hundred in a round trip, with four commands for each and one for all; more of those only for which
// jobs wait by rules, or very many. One that was never set has no limit, and the keys of one that somebody damaged keep the others from
// nothing. It changes nothing.
func (c *Client) ThrottleStates(ctx context.Context, ids ...string) ([]ThrottleState, error) {
	states := make([]ThrottleState, 0, len(ids))
	var waited *redis.StringSliceCmd
	waitedFor := map[string]bool{}
	for some := range slices.Chunk(ids, statesChunk) {
		pipe := c.redis.Pipeline()
		asked := make([]stateAsked, len(some))
		for i, id := range some {
			asked[i] = c.askState(ctx, pipe, id)
		}
		if waited == nil {
			waited = pipe.SMembers(ctx, c.ns+"oarlock:waited")
		}
		_, _ = pipe.Exec(ctx) // each has its own error
		if len(states) == 0 {
			for _, id := range waited.Val() {
				waitedFor[id] = true
			}
		}
		for i, id := range some {
			state, err := asked[i].read(id)
			if err == nil {
				err = harmless(classify("smembers", waited.Err()))
			}
			if err == nil && state.Waiting > mostPending {
				state.Waiting, err = c.countPending(ctx, id)
			}
			if err == nil && waitedFor[id] {
				state.Waitlists, err = c.Waitlists(ctx, id)
			}
			if Class(err) == Refused {
				state.Err, err = err, nil
			}
			if err != nil {
				c.noteReach(err)
				return nil, err
			}
			states = append(states, state)
		}
	}
	return states, nil
}

// stateAsked is what a pipeline was asked of one throttle.
type stateAsked struct {
	limit            *redis.SliceCmd
	ttl              *redis.DurationCmd
	holders, pending *redis.StringSliceCmd
}

func (c *Client) askState(ctx context.Context, pipe redis.Pipeliner, id string) stateAsked {
	key := c.ns + "th:" + id
	return stateAsked{
		pipe.HMGet(ctx, key, limitFields...), pipe.TTL(ctx, key), pipe.ZRange(ctx, key+"-locks", 0, -1), pipe.ZRange(ctx, key+"-pending", 0, mostPending),
	}
}

// read is the answer, but for the waitlists, and for the number of those pending where they are too many to be named.
func (a *stateAsked) read(id string) (ThrottleState, error) {
	for _, cmd := range []redis.Cmder{a.limit, a.ttl, a.holders, a.pending} {
		if err := cmd.Err(); err != nil {
			return ThrottleState{RuledLimit: RuledLimit{ID: id}}, harmless(classify(cmd.Name(), err))
		}
	}
	limit, err := readLimit(id, a.limit.Val(), len(a.holders.Val()))
	pending := a.pending.Val()
	return ThrottleState{
		RuledLimit: limit, TTL: max(0, a.ttl.Val()), Holders: readHolders(a.holders.Val()), Pending: pending[:min(len(pending), mostPending)], Waiting: len(pending),
	}, harmless(err)
}

// countPending is how many jobs wait for a throttle by the protocol.
func (c *Client) countPending(ctx context.Context, id string) (int, error) {
	n, err := c.redis.ZCard(ctx, c.ns+"th:"+id+"-pending").Result()
	return int(n), harmless(classify("zcard", err))
}
