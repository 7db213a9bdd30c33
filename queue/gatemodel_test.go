package queue

import (
	"cmp"
	"encoding/json"
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
	modelStates
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
	w.modelStates = newModelStates(w.random)
	throttles, queues := map[string]string{}, map[string]string{}
	some := func(n int) int { return 1 + w.random.IntN(n) }
	patience := []int{1, 5, 60}[w.random.IntN(3)]
	for _, name := range []string{"a", "b", "c"} {
		w.limits[name], w.free[name] = some(6), w.random.IntN(4) == 0
		throttles[name] = fmt.Sprintf(`{"limit":%d,"patience":%d,"free":%t}`, w.limits[name], patience, w.free[name])
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
	w.limits["many"], w.caps["many"] = some(4), map[string]int{}
	throttles["many"] = fmt.Sprintf(`{"limit":%d,"patience":%d,"by":["path","d"]}`, w.limits["many"], patience)
	names := slices.Sorted(maps.Keys(throttles))
	if w.decides != "" {
		throttles["planner"] = fmt.Sprintf(`{"asks":%q,"patience":%d}`, w.decides, patience)
	}
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
	least := 0
	if w.crowds {
		least = 1
	}
	for i, name := range []string{"q1", "q2", "q3"}[:least+some(3-least)] {
		q, limit := modelQueue{}, 0
		if w.decides != "" && (i == 0 || w.random.IntN(2) == 0) {
			q.throttles = append(q.throttles, "planner")
			if w.random.IntN(2) == 0 {
				q.throttles = append(q.throttles, "lent")
			}
		}
		if w.crowds {
			q.throttles = append(q.throttles, "many")
		}
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
		if i > 0 && w.decides == "" && w.random.IntN(3) == 0 {
			worker.dialect = []Dialect{Qless, Reqless}[w.random.IntN(2)]
		}
		if len(worker.queues) > 0 {
			w.workers = append(w.workers, worker)
		}
	}
	w.idle = &modelWorker{name: "idle", queues: slices.Sorted(maps.Keys(w.queues)), children: 200}
	w.workers = append(w.workers, w.idle)
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
	return fmt.Sprintf(`{"shape":"s","limited":%t,"limit_of_queue":%d,"throttles":%s,"asks":{"planner":true},
		"by":{"hard":["path","v"],"lent":["path","v"],"each":["path","v"],"many":["path","d"]},"klass":{%s}}`,
		limit > 0, limit, list(q.throttles), strings.Join(classes, ","))
}

// modelNeed is so many places of a throttle.
type modelNeed struct {
	tid    string
	places int
}

// needs is which places a job takes, in the order in which it is asked for them.
func (w *modelWorld) needs(p Put) (needs []modelNeed) {
	class := w.classes[p.Klass]
	if class.bypass || p.Wants.Bypass {
		return nil
	}
	class.weight = cmp.Or(p.Wants.Weight, class.weight)
	add := func(tid string, limit int) {
		if slices.ContainsFunc(needs, func(n modelNeed) bool { return n.tid == tid }) {
			return
		}
		n := modelNeed{tid, class.weight}
		if limit > 0 {
			n.places = min(n.places, limit)
		}
		needs = append(needs, n)
	}
	var data struct{ V, D string }
	must0(w.t, json.Unmarshal(p.Data, &data))
	for _, name := range slices.Concat(p.Throttles, class.throttles, w.queues[p.Queue].throttles) {
		if caps := w.caps[name]; caps != nil {
			v := data.V
			if name == "many" {
				v = data.D
			} else if name != "each" && v != "x" && v != "y" {
				v = "*"
			}
			add(name+"="+v, caps[v])
		}
		add(name, w.limits[name])
	}
	if tid := "ql:q:" + p.Queue; w.limits[tid] > 0 || len(p.Throttles) > 0 {
		add(tid, w.limits[tid])
	}
	return needs
}

// check compares the places that are taken with those of the jobs that run, or are parked. Who was let start by the command has one of its
// throttle before; who was answered, or waited in vain, has its own until it is asked for others.
func (w *modelWorld) check() {
	w.t.Helper()
	least, most := map[string]int{}, map[string]int{}
	for jid, p := range w.jobs {
		_, runs := w.running[jid]
		until, parks := w.parked[jid]
		for _, n := range w.needs(p) {
			base, _, _ := strings.Cut(n.tid, "=")
			if runs || parks && !w.free[base] {
				most[n.tid] += n.places
			}
			if runs || parks && until > w.now && !w.answered[jid] && !w.free[base] {
				least[n.tid] += n.places
			}
		}
	}
	for tid := range w.holders() {
		least[tid] += 0
	}
	for tid, want := range least {
		n := w.many(tid)
		if n < want || n > most[tid] && tid != "planner" {
			w.t.Fatalf("at %v %d places of %s are taken, of what runs or is parked %d to %d", w.now, n, tid, want, most[tid])
		}
		if limit := w.limitOf(tid); limit > 0 && n > limit {
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
			if !worker.dead && worker.dialect == "" && len(worker.has) < worker.children && worker != w.idle {
				awake = append(awake, w.awake(worker)...)
			}
		}
		slices.Sort(awake)
		w.tend(slices.Compact(awake)...)
		w.decideAll()
	}
	w.change()
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
		switch n := w.random.IntN(6); {
		case n < 2 && w.parks:
			settlements[i].Action, settlements[i].Correlation, settlements[i].Delay = Park, job.JID, time.Duration(1+w.random.IntN(60))*time.Second
			w.parked[job.JID] = w.now + settlements[i].Delay.Seconds()
		case n == 0:
			settlements[i].Action, settlements[i].Delay = Release, time.Duration(w.random.IntN(2))*time.Second
		case n == 1:
			settlements[i].Action, settlements[i].Front = Release, true
		default:
			w.ended++
			defer delete(w.jobs, job.JID)
		}
		delete(w.running, job.JID)
	}
	w.takeAs(worker, settlements)
}

