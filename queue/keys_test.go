package queue_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestKeysOfAnyBytes puts two jobs of each hostile key into a queue of a hostile name: they are handed out one
// after the other, each with its key, and nothing is left.
func TestKeysOfAnyBytes(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		const name = "a:b \n\x00-%"
		s := session(t, c, "w")
		for _, key := range []string{"k", " ", "a b", ":", "=x", "!0 - ", "1:q:", "a\nb", "\x00", "%d(", "é\u202e", strings.Repeat("x", 512)} {
			for _, jid := range []string{"first of all", "second:\n"} {
				must(c.Put(t.Context(), queue.Put{Queue: name, JID: jid, Klass: "K", Key: key}))(t)
			}
			for _, jid := range []string{"first of all", "second:\n"} {
				reply, _ := take(t, s, queue.Take{Queues: []string{name}, Count: 2})
				if len(reply.Jobs) != 1 || reply.Jobs[0].JID != jid || reply.Jobs[0].Key != key {
					t.Fatalf("of key %q took %+v, want %q", key, reply.Jobs, jid)
				}
				behind := map[string]int{"first of all": 1}[jid]
				at, err := c.InLane(t.Context(), "second:\n")
				if err != nil || at != (queue.InLane{Key: key, Turn: queue.Turn{Holder: jid, Behind: behind}, Place: behind}) {
					t.Errorf("of key %q the second stands at %+v, %v", key, at, err)
				}
				if r := settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete}); r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			if lines, err := c.KeyLines(t.Context(), name, []string{key}); err != nil || lines[0].Turn != (queue.Turn{}) {
				t.Errorf("when all are complete the turn of %q is %+v, %v", key, lines, err)
			}
		}
	})
}

// TestInLane: a job with a key says who has the turn and where it stands itself, as far as the first thousand; one without says nothing.
func TestInLane(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		jids := make([]string, 1100)
		for i := range jids {
			jids[i] = fmt.Sprintf("j%d", i)
		}
		keyed(t, c, "k", jids...)
		for _, want := range []struct {
			jid   string
			place int
		}{{"j0", 0}, {"j1", 1}, {"j500", 500}, {"j1000", 1000}, {"j1001", queue.FarPlace}, {"j1099", queue.FarPlace}} {
			at := must(c.InLane(t.Context(), want.jid))(t)
			equal(t, want.jid, at, queue.InLane{Key: "k", Turn: queue.Turn{Holder: "j0", Behind: 1099}, Place: want.place})
		}
		for _, p := range []queue.Put{{Queue: "q", JID: "plain", Klass: "K"}, {Queue: "q", JID: "later", Klass: "K", Key: "k", Delay: time.Hour}} {
			must(c.Put(t.Context(), p))(t)
		}
		for jid, want := range map[string]queue.InLane{"plain": {}, "none": {}, "later": {Key: "k", Turn: queue.Turn{Holder: "j0", Behind: 1099}}} {
			at := must(c.InLane(t.Context(), jid))(t)
			equal(t, jid, at, want)
			if job, err := c.Get(t.Context(), jid); jid != "none" && (err != nil || job.Key != want.Key) {
				t.Errorf("%s has the key %+v, %v", jid, job, err)
			}
		}
		ok(t, c.Redis().HSet(t.Context(), "ql:j:j1", "queue", "elsewhere").Err()) // by somebody who knows no keys
		at := must(c.InLane(t.Context(), "j1"))(t)
		equal(t, "in another queue", at, queue.InLane{})
	})
}

// TestKeysThatAreNone are refused with a sentence, by the client and by the protocol's put.
func TestKeysThatAreNone(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		for key, says := range map[string]string{
			strings.Repeat("x", 513): "key must have 1 to 512 bytes: it has 513",
			"\xff":                   `key is not UTF-8: "\xff"`,
		} {
			if _, err := c.Put(t.Context(), queue.Put{Queue: "q", JID: "j", Klass: "K", Key: key}); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v", key, err)
			}
		}
		for _, key := range []string{"", strings.Repeat("x", 513)} {
			err := queue.Protocol(queue.Qless).Run(t.Context(), c.Redis(), nil, "put", "1", "w", "q", "j", "K", "{}", "0", "key", key).Err()
			never(t, err == nil || !strings.Contains(err.Error(), "Put(): key must have 1 to 512 bytes"), "%q: %v", key, err)
		}
		if n := c.Redis().Exists(t.Context(), "ql:j:j", "ql:oarlock:rules").Val(); n != 0 {
			t.Error("a refused put has changed something")
		}
	})
}

