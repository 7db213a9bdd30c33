package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/queue/internal/wire"
)

// ListEntry is an entry of a list, wherever it stands.
type ListEntry struct {
	Entry string
	// Since is when it was put into work, or found to be broken; 0 of others, or where that cannot be read.
	Since float64
	// Waits says that it is not in work, but put off until Since and the list's timeout.
	Waits   bool
	Failure *ListFailure // why it failed; nil of others, and where nobody told
	Reason  string       // why it is broken; "" of others, and where nobody told
	Times   int          // how many that are alike it stands for: 1, but for broken ones
}

// KnownLists finds the lists that were worked or taken in, by their companions, and the lists of hworkers. It reads the
// names of all keys, some at a time. A list that only waits, and of no hworker, is not told from others.
func (c *Client) KnownLists(ctx context.Context) ([]string, error) {
	var known []string
	for cursor := ""; ; {
		some, next, err := c.KnownListsFrom(ctx, cursor)
		if err != nil {
			return nil, err
		}
		known = append(known, some...)
		if cursor = next; cursor == "" {
			slices.Sort(known)
			return slices.Compact(known), nil
		}
	}
}

const (
	// listScanKeys is through how many keys of Redis is looked in one call.
	listScanKeys = 250
	// listsFound is after how many lists no more keys are looked through for one answer.
	listsFound = 50
)

// listPatterns match the keys that tell of lists, one after the other.
func (c *Client) listPatterns() []string {
	return []string{"hworker-*", wire.Literal(c.ns+"oarlock:") + "*"}
}

// KnownListsFrom is KnownLists as far as a moment allows, sorted: that may be nothing, though there are more. It begins with the cursor
// "", and goes on with what it returns until that is "". A list that is there all the while is met once, or more often.
func (c *Client) KnownListsFrom(ctx context.Context, cursor string) (names []string, next string, err error) {
	patterns, at := c.listPatterns(), cmp.Or(cursor, "0 0")
	node, err := c.nodeOfKeys(ctx)
	if err != nil {
		return nil, "", harmless(classify("scan", err))
	}
	known := map[string]bool{}
	for began := time.Now(); at != "" && len(known) < listsFound && time.Since(began) < scanTime; {
		number, key, _ := strings.Cut(at, " ")
		n, wrong := strconv.ParseUint(number, 10, 8)
		scan, odd := strconv.ParseUint(key, 10, 64)
		if wrong != nil || odd != nil || n >= uint64(len(patterns)) {
			return nil, "", ErrCursor
		}
		page, then, err := node.Scan(ctx, scan, patterns[n], listScanKeys).Result()
		if err != nil {
			return nil, "", harmless(classify("scan", err))
		}
		for _, key := range page {
			if name := c.listOfKey(key); name != "" {
				known[name] = true
			}
		}
		switch {
		case then != 0:
			at = fmt.Sprint(n, " ", then)
		case n+1 < uint64(len(patterns)):
			at = fmt.Sprint(n+1, " 0")
		default:
			at = ""
		}
	}
	return slices.Sorted(maps.Keys(known)), at, nil
}

// ShowsList reports whether Redis shows that a list is one that somebody works or takes in: it is an hworker's by its name, or something
// is kept beside it.
func (c *Client) ShowsList(ctx context.Context, list string) (bool, error) {
	if hworkerOf(list) != "" {
		return true, nil
	}
	k := c.listKeys(list)
	n, err := c.redis.Exists(ctx, k.progress, k.failed, k.broken, k.why, k.reasons, k.tries).Result()
	return n > 0, harmless(classify("exists", err))
}

// listOfKey is the list that a key tells of; "" if it tells of none.
func (c *Client) listOfKey(key string) string {
	for _, part := range []string{"jobs", "progress", "broken", "failed"} {
		if name, is := strings.CutPrefix(key, "hworker-"+part+"-"); is && name != "" {
			return hworkerPrefix + name
		}
	}
	for _, part := range []string{"progress", "failed", "broken", "reasons", "tries"} {
		if name, is := strings.CutPrefix(key, c.ns+"oarlock:"+part+":"); is {
			return name
		}
	}
	return ""
}

// ListWaiting is a window on what waits in a list, the next first.
func (c *Client) ListWaiting(ctx context.Context, list string, offset, limit int) ([]ListEntry, error) {
	found, err := c.redis.LRange(ctx, ListKey(list), int64(-offset-limit), int64(-1-offset)).Result()
	slices.Reverse(found)
	return plainEntries(found), harmless(classify("lrange", err))
}

func plainEntries(found []string) []ListEntry {
	entries := make([]ListEntry, len(found))
	for i, entry := range found {
		entries[i] = ListEntry{Entry: entry, Times: 1}
	}
	return entries
}

