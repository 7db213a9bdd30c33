package queue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/queue/internal/wire"
)

// What a take costs: it is bounded by what one call may do, not by what there is, and it
// says that there is more.

// boundsLab is a Redis, and one who takes from it.
type boundsLab struct {
	*lab
	t       *testing.T
	client  *Client
	session *Session
}

func newBoundsLab(t *testing.T) *boundsLab {
	t.Helper()
	l := &boundsLab{lab: newLab(t, "redis", DefaultNamespace), t: t}
	l.client = labClient(t, l.lab)
	l.session = l.client.Session("w")
	t.Cleanup(func() { l.session.Close() })
	return l
}

func (l *boundsLab) put(puts ...Put) {
	l.t.Helper()
	results := must(l.client.PutAll(l.t.Context(), puts))(l.t)
	for _, r := range results {
		ok(l.t, r.Err)
	}
}

// fill runs a script that makes many of something; ARGV[1] is the time.
func (l *boundsLab) fill(script string, args ...any) {
	l.t.Helper()
	ok(l.t, l.lab.redis.Eval(l.t.Context(), script+" return 1", nil, append([]any{wire.Number(l.client.Now())}, args...)...).Err())
}

// many is how many members a sorted set has.
func (l *boundsLab) many(key string) int64 {
	l.t.Helper()
	n := must(l.lab.redis.ZCard(l.t.Context(), key).Result())(l.t)
	return n
}

// take is one call, and how many commands Redis ran for it.
func (l *boundsLab) take(take Take, settlements ...Settlement) (reply Reply, commands int) {
	l.t.Helper()
	l.lab.redis.ConfigResetStat(l.t.Context())
	reply = must(l.session.Exchange(l.t.Context(), settlements, take))(l.t)
	for _, r := range reply.Results {
		ok(l.t, r.Err)
	}
	return reply, commandsRun(l.t, l.lab)
}

// takeAll takes for as long as there is said to be more, or enough.
func (l *boundsLab) takeAll(take Take) (jobs []Taken, calls int) {
	l.t.Helper()
	for more := true; more && take.Count > 0; calls++ {
		reply, _ := l.take(take)
		jobs, more = append(jobs, reply.Jobs...), reply.More
		take.Count -= len(reply.Jobs)
	}
	return jobs, calls
}

// TestJobsThatWaitForAThrottleHideNoOthers puts 2,000 jobs of one tenant, who may run two, in
// front of those of others.
func TestJobsThatWaitForAThrottleHideNoOthers(t *testing.T) {
	for _, order := range []Order{Ordered, RoundRobin, Oldest} {
		t.Run(string(order), func(t *testing.T) {
			l := newBoundsLab(t)
			ctx := t.Context()
			ok(t, l.client.SetThrottle(ctx, Throttle{ID: "big", Maximum: 2}))
			puts := make([]Put, 0, 2010)
			for range 2000 {
				puts = append(puts, Put{Queue: "q", Klass: "big", Throttles: []string{"big"}})
			}
			for i := range 10 {
				puts = append(puts, Put{Queue: "q", Klass: "small", Throttles: []string{fmt.Sprintf("small%d", i)}})
			}
			l.put(puts...)
			jobs, calls := l.takeAll(Take{Queues: []string{"q"}, Order: order, Count: 8})
			var classes []string
			for _, job := range jobs {
				classes = append(classes, job.Klass)
			}
			if want := strings.Fields("big big small small small small small small"); !slices.Equal(classes, want) {
				t.Errorf("took %v in %d calls, want %v", classes, calls, want)
			}
			if n, err := l.client.Queue(ctx, "q"); err != nil || n.Throttled != 1998 || n.Waiting != 4 {
				t.Errorf("the queue holds %+v, %v", n, err)
			}
			never(t, calls > 100, "that took %d calls", calls)
		})
	}
}