// TestAGhostEndsWithItsAttempt cancels a running job: only the end of that attempt, or of its lock, lets the next begin.
func TestAGhostEndsWithItsAttempt(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		for _, jid := range []string{"a", "b"} {
			must(c.Put(t.Context(), queue.Put{Queue: "q", JID: jid, Klass: "K", Key: "k"}))(t)
		}
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		ok(t, c.Cancel(t.Context(), "a"))
		leave := queue.Settlement{JID: "a", Queue: "q", Key: "k", Popped: reply.Jobs[0].Popped - 1, Action: queue.LeaveTurn}
		for _, tt := range []struct {
			popped float64
			want   int
		}{{reply.Jobs[0].Popped - 1, 0}, {reply.Jobs[0].Popped, 1}, {reply.Jobs[0].Popped, 0}} {
			leave.Popped = tt.popped
			got, err := s.Exchange(t.Context(), []queue.Settlement{leave}, queue.Take{Queues: []string{"q"}, Count: 2})
			if err != nil || got.Results[0].State != "left" || len(got.Jobs) != tt.want {
				t.Errorf("after the end of %v: %+v, %v; want %d jobs", tt.popped, got, err, tt.want)
			}
		}
	})
}

// TestTurnsThatEndTogether completes jobs of several keys in one call: each turn goes to the next of its key, if there is one, and one that
// somebody else has been given since is left to him.
func TestTurnsThatEndTogether(t *testing.T) {
	for _, behind := range []string{"", "b", "a b c d"} {
		t.Run(behind, func(t *testing.T) {
			onEachServer(t, func(t *testing.T, c *queue.Client) {
				s := session(t, c, "w")
				keys := []string{"a", "b", "c", "d"}
				for _, key := range keys {
					keyed(t, c, key, "1 "+key)
				}
				for key := range strings.FieldsSeq(behind) {
					keyed(t, c, key, "2 "+key)
				}
				reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 10})
				ok(t, c.Redis().HSet(t.Context(), "ql:oarlock:turns:q", "d", "=nobody").Err())
				var ends []queue.Settlement
				for _, job := range reply.Jobs {
					ends = append(ends, queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete})
				}
				got := must(s.Exchange(t.Context(), ends, queue.Take{Queues: []string{"q"}, Count: 10}))(t)
				for i, r := range got.Results {
					if r.Err != nil || r.State != "complete" {
						t.Errorf("%s is %+v", ends[i].JID, r)
					}
				}
				var began, want []string
				for _, job := range got.Jobs {
					began = append(began, job.JID)
				}
				left := map[string]string{"d": "=nobody"}
				for key := range strings.FieldsSeq(strings.TrimSuffix(behind, " d")) {
					want = append(want, "2 "+key)
					left[key] = "=2 " + key
				}
				never(t, !slices.Equal(began, want), "then began %q, want %q", began, want)
				if turns := must(c.Redis().HGetAll(t.Context(), "ql:oarlock:turns:q").Result())(t); !maps.Equal(turns, left) {
					t.Errorf("turns are %v, want %v", turns, left)
				}
				for _, key := range keys {
					if mark := c.Redis().HGet(t.Context(), "ql:j:1 "+key, "oarlock-lane").Val(); mark != "=1:q: "+key {
						t.Errorf("the mark of 1 %s is %q", key, mark)
					}
				}
			})
		})
	}
}

// TestManyTurnsEndTogether: more than Lua can hand to one command.
func TestManyTurnsEndTogether(t *testing.T) {
	c := fresh(t)
	const many = 9000
	s := session(t, c, "w")
	for first := 0; first < many; first += 1000 {
		var puts []queue.Put
		for i := range 1000 {
			puts = append(puts, queue.Put{Queue: "q", Klass: "K", Key: fmt.Sprint("k", first+i)})
		}
		putAll(t, c, puts...)
	}
	var ends []queue.Settlement
	for len(ends) < many {
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: many})
		for _, job := range reply.Jobs {
			ends = append(ends, queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete})
		}
	}
	keyed(t, c, "k8999", "next")
	reply, err := s.Exchange(t.Context(), ends, queue.Take{Queues: []string{"q"}, Count: 1})
	if err != nil || len(reply.Broken) > 0 || len(reply.Jobs) != 1 || reply.Jobs[0].JID != "next" {
		t.Errorf("then began %+v, broken %+v, %v", reply.Jobs, reply.Broken, err)
	}
	if turns := must(c.Redis().HGetAll(t.Context(), "ql:oarlock:turns:q").Result())(t); !maps.Equal(turns, map[string]string{"k8999": "=next"}) {
		t.Errorf("%d turns are left", len(turns))
	}
}

