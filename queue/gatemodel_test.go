package queue

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A model of the gate: random worlds of queues, throttles, classes and workers, in which after each step what Redis
// says of places is compared with what runs.

// modelWorld is one of them.
type modelWorld struct {
	*gateWorld
	random  *rand.Rand
	queues  map[string]modelQueue
	limits  map[string]int            // throttle → places; 0 is none
	caps    map[string]map[string]int // throttle that counts by /v → value → cap that is never passed; nil: no values
	classes map[string]modelClass
	workers []*modelWorker
	jobs    map[string]Put // that were put and have not ended
	running map[string]Taken
	began   float64 // when a job began last
	ended   int
}

type modelQueue struct{ throttles []string }

type modelClass struct {
	weight    int
	throttles []string
	bypass    bool
}

type modelWorker struct {
	name     string
	queues   []string
	children int
	order    Order
	cursor   int
	has      []Taken
	dead     bool
	dialect  Dialect // of another client, which works by the unified script; "" for one of ours
}

// newModelWorld makes up a world.
func newModelWorld(t *testing.T, seed uint64) *modelWorld {
	w := &modelWorld{gateWorld: newGateWorld(t), random: rand.New(rand.NewPCG(seed, 1)), queues: map[string]modelQueue{},
		limits: map[string]int{}, caps: map[string]map[string]int{}, classes: map[string]modelClass{}, jobs: map[string]Put{}, running: map[string]Taken{}}
	w.began = w.now
	throttles, queues := map[string]string{}, map[string]string{}
	some := func(n int) int { return 1 + w.random.IntN(n) }
	patience := []int{1, 5, 60}[w.random.IntN(3)]
	for _, name := range []string{"a", "b", "c"} {
		w.limits[name] = some(6)
		throttles[name] = fmt.Sprintf(`{"limit":%d,"patience":%d}`, w.limits[name], patience)
	}
	throttles["rate"] = fmt.Sprintf(`{"rate":[%d,1,%d],"patience":%d}`, 5+some(20), some(5), patience)
	throttles["slide"] = fmt.Sprintf(`{"rate":[%d,1,1],"sliding":true,"patience":%d}`, 5+some(20), patience)
	hard, lent, each := 4+some(8), 4+some(8), 2+some(6)
	w.limits["hard"], w.limits["lent"], w.limits["each"] = hard, lent, each
	w.caps["hard"] = map[string]int{"x": max(1, hard*4/10), "y": max(1, hard*3/10), "*": 1}
	w.caps["lent"] = map[string]int{}
	w.caps["each"] = map[string]int{"x": 2, "y": 2, "z": 2, "-": 2}
	throttles["hard"] = fmt.Sprintf(`{"limit":%d,"patience":%d,"by":["path","v"],"shares":{"x":0.4,"y":0.3}}`, hard, patience)
	throttles["lent"] = fmt.Sprintf(`{"limit":%d,"patience":%d,"by":["path","v"],"shares":{"x":0.5,"y":0.3},"others":0.2,"borrow":true}`, lent, patience)
	throttles["each"] = fmt.Sprintf(`{"limit":%d,"patience":%d,"by":["path","v"],"each":2}`, each, patience)
	names := slices.Sorted(maps.Keys(throttles))
	for _, class := range []string{"K1", "K2", "K3"} {
		k := modelClass{weight: some(3)}
		for range w.random.IntN(3) {
			if name := names[w.random.IntN(len(names))]; !slices.Contains(k.throttles, name) {
				k.throttles = append(k.throttles, name)
			}
		}
		w.classes[class] = k
	}
	w.classes["Free"] = modelClass{weight: 1, bypass: true}
	for _, name := range []string{"q1", "q2", "q3"}[:some(3)] {
		q, limit := modelQueue{}, 0
		for range w.random.IntN(3) {
			if name := names[w.random.IntN(len(names))]; !slices.Contains(q.throttles, name) {
				q.throttles = append(q.throttles, name)
			}
		}
		if w.random.IntN(2) == 0 {
			limit = some(10)
			w.limits["ql:q:"+name] = limit
		}
		w.queues[name] = q
		queues[name] = w.compile(q, limit)
	}
	w.rule(queues, throttles)
	for i := range some(4) {
		worker := &modelWorker{name: fmt.Sprintf("w%d", i), children: some(8), order: []Order{Ordered, RoundRobin, Oldest}[w.random.IntN(3)]}
		for _, name := range slices.Sorted(maps.Keys(w.queues)) {
			if i == 0 || w.random.IntN(2) == 0 {
				worker.queues = append(worker.queues, name)
			}
		}
		if i > 0 && w.random.IntN(3) == 0 {
			worker.dialect = []Dialect{Qless, Reqless}[w.random.IntN(2)]
		}
		if len(worker.queues) > 0 {
			w.workers = append(w.workers, worker)
		}
	}
	return w
}