// TestPriorityCountsAmongTheJobsThatAreDue makes 12,000 jobs due, the last of them one of a
// high priority.
func TestPriorityCountsAmongTheJobsThatAreDue(t *testing.T) {
	l := newBoundsLab(t)
	l.fill(`for i = 1, 12000 do
		redis.call('HSET', 'ql:j:j' .. i, 'jid', 'j' .. i, 'klass', 'K', 'data', '{}', 'priority', i == 12000 and 100 or 0, 'tags', '{}',
			'state', 'scheduled', 'worker', '', 'expires', '0', 'queue', 'q', 'retries', '5', 'remaining', '5', 'time', '1')
		redis.call('ZADD', 'ql:q:q-scheduled', ARGV[1] - 60 + i / 1e6, 'j' .. i)
	end`)
	var order []string
	for range 60 {
		reply, commands := l.take(Take{Queues: []string{"q"}, Count: 1})
		if len(reply.Jobs) != 1 || commands > 500 {
			t.Fatalf("took %d jobs with %d commands", len(reply.Jobs), commands)
		}
		order = append(order, reply.Jobs[0].JID)
	}
	never(t, order[59] != "j12000", "the 60th job is %s", order[59])
	for i, jid := range order[:59] {
		if want := fmt.Sprintf("j%d", i+1); jid != want {
			t.Fatalf("job %d is %s, want %s: the others run in the order in which they were due", i, jid, want)
		}
	}
}

// TestATakeIsBoundedByBytes asks for more than one call hands out.
func TestATakeIsBoundedByBytes(t *testing.T) {
	l := newBoundsLab(t)
	data := func(size int) []byte { return []byte(`"` + strings.Repeat("x", size-2) + `"`) }
	sizes := func(jobs []Taken) (list []int64) {
		for _, job := range jobs {
			list = append(list, job.Size>>20)
		}
		return list
	}
	for _, order := range []Order{Ordered, RoundRobin, Oldest} {
		t.Run(string(order), func(t *testing.T) {
			l.lab.redis.FlushDB(t.Context())
			large := 5
			if order == Ordered {
				large = 16
			}
			for i, mib := range []int{1, 1, large, large, 2, 2, 2} {
				l.put(Put{Queue: "q", JID: fmt.Sprintf("j%d", 9-i), Klass: "K", Data: data(mib << 20)})
			}
			take := Take{Queues: []string{"q"}, Order: order, Count: 7}
			var calls [][]int64
			for more := true; more; {
				reply, _ := l.take(take)
				calls, more = append(calls, sizes(reply.Jobs)), reply.More
				take.Count -= len(reply.Jobs)
			}
			if want := fmt.Sprintf("[[1 1] [%d] [%[1]d] [2 2] [2]]", large); fmt.Sprint(calls) != want {
				t.Errorf("took jobs of %v MiB, want %s", calls, want)
			}
			// Data that is withheld is not counted.
			l.lab.redis.FlushDB(t.Context())
			for range 4 {
				l.put(Put{Queue: "q", Klass: "K", Data: data(3 << 20)})
			}
			reply, _ := l.take(Take{Queues: []string{"q"}, Order: order, Count: 4, MaxJob: 1 << 20})
			if len(reply.Jobs) != 4 || reply.Jobs[3].Data != nil || reply.More {
				t.Errorf("took %d jobs whose data is withheld, more: %v", len(reply.Jobs), reply.More)
			}
		})
	}
}

// TestAJobWithManyThrottlesGivesAllBack completes a job of another client that has 1,500 throttles.
func TestAJobWithManyThrottlesGivesAllBack(t *testing.T) {
	l := newBoundsLab(t)
	names := make([]string, 1500)
	for i := range names {
		names[i] = fmt.Sprintf("t%d", i)
	}
	list, err := json.Marshal(names)
	ok(t, err)
	ok(t, second(l.client.call(t.Context(), Reqless, "queue.put", "", "q", "a", "K", "{}", 0, "throttles", string(list))))
	reply, _ := l.take(Take{Queues: []string{"q"}, Count: 1})
	if len(reply.Jobs) != 1 || len(must(l.lab.redis.Keys(t.Context(), "ql:th:*-locks").Result())(t)) != len(names)+1 {
		t.Fatalf("took %d jobs", len(reply.Jobs))
	}
	must(l.session.Exchange(t.Context(), []Settlement{{JID: "a", Queue: "q", Popped: reply.Jobs[0].Popped, Action: Complete}}, Take{}))(t)
	if left := must(l.lab.redis.Keys(t.Context(), "ql:th:*-locks").Result())(t); len(left) > 0 {
		t.Errorf("%d throttles are still held, %s among them", len(left), left[0])
	}
}