// TestTurnsThatCannotBePassed: no verdict is lost for what stands where the turns should be, and it is said.
func TestTurnsThatCannotBePassed(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		keyed(t, c, "a", "j")
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		ok(t, c.Redis().Del(t.Context(), "ql:oarlock:turns:q").Err())
		ok(t, c.Redis().Set(t.Context(), "ql:oarlock:turns:q", "x", 0).Err())
		job := reply.Jobs[0]
		got, err := s.Exchange(t.Context(), []queue.Settlement{{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete}}, queue.Take{})
		never(t, err != nil || got.Results[0].State != "complete" || len(got.Broken) != 1 || got.Broken[0].Queue != "q", "%+v, %v", got, err)
	})
}

// TestManyTurnsAreATable: the turns of a queue are no list through which each look goes, before they are many.
func TestManyTurnsAreATable(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	for i := range 40 {
		keyed(t, c, fmt.Sprint("k", i), fmt.Sprint("j", i))
		encoding := must(c.Redis().ObjectEncoding(t.Context(), "ql:oarlock:turns:q").Result())(t)
		if few := i+1 < 32; few == (encoding == "hashtable") {
			t.Errorf("%d turns are a %s", i+1, encoding)
		}
		if n := c.Redis().HLen(t.Context(), "ql:oarlock:turns:q").Val(); n != int64(i+1) {
			t.Errorf("%d turns have %d fields", i+1, n)
		}
	}
	c.Redis().FlushDB(t.Context())
	var puts []queue.Put
	for i := range 100 {
		puts = append(puts, queue.Put{Queue: "q", Klass: "K", Key: fmt.Sprint("k", i)})
	}
	putAll(t, c, puts...)
	if encoding := must(c.Redis().ObjectEncoding(t.Context(), "ql:oarlock:turns:q").Result())(t); encoding != "hashtable" {
		t.Errorf("100 turns of one call are a %s", encoding)
	}
}

// keyed puts jobs of one key into q.
func keyed(t *testing.T, c *queue.Client, key string, jids ...string) {
	t.Helper()
	puts := make([]queue.Put, len(jids))
	for i, jid := range jids {
		puts[i] = queue.Put{Queue: "q", JID: jid, Klass: "K", Key: key}
	}
	results := must(c.PutAll(t.Context(), puts))(t)
	for _, r := range results {
		ok(t, r.Err)
	}
}

// ourKeys are the names of what is kept of keys.
func ourKeys(t *testing.T, c *queue.Client) []string {
	t.Helper()
	var names []string
	for _, name := range must(c.Redis().Keys(t.Context(), "ql:oarlock:*").Result())(t) {
		if !strings.HasPrefix(name, "ql:oarlock:batch") {
			names = append(names, name)
		}
	}
	return names
}

// TestDropAKey cancels all of a key, more than one call may, but for what another waits for; other keys stay.
func TestDropAKey(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		var many []string
		for i := range 150 {
			many = append(many, fmt.Sprintf("j%d", i))
		}
		keyed(t, c, "a b", many...)
		keyed(t, c, "other", "x", "y")
		must(c.Put(t.Context(), queue.Put{Queue: "elsewhere", JID: "waits", Klass: "K", Depends: []string{"j70"}}))(t)
		ok(t, c.Cancel(t.Context(), "j140")) // its entry stays until somebody comes upon it
		dropped := must(c.DropKey(t.Context(), "q", "a b"))(t)
		stop(t, dropped.Done != 148 || dropped.Kept != 1 || dropped.Left[0].JID != "j70", "dropped %+v", dropped)
		left := must(c.KeyLines(t.Context(), "q", []string{"a b"}))(t)
		equal(t, "the one that is left has the turn", left[0].Turn, queue.Turn{Holder: "j70"})
		counts := must(c.KeyCounts(t.Context(), "q"))(t)
		equal(t, "counts", counts, queue.KeyCounts{Ordered: true, Keys: 2, Behind: 1})
		census, _, err := c.Census(t.Context(), []string{"q"})
		ok(t, err)
		equal(t, "jobs that wait, those behind included", census[0].Waiting, 3)
		equal(t, "of those, behind", census[0].Behind, 1)
		lines, total, err := c.BlockedKeys(t.Context(), "q", 0, 10)
		if err != nil || total != 1 || lines[0].Key != "other" || lines[0].Turn != (queue.Turn{Holder: "x", Behind: 1}) || lines[0].Since == 0 {
			t.Errorf("blocked: %+v of %d, %v", lines, total, err)
		}
		next := must(c.Lane(t.Context(), "q", "other", 0, 10))(t)
		equal(t, "behind", next, []string{"y"})
	})
}