// compile writes the rules of a queue.
func (w *modelWorld) compile(q modelQueue, limit int) string {
	list := func(names []string) string {
		if len(names) == 0 {
			return "[]"
		}
		return `["` + strings.Join(names, `","`) + `"]`
	}
	var classes []string
	for name, k := range w.classes {
		classes = append(classes, fmt.Sprintf(`%q:{"weight":%d,"throttles":%s,"bypass":%t}`, name, k.weight, list(k.throttles), k.bypass))
	}
	return fmt.Sprintf(`{"shape":"s","limited":%t,"limit_of_queue":%d,"throttles":%s,"by":{"hard":["path","v"],"lent":["path","v"],"each":["path","v"]},"klass":{%s}}`,
		limit > 0, limit, list(q.throttles), strings.Join(classes, ","))
}

// needs is which places a job takes.
func (w *modelWorld) needs(p Put) map[string]int {
	needs, class := map[string]int{}, w.classes[p.Klass]
	if class.bypass || p.Wants.Bypass {
		return needs
	}
	class.weight = cmp.Or(p.Wants.Weight, class.weight)
	add := func(tid string) {
		needs[tid] = class.weight
		if limit := w.limits[tid]; limit > 0 {
			needs[tid] = min(class.weight, limit)
		}
	}
	value := strings.TrimSuffix(strings.TrimPrefix(string(p.Data), `{"v":"`), `"}`)
	for _, name := range slices.Concat(p.Throttles, class.throttles, w.queues[p.Queue].throttles) {
		add(name)
		if caps := w.caps[name]; caps != nil {
			v := value
			if name != "each" && v != "x" && v != "y" {
				v = "*"
			}
			needs[name+"="+v] = class.weight
			if limit := caps[v]; limit > 0 {
				needs[name+"="+v] = min(class.weight, limit)
			}
		}
	}
	if w.limits["ql:q:"+p.Queue] > 0 || len(p.Throttles) > 0 {
		add("ql:q:" + p.Queue)
	}
	return needs
}

// check compares the places that are taken with those of the jobs that run.
func (w *modelWorld) check() {
	w.t.Helper()
	want := map[string]int{}
	for jid := range w.running {
		for tid, n := range w.needs(w.jobs[jid]) {
			want[tid] += n
		}
	}
	have := map[string]int{}
	for _, key := range w.redis.Keys(w.t.Context(), "ql:th:*-locks").Val() {
		tid := strings.TrimSuffix(strings.TrimPrefix(key, "ql:th:"), "-locks")
		have[tid] = w.many(tid)
	}
	if !maps.Equal(have, want) {
		w.t.Fatalf("at %v places are taken\n%v, of what runs\n%v", w.now, have, want)
	}
	for tid, n := range have {
		base, value, _ := strings.Cut(tid, "=")
		limit := w.limits[tid]
		if value != "" {
			limit = w.caps[base][value]
		}
		if limit > 0 && n > limit {
			w.t.Fatalf("at %v %d places of %s are taken, of %d", w.now, n, tid, limit)
		}
	}
}

// step lets somebody do something.
func (w *modelWorld) step() {
	before := w.now
	w.now += w.random.Float64() * 0.3
	if int(before) != int(w.now) {
		var awake []string
		for _, worker := range w.workers {
			if !worker.dead && worker.dialect == "" && len(worker.has) < worker.children {
				awake = append(awake, worker.queues...)
			}
		}
		slices.Sort(awake)
		w.tend(slices.Compact(awake)...)
	}
	worker := w.workers[w.random.IntN(len(w.workers))]
	if worker.dead {
		return
	}
	var ended []Taken
	worker.has = slices.DeleteFunc(worker.has, func(job Taken) bool {
		if w.random.IntN(3) > 0 {
			return false
		}
		ended = append(ended, job)
		return true
	})
	if worker.dialect != "" {
		w.stepAbroad(worker, ended)
		return
	}
	settlements := done(ended...)
	for i, job := range ended {
		switch w.random.IntN(6) {
		case 0:
			settlements[i].Action, settlements[i].Delay = Release, time.Duration(w.random.IntN(2))*time.Second
		case 1:
			settlements[i].Action, settlements[i].Front = Release, true
		default:
			w.ended++
			defer delete(w.jobs, job.JID)
		}
		delete(w.running, job.JID)
	}
	take := Take{Queues: worker.queues, Order: worker.order, Cursor: worker.cursor, Count: worker.children - len(worker.has)}
	for {
		reply := w.exchange(worker.name, settlements, take)
		worker.cursor, settlements = reply.Cursor, nil
		w.begin(worker, reply.Jobs)
		take.Count -= len(reply.Jobs)
		if !reply.More || take.Count <= 0 {
			return
		}
	}
}