// TestATakeCostsTheSameForAnyNumberOfQueues counts the commands of takes from 1, 100 and 2,000
// queues that all have jobs, each handed to the take as a supervisor hands them.
func TestATakeCostsTheSameForAnyNumberOfQueues(t *testing.T) {
	for _, order := range []Order{Ordered, RoundRobin, Oldest} {
		t.Run(string(order), func(t *testing.T) {
			cost := map[int]int{}
			for _, n := range []int{1, 100, 2000} {
				l := newBoundsLab(t)
				names := make([]string, n)
				for i := range names {
					names[i] = fmt.Sprintf("q%d", i)
				}
				for range 3 {
					puts := make([]Put, n)
					for i, name := range names {
						puts[i] = Put{Queue: name, Klass: "K"}
					}
					l.put(puts...)
				}
				outlook, now, err := l.client.Outlook(t.Context(), names)
				ok(t, err)
				take := Take{Order: order, Count: 1}
				for _, q := range outlook[:min(n, 32)] {
					take.Queues, take.Heads = append(take.Queues, q.Queue), append(take.Heads, q.Oldest(now))
				}
				reply, _ := l.take(take) // it registers the worker
				for _, left := range reply.Left {
					take.Heads[slices.Index(take.Queues, left.Queue)] = left.Head
				}
				if reply, cost[n] = l.take(take); len(reply.Jobs) != 1 {
					t.Fatalf("took %d jobs", len(reply.Jobs))
				}
			}
			never(t, cost[100] > cost[1]*11/10 || cost[2000] > cost[1]*11/10, "takes of one job run this many commands, by the number of queues: %v", cost)
		})
	}
}

// TestALookAtIdleQueuesCostsLittle looks at 200 queues of which three have something, each of
// another kind, and is told of those without asking for the others one by one.
func TestALookAtIdleQueuesCostsLittle(t *testing.T) {
	l := newBoundsLab(t)
	ctx, names := t.Context(), make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprintf("q%d", i)
	}
	look := func() (outlook []QueueOutlook, commands int) {
		t.Helper()
		l.lab.redis.ConfigResetStat(ctx)
		outlook, _, err := l.client.Outlook(ctx, names)
		ok(t, err)
		return outlook, commandsRun(t, l.lab)
	}
	if _, commands := look(); commands > len(names)/10 {
		t.Errorf("a look at %d idle queues runs %d commands", len(names), commands)
	}
	l.put(Put{Queue: "q7", JID: "waits", Klass: "K"}, Put{Queue: "q111", JID: "delayed", Klass: "K", Delay: time.Hour}, Put{Queue: "q199", JID: "taken", Klass: "K"})
	l.take(Take{Queues: []string{"q199"}, Count: 1})
	ok(t, l.client.Pause(ctx, "q8"))
	ok(t, l.lab.redis.Set(ctx, "ql:q:q9-recur", "no list", 0).Err())
	outlook, _ := look()
	var told []string
	for _, q := range outlook {
		if q.Ready > 0 || q.NextDue > 0 || q.Paused || q.Damage != "" {
			told = append(told, q.Queue)
		}
	}
	if fmt.Sprint(told) != "[q7 q8 q9 q111]" || outlook[7].Ready != 1 || !outlook[8].Paused || outlook[9].Damage == "" || outlook[111].NextDue == 0 {
		t.Errorf("told of %v", told)
	}
	ok(t, l.client.Resume(ctx, "q8"))
	if _, commands := look(); commands > len(names)/3 {
		t.Errorf("a look at %d queues of which four have something runs %d commands", len(names), commands)
	}
}

// TestATakeTellsWhatIsLeft reads what the next take may be spared.
func TestATakeTellsWhatIsLeft(t *testing.T) {
	l := newBoundsLab(t)
	for i, name := range strings.Fields("a b b c") {
		l.put(Put{Queue: name, JID: fmt.Sprintf("j%d", 9-i), Klass: "K"})
	}
	put := func(jid string) float64 {
		f := must(l.lab.redis.HGet(t.Context(), "ql:j:"+jid, "time").Float64())(t)
		return f
	}
	second := put("j7")
	reply, _ := l.take(Take{Queues: []string{"a", "b", "c"}, Count: 2})
	never(t, fmt.Sprint(reply.Left) != "[{a 0}]" || reply.More, "left in order: %v, more: %v", reply.Left, reply.More)
	reply, _ = l.take(Take{Queues: []string{"a", "c", "b"}, Heads: []float64{second + 9, second + 8, second}, Order: Oldest, Count: 1})
	if len(reply.Jobs) != 1 || reply.Jobs[0].JID != "j7" || fmt.Sprint(reply.Left) != "[{b 0}]" {
		t.Errorf("took %+v, and left of the oldest: %v", reply.Jobs, reply.Left)
	}
	reply, _ = l.take(Take{Queues: []string{"a", "b", "c"}, Order: RoundRobin, Count: 2})
	never(t, len(reply.Jobs) != 1 || len(reply.Left) != 3, "took %+v, and left in turn: %v", reply.Jobs, reply.Left)
}

