package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// merged is a queue q in which four payloads have merged into one job of the key k, and three into another of the key l, which is
// of all of them. It returns the jids of both.
func merged(t *testing.T) (p patient, db *redis.Client, k, l string) {
	t.Helper()
	p = blankPatient(t, redistest.Shared(t))
	put := func(key string, merge queue.Merge, n int) (jid string) {
		for i := range n {
			data, score := fmt.Appendf(nil, `"%s%d"`, key, i), float64(i)
			if i == 2 {
				data = fmt.Appendf(nil, `"%s%d %s"`, key, i, strings.Repeat("x", 50))
			}
			results, err := p.client.PutAll(t.Context(), []queue.Put{{Queue: "q", Klass: "K", Key: key, Merge: merge, Score: &score, Data: data}})
			if err != nil || results[0].Err != nil {
				t.Fatal(results, err)
			}
			jid = results[0].JID
		}
		return jid
	}
	return p, p.server.Client(t), put("k", queue.MergeSet, 4), put("l", queue.MergeAll, 3)
}

// TestPayloadsOfDamagedRuns damages by hand what holds payloads that merged: it is said, a repair does what it says, and then a worker is
// given each payload that is left, once, those of a key in the order of their scores where they are in one job.
func TestPayloadsOfDamagedRuns(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil string // in Lua, k and l are the keys of the jobs
		says  []string
		gone  []string // payloads of which nothing is left, or that another client was given
	}{
		{name: "nothing", spoil: ""},
		{name: "no data", spoil: `redis.call('HDEL', k, 'data')`, says: []string{"K has no data, and 3 payloads of puts that merged: the oldest of them is its data"}, gone: []string{"k0"}},
		{name: "payloads without a job", spoil: `redis.call('HDEL', k, 'data', 'jid', 'state', 'queue', 'oarlock-load', 'oarlock-merge', 'oarlock-first', 'oarlock-queue')`,
			says: []string{"ql:q:q-work names K , but there is no such job", "K has no data, and 3 payloads of puts that merged: the oldest of them is its data, and it waits for a worker"}, gone: []string{"k0"}},
		{name: "all is gone but one payload and its lane", spoil: `redis.call('HDEL', l, 'data', 'jid', 'state', 'queue', 'oarlock-load', 'oarlock-merge', 'oarlock-first', 'oarlock-queue')
			for i, f in ipairs(redis.call('HKEYS', l)) do if string.find(f, '^oarlock%-@') then redis.call('HDEL', l, f) break end end`,
			says: []string{"ql:q:q-work names L , but", "L has no data, and 1 payload of puts that merged"}, gone: []string{"l0", "l1 or l2"}},
		{name: "load gone", spoil: `redis.call('HDEL', k, 'oarlock-load')`, says: []string{"K has 4 payloads of puts that merged, and tells of 0: it tells of all again"}},
		{name: "load too small", spoil: `redis.call('HSET', k, 'oarlock-load', 4294967296 + 6)`, says: []string{"K has 4 payloads of puts that merged, and tells of 1"}},
		{name: "load too large", spoil: `redis.call('HSET', l, 'oarlock-load', 4294967296 * 9)`, says: []string{"L has 3 payloads of puts that merged, and tells of 9"}},
		{name: "load junk", spoil: `redis.call('HSET', l, 'oarlock-load', 'nan')`, says: []string{"L has 3 payloads of puts that merged, and tells of 0"}},
		{name: "mode gone", spoil: `redis.call('HDEL', k, 'oarlock-merge') redis.call('HDEL', l, 'oarlock-merge')`, says: []string{"K has 4 payloads", "L has 3 payloads"}},
		{name: "mode junk", spoil: `redis.call('HSET', l, 'oarlock-merge', 'sum')`, says: []string{"L has 3 payloads"}},
		{name: "first gone", spoil: `redis.call('HDEL', k, 'oarlock-first') redis.call('HSET', l, 'oarlock-first', 'x')`, says: []string{"K has 4 payloads", "L has 3 payloads"}},
		{name: "payloads gone", spoil: `redis.call('HDEL', k, 'oarlock-="k1"', 'oarlock-="k3"')`, says: []string{"K has 2 payloads of puts that merged, and tells of 4"}, gone: []string{"k1", "k3"}},
		{name: "a short payload is junk", spoil: `redis.call('HSET', k, 'oarlock-="k3"', 'junk', 'oarlock-load', 0)`, says: []string{"K has 4 payloads of puts that merged, and tells of 0"}},
		{name: "completed past its key", spoil: `redis.call('HSET', k, 'state', 'complete', 'queue', '', 'oarlock-lane', '=1:q: k') redis.call('ZREM', 'ql:q:q-work', K)
			redis.call('ZADD', 'ql:completed', 1, K) redis.call('HDEL', 'ql:oarlock:turns:q', 'k')`,
			says: []string{"K is complete, and nobody was given 3 payloads that had merged into it: they are job K.1"}, gone: []string{"k0"}},
		{name: "completed, and another has the turn", spoil: `redis.call('HSET', k, 'state', 'complete', 'queue', '') redis.call('ZREM', 'ql:q:q-work', K)
			redis.call('ZADD', 'ql:completed', 1, K) redis.call('HSET', 'ql:oarlock:turns:q', 'k', '!0 - ')`,
			says: []string{"K is complete, and nobody was given 3 payloads"}, gone: []string{"k0"}},
		{name: "moved by who knew of the first", spoil: `redis.call('HSET', k, 'queue', 'q', 'oarlock-queue', 'was', 'oarlock-lane', '=3:was: k') redis.call('HDEL', 'ql:oarlock:turns:q', 'k')`,
			says: []string{"K went on to queue q, and nobody was given 3 payloads that had merged into it: they are job K.1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, db, k, l := merged(t)
			spoil := fmt.Sprintf("local K, L, k, l = '%s', '%s', 'ql:j:%s', 'ql:j:%s' ", k, l, k, l) + tt.spoil
			if err := db.Eval(t.Context(), spoil, nil).Err(); err != nil && err != redis.Nil {
				t.Fatal(err)
			}
			says := slices.Clone(tt.says)
			for i := range says {
				says[i] = strings.NewReplacer("K ,", k+",", "L ,", l+",", "K ", k+" ", "L ", l+" ", "K.", k+".").Replace(says[i])
			}
			p.mended(t, says)
			p.givesAll(t, tt.gone)
		})
	}
}