// begin notes that jobs run from now on.
func (w *modelWorld) begin(worker *modelWorker, jobs []Taken) {
	w.t.Helper()
	for _, job := range jobs {
		if _, twice := w.running[job.JID]; twice {
			w.t.Fatalf("%s runs twice", job.JID)
		}
		w.running[job.JID], w.began = job, w.now
	}
	worker.has = append(worker.has, jobs...)
}

// stepAbroad is what a client of the protocol does that works by the unified script: it ends jobs, and pops others.
func (w *modelWorld) stepAbroad(worker *modelWorker, ended []Taken) {
	names := map[string]string{"retry": "retry", "complete": "complete", "pop": "pop"}
	if worker.dialect == Reqless {
		names = map[string]string{"retry": "job.retry", "complete": "job.complete", "pop": "queue.pop"}
	}
	for _, job := range ended {
		if delete(w.running, job.JID); w.random.IntN(4) == 0 {
			w.foreign(worker.dialect, names["retry"], job.JID, job.Queue, worker.name, fmt.Sprint(w.random.IntN(2)))
			continue
		}
		w.foreign(worker.dialect, names["complete"], job.JID, worker.name, job.Queue, "{}")
		delete(w.jobs, job.JID)
		w.ended++
	}
	queue := worker.queues[w.random.IntN(len(worker.queues))]
	if room := worker.children - len(worker.has); room > 0 {
		w.begin(worker, w.pop(worker.dialect, names["pop"], queue, worker.name, room))
	}
}

// TestGateModel plays random worlds. Of each job it is known what it needs, so places are right or wrong after each
// step; all jobs end, nothing is left, and nobody idles for long where there is work.
func TestGateModel(t *testing.T) {
	seeds, jobs := 12, 150
	if os.Getenv("OARLOCK_FAULTS") == "all" {
		seeds, jobs = 100, 10_000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playGate(t, uint64(seed), jobs) })
	}
}

func playGate(t *testing.T, seed uint64, jobs int) {
	w := newModelWorld(t, seed)
	queues, classes := slices.Sorted(maps.Keys(w.queues)), slices.Sorted(maps.Keys(w.classes))
	put, retries := 0, 1000 // who works by the unified script retries so often that some would fail
	for steps := 0; put < jobs || len(w.jobs) > 0; steps++ {
		for range w.random.IntN(20) {
			if put == jobs {
				break
			}
			priority := float64(w.random.IntN(3))
			p := Put{JID: fmt.Sprintf("j%05d", put), Queue: queues[w.random.IntN(len(queues))], Klass: classes[w.random.IntN(len(classes))],
				Priority: &priority, Retries: &retries, Data: []byte(`{"v":"` + string("xyz"[w.random.IntN(3)]) + `"}`)}
			if w.random.IntN(4) == 0 {
				p.Throttles = []string{"a"}
			}
			switch w.random.IntN(6) {
			case 0:
				p.Wants.Weight = 1 + w.random.IntN(4)
			case 1:
				p.Wants.Bypass = true
			}
			w.put(p)
			w.jobs[p.JID] = p
			put++
		}
		w.step()
		if len(w.running) > 0 {
			w.began = max(w.began, w.now-1)
		}
		if steps%7 == 0 {
			w.check()
		}
		if len(w.jobs) > 0 && w.now-w.began > 8 {
			t.Fatalf("nothing began since %v, at %v, with %d jobs: %v", w.began, w.now, len(w.jobs), w.ownKeys())
		}
	}
	if keys := w.ownKeys(); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
	if left := w.redis.Keys(t.Context(), "ql:th:*-locks").Val(); len(left) > 0 {
		t.Errorf("places are left: %q", left)
	}
}
