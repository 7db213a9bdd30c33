package queue

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
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
	puts    map[string]Put // all
	running map[string]Taken
	owns    map[string]map[string]modelHold // jid → throttle → what it has since it began last
	began   float64                         // when a job began last
	ended   int
	modelStates
}

type modelQueue struct {
	throttles []string
	order     string // what its rules say of that
}

type modelClass struct {
	weight    int
	throttles []string
	bypass    bool
	shuts     bool // it may begin in its window only
}

// modelHold is how many places of a throttle a job has.
type modelHold struct {
	least, most int
	since       float64 // when it began
}

type modelWorker struct {
	name     string
	queues   []string
	children int
	order    Order
	cursor   int
	has      []Taken
	dialect  Dialect // of another client, which works by the unified script; "" for one of ours
}

// newModelWorld makes up a world, in a lab which is emptied for it.
func newModelWorld(t testing.TB, l *lab, client *Client, seed uint64) *modelWorld {
	must0(t, l.redis.FlushDB(t.Context()).Err())
	w := &modelWorld{gateWorld: &gateWorld{lab: l, t: t, client: client, now: 1763700000}, random: rand.New(rand.NewPCG(seed, 1)), queues: map[string]modelQueue{},
		limits: map[string]int{}, caps: map[string]map[string]int{}, classes: map[string]modelClass{}, jobs: map[string]Put{}, puts: map[string]Put{}, running: map[string]Taken{},
		owns: map[string]map[string]modelHold{}}
	w.began = w.now
	w.modelStates = newModelStates(w.random)
	some := func(n int) int { return 1 + w.random.IntN(n) }
	least := 0
	if w.crowds {
		least = 1
	}
	w.names = []string{"q1", "q2", "q3"}[:least+some(3-least)]
	w.install()
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
		windows := ""
		if k.shuts {
			windows = `,"windows":[{"name":"n","spec":"UTC|n"}]`
		}
		classes = append(classes, fmt.Sprintf(`%q:{"weight":%d,"throttles":%s,"bypass":%t%s}`, name, k.weight, list(k.throttles), k.bypass, windows))
	}
	slices.Sort(classes)
	return fmt.Sprintf(`{"shape":"s%d","limited":%t,"limit_of_queue":%d,"throttles":%s,"asks":{"planner":true},%s
		"by":{"hard":["path","v"],"lent":["path","v"],"each":["path","v"],"many":["path","d"]},"klass":{%s}}`,
		w.shape, limit > 0, limit, list(q.throttles), q.order, strings.Join(classes, ","))
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
// throttle before; who was answered, or waited in vain, or was lost with its worker, has its own until it is asked for others. Whose attempt was
// ended for it may have them as long as its lock holds. Where rules changed who began before has what those asked for.
func (w *modelWorld) check() {
	w.t.Helper()
	least, most, asked, elders := map[string]int{}, map[string]int{}, map[string]int{}, w.came > 0 && len(w.ghosts) > 0
	for jid, holds := range w.owns {
		_, runs := w.running[jid]
		until, parks := w.parked[jid]
		elder := w.came > 0 && len(holds) == 0
		for tid, h := range holds {
			most[tid] += h.most
			if elder = elder || h.since <= w.came || h.most > h.least; h.since <= w.came {
				continue
			}
			if runs || parks && until > w.now && !w.answered[jid] {
				least[tid] += h.least
				asked[tid] += h.least
			}
		}
		if elder { // where it ran unasked it was given what it needs now
			elders = true
			for _, n := range w.needs(w.puts[jid]) {
				most[n.tid] += max(0, n.places-holds[n.tid].most)
			}
		}
	}
	for tid := range w.holders() {
		least[tid] += 0
	}
	for tid, want := range least {
		n, limit := w.many(tid), w.limitOf(tid)
		if n < want || n > most[tid] && tid != "planner" {
			for jid := range w.holders()[tid] {
				w.note("%s is %v, here %v", jid, w.redis.HGetAll(w.t.Context(), "ql:j:"+jid).Val(), w.owns[jid])
			}
			w.fail("%d places of %s are taken, by %v; of what runs or is parked %d to %d", n, tid, w.holders()[tid], want, most[tid])
		}
		if limit > 0 && (n > limit && !elders || asked[tid] > limit) {
			w.fail("%d places of %s are taken, by %v, of %d, %d of them since the rules came", n, tid, w.holders()[tid], limit, asked[tid])
		}
	}
}

// logged is so much of what happened that a world tells at its end.
const logged = 60

