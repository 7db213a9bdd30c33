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
	Pending   []string      // jobs that wait for it by the protocol, longest first
	Waitlists []Waitlist    // of those that wait by rules, as Client.Waitlists has them
	Err       error         // what is wrong with its keys, of class Refused; nil if nothing is
}

// statesChunk is how many throttles are read in one round trip.
const statesChunk = 100

// ThrottleStates reads throttles, a hundred in a round trip, and more of those only that jobs wait for by rules. One that was never set has
// no limit, and the keys of one that somebody damaged keep the others from nothing. It changes nothing.
func (c *Client) ThrottleStates(ctx context.Context, ids ...string) ([]ThrottleState, error) {
	states := make([]ThrottleState, 0, len(ids))
	for some := range slices.Chunk(ids, statesChunk) {
		pipe := c.redis.Pipeline()
		asked := make([]stateAsked, len(some))
		for i, id := range some {
			asked[i] = c.askState(ctx, pipe, id)
		}
		_, _ = pipe.Exec(ctx) // each has its own error
		for i, id := range some {
			state, err := asked[i].read(id)
			if err == nil && asked[i].waited.Val() {
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
	limit            limitAsked
	ttl              *redis.DurationCmd
	holders, pending *redis.StringSliceCmd
	waited           *redis.BoolCmd
}

func (c *Client) askState(ctx context.Context, pipe redis.Pipeliner, id string) stateAsked {
	key := c.ns + "th:" + id
	return stateAsked{
		c.askLimit(ctx, pipe, id), pipe.TTL(ctx, key), pipe.ZRange(ctx, key+"-locks", 0, -1), pipe.ZRange(ctx, key+"-pending", 0, -1),
		pipe.SIsMember(ctx, c.ns+"oarlock:waited", id),
	}
}

// read is the answer, but for the waitlists.
func (a *stateAsked) read(id string) (ThrottleState, error) {
	for _, cmd := range []redis.Cmder{a.ttl, a.holders, a.pending, a.waited} {
		if err := cmd.Err(); err != nil {
			return ThrottleState{RuledLimit: RuledLimit{ID: id}}, harmless(classify(cmd.Name(), err))
		}
	}
	limit, err := a.limit.read(id)
	return ThrottleState{RuledLimit: limit, TTL: max(0, a.ttl.Val()), Holders: readHolders(a.holders.Val()), Pending: a.pending.Val()}, harmless(err)
}