// givesAll works all there is, and looks whether each payload but these was given once.
func (p patient) givesAll(t *testing.T, gone []string) {
	t.Helper()
	s := p.client.Session("w")
	defer s.Close()
	var given []string
	var settle []queue.Settlement
	for idle := 0; idle < 2; idle++ {
		must.Get(p.client.Tend(t.Context(), []string{"q", "was"}, nil, 0))(t)
		reply, err := s.Exchange(t.Context(), settle, queue.Take{Queues: []string{"q", "was"}, Count: 9})
		if err != nil || len(reply.Broken) > 0 {
			t.Fatal(reply.Broken, err)
		}
		settle = nil
		for _, job := range reply.Jobs {
			idle = 0
			var list []string
			if err := json.Unmarshal(job.Data, &list); err != nil || len(list) != max(len(job.Scores), 1) {
				t.Errorf("%s is given %s, with scores %v, damage %q", job.JID, job.Data, job.Scores, job.Damage)
			}
			if job.Merge != "" && !slices.IsSorted(list) && !strings.Contains(t.Name(), "junk") {
				t.Errorf("%s is given %q", job.JID, list)
			}
			given = append(given, list...)
			settle = append(settle, queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Key: job.Key, Action: queue.Complete})
		}
	}
	for i, one := range given {
		given[i], _, _ = strings.Cut(one, " ")
	}
	slices.Sort(given)
	want := slices.DeleteFunc([]string{"k0", "k1", "k2", "k3", "l0", "l1", "l2"}, func(one string) bool { return slices.Contains(gone, one) })
	if slices.Contains(gone, "l1 or l2") {
		for i, one := range given {
			if one == "l2" {
				given[i] = "l1"
			}
		}
		want = slices.DeleteFunc(want, func(one string) bool { return one == "l2" })
	}
	if !slices.Equal(given, want) {
		t.Errorf("given were %q, want %q", given, want)
	}
}

// TestAPayloadThatCannotBeRead is said, and nobody touches it: what is left of it may tell a person something.
func TestAPayloadThatCannotBeRead(t *testing.T) {
	p, db, k, _ := merged(t)
	db.Eval(t.Context(), `for _, f in ipairs(redis.call('HKEYS', 'ql:j:' .. ARGV[1])) do
		if string.find(f, '^oarlock%-#') then redis.call('HSET', 'ql:j:' .. ARGV[1], f, 'junk') end end`, nil, k)
	before := db.HGetAll(t.Context(), "ql:j:"+k).Val()
	found := p.examine(t, true, func(d *Doctor) error { return d.Keys(t.Context()) })
	if len(found) != 1 || !strings.HasPrefix(found[0].Text, k+" has a payload that cannot be read, in its field oarlock-#") || found[0].Level != Bad {
		t.Errorf("found %+v", found)
	}
	if after := db.HGetAll(t.Context(), "ql:j:"+k).Val(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("it was %v, and is %v", before, after)
	}
}