// mostCommands is what a call of the tests below may run.
const mostCommands = 500

// multitude is how many of everything a call of theirs may find.
func multitude() int64 {
	return int64(Tenth(50_000))
}

// eachJob begins a script that goes from 1 to ARGV[2], at the time ARGV[1].
const eachJob = `
local function make(jid, state, queue, ...)
	redis.call('HSET', 'ql:j:' .. jid, 'jid', jid, 'klass', 'K', 'data', '{}', 'priority', '0', 'tags', '{}', 'state', state,
		'worker', '', 'expires', '0', 'queue', queue, 'retries', '5', 'remaining', '5', 'time', '1', ...)
end
local now, zadd = tonumber(ARGV[1]), function(key, score, jid) redis.call('ZADD', 'ql:q:q-' .. key, score, jid) end
for i = 1, tonumber(ARGV[2]) do
`

// TestCallsAreBoundedByWhatTheyDo has very many of everything that a take may find, and counts the commands that each call runs. Nothing is
// left undone for that.
func TestCallsAreBoundedByWhatTheyDo(t *testing.T) {
	l, ctx, size := newBoundsLab(t), t.Context(), multitude()
	tests := []struct {
		name string
		fill string        // what there is so much of
		jobs int           // how many a take of 8 gets, or it says that there is more
		left func() string // what else is to be so
		want string
	}{
		{"waiting", `make('j' .. i, 'waiting', 'q') zadd('work', -i, 'j' .. i)`, 8, nil, ""},
		{"delayed jobs that are due", `make('j' .. i, 'scheduled', 'q') zadd('scheduled', i / 1e5, 'j' .. i)`, 8, func() string {
			return fmt.Sprint(l.many("ql:q:q-scheduled"))
		}, fmt.Sprint(size - 200)},
		{"jobs that must wait for a throttle", `make('j' .. i, 'waiting', 'q', 'throttles', '["t"]') zadd('work', -i, 'j' .. i)
			if i == 1 then redis.call('HSET', 'ql:th:t', 'id', 't', 'maximum', '1') redis.call('ZADD', 'ql:th:t-locks', '1', 'x') end`, 8, nil, ""},
		{"entries without a job", `zadd('work', -i, 'j' .. i)`, 8, nil, ""},
		{"locks that ran out", `make('j' .. i, 'running', 'q', 'worker', 'other', 'grace', '1') zadd('locks', i / 1e5, 'j' .. i)`, 8, nil, ""},
		{"locks that have just run out", `make('j' .. i, 'running', 'q', 'worker', 'other') zadd('locks', i / 1e5, 'j' .. i)`, 0, nil, ""},
		{"recurring jobs that are due", `redis.call('HSET', 'ql:r:r' .. i, 'jid', 'r' .. i, 'klass', 'K', 'data', '{}', 'priority', '0', 'tags', '{}',
			'state', 'recur', 'queue', 'q', 'type', 'interval', 'count', '0', 'interval', '60', 'retries', '5', 'backlog', '1') zadd('recur', now - 1, 'r' .. i)`, 8, nil, ""},
	}
	take := Take{Queues: []string{"q"}, Count: 8}
	for _, tt := range tests {
		t.Run("a take of "+tt.name, func(t *testing.T) {
			l.lab.redis.FlushDB(ctx)
			l.fill(eachJob+tt.fill+" end", size)
			for _, order := range []Order{Ordered, RoundRobin, Oldest} {
				take.Order = order
				reply, commands := l.take(take)
				never(t, commands > mostCommands, "%s: a take of %d runs %d commands", order, len(reply.Jobs), commands)
				if len(reply.Jobs) < tt.jobs && !reply.More {
					t.Errorf("%s: took %d jobs, more: %v", order, len(reply.Jobs), reply.More)
				}
				if order == Ordered && tt.left != nil && tt.left() != tt.want {
					t.Errorf("%s are left, want %s", tt.left(), tt.want)
				}
			}
			l.lab.redis.ConfigResetStat(ctx)
			if _, _, err := l.client.Outlook(ctx, []string{"q"}); err != nil {
				t.Fatal(err)
			}
			if n := commandsRun(t, l.lab); n > mostCommands {
				t.Errorf("the outlook runs %d commands", n)
			}
		})
	}
}

