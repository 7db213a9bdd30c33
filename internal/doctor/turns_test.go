package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// ordered is a queue q with the keys "a b" and c: of the first a0 has the turn and a1 … a5 stand behind, of the other c0,
// and c1 and c2; s is of c, too, and delayed.
func ordered(t *testing.T, delay time.Duration) (patient, *redis.Client) {
	t.Helper()
	p := blankPatient(t, redistest.Shared(t))
	for n := range 6 {
		p.keyed(t, fmt.Sprint("a", n), "a b", 0)
	}
	for n := range 3 {
		p.keyed(t, fmt.Sprint("c", n), "c", 0)
	}
	if delay > 0 {
		p.keyed(t, "s", "c", delay)
	}
	return p, p.server.Client(t)
}

func (p patient) keyed(t *testing.T, jid, key string, delay time.Duration) {
	t.Helper()
	must.Get(p.client.Put(t.Context(), queue.Put{JID: jid, Queue: "q", Klass: "K", Key: key, Delay: delay}))(t)
}

// workAll works until so many jobs are complete, and tells in which order they began. A key has one that runs at most.
func (p patient) workAll(t *testing.T, jobs int) (began []string) {
	t.Helper()
	s := p.client.Session("w")
	defer s.Close()
	var settle []queue.Settlement
	for done := 0; done < jobs; {
		must.Do(t, t.Context().Err())
		must.Get(p.client.Tend(t.Context(), []string{"q"}, nil, 0))(t)
		reply, err := s.Exchange(t.Context(), settle, queue.Take{Queues: []string{"q"}, Count: 4})
		if err != nil || len(reply.Broken) > 0 {
			t.Fatal(reply.Broken, err)
		}
		done += len(settle)
		settle = nil
		for _, job := range reply.Jobs {
			began = append(began, job.JID)
			settle = append(settle, queue.Settlement{JID: job.JID, Queue: "q", Popped: job.Popped, Key: job.Key, Action: queue.Complete})
		}
		keys := map[string]string{}
		for _, job := range reply.Jobs {
			if other := keys[job.Key]; job.Key != "" && other != "" {
				t.Errorf("%s and %s of one key run side by side", other, job.JID)
			}
			keys[job.Key] = job.JID
		}
	}
	return began
}

const laneA, turnsQ = "ql:oarlock:lane:1:q:a b", "ql:oarlock:turns:q"

