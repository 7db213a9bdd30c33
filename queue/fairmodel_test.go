package queue

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// fairWorld is a fair queue with several supervisors: values come and go, their jobs have priorities and weights, and supervisors die. After each exchange it is
// asked whether a job waits beside a free child, and over each time in which the same values wait whether they start by their weights.
type fairWorld struct {
	*gateWorld
	random  *rand.Rand
	weights map[string]int
	workers []*fairWorker
	number  int
	waiting map[string]map[string]int // priority → value → jobs that wait
	jobs    map[string]Put            // that have not ended
	lost    map[string]bool           // whose supervisor died while it ran: they are taken before all others
	ran     int
	spans   map[string]map[string]float64 // priority → value → places that began since all of these wait
	longest float64                       // places that began in a span of those that were judged
}

type fairWorker struct {
	name     string
	children int
	has      []Taken
}

func newFairWorld(t *testing.T, seed uint64) *fairWorld {
	w := &fairWorld{gateWorld: newGateWorld(t), random: rand.New(rand.NewPCG(seed, 7)), weights: map[string]int{}, waiting: map[string]map[string]int{},
		jobs: map[string]Put{}, lost: map[string]bool{}, spans: map[string]map[string]float64{}}
	classes := `"klass":{"Heavy":{"weight":3}}`
	if seed%3 == 0 {
		w.rule(map[string]string{"q": `{"shape":"a","throttles":["tenant"],"by":{"tenant":["path","tenant"]},` + classes + `}`}, map[string]string{"tenant": tenantThrottle})
	} else {
		w.weights["t0"], w.weights["t1"] = 1+w.random.IntN(4), 1+w.random.IntN(4)
		w.rule(map[string]string{"q": fmt.Sprintf(`{"shape":"a","fair":"fair:q","throttles":["fair:q"],"by":{"fair:q":["path","tenant"]},"weights":{"t0":%d,"t1":%d},%s}`,
			w.weights["t0"], w.weights["t1"], classes)}, nil)
	}
	for i := range 3 {
		w.workers = append(w.workers, &fairWorker{name: fmt.Sprint("w", i), children: 1 + w.random.IntN(5)})
	}
	return w
}

func (w *fairWorld) weight(value string) float64 { return float64(max(1, w.weights[value])) }

func valueOf(p Put) string { return string(p.Data[len(`{"tenant":"`) : len(p.Data)-2]) }

func levelOf(p Put) string { return fmt.Sprint(*p.Priority) }

// come puts jobs of a value, of one priority or another.
func (w *fairWorld) come() {
	value, level := fmt.Sprint("t", w.random.IntN(6)), float64(w.random.IntN(2))
	for range []int{1, 5, 40, 120}[w.random.IntN(4)] {
		w.number++
		p := Put{Queue: "q", JID: fmt.Sprintf("j%06d", w.number), Klass: []string{"K", "K", "Heavy"}[w.random.IntN(3)], Priority: &level, Data: fmt.Appendf(nil, `{"tenant":%q}`, value)}
		w.put(p)
		w.jobs[p.JID] = p
		w.wait(p, 1)
	}
}

func (w *fairWorld) wait(p Put, n int) {
	level, value := levelOf(p), valueOf(p)
	if w.waiting[level] == nil {
		w.waiting[level] = map[string]int{}
	}
	if w.waiting[level][value] += n; w.waiting[level][value] == 0 {
		delete(w.waiting[level], value)
	}
}

// step lets a worker end some of what it has, and take what it has room for.
func (w *fairWorld) step() {
	w.now += 0.01
	worker := w.workers[w.random.IntN(len(w.workers))]
	if w.random.IntN(150) == 0 && len(worker.has) > 0 { // its jobs are found when their locks have run out
		for _, job := range worker.has {
			w.lost[job.JID] = true
			w.keep(job.JID, 0.5)
		}
		worker.has = nil
		for range 3 {
			w.now += 11
			w.call("sweep", 100, "q")
		}
	}
	for _, each := range w.workers {
		for _, job := range each.has {
			w.keep(job.JID, 1000)
		}
	}
	ends := worker.has[:min(len(worker.has), w.random.IntN(3))]
	worker.has = worker.has[len(ends):]
	w.exchangeAll(worker, ends)
}

// keep has the lock of a job end in so many seconds.
func (w *fairWorld) keep(jid string, seconds float64) {
	ok(w.t, w.redis.ZAddXX(w.t.Context(), "ql:q:q-locks", redis.Z{Score: w.now + seconds, Member: jid}).Err())
	ok(w.t, w.redis.HSet(w.t.Context(), "ql:j:"+jid, "expires", fmt.Sprintf("%.3f", w.now+seconds)).Err())
}

