package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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
	results, err := l.client.PutAll(l.t.Context(), puts)
	must0(l.t, err)
	for _, r := range results {
		must0(l.t, r.Err)
	}
}

// fill runs a script that makes many of something; ARGV[1] is the time.
func (l *boundsLab) fill(script string) {
	l.t.Helper()
	if err := l.lab.redis.Eval(l.t.Context(), script+" return 1", nil, number(l.client.Now())).Err(); err != nil {
		l.t.Fatal(err)
	}
}

// take is one call, and how many commands Redis ran for it.
func (l *boundsLab) take(take Take, settlements ...Settlement) (reply Reply, commands int) {
	l.t.Helper()
	l.lab.redis.ConfigResetStat(l.t.Context())
	reply, err := l.session.Exchange(l.t.Context(), settlements, take)
	must0(l.t, err)
	for _, r := range reply.Results {
		must0(l.t, r.Err)
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
			must0(t, l.client.SetThrottle(ctx, Throttle{ID: "big", Maximum: 2}))
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
			if calls > 100 {
				t.Errorf("that took %d calls", calls)
			}
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
	if order[59] != "j12000" {
		t.Errorf("the 60th job is %s", order[59])
	}
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
			l.lab.redis.FlushAll(t.Context())
			for i, mib := range []int{1, 1, 16, 16, 2, 2, 2} {
				l.put(Put{Queue: "q", JID: fmt.Sprintf("j%d", 9-i), Klass: "K", Data: data(mib << 20)})
			}
			take := Take{Queues: []string{"q"}, Order: order, Count: 7}
			var calls [][]int64
			for more := true; more; {
				reply, _ := l.take(take)
				calls, more = append(calls, sizes(reply.Jobs)), reply.More
				take.Count -= len(reply.Jobs)
			}
			if want := "[[1 1] [16] [16] [2 2] [2]]"; fmt.Sprint(calls) != want {
				t.Errorf("took jobs of %v MiB, want %s", calls, want)
			}
			// Data that is withheld is not counted.
			l.lab.redis.FlushAll(t.Context())
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
				must0(t, err)
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
			if cost[100] > cost[1]*11/10 || cost[2000] > cost[1]*11/10 {
				t.Errorf("takes of one job run this many commands, by the number of queues: %v", cost)
			}
		})
	}
}

// TestATakeTellsWhatIsLeft reads what the next take may be spared.
func TestATakeTellsWhatIsLeft(t *testing.T) {
	l := newBoundsLab(t)
	for i, name := range strings.Fields("a b b c") {
		l.put(Put{Queue: name, JID: fmt.Sprintf("j%d", 9-i), Klass: "K"})
	}
	put := func(jid string) float64 {
		f, err := l.lab.redis.HGet(t.Context(), "ql:j:"+jid, "time").Float64()
		must0(t, err)
		return f
	}
	second := put("j7")
	reply, _ := l.take(Take{Queues: []string{"a", "b", "c"}, Count: 2})
	if fmt.Sprint(reply.Left) != "[{a 0}]" || reply.More {
		t.Errorf("left in order: %v, more: %v", reply.Left, reply.More)
	}
	reply, _ = l.take(Take{Queues: []string{"a", "c", "b"}, Heads: []float64{second + 9, second + 8, second}, Order: Oldest, Count: 1})
	if len(reply.Jobs) != 1 || reply.Jobs[0].JID != "j7" || fmt.Sprint(reply.Left) != "[{b 0}]" {
		t.Errorf("took %+v, and left of the oldest: %v", reply.Jobs, reply.Left)
	}
	reply, _ = l.take(Take{Queues: []string{"a", "b", "c"}, Order: RoundRobin, Count: 2})
	if len(reply.Jobs) != 1 || len(reply.Left) != 3 {
		t.Errorf("took %+v, and left in turn: %v", reply.Jobs, reply.Left)
	}
}