// TestDropAKeyThatRuns: the run's lock is all that is left, and whoever comes meanwhile waits for that.
func TestDropAKeyThatRuns(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		keyed(t, c, "k", "runs", "behind")
		s := session(t, c, "w")
		take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		dropped := must(c.DropKey(t.Context(), "q", "k"))(t)
		equal(t, "dropped", dropped.Done, 2)
		keyed(t, c, "k", "new")
		if reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1}); len(reply.Jobs) != 0 {
			t.Errorf("%+v runs beside one that was canceled while it ran", reply.Jobs)
		}
		var held *queue.HeldError
		if _, err := c.PassTurn(t.Context(), "q", "k"); !errors.As(err, &held) || held.State != "" || held.JID != "runs" || held.Until == 0 {
			t.Errorf("pass: %v, %+v", err, held)
		}
	})
}

// TestPassATurn that a failed job keeps, and no other.
func TestPassATurn(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		c.Redis().HSet(t.Context(), "ql:oarlock:rules", "o:q", "order=key after_fail=hold")
		keyed(t, c, "k", "first", "second")
		s := session(t, c, "w")
		var held *queue.HeldError
		if _, err := c.PassTurn(t.Context(), "q", "k"); !errors.As(err, &held) || held.JID != "first" || held.State != "waiting" {
			t.Errorf("of one that waits: %v", err)
		}
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Fail, Group: "g"})
		if reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2}); len(reply.Jobs) != 0 {
			t.Fatalf("%+v runs before one that failed", reply.Jobs)
		}
		jid := must(c.PassTurn(t.Context(), "q", "k"))(t)
		equal(t, "passed from", jid, "first")
		if reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2}); len(reply.Jobs) != 1 || reply.Jobs[0].JID != "second" {
			t.Errorf("after pass took %+v", reply.Jobs)
		}
		if _, err := c.PassTurn(t.Context(), "q", "nobody's"); !errors.As(err, &held) || held.JID != "" || held.State != "" {
			t.Errorf("of a key without jobs: %v", err)
		}
	})
}

// TestDueInThreeCenturies: a job is shelved only if it has a key of its queue and no turn; the due time of any other is what it says.
func TestDueInThreeCenturies(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		const late = 1.2e10
		keyed(t, c, "k", "first")
		for _, p := range []queue.Put{{JID: "plain"}, {JID: "shelved", Key: "k"}, {JID: "of another queue", Key: "k"}} {
			p.Queue, p.Klass, p.Delay = "q", "K", time.Hour
			must(c.Put(t.Context(), p))(t)
		}
		hour := c.Now() + 3600
		mark := c.Redis().HGet(t.Context(), "ql:j:shelved", "oarlock-lane").Val()
		ok(t, c.Redis().HSet(t.Context(), "ql:j:of another queue", "oarlock-lane", strings.Replace(mark, "1:q:", "1:r:", 1)).Err())
		for _, jid := range []string{"plain", "of another queue"} {
			ok(t, c.Redis().ZAdd(t.Context(), "ql:q:q-scheduled", redis.Z{Score: late, Member: jid}).Err())
		}
		for jid, want := range map[string]float64{"plain": late, "of another queue": late, "shelved": hour} {
			where := must(c.Whereabouts(t.Context(), "q", jid))(t)
			glances := must(c.Glances(t.Context(), queue.Brief, jid))(t)
			if g := glances[0]; math.Abs(where.Due-want) > 60 || g.Row != "scheduled" || math.Abs(g.Moment-want) > 60 {
				t.Errorf("%s is due at %f, and %s until %f; want %f", jid, where.Due, g.Row, g.Moment, want)
			}
		}
		ok(t, c.Redis().ZRem(t.Context(), "ql:q:q-scheduled", "shelved").Err())
		census, _, err := c.Census(t.Context(), []string{"q"})
		ok(t, err)
		equal(t, "next due", census[0].NextDue, late)
	})
}