// TestKeysOfJobsInOrder damages by hand what orders jobs: it is said, each once, a repair says the same and does it, nothing is left to say, and then each
// job runs once, those of a key in their order.
func TestKeysOfJobsInOrder(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil string // in Lua
		says  []string
		gone  string // a job that is not there any more
		delay time.Duration
	}{
		{name: "nothing", spoil: ""},
		{name: "an entry is gone", spoil: `redis.call('LREM', lane, 1, redis.call('LINDEX', lane, 2))`,
			says: []string{"a3 stands behind others of key a b, and is not among them: stands there again"}},
		{name: "a lane is gone", spoil: `redis.call('DEL', lane)`, says: []string{
			"a1 stands behind others of key a b, where nobody is: stands there again", "a2 stands", "a3 stands", "a4 stands", "a5 stands"}},
		{name: "a lane is gone, and another job came", spoil: `redis.call('LTRIM', lane, 4, 4)`, says: []string{"a1 stands", "a2 stands", "a3 stands", "a4 stands"}},
		{name: "a turn is gone", spoil: `redis.call('DEL', turns)`, says: []string{
			"a0 says that it has the turn of key a b, which is not so: it has the turn again", "c0 says that it has the turn of key c, which is not so: it has"}},
		{name: "a turn is another's, who is not there", spoil: `redis.call('HSET', turns, 'a b', '=another')`, says: []string{"a0 says that it has the turn"}},
		{name: "a turn is nobody's", spoil: `redis.call('HSET', turns, 'a b', 'nonsense')`, says: []string{"a0 says that it has the turn"}},
		{name: "two say that they have it", spoil: `redis.call('HSET', 'ql:j:a1', 'oarlock-lane', '+1:q: a b') redis.call('LPOP', lane) redis.call('HINCRBY', behind, 'q', -1)
			redis.call('ZADD', 'ql:q:q-work', -0.17, 'a1')`,
			says: []string{"a1 says that it has the turn of key a b, which is not so: joins those of its key at the end"}},
		{name: "who had the turn is gone with it", spoil: `redis.call('HDEL', turns, 'a b') redis.call('DEL', 'ql:j:a0', 'ql:j:a0-history') redis.call('ZREM', 'ql:q:q-work', 'a0')`,
			says: []string{"key a b of queue q has 5 jobs that stand behind others, and nobody has its turn: the first of them gets it when a supervisor looks next"}, gone: "a0"},
		{name: "nobody looks after keys", spoil: `redis.call('DEL', lanes)`, says: []string{
			"key a b of queue q has 5 jobs that stand behind others, and nobody looks after it: it is looked after again", "key c of queue q has 2 jobs"}},
		{name: "too many are counted", spoil: `redis.call('HSET', behind, 'q', 99)`,
			says: []string{`ql:oarlock:behind counts "99" jobs of queue q that stand behind others of their keys, and there are 7: it counts them anew`}},
		{name: "none is counted", spoil: `redis.call('DEL', behind)`, says: []string{`ql:oarlock:behind counts "0" jobs`}},
		{name: "what is counted is no number", spoil: `redis.call('HSET', behind, 'q', 'x')`, says: []string{`ql:oarlock:behind counts "x" jobs`}},
		{name: "a queue is counted that has none", spoil: `redis.call('HSET', behind, 'other', 3)`, says: []string{`ql:oarlock:behind counts "3" jobs of queue other`}},
		{name: "one that stands behind is in the work set", spoil: `redis.call('ZADD', 'ql:q:q-work', 5, 'a2')`,
			says: []string{"a2 stands behind others of key a b, and is in ql:q:q-work: taken out of that; it stands where it stood"}},
		{name: "and in the schedule", spoil: `redis.call('ZADD', 'ql:q:q-scheduled', 5, 'a2')`, says: []string{"a2 stands behind others of key a b, and is in ql:q:q-scheduled"}},
		{name: "nobody says that the queue has keys", spoil: `redis.call('DEL', 'ql:oarlock:rules')`,
			says: []string{"queue q has jobs with keys, and Redis does not say so: nobody looks after them: it is said again, without other settings of its order"}},
		{name: "what is said of its order cannot be read", spoil: `redis.call('HSET', 'ql:oarlock:rules', 'o:q', 'order=key turns=fairer after_fail=next run_bytes=x')`,
			says: []string{"queue q has an order of which this cannot be read: turns=fairer run_bytes=x: it is order=key after_fail=next"}},
		{name: "a queue without jobs has an order of junk", spoil: `redis.call('HSET', 'ql:oarlock:rules', 'o:empty', '\0\255 merge=sum score=max')`,
			says: []string{"queue empty has an order of which this cannot be read: "}},
		{name: "a ghost stays", spoil: `redis.call('HSET', turns, 'k', '!9999999999 - gone') redis.call('HSET', 'ql:config', 'heartbeat', 1)`,
			says: []string{"key k of queue q has a turn that is kept for an attempt longer than any lock lasts: it goes on when a lock of now would have ended"}},
		{name: "a ghost stays before those behind", spoil: `redis.call('HSET', turns, 'a b', '!inf 17.5 a0') redis.call('HSET', 'ql:config', 'q-heartbeat', 1)
			redis.call('DEL', 'ql:j:a0', 'ql:j:a0-history') redis.call('ZREM', 'ql:q:q-work', 'a0')`,
			says: []string{"key a b of queue q has a turn that is kept for an attempt longer"}, gone: "a0"},
		{name: "a shelved job has lost its key", spoil: `redis.call('HDEL', 'ql:j:s', 'oarlock-lane')`, delay: 300 * time.Millisecond,
			says: []string{"s is shelved, as delayed jobs with a key are, and has none: it is due when it was to be"}},
		{name: "all is gone", spoil: `redis.call('DEL', turns, lanes, lane, behind, 'ql:oarlock:lane:1:q:c', 'ql:oarlock:rules')`, delay: 300 * time.Millisecond, says: []string{
			"queue q has jobs with keys", "a0 says", "c0 says", "a1 stands", "a2 stands", "a3 stands", "a4 stands", "a5 stands", "c1 stands", "c2 stands", "ql:oarlock:behind counts \"0\""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, db := ordered(t, tt.delay)
			spoil := fmt.Sprintf("local lane, turns, lanes, behind = '%s', '%s', 'ql:oarlock:lanes:q', 'ql:oarlock:behind' ", laneA, turnsQ) + tt.spoil
			if err := db.Eval(t.Context(), spoil, nil).Err(); err != nil && err != redis.Nil {
				t.Fatal(err)
			}
			p.mended(t, tt.says)
			jids := []string{"a0", "a1", "a2", "a3", "a4", "a5", "c0", "c1", "c2"}
			if tt.delay > 0 {
				jids = append(jids, "s")
			}
			jids = slices.DeleteFunc(jids, func(jid string) bool { return jid == tt.gone })
			p.runInOrder(t, db, jids)
		})
	}
}