// takeAs is an exchange of a worker, and those after it for the rest of what it takes.
func (w *modelWorld) takeAs(worker *modelWorker, settlements []Settlement) {
	take := Take{Queues: w.awake(worker), Order: worker.order, Cursor: worker.cursor, Count: worker.children - len(worker.has)}
	if worker == w.idle && settlements != nil || len(take.Queues) == 0 {
		take = Take{}
	}
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
		if until, parks := w.parked[job.JID]; parks && !w.answered[job.JID] && until > w.now {
			w.t.Fatalf("%s begins at %v, and waits for an answer until %v", job.JID, w.now, until)
		}
		delete(w.parked, job.JID)
		delete(w.answered, job.JID)
		delete(w.held, job.JID)
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
	queues := w.awake(worker)
	if len(queues) == 0 {
		return
	}
	queue := queues[w.random.IntN(len(queues))]
	if room := worker.children - len(worker.has); room > 0 {
		w.begin(worker, w.pop(worker.dialect, names["pop"], queue, worker.name, room))
	}
}

// TestGateModel plays random worlds. Of each job it is known what it needs, so places are right or wrong after each
// step; all jobs end, nothing is left, and nobody idles for long where there is work.
func TestGateModel(t *testing.T) {
	seeds, jobs := 10, 80
	if os.Getenv("OARLOCK_FAULTS") == "all" {
		seeds, jobs = 100, 10_000
	}
	first := 0
	if text := os.Getenv("OARLOCK_SEED"); text != "" { // one, or some as 1-20
		if _, err := fmt.Sscanf(text, "%d-%d", &first, &seeds); err != nil {
			seeds = first
		}
		seeds++
	}
	for seed := first; seed < seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playGate(t, uint64(seed), jobs) })
	}
}

func playGate(t *testing.T, seed uint64, jobs int) {
	w := newModelWorld(t, seed)
	for steps := 0; w.made < jobs || len(w.jobs) > 0; steps++ {
		if w.made < jobs {
			w.putSome(min(w.random.IntN(20), jobs-w.made))
		}
		w.step()
		if len(w.running) > 0 {
			w.began = max(w.began, w.now-1)
		}
		if steps%7 == 0 {
			w.check()
		}
		if steps%50 == 49 || w.now-w.began > 8 {
			w.settle()
			w.check()
		}
		if steps > 100*jobs {
			t.Fatalf("there is no end of it, at %v, with %d jobs: %v", w.now, len(w.jobs), w.ownKeys())
		}
	}
	w.end()
}