// TestTendSaysWhoseTurnsWentOn: of each turn that nobody had who lives it says what became of who had it.
func TestTendSaysWhoseTurnsWentOn(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		for _, key := range []string{"ended", "gone", "elsewhere", "lost", "fine"} {
			keyed(t, c, key, key+"1", key+"2")
		}
		ctx, rdb := t.Context(), c.Redis()
		rdb.HSet(ctx, "ql:j:ended1", "state", "complete")
		rdb.Del(ctx, "ql:j:gone1")
		rdb.HSet(ctx, "ql:j:elsewhere1", "queue", "other")
		rdb.HDel(ctx, "ql:oarlock:turns:q", "lost")
		tended := must(c.Tend(ctx, []string{"q"}, nil, 0))(t)
		want := map[string]int{queue.TurnEnded: 1, queue.TurnGone: 1, queue.TurnElsewhere: 1, queue.TurnLost: 1}
		never(t, !maps.Equal(tended.Mended, want) || tended.Places != nil, "it says %+v, want %v", tended, want)
	})
}

// TestCensusOfKeys: how many keys a queue has, for how many somebody waits, and since when, but not for an answer; a queue that has none
// pays for one question a call.
func TestCensusOfKeys(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, rdb := t.Context(), c.Redis()
		keyed(t, c, "a", "a1", "a2", "a3")
		keyed(t, c, "b", "b1", "b2")
		keyed(t, c, "c", "c1")
		must(c.Put(ctx, queue.Put{Queue: "plain", Klass: "K"}))(t)
		rdb.ZAdd(ctx, "ql:oarlock:lanes:q", redis.Z{Score: 1000, Member: "a"}, redis.Z{Score: 2000, Member: "b"})
		census := func() (q, plain queue.KeysCensus) {
			all, _, err := c.Census(ctx, []string{"q", "plain"})
			ok(t, err)
			never(t, all[0].Damage != "" || all[0].Behind != 3 || all[0].Waiting != 6, "there are %+v", all[0])
			return all[0].Keys, all[1].Keys
		}
		q, plain := census()
		equal(t, "q", q, queue.KeysCensus{Ordered: true, All: 3, Blocked: 2, Since: 1000})
		equal(t, "plain", plain, queue.KeysCensus{})
		if q.BlockedFor(1500) != 500 || q.BlockedFor(900) != 0 || plain.BlockedFor(1500) != 0 {
			t.Errorf("they are blocked for %v, %v, %v", q.BlockedFor(1500), q.BlockedFor(900), plain.BlockedFor(1500))
		}
		// The one with the turn of a waits for an answer.
		until := float64(time.Now().Unix() + 3600)
		rdb.HSet(ctx, "ql:j:a1", "state", "scheduled", "oarlock-park", until, "oarlock-life", "7", "time", "7")
		rdb.ZAdd(ctx, "ql:q:q-scheduled", redis.Z{Score: until, Member: "a1"})
		rdb.ZRem(ctx, "ql:q:q-work", "a1")
		all, _, err := c.Census(ctx, []string{"q"})
		ok(t, err)
		equal(t, "with a parked one", all[0].Keys, queue.KeysCensus{Ordered: true, All: 3, Blocked: 2, Since: 2000})
	})
}

// TestFreeKeys is the way back: all that stood behind, or was shelved, is where any client of the protocol finds it, and nothing of keys is left.
func TestFreeKeys(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		var all []string
		for i := range 130 {
			jids := []string{fmt.Sprintf("%d a", i), fmt.Sprintf("%d b", i), fmt.Sprintf("%d c", i)}
			keyed(t, c, fmt.Sprintf("k %d", i), jids...)
			all = append(all, jids...)
		}
		must(c.Put(t.Context(), queue.Put{Queue: "q", JID: "later", Klass: "K", Key: "k 1", Delay: time.Hour}))(t)
		due := c.Now() + 3600
		s := session(t, c, "w")
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		runs := reply.Jobs[0]
		freed := must(c.FreeKeys(t.Context(), "q"))(t)
		equal(t, "freed", freed, 2*130+1)
		if names := ourKeys(t, c); len(names) > 0 {
			t.Errorf("left: %q", names)
		}
		if score := c.Redis().ZScore(t.Context(), "ql:q:q-scheduled", "later").Val(); score < due-60 || score > due+60 {
			t.Errorf("the delayed job is due at %f, want %f", score, due)
		}
		if r := settle(t, s, runs, queue.Settlement{Action: queue.Complete}); r.Err != nil {
			t.Error(r.Err)
		}
		seen := map[string]bool{runs.JID: true}
		for len(seen) < len(all) {
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 100})
			if len(reply.Jobs) == 0 {
				break
			}
			for _, job := range reply.Jobs {
				seen[job.JID] = true
			}
		}
		equal(t, "jobs that are handed out", len(seen), len(all))
		counts := must(c.KeyCounts(t.Context(), "q"))(t)
		equal(t, "counts", counts, queue.KeyCounts{})
	})
}

