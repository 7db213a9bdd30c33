package queue

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

const (
	// scanKeys is through how many keys of Redis is looked in one call, which takes it half a millisecond.
	scanKeys = 500
	// scanTime is for how long is looked through keys for one answer.
	scanTime = 15 * time.Millisecond
)

// ThrottleNames are the names of some throttles, most of them at most or a few more, sorted: first those of which the rules say something, or
// for which somebody waits, then what the keys of Redis tell, through as many of which is looked as a moment allows, for the protocol
// keeps no list of its throttles: that may be nothing, though there are more. It begins with the cursor "", and goes on with what it returns until
// that is "". One that is there all the while is met once, or more often; some may have no limit. It changes nothing.
func (c *Client) ThrottleNames(ctx context.Context, cursor string, most int) (ids []string, next string, err error) {
	known, ruled, err := c.knownThrottles(ctx)
	if err != nil {
		return nil, "", err
	}
	stage, after, _ := strings.Cut(cursor, " ")
	if stage == "" {
		more := false
		if ids, more = firstBehind(known, after, most); more {
			return ids, " " + ids[len(ids)-1], nil
		}
		stage, after = "0", ""
	}
	at, err := strconv.ParseUint(stage, 10, 64)
	if err != nil {
		return nil, "", ErrCursor
	}
	scanned, next, err := c.scanThrottles(ctx, ruled, at, after, most-len(ids))
	ids = append(slices.Clone(ids), scanned...)
	slices.Sort(ids)
	return slices.Compact(ids), next, err
}

// scanThrottles goes on behind the name after among the keys that Redis tells for a cursor, but for those of the rules, which were met before. One for
// which somebody waits may not have been: whoever waits now may have come since.
func (c *Client) scanThrottles(ctx context.Context, ruled []string, at uint64, after string, most int) (ids []string, next string, err error) {
	node, err := c.nodeOfKeys(ctx)
	if err != nil {
		return nil, "", harmless(classify("scan", err))
	}
	for began := time.Now(); ; {
		keys, then, err := node.Scan(ctx, at, wire.Literal(c.ns+"th:")+"*", scanKeys).Result()
		if err != nil {
			return nil, "", harmless(classify("scan", err))
		}
		found, err := c.throttlesOf(ctx, keys)
		if err != nil {
			return nil, "", err
		}
		found = slices.DeleteFunc(found, func(id string) bool {
			_, is := slices.BinarySearch(ruled, id)
			return is
		})
		slices.Sort(found)
		some, more := firstBehind(slices.Compact(found), after, most-len(ids))
		ids = append(ids, some...)
		switch {
		case more && len(some) > 0:
			next = strconv.FormatUint(at, 10) + " " + some[len(some)-1]
		case more:
			next = strconv.FormatUint(at, 10) + " " + after
		case then != 0 && (len(ids) >= most || time.Since(began) > scanTime):
			next = strconv.FormatUint(then, 10)
		case then != 0:
			at, after = then, ""
			continue
		}
		slices.Sort(ids)
		return slices.Compact(ids), next, nil
	}
}

// throttlesOf are the throttles that keys belong to. A name may end as the keys of holders and waiters do: then the key is a hash.
func (c *Client) throttlesOf(ctx context.Context, keys []string) ([]string, error) {
	ids := make([]string, len(keys))
	pipe := c.redis.Pipeline()
	hashes := map[int]*redis.BoolCmd{}
	for i, key := range keys {
		ids[i] = strings.TrimPrefix(key, c.ns+"th:")
		if strings.HasSuffix(key, "-locks") || strings.HasSuffix(key, "-pending") {
			hashes[i] = pipe.HExists(ctx, key, "maximum")
		}
	}
	if len(hashes) == 0 {
		return ids, nil
	}
	_, _ = pipe.Exec(ctx) // each has its own error
	for i, hash := range hashes {
		if err := harmless(classify("hexists", hash.Err())); err != nil && Class(err) != Refused {
			c.noteReach(err)
			return nil, err
		}
		if !hash.Val() {
			ids[i] = strings.TrimSuffix(strings.TrimSuffix(ids[i], "-locks"), "-pending")
		}
	}
	return ids, nil
}

// firstBehind are the first of sorted names that come behind one, so many at most; more tells that there are others.
func firstBehind(names []string, after string, most int) (some []string, more bool) {
	if after != "" {
		at, is := slices.BinarySearch(names, after)
		if is {
			at++
		}
		names = names[at:]
	}
	if len(names) > most {
		return names[:most], true
	}
	return names, false
}

// knownThrottles are those of which the rules say something, and those for which somebody waits by them; and the former alone; sorted.
func (c *Client) knownThrottles(ctx context.Context) (known, ruled []string, err error) {
	pipe := c.redis.Pipeline()
	fields, waited := pipe.HKeys(ctx, c.ns+"oarlock:rules"), pipe.SMembers(ctx, c.ns+"oarlock:waited")
	_, _ = pipe.Exec(ctx) // each has its own error
	for _, err := range []error{harmless(classify("hkeys", fields.Err())), harmless(classify("smembers", waited.Err()))} {
		if err != nil && Class(err) != Refused { // of damaged ones the keys tell
			c.noteReach(err)
			return nil, nil, err
		}
	}
	for _, field := range fields.Val() {
		if id, is := strings.CutPrefix(field, "t:"); is {
			ruled = append(ruled, id)
		}
	}
	slices.Sort(ruled)
	known = slices.Concat(ruled, waited.Val())
	slices.Sort(known)
	return slices.Compact(known), ruled, nil
}

// CountThrottles reads those of some throttles that have a limit, or rules; by name.
func (c *Client) CountThrottles(ctx context.Context, ids []string) (found []ThrottleCounts, err error) {
	for some := range slices.Chunk(ids, groupsChunk) {
		counted, err := c.countThrottles(ctx, some)
		if err != nil {
			return nil, err
		}
		found = append(found, counted...)
	}
	slices.SortFunc(found, func(a, b ThrottleCounts) int { return cmp.Compare(a.ID, b.ID) })
	return found, nil
}