// ListInWork is a window on what is in work of a list, in work longest first. All of it is read for that.
func (c *Client) ListInWork(ctx context.Context, l string, offset, limit int) ([]ListEntry, error) {
	var entries []ListEntry
	err := c.eachField(ctx, c.listKeys(l).progress, func(page []string) error {
		for i := 0; i+1 < len(page); i += 2 {
			if page[i] == noEntry && isHworker(l) {
				continue
			}
			since, tag, _ := readStamp(page[i+1])
			entries = append(entries, ListEntry{Entry: page[i], Since: since, Waits: tag == laterTag, Times: 1})
		}
		return nil
	})
	return oldest(entries, offset, limit), err
}

// BrokenLooked is how many of the entries that are broken ListBroken looks at, give or take some: there may be any number.
const BrokenLooked = 2000

// errEnough ends a look at the fields of a hash.
var errEnough = errors.New("enough is read")

// ListBroken is a window on what is broken of a list, broken longest first; of more than BrokenLooked, on so many of them.
func (c *Client) ListBroken(ctx context.Context, l string, offset, limit int) ([]ListEntry, error) {
	var entries []ListEntry
	err := c.eachField(ctx, c.listKeys(l).broken, func(page []string) error {
		for i := 0; i+1 < len(page); i += 2 {
			entries = append(entries, brokenEntry(l, page[i], page[i+1]))
		}
		if len(entries) >= BrokenLooked {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	some := oldest(entries, offset, limit)
	if err == nil && hworkerOf(l) != "" {
		err = c.readWhy(ctx, l, some)
	}
	return some, err
}

// readWhy says of broken entries of an hworker's list why they are, as far as somebody kept it.
func (c *Client) readWhy(ctx context.Context, l string, entries []ListEntry) error {
	if len(entries) == 0 {
		return nil
	}
	names := make([]string, len(entries))
	for i := range entries {
		names[i] = entries[i].Entry
	}
	told, err := c.redis.HMGet(ctx, c.listKeys(l).why, names...).Result()
	if err != nil {
		return harmless(classify("hmget", err))
	}
	for i, text := range told {
		var kept BrokenEntry
		if text, is := text.(string); is && json.Unmarshal([]byte(text), &kept) == nil {
			entries[i].Reason = cmp.Or(kept.Reason, entries[i].Reason)
		}
	}
	return nil
}

// brokenEntry reads what is kept of an entry that is broken.
func brokenEntry(list, entry, text string) ListEntry {
	e := ListEntry{Entry: entry, Times: 1}
	var kept BrokenEntry
	if json.Unmarshal([]byte(text), &kept) == nil {
		e.Since, e.Reason, e.Times = kept.At, kept.Reason, max(kept.Times, 1)
	} else {
		e.Since, _, _ = readStamp(text)
	}
	if e.Reason == "" && hworkerOf(list) != "" {
		if _, _, err := ReadEnvelope(entry); err != nil {
			e.Reason = err.Error()
		}
	}
	return e
}

// oldest is a window on entries by the time that they have; each once, for a hash may tell of one twice.
func oldest(entries []ListEntry, offset, limit int) []ListEntry {
	slices.SortFunc(entries, func(a, b ListEntry) int {
		switch {
		case a.Since < b.Since:
			return -1
		case a.Since > b.Since:
			return 1
		}
		return strings.Compare(a.Entry, b.Entry)
	})
	entries = slices.CompactFunc(entries, func(a, b ListEntry) bool { return a.Entry == b.Entry })
	return entries[min(offset, len(entries)):min(offset+limit, len(entries))]
}

// ListFailed is a window on what failed of a list, newest first, with the reasons that are known.
func (c *Client) ListFailed(ctx context.Context, l string, offset, limit int) ([]ListEntry, error) {
	k := c.listKeys(l)
	pipe := c.redis.Pipeline()
	failed := pipe.LRange(ctx, k.failed, 0, int64(offset+limit-1))
	reasons := pipe.LRange(ctx, k.reasons, 0, -1)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, harmless(classify("lrange", err))
	}
	why := map[string][]*ListFailure{} // of each entry, newest first
	for _, text := range reasons.Val() {
		var f ListFailure
		if json.Unmarshal([]byte(text), &f) == nil {
			why[f.Entry] = append(why[f.Entry], &f)
		}
	}
	entries := plainEntries(failed.Val())
	for i := range entries {
		if of := why[entrySHA(entries[i].Entry)]; len(of) > 0 {
			entries[i].Failure, why[of[0].Entry] = of[0], of[1:]
		}
	}
	return entries[min(offset, len(entries)):], nil
}

// PushList pushes an entry to a list, as any program may, and returns it: of an hworker the envelope of data, under a
// new id.
func (c *Client) PushList(ctx context.Context, list string, data []byte) (entry string, err error) {
	entry = string(data)
	if hworkerOf(list) != "" {
		entry = Envelope(NewJID(), data)
	}
	return entry, classify("lpush", c.redis.LPush(ctx, ListKey(list), entry).Err())
}

// RetryListFailed puts what failed of a list back into it, the oldest first, and returns how many. Each is moved by itself
// and at once, so that it may be repeated after an error; why they had failed is forgotten in the end.
func (c *Client) RetryListFailed(ctx context.Context, l string) (retried int, err error) {
	k := c.listKeys(l)
	told, err := c.redis.LLen(ctx, k.reasons).Result()
	if err != nil {
		return 0, harmless(classify("llen", err))
	}
	n, err := c.redis.LLen(ctx, k.failed).Result()
	for ; n > 0 && err == nil; n-- {
		if err = c.redis.RPopLPush(ctx, k.failed, k.jobs).Err(); err == nil {
			retried++
		} else if isNull(err) {
			n, err = 0, nil
		}
	}
	if err != nil {
		return retried, harmless(classify("rpoplpush", err))
	}
	if told > 0 { // those of entries that fail meanwhile stand in front
		if err := c.redis.LTrim(ctx, k.reasons, 0, -1-told).Err(); err != nil {
			return retried, harmless(classify("ltrim", err))
		}
	}
	return retried, nil
}

// RetryListBroken is RetryListFailed of what is broken.
func (c *Client) RetryListBroken(ctx context.Context, l string) (retried int, err error) {
	type kept struct {
		ListEntry
		text string
	}
	k, all := c.listKeys(l), map[string]kept{} // a scan may tell of one twice
	if err := c.eachField(ctx, k.broken, func(page []string) error {
		for i := 0; i+1 < len(page); i += 2 {
			all[page[i]] = kept{brokenEntry(l, page[i], page[i+1]), page[i+1]}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	var moves []listMove
	bytes := 0
	send := func() error {
		n, err := c.moveListed(ctx, k.jobs, k.broken, moves)
		retried += n
		if k.why != k.broken && err == nil && len(moves) > 0 {
			names := make([]string, len(moves))
			for i, move := range moves {
				names[i] = move.entry
			}
			err = harmless(classify("hdel", c.redis.HDel(ctx, k.why, names...).Err()))
		}
		moves, bytes = moves[:0], 0
		return err
	}
	for _, e := range slices.SortedFunc(maps.Values(all), func(a, b kept) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), strings.Compare(a.Entry, b.Entry))
	}) {
		for n := e.Times; n > 0; n-- {
			move := listMove{e.Entry, e.text, "back"}
			if n > 1 {
				move.action, e.text = "one", withTimes(e.text, n-1)
			}
			moves = append(moves, move)
			if bytes += len(move.entry) + len(move.value); len(moves) == monitorPage || bytes > retriedBytes {
				if err := send(); err != nil {
					return retried, err
				}
			}
		}
	}
	return retried, send()
}

// retriedBytes is about how much is put back in one call.
const retriedBytes = 1 << 20

// withTimes is what is kept of a broken entry, as of another number of those that are alike: as with_times in Lua writes it.
func withTimes(text string, n int) string {
	if at := strings.LastIndex(text, `,"times":`); at >= 0 {
		text = text[:at] + "}"
	}
	if n > 1 {
		text = fmt.Sprintf(`%s,"times":%d}`, strings.TrimSuffix(text, "}"), n)
	}
	return text
}

// DropListFailed deletes what failed of a list, and returns how many entries that were.
func (c *Client) DropListFailed(ctx context.Context, l string) (int, error) {
	k := c.listKeys(l)
	pipe := c.redis.Pipeline()
	n := pipe.LLen(ctx, k.failed)
	pipe.Del(ctx, k.failed, k.reasons)
	_, err := pipe.Exec(ctx)
	return int(n.Val()), harmless(classify("del", err))
}

// DropListBroken deletes what is broken of a list, and returns how many entries that were, of those that are alike one.
func (c *Client) DropListBroken(ctx context.Context, l string) (int, error) {
	k := c.listKeys(l)
	pipe := c.redis.Pipeline()
	n := pipe.HLen(ctx, k.broken)
	pipe.Del(ctx, k.broken, k.why)
	_, err := pipe.Exec(ctx)
	return int(n.Val()), harmless(classify("del", err))
}

// DestroyList deletes a list, and all that is kept beside it.
func (c *Client) DestroyList(ctx context.Context, l string) error {
	k := c.listKeys(l)
	return harmless(classify("del", c.redis.Del(ctx, k.jobs, k.progress, k.failed, k.broken, k.why, k.reasons, k.tries).Err()))
}