// TestFreeKeysOfMany: turns are found, too, behind the many that were given up before.
func TestFreeKeysOfMany(t *testing.T) {
	c := fresh(t)
	keyed(t, c, "k", "a", "b")
	pipe := c.Redis().Pipeline()
	for i := range 5000 {
		pipe.HSet(t.Context(), "ql:oarlock:turns:q", fmt.Sprint("k ", i), fmt.Sprint("=gone", i))
	}
	must(pipe.Exec(t.Context()))(t)
	freed := must(c.FreeKeys(t.Context(), "q"))(t)
	equal(t, "freed", freed, 1)
	if names := ourKeys(t, c); len(names) > 0 {
		t.Errorf("left: %q, of which there are %d turns", names, c.Redis().HLen(t.Context(), "ql:oarlock:turns:q").Val())
	}
}

// TestKeyOrder: what is said of a queue counts from then on, is told where it was other, and makes tags of jobs that know no keys count.
func TestKeyOrder(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		a := queue.OrderFile{Owner: "a:/c.toml", Revision: 1, Orders: []queue.KeyOrder{{Queue: "q"}, {Queue: "other", Fair: true, Hold: true}}}
		says := func(file queue.OrderFile, mode queue.OrderMode, want ...queue.OrderChange) {
			t.Helper()
			got := must(c.SetKeyOrder(t.Context(), file, mode))(t)
			equal(t, "changed", got, want)
		}
		says(a, queue.LookAtOrder, queue.OrderChange{Queue: "q"}, queue.OrderChange{Queue: "other"})
		says(a, queue.AllOrders, queue.OrderChange{Queue: "q"}, queue.OrderChange{Queue: "other"})
		says(a, queue.KeepOrders)
		for _, jid := range []string{"a", "b"} {
			must(c.Put(t.Context(), queue.Put{Queue: "q", JID: jid, Klass: "K", Tags: []string{"x", "key:k"}}))(t)
		}
		s := session(t, c, "w")
		if reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2}); len(reply.Jobs) != 1 || reply.Jobs[0].JID != "a" || reply.Jobs[0].Key != "k" {
			t.Errorf("of two with the tag key:k took %+v", reply.Jobs)
		}
		a.Orders[0].Fair = true
		says(a, queue.KeepOrders, queue.OrderChange{Queue: "q", Was: "order=key", Owner: a.Owner, Revision: 1})

		// Another file neither overwrites it nor is overwritten, until its revision is higher, or somebody insists.
		b := queue.OrderFile{Owner: "b:/c.toml", Revision: 1, Orders: []queue.KeyOrder{{Queue: "q"}, {Queue: "third"}}}
		conflict := queue.OrderChange{Queue: "q", Conflict: true, Was: "order=key turns=fair", Owner: a.Owner, Revision: 1}
		says(b, queue.AllOrders, conflict, queue.OrderChange{Queue: "third"})
		says(b, queue.KeepOrders, conflict)
		says(a, queue.KeepOrders)
		b.Revision = 2
		says(b, queue.KeepOrders, queue.OrderChange{Queue: "q", Was: "order=key turns=fair", Owner: a.Owner, Revision: 1})
		says(a, queue.AllOrders, queue.OrderChange{Queue: "q", Conflict: true, Was: "order=key", Owner: b.Owner, Revision: 2})
		says(a, queue.ForceOrders, queue.OrderChange{Queue: "q", Was: "order=key", Owner: b.Owner, Revision: 2})

		// What leaves a file goes as usual again; that the queue has keys stays.
		a.Orders = a.Orders[:1]
		says(a, queue.AllOrders, queue.OrderChange{Queue: "other", Was: "order=key turns=fair after_fail=hold", Owner: a.Owner, Revision: 1})
		equal(t, "other", c.Redis().HGet(t.Context(), "ql:oarlock:rules", "o:other").Val(), "order=key")
		b.Orders = []queue.KeyOrder{{Queue: "other", Hold: true}}
		says(b, queue.AllOrders, queue.OrderChange{Queue: "other", Was: "order=key"})
	})
}

