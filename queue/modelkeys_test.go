package queue

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
)

// keyspace is what the model remembers in place of Redis. A map that is empty stands
// for a key that does not exist.
//
// Values of hash fields and list entries are strings, or jsonText where the order of
// members is whatever a Lua table makes of it.
type keyspace struct {
	hashes map[string]map[string]any
	zsets  map[string]map[string]float64
	sets   map[string]map[string]bool
	lists  map[string][]any
	ttls   map[string]float64 // seconds, of hashes that have one
}

// jsonText is JSON of which only the meaning is known.
type jsonText struct{ value any }

func newKeyspace() *keyspace {
	return &keyspace{
		hashes: make(map[string]map[string]any),
		zsets:  make(map[string]map[string]float64),
		sets:   make(map[string]map[string]bool),
		lists:  make(map[string][]any),
		ttls:   make(map[string]float64),
	}
}

// hash returns the hash of a key for reading and writing.
func (k *keyspace) hash(key string) map[string]any {
	if k.hashes[key] == nil {
		k.hashes[key] = make(map[string]any)
	}
	return k.hashes[key]
}

func (k *keyspace) zset(key string) map[string]float64 {
	if k.zsets[key] == nil {
		k.zsets[key] = make(map[string]float64)
	}
	return k.zsets[key]
}

func (k *keyspace) set(key string) map[string]bool {
	if k.sets[key] == nil {
		k.sets[key] = make(map[string]bool)
	}
	return k.sets[key]
}

// ranked lists the members of a sorted set by score, equal ones by name.
func (k *keyspace) ranked(key string) []string {
	scores := k.zset(key)
	return slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[a], scores[b]), cmp.Compare(a, b))
	})
}

// between lists the members with a score in [low, high], lowest first, at most limit;
// a negative limit means all.
func (k *keyspace) between(key string, low, high, limit float64) []string {
	var found []string
	for _, member := range k.ranked(key) {
		if score := k.zset(key)[member]; score >= low && score <= high && (limit < 0 || float64(len(found)) < limit) {
			found = append(found, member)
		}
	}
	return found
}

// add puts members into a sorted set at one score.
func (k *keyspace) add(key string, score float64, members ...string) {
	for _, m := range members {
		k.zset(key)[m] = score
	}
}

// addNew puts a member into a sorted set unless it is there.
func (k *keyspace) addNew(key string, score float64, member string) {
	if _, ok := k.zset(key)[member]; !ok {
		k.add(key, score, member)
	}
}

// count adds n to an integer field of a hash.
func (k *keyspace) count(key, field string, n int64) {
	old, _ := k.hash(key)[field].(string)
	i, _ := strconv.ParseInt(old, 10, 64)
	k.hash(key)[field] = strconv.FormatInt(i+n, 10)
}

// clamp is how Redis reads the two ends of a range of n: negative ones count from
// the end. It returns a half-open range.
func clamp(start, stop, n int) (from, to int) {
	if start < 0 {
		start = max(0, start+n)
	}
	if stop < 0 {
		stop += n
	}
	from, to = start, min(stop+1, n)
	if from >= to {
		return 0, 0
	}
	return from, to
}

// cut is the part of a list that Redis returns for start and stop.
func cut[T any](list []T, start, stop int) []T {
	from, to := clamp(start, stop, len(list))
	return list[from:to]
}

// reversed is a copy of a list, last first.
func reversed[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// recorded shows everything in the form of a recorded keyspace.
func (k *keyspace) recorded() map[string]storedKey {
	keys := make(map[string]storedKey)
	for name, fields := range k.hashes {
		if len(fields) > 0 {
			value := make(map[string]any, len(fields))
			for f, v := range fields {
				value[f] = recordedText(v)
			}
			keys[name] = storedKey{Type: "hash", Value: value, TTL: k.ttls[name]}
		}
	}
	for name, scores := range k.zsets {
		if len(scores) > 0 {
			pairs := []any{}
			for _, m := range k.ranked(name) {
				pairs = append(pairs, []any{m, strconv.FormatFloat(scores[m], 'g', -1, 64)})
			}
			keys[name] = storedKey{Type: "zset", Value: pairs}
		}
	}
	for name, members := range k.sets {
		if len(members) > 0 {
			value := []any{}
			for _, m := range slices.Sorted(maps.Keys(members)) {
				value = append(value, m)
			}
			keys[name] = storedKey{Type: "set", Value: value}
		}
	}
	for name, entries := range k.lists {
		if len(entries) > 0 {
			value := make([]any, len(entries))
			for i, e := range entries {
				value[i] = recordedText(e)
			}
			keys[name] = storedKey{Type: "list", Value: value}
		}
	}
	return keys
}

func recordedText(v any) any {
	if j, ok := v.(jsonText); ok {
		return map[string]any{"$json": plainJSON(j.value)}
	}
	return v
}

// span turns an offset and a count into the ends of a range, as numbers Redis takes.
func span(offset, count float64) (start, stop int) {
	return whole(offset), whole(offset + count - 1)
}

// whole is a number handed to Redis where it wants an integer.
func whole(f float64) int {
	if f != math.Trunc(f) || math.Abs(f) >= 1e17 {
		refuse("value is not an integer or out of range")
	}
	return int(f)
}