// TestACompletionIsBoundedByWhatItDoes completes a job for which as many wait, and one that holds a throttle
// for as many, where as many are complete.
func TestACompletionIsBoundedByWhatItDoes(t *testing.T) {
	l, ctx, size := newBoundsLab(t), t.Context(), multitude()
	l.put(Put{Queue: "q", JID: "first", Klass: "K"}, Put{Queue: "q", JID: "second", Klass: "K"}, Put{Queue: "q", JID: "third", Klass: "K"})
	l.fill(eachJob+`
		make('c' .. i, 'complete', '') redis.call('ZADD', 'ql:completed', now - i / 1e3, 'c' .. i)
		make('d' .. i, 'depends', 'r') redis.call('ZADD', 'ql:q:r-depends', i, 'd' .. i)
		redis.call('SADD', 'ql:j:first-dependents', 'd' .. i) redis.call('SADD', 'ql:j:d' .. i .. '-dependencies', 'first')
		make('p' .. i, 'throttled', 's', 'throttles', '["t"]') redis.call('ZADD', 'ql:q:s-throttled', i, 'p' .. i)
		redis.call('ZADD', 'ql:th:t-pending', i, 'p' .. i)
		if i == 1 then
			redis.call('HSET', 'ql:j:third', 'throttles', '["t"]') redis.call('HSET', 'ql:th:t', 'id', 't', 'maximum', ARGV[2])
		end
	end
	redis.call('HSET', 'ql:config', 'jobs-history-count', ARGV[2] / 2)`, size)
	reply, _ := l.take(Take{Queues: []string{"q"}, Count: 3})
	settle := func(jid string) Settlement {
		i := slices.IndexFunc(reply.Jobs, func(job Taken) bool { return job.JID == jid })
		return Settlement{JID: jid, Queue: "q", Popped: reply.Jobs[i].Popped, Action: Complete}
	}
	end, commands := l.take(Take{}, settle("first"))
	never(t, commands > mostCommands || !end.Rest, "to complete what all wait for runs %d commands, and leaves some: %v", commands, end.Rest)
	_, commands = l.take(Take{}, settle("third"))
	never(t, commands > mostCommands, "to complete what holds a throttle runs %d commands", commands)
	if n := l.many("ql:q:s-work"); n == 0 {
		t.Error("no job that waited for the throttle was let go")
	}
	// A put over the job that they waited for finishes that first.
	before := l.many("ql:q:r-depends")
	never(t, before == 0 || before == size, "%d jobs wait for one that is complete", before)
	calls := 0
	for ; end.Rest && calls < 5; calls++ {
		if end, commands = l.take(Take{}); commands > mostCommands {
			t.Errorf("to go on runs %d commands", commands)
		}
	}
	if after := l.many("ql:q:r-depends"); after >= before {
		t.Errorf("%d jobs wait, %d before", after, before)
	}
	swept := must(l.client.Sweep(ctx, []string{"q", "r"}, 50))(t)
	if len(swept.Broken) > 0 || l.many("ql:q:r-depends") != 0 || l.many("ql:q:r-work") != size || l.many("ql:completed") != size/2 {
		t.Errorf("when all is done %d jobs wait for one that is complete, %d are ready, %d complete are kept; broken: %v",
			l.many("ql:q:r-depends"), l.many("ql:q:r-work"), l.many("ql:completed"), swept.Broken)
	}
	if n := l.lab.redis.Exists(ctx, "ql:oarlock:unblock", "ql:j:first-dependents").Val(); n != 0 {
		t.Error("something is left of what was to be done")
	}
}