// TestTurnsOfKeys: oldest gives the next job of a key the place of its age, fair one behind all that wait.
func TestTurnsOfKeys(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		for fair, want := range map[bool]string{false: "a1 a2 b1 a3 b2", true: "a1 b1 a2 b2 a3"} {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			must(c.SetKeyOrder(t.Context(), queue.OrderFile{Orders: []queue.KeyOrder{{Queue: "q", Fair: fair}}}, queue.KeepOrders))(t)
			for _, jid := range strings.Fields("a1 a2 b1 a3 b2") {
				keyed(t, c, jid[:1], jid)
			}
			var order []string
			s := session(t, c, "w")
			for range 5 {
				reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
				if len(reply.Jobs) != 1 {
					t.Fatalf("after %q took %+v", order, reply.Jobs)
				}
				order = append(order, reply.Jobs[0].JID)
				settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
			}
			equal(t, fmt.Sprint("fair ", fair), strings.Join(order, " "), want)
		}
	})
}

// TestLagIsForAChild: since when the next of a queue has been missing nothing but a free child is from the end of its delay, or the
// moment when the turn of its key came to it; census and outlook agree.
func TestLagIsForAChild(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		since := func(name string, from, to float64) {
			t.Helper()
			census, _, err := c.Census(t.Context(), []string{name})
			ok(t, err)
			seen, _, err := c.Outlook(t.Context(), []string{name})
			ok(t, err)
			const digits = 0.005 // moments are known from scores and texts of 14 digits
			if s, o := census[0].ReadySince, seen[0].ReadySince; s < from-digits || s > to+digits || math.Abs(s-o) > digits {
				t.Errorf("%s: by the census since %f, by the outlook %f; it was between %f and %f", name, s, o, from, to)
			}
		}
		must(c.Put(t.Context(), queue.Put{Queue: "late", JID: "late", Klass: "K", Delay: 20 * time.Millisecond}))(t)
		due := c.Redis().ZScore(t.Context(), "ql:q:late-scheduled", "late").Val()
		for c.Now() <= due {
			time.Sleep(5 * time.Millisecond) // Redis' clock goes on
		}
		since("late", due, due)
		keyed(t, c, "k", "first", "second")
		s := session(t, c, "w")
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		before := c.Now()
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		since("q", before, c.Now())
	})
}

// TestKeysBelongToNobody: a key is tied to no worker and to no part of the queue. Whoever asks gets jobs of any keys, as many at once as
// there are keys, and nothing has to be changed when there are more workers, or fewer.
func TestKeysBelongToNobody(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		const keys = 12
		for n := range 4 {
			for k := range keys {
				keyed(t, c, fmt.Sprint("key ", k), fmt.Sprintf("%d:%d", k, n))
			}
		}
		workers := []*queue.Session{session(t, c, "a"), session(t, c, "b"), session(t, c, "c")}
		had := map[string]map[int]bool{} // by key: the workers that had jobs of it
		for n, many := range []int{1, 2, 3, 1} {
			running := map[int][]queue.Taken{} // by worker
			for w := range many {
				reply, _ := take(t, workers[w], queue.Take{Queues: []string{"q"}, Count: keys / many})
				running[w] = reply.Jobs
				if len(reply.Jobs) != keys/many {
					t.Fatalf("of %d keys that are free one of %d workers is given %d", keys, many, len(reply.Jobs))
				}
			}
			for w, jobs := range running {
				for _, job := range jobs {
					var k, number int
					fmt.Sscanf(job.JID, "%d:%d", &k, &number)
					never(t, number != n, "%s is handed out in round %d", job.JID, n)
					if had[job.Key] == nil {
						had[job.Key] = map[int]bool{}
					}
					had[job.Key][w] = true
					settle(t, workers[w], job, queue.Settlement{Action: queue.Complete})
				}
			}
		}
		several := 0
		for _, by := range had {
			if len(by) > 1 {
				several++
			}
		}
		never(t, len(had) != keys || several < keys/2, "of %d keys %d had jobs with several workers", len(had), several)
	})
}