// mended looks, repairs and looks again: what is found begins with these words, in any order, and is what is done.
func (p patient) mended(t *testing.T, says []string) {
	t.Helper()
	keys := func(d *Doctor) error { return d.Keys(t.Context()) }
	would, did := p.examine(t, false, keys), p.examine(t, true, keys)
	var texts []string
	for i, f := range would {
		text := f.Text + ": " + strings.TrimPrefix(f.Advice, "oarlock doctor --fix: ")
		texts = append(texts, text)
		if f.Level != Bad || i >= len(did) || did[i].Level != Fixed || !slices.ContainsFunc(did, func(d Finding) bool { return d.Text == text }) {
			t.Errorf("found %+v, and repairing %+v", f, did)
		}
	}
	all := strings.Join(texts, "\n")
	for _, want := range says {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, want) }) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if len(texts) != len(says) || len(did) != len(says) {
		t.Errorf("want %d findings, found\n%s\nand repaired %+v", len(says), all, did)
	}
	if left := p.examine(t, true, keys); len(left) > 0 {
		t.Errorf("after the repair: %+v", left)
	}
}

// runInOrder works all: each runs once, those of a key in their order, but for one that joined at the end, and nothing is left of their keys.
func (p patient) runInOrder(t *testing.T, db *redis.Client, jids []string) {
	t.Helper()
	began := p.workAll(t, len(jids))
	all := slices.Sorted(slices.Values(began))
	if !slices.Equal(all, jids) {
		t.Errorf("began %v, want each of %v once", began, jids)
	}
	for _, first := range []string{"a", "c"} {
		order := slices.DeleteFunc(slices.Clone(began), func(jid string) bool { return jid[:1] != first || jid == "a1" && strings.Contains(t.Name(), "two_say") })
		if !slices.IsSorted(order) {
			t.Errorf("those of one key began in the order %v", order)
		}
	}
	left := func() []string {
		return slices.DeleteFunc(db.Keys(t.Context(), "ql:oarlock:*").Val(), func(name string) bool {
			return !slices.ContainsFunc([]string{"turns:", "lane:", "lanes:", "behind"}, func(kind string) bool { return strings.HasPrefix(name, "ql:oarlock:"+kind) })
		})
	}
	// A ghost that was mended ends with a lock of a second.
	for deadline := time.Now().Add(time.Minute); strings.Contains(t.Name(), "ghost") && len(left()) > 0 && time.Now().Before(deadline); {
		must.Get(p.client.Tend(t.Context(), []string{"q"}, nil, 0))(t)
		time.Sleep(10 * time.Millisecond) // nobody tells of the end of a ghost
	}
	if names := left(); len(names) > 0 {
		t.Errorf("when all are done there are still %q", names)
	}
}

// TestDeepLanesAreReadInPages: the places of a lane that is longer than what is read at once are looked at one by one, and one that is missing comes
// back between its neighbours.
func TestDeepLanesAreReadInPages(t *testing.T) {
	p, db := ordered(t, 0)
	puts := make([]queue.Put, 2500)
	for i := range puts {
		puts[i] = queue.Put{JID: fmt.Sprintf("deep %04d", i), Queue: "q", Klass: "K", Key: "deep"}
	}
	must.Get(p.client.PutAll(t.Context(), puts))(t)
	const lane = "ql:oarlock:lane:1:q:deep"
	was := db.LRange(t.Context(), lane, 0, -1).Val()
	for _, at := range []int{0, 1200, 2498} {
		db.LRem(t.Context(), lane, 1, was[at])
	}
	p.mended(t, []string{"deep 0001 stands behind others of key deep, and is not among them", "deep 1201 stands", "deep 2499 stands"})
	if is := db.LRange(t.Context(), lane, 0, -1).Val(); !slices.Equal(is, was) {
		t.Errorf("the lane has %d entries, and had %d: in another order", len(is), len(was))
	}
}