// TestAPutWaitsForThoseWhoWaitForTheJobBefore puts over a job that is complete while not all who
// waited for it are free, by each way in which a name is taken again.
func TestAPutWaitsForThoseWhoWaitForTheJobBefore(t *testing.T) {
	l := newBoundsLab(t)
	ctx := t.Context()
	for name, again := range map[string]func() error{
		"put":         func() error { return second(l.client.Put(ctx, Put{Queue: "q", JID: "a", Klass: "K"})) },
		"single put":  func() error { return second(l.client.call(ctx, Qless, "put", "", "q", "a", "K", "{}", 0)) },
		"reqless put": func() error { return second(l.client.call(ctx, Reqless, "queue.put", "", "q", "a", "K", "{}", 0)) },
		"pruned, put": func() error {
			l.lab.redis.Del(ctx, "ql:j:a", "ql:completed")
			return second(l.client.Put(ctx, Put{Queue: "q", JID: "a", Klass: "K"}))
		},
		"cancel, none": func() error { return second(l.client.call(ctx, Qless, "cancel", "a")) },
	} {
		t.Run(name, func(t *testing.T) {
			l.lab.redis.FlushDB(ctx)
			l.put(Put{Queue: "q", JID: "a", Klass: "K"})
			puts := make([]Put, 200)
			for i := range puts {
				puts[i] = Put{Queue: "r", JID: fmt.Sprintf("d%d", i), Klass: "K", Depends: []string{"a"}}
			}
			l.put(puts...)
			reply, _ := l.take(Take{Queues: []string{"q"}, Count: 1})
			end, _ := l.take(Take{}, Settlement{JID: "a", Queue: "q", Popped: reply.Jobs[0].Popped, Action: Complete})
			stop(t, !end.Rest, "all were freed at once")
			ok(t, again())
			for name != "cancel, none" && end.Rest { // the rest of pruning
				if end, _ = l.take(Take{}); end.Rest {
					t.Fatal("some still wait")
				}
			}
			counts := must(l.client.Queue(ctx, "r"))(t)
			never(t, name != "cancel, none" && (counts.Depends != 0 || counts.Waiting != 200), "of those who waited: %+v", counts)
		})
	}
}

func second[T any](_ T, err error) error { return err }

// TestTakesBesideParkedJobs: however many jobs wait for an answer in a queue, a take of those that wait for a child runs the same commands, in a
// queue with rules and in one without. Neither does a look run more.
func TestTakesBesideParkedJobs(t *testing.T) {
	parked := int64(Tenth(100_000))
	for name, ruled := range map[string]bool{"exchange": false, "ruled": true} {
		t.Run(name, func(t *testing.T) {
			l, ctx := newBoundsLab(t), t.Context()
			if ruled {
				_, err := l.client.InstallRules(ctx, "", NewRules{Doc: "{}", Queues: []RuledQueue{{Queue: "q", Rules: `{"shape":"a","throttles":["erp"]}`}},
					Throttles: []RuledThrottle{{Name: "erp", Rules: `{"limit":1000,"patience":60}`, Limit: 1000}}})
				ok(t, err)
			}
			measure := func() (counts [3]int, took time.Duration) {
				t.Helper()
				puts := make([]Put, 50)
				for i := range puts {
					puts[i] = Put{Queue: "q", Klass: "K"}
				}
				l.put(puts...)
				began := time.Now()
				reply, commands := l.take(Take{Queues: []string{"q"}, Count: 50})
				counts[0] = commands
				settlements := done(reply.Jobs...)
				stop(t, len(settlements) != 50, "took %d jobs of 50", len(settlements))
				_, counts[1] = l.take(Take{}, settlements...)
				took = time.Since(began)
				l.lab.redis.ConfigResetStat(ctx)
				_, _, err := l.client.Outlook(ctx, []string{"q"})
				ok(t, err)
				counts[2] = commandsRun(t, l.lab)
				return counts, took
			}
			const park = eachJob + `make('p' .. i, 'scheduled', 'q', 'oarlock-queue', 'q', 'oarlock-correlation', 'c' .. i, 'oarlock-park', now + 86400 + i, 'oarlock-life', '1')
				zadd('scheduled', now + 86400 + i, 'p' .. i) redis.call('HSET', 'ql:oarlock:correlations:K', 'c' .. i, 'jp' .. i) end`
			l.fill(park, 1)
			measure() // the first registers what there is only once
			few, soon := measure()
			for left := parked; left > 0; left -= 10_000 { // no script runs for long
				l.fill(strings.Replace(park, "for i = 1, tonumber(ARGV[2]) do", fmt.Sprintf("for i = %d, tonumber(ARGV[2]) do", left-10_000+1), 1), left)
			}
			if n := l.many("ql:q:q-scheduled"); n != parked {
				t.Fatalf("%d are parked", n)
			}
			many, late := measure()
			never(t, few != many, "beside one parked job a take, its settlements and a look run %v commands, beside %d %v", few, parked, many)
			t.Logf("50 jobs taken and settled in %v beside one parked job, in %v beside %d", soon, late, parked)
		})
	}
}

func TestLongestData(t *testing.T) {
	if err := checkLength(MaxData); err != nil {
		t.Error(err)
	}
	if err := checkLength(MaxData + 1<<20); err == nil || !strings.Contains(err.Error(), "513 MiB long; Redis takes 512 MiB at most") {
		t.Errorf("err = %v", err)
	}
}