func (w *fairWorld) exchangeAll(worker *fairWorker, ends []Taken) {
	for _, job := range ends {
		if _, is := w.jobs[job.JID]; !is {
			w.t.Fatalf("%s ran twice", job.JID)
		}
		delete(w.jobs, job.JID)
		w.ran++
	}
	settlements, want := done(ends...), worker.children-len(worker.has)
	for more := want > 0 || len(ends) > 0; more; {
		reply := w.exchange(worker.name, settlements, Take{Queues: []string{"q"}, Count: want})
		settlements, want = nil, want-len(reply.Jobs)
		for _, job := range reply.Jobs {
			w.begins(job)
		}
		worker.has = append(worker.has, reply.Jobs...)
		more = reply.More && want > 0
	}
	if waits := len(w.jobs) - w.running() - len(w.lost); want > 0 && waits > 0 {
		w.t.Fatalf("%d children are free, and %d jobs wait: %v", want, waits, w.waiting)
	}
	w.judge()
}

func (w *fairWorld) running() (n int) {
	for _, worker := range w.workers {
		n += len(worker.has)
	}
	return n
}

func (w *fairWorld) begins(job Taken) {
	p := w.jobs[job.JID]
	if w.lost[job.JID] {
		delete(w.lost, job.JID)
		return
	}
	w.wait(p, -1)
	span := w.spans[levelOf(p)]
	if _, waited := span[valueOf(p)]; waited {
		span[valueOf(p)] += map[string]float64{"K": 1, "Heavy": 3}[p.Klass]
	}
}

// judge begins a span where all that waits is filed, and ends it where other values wait than in the beginning.
func (w *fairWorld) judge() {
	filed := w.redis.ZCard(w.t.Context(), "ql:q:q-work").Val() == 0
	for _, level := range []string{"0", "1"} {
		now, span := w.waiting[level], w.spans[level]
		same := span != nil && len(now) == len(span)
		for value := range span {
			same = same && now[value] > 0
		}
		if same {
			continue
		}
		delete(w.spans, level)
		if filed && len(now) > 1 {
			w.spans[level] = map[string]float64{}
			for value := range now {
				w.spans[level][value] = 0
			}
		}
		w.judgeSpan(level, span)
	}
}

// judgeSpan compares what began of each value; the last jobs of one that waits no more belong to no span.
func (w *fairWorld) judgeSpan(level string, span map[string]float64) {
	total, weights := 0.0, 0.0
	for value, places := range span {
		total += places
		weights += w.weight(value)
	}
	w.longest = max(w.longest, total)
	for value, places := range span {
		share := total * w.weight(value) / weights
		if total >= 60 && math.Abs(places-share) > 0.1*share+3 {
			w.t.Errorf("at priority %s %v places of %v began of %s, whose share is %.1f: %v, weights %v", level, places, total, value, share, span, w.weights)
		}
		for other, its := range span {
			if lag := its/w.weight(other) - places/w.weight(value); lag > 3/w.weight(value)+3/w.weight(other)+0.5 {
				w.t.Errorf("at priority %s %s is %.1f behind %s: %v, weights %v", level, value, lag, other, span, w.weights)
			}
		}
	}
}

// TestFairModel plays fair queues at random.
func TestFairModel(t *testing.T) {
	longest := 0.0
	for seed := range Seeds(t, 20) {
		w := newFairWorld(t, seed)
		for range 400 {
			if len(w.jobs)-w.running() < 40 || w.random.IntN(8) == 0 && len(w.jobs) < 600 {
				w.come()
			}
			w.step()
		}
		for i := 0; len(w.jobs) > 0 && i < 5000; i++ {
			w.step()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			if len(w.jobs) == len(w.lost)+w.running() && i%50 == 49 {
				w.now += 100
				w.call("sweep", 100, "q")
			}
		}
		longest = max(longest, w.longest)
		if keys := w.ownKeys(); len(w.jobs) > 0 || len(keys) > 0 || w.ran != w.number {
			t.Fatalf("seed %d: of %d jobs %d ran, %d are left: %v, keys %q", seed, w.number, w.ran, len(w.jobs), slices.Sorted(maps.Keys(w.jobs)), keys)
		}
	}
	t.Logf("in the longest span %v places began", longest)
	if longest < 60 {
		t.Error("no span was long enough to tell")
	}
}