// fail ends a world, and tells what happened last.
func (w *modelWorld) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("at %.3f "+format+"\nafter\n%s", append(append([]any{w.now - 1763700000}, args...), strings.Join(w.log[max(0, len(w.log)-logged):], "\n"))...)
}

// step lets somebody do something.
func (w *modelWorld) step() {
	before := w.now
	w.now += w.random.Float64() * 0.3
	if int(before) != int(w.now) {
		var awake []string
		for _, worker := range w.workers {
			if worker.dialect == "" && len(worker.has) < worker.children && worker != w.idle {
				awake = append(awake, w.awake(worker)...)
			}
		}
		slices.Sort(awake)
		w.tend(slices.Compact(awake)...)
		w.decideAll()
	}
	w.change()
	worker := w.workers[w.random.IntN(len(w.workers))]
	if w.dies && w.random.IntN(40) == 0 {
		w.die(worker)
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
			w.park(job.JID, w.now+settlements[i].Delay.Seconds())
			w.note("%s parks until %.3f", job.JID, w.parked[job.JID]-1763700000)
			delete(w.running, job.JID)
			continue
		case n == 0:
			settlements[i].Action, settlements[i].Delay = Release, time.Duration(w.random.IntN(2))*time.Second
		case n == 1:
			settlements[i].Action, settlements[i].Front = Release, true
			w.front[job.JID] = true
		default:
			w.ended++
			defer delete(w.jobs, job.JID)
		}
		delete(w.running, job.JID)
		delete(w.owns, job.JID)
		w.note("%s is settled: %v", job.JID, settlements[i].Action)
	}
	w.takeAs(worker, append(settlements, w.leaveTurns(worker)...))
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
			w.fail("%s runs twice", job.JID)
		}
		if until, parks := w.parked[job.JID]; parks && !w.answered[job.JID] && until > w.now {
			w.fail("%s begins, and waits for an answer until %v", job.JID, until)
		}
		p, is := w.jobs[job.JID]
		if !is {
			w.fail("%s begins, and was canceled or has ended", job.JID)
		}
		w.inside(p)
		w.hold(p)
		w.note("%s begins in %s", job.JID, p.Queue)
		delete(w.parked, job.JID)
		delete(w.answered, job.JID)
		delete(w.held, job.JID)
		delete(w.lost, job.JID)
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
		delete(w.owns, job.JID)
		w.note("%s is ended by %s, who knows no rules", job.JID, worker.name)
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
	l := newLab(t, "shared", DefaultNamespace)
	client := labClient(t, l)
	for seed := range Seeds(t, 30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playGate(newModelWorld(t, l, client, seed), 80) })
	}
}

func playGate(w *modelWorld, jobs int) {
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
			w.fail("there is no end of it, with %d jobs: %v", len(w.jobs), w.ownKeys())
		}
	}
	w.end()
}

// finder ends a world where something is wrong, and not its test.
type finder struct{ testing.TB }

func (f finder) Fatalf(format string, args ...any) { panic(turnsFault(fmt.Sprintf(format, args...))) }
func (f finder) Errorf(format string, args ...any) { panic(turnsFault(fmt.Sprintf(format, args...))) }
func (f finder) Fatal(args ...any)                 { panic(turnsFault(fmt.Sprint(args...))) }

// gateMutations are mistakes in the scripts that the worlds must find.
var gateMutations = []struct {
	name    string
	changes []string // what stands there, and what in its place
	first   uint64   // the seed that is played first, for one is known to find it
}{
	{"a queue is full whose places those have who are parked", []string{"return t.used >= t.max and t.used <= redis.call('ZCARD', 'ql:q:' .. queue .. '-locks')", "return t.used >= t.max"}, 1},
	{"who goes on and needs nothing any more keeps what it had",
		[]string{"elseif (job.leg or f[16] == 'stalled') and job.throttles then", "elseif false then"}, 0},
}

// TestGateMutations makes each mistake, and plays until a world finds it.
func TestGateMutations(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	client := labClient(t, l)
	for i, m := range gateMutations {
		t.Run(m.name, func(t *testing.T) {
			oneOfMistakes(t, i)
			mustFindByGate(t, l, client, m.changes, m.first, 10)
		})
	}
}

func mustFindByGate(t *testing.T, l *lab, client *Client, changes []string, first uint64, many int) {
	clear(l.texts)
	mustFind(t, changes, many, func(i uint64, change func(string) string) (wrong string) {
		defer func() { wrong = faultOf(recover()) }()
		l.change = change
		playGate(newModelWorld(finder{t}, l, client, first+i), 80)
		return ""
	})
}
