package queue

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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
	fair    bool                            // queues are fair by a value, whenever they have rules of an odd shape
	ended   int
	modelStates
}

type modelQueue struct {
	throttles []string
	order     string // what its rules say of that
	fair      string // the throttle by whose values it is fair, which has no limit; "" if rules do not say so
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
	ok(t, l.redis.FlushDB(t.Context()).Err())
	w := &modelWorld{gateWorld: &gateWorld{lab: l, t: finder{t}, client: client, now: 1763700000}, random: rand.New(rand.NewPCG(seed, 1)), queues: map[string]modelQueue{},
		limits: map[string]int{}, caps: map[string]map[string]int{}, classes: map[string]modelClass{}, jobs: map[string]Put{}, puts: map[string]Put{}, running: map[string]Taken{},
		owns: map[string]map[string]modelHold{}}
	w.began = w.now
	w.modelStates = newModelStates(w.random)
	w.fair = seed%3 == 1
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
	if q.fair != "" {
		q.throttles = append([]string{q.fair}, q.throttles...)
		q.order += fmt.Sprintf(`"fair":%q,`, q.fair)
	}
	return fmt.Sprintf(`{"shape":"s%d","limited":%t,"limit_of_queue":%d,"throttles":%s,"asks":{"planner":true},%s
		"by":{"fair:q1":["path","v"],"fair:q2":["path","v"],"fair:q3":["path","v"],"hard":["path","v"],"lent":["path","v"],"each":["path","v"],"many":["path","d"]},"klass":{%s}}`,
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
	ok(w.t, json.Unmarshal(p.Data, &data))
	if fair := w.queues[p.Queue].fair; fair != "" {
		add(fair+"="+data.V, 0)
	}
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

// fail ends a world.
func (w *modelWorld) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("at %.3f "+format, append([]any{w.now - 1763700000}, args...)...)
}

// act lets somebody do something.
func (w *modelWorld) act() {
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
	playAll(t, 30, mostGateSteps, func(seed uint64) program { return newModelWorld(t, l, client, seed) })
}

// A world of the gate has so many jobs, and ends with the last of them, and long before so many steps.
const gateJobs, mostGateSteps = 80, 100 * 80

func (w *modelWorld) step(i int) (more bool) {
	if w.made < gateJobs {
		w.putSome(min(w.random.IntN(20), gateJobs-w.made))
	}
	w.act()
	if len(w.running) > 0 {
		w.began = max(w.began, w.now-1)
	}
	if i%7 == 0 {
		w.check()
	}
	if i%50 == 49 || w.now-w.began > 8 {
		w.settle()
		w.check()
	}
	return w.made < gateJobs || len(w.jobs) > 0
}

func (w *modelWorld) noted() []string { return w.log }

// gateMutations are mistakes in the scripts that the worlds must find.
var gateMutations = []mistake{
	{"a queue is full whose places those have who are parked", []string{"return t.used >= t.max and t.used <= redis.call('ZCARD', 'ql:q:' .. queue .. '-locks')", "return t.used >= t.max"}, 1, ours},
	{"who goes on and needs nothing any more keeps what it had",
		[]string{"elseif (job.leg or f[16] == 'stalled') and job.throttles then", "elseif false then"}, 0, ours},
}

// TestGateMutations makes each mistake, and plays until a world finds it.
func TestGateMutations(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	client := labClient(t, l)
	mustFindEach(t, gateMutations, 10, mostGateSteps, func(m mistake, i uint64, change func(string) string) program {
		clear(l.texts)
		l.change = change
		return newModelWorld(t, l, client, m.first+i)
	})
}

// What keeps jobs of the model of the gate from running, beside places: they are parked, nobody works their queue, as many of it run as its setting
// lets, or a command holds them. And what must run all the same.

// modelStates is what a world knows of that.
type modelStates struct {
	idle     *modelWorker       // takes only while all else is quiet, and has children enough
	free     map[string]bool    // throttles of which who is parked has no place
	parks    bool               // some jobs park
	bypasses bool               // some jobs count nowhere
	changes  bool               // rules change
	dies     bool               // workers die, and jobs are canceled
	shuts    float64            // when the window of the class K1 first opens; then it shuts and opens every 10 s
	crowds   bool               // more values wait at once than anybody looks at
	decides  string             // what the rules say of the command of the throttle planner; "" where there is none
	holds    time.Duration      // for so long the command holds those of even values
	most     map[string]int     // queue → its setting max-concurrency; 0 is none
	asleep   map[string]bool    // queues that nobody works now
	parked   map[string]float64 // jid → until when it waits for its answer
	answered map[string]bool    // of those
	lost     map[string]float64 // jid → until when the lock holds of a worker that died
	grace    map[string]float64 // of those: until when it holds for the time of grace, which each has once
	ghosts   map[string]bool    // jids of those that were canceled while they ran
	front    map[string]bool    // jids of those that were given back to the front
	legs     map[string]bool    // jids that were parked once
	left     []Settlement       // of attempts that are over which were taken from their worker
	names    []string           // of queues
	shape    int                // so often rules changed what jobs need
	came     float64            // when rules changed last; 0: never
	charged  map[string]float64 // throttle → when its bucket is full again
	keep     int                // places of the throttle lent that are lent to nobody
	lends    bool               // the throttle each lends what is free
	begun    []modelStart       // of the last second, by the sliding rate
	rates    map[string][2]int  // throttle → starts in a second, and at once
	held     map[string]float64 // jid → until when the command wants to hear nothing of it
	forgets  bool               // somebody deletes keys of throttles
	calm     float64            // what was deleted is mended by then
	made     int                // jobs, so far
	patience int                // so many looks in vain are enough
	elder    float64            // who has waited for longer comes first
	log      []string
}

func newModelStates(random *rand.Rand) modelStates {
	one := func(of int) bool { return random.IntN(of) == 0 }
	s := modelStates{free: map[string]bool{}, most: map[string]int{}, asleep: map[string]bool{}, parked: map[string]float64{},
		answered: map[string]bool{}, held: map[string]float64{}, lost: map[string]float64{}, grace: map[string]float64{}, ghosts: map[string]bool{}, front: map[string]bool{}, legs: map[string]bool{},
		charged: map[string]float64{}, parks: one(2), bypasses: one(2), changes: one(3), dies: one(3), crowds: one(6), forgets: one(4)}
	s.changes = s.changes && !s.forgets // what is known of those that wait by rules that are no more is deleted for good
	if one(4) {
		s.shuts = 1763700000 + float64(random.IntN(20))
	}
	if one(3) {
		s.decides, s.holds = []string{"closed", "open"}[random.IntN(2)], []time.Duration{0, 3, 1000}[random.IntN(3)]*time.Second
	}
	s.crowds = s.crowds && (s.decides == "" || !testing.Short()) // which takes long
	s.patience = 8
	if s.crowds && s.decides != "" {
		s.patience = 60 // one list after the other is tried, and its jobs are asked about
	}
	return s
}

func (w *modelWorld) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%.3f ", w.now-1763700000)+fmt.Sprintf(format, args...))
}

// putSome puts jobs as they come.
func (w *modelWorld) putSome(many int) {
	for range many {
		queues := slices.Sorted(maps.Keys(w.queues))
		w.putOne(queues[w.random.IntN(len(queues))], fmt.Sprint("d", w.random.IntN(6)))
	}
}

// putOne puts a job whose value of the throttle many is given.
func (w *modelWorld) putOne(queue, value string) {
	classes := slices.Sorted(maps.Keys(w.classes))
	priority, retries := float64(w.random.IntN(3)), 1000 // who works by the unified script retries so often that some would fail
	p := Put{JID: fmt.Sprintf("j%05d", w.made), Queue: queue, Klass: classes[w.random.IntN(len(classes))], Priority: &priority, Retries: &retries,
		Data: fmt.Appendf(nil, `{"v":"%c","d":%q}`, "xyz"[w.random.IntN(3)], value)}
	if w.random.IntN(4) == 0 {
		p.Throttles = []string{"a"}
	}
	switch w.random.IntN(6) {
	case 0:
		p.Wants.Weight = 1 + w.random.IntN(4)
	case 1:
		p.Wants.Bypass = w.bypasses
	}
	w.put(p)
	w.jobs[p.JID], w.puts[p.JID] = p, p
	w.made++
}

// modelStart is that some places began to be used.
type modelStart struct {
	at   float64
	many int
}

// install makes up rules, at first all of them. Later others are in their place: now and then with other limits alone.
func (w *modelWorld) install() {
	some := func(n int) int { return 1 + w.random.IntN(n) }
	if w.shape > 0 {
		w.came = w.now
	}
	anew := w.shape == 0 || w.random.IntN(2) == 0
	if anew {
		w.shape++
	}
	patience := []int{1, 5, 60}[w.random.IntN(3)]
	w.elder = float64(patience)
	throttles, queues := map[string]string{}, map[string]string{}
	define := func(name string, limit int, rest string, args ...any) {
		if w.limits[name] = limit; limit > 0 {
			rest = fmt.Sprintf(`"limit":%d,`, limit) + rest
		}
		throttles[name] = fmt.Sprintf(`{"patience":%d,`, patience) + fmt.Sprintf(rest, args...) + "}"
	}
	for _, name := range []string{"a", "b", "c"} {
		if w.came == 0 {
			w.free[name] = w.random.IntN(4) == 0
		}
		define(name, some(6), `"free":%t`, w.free[name])
	}
	if w.came == 0 {
		w.rates = map[string][2]int{"rate": {5 + some(20), some(5)}, "slide": {5 + some(20), 0}}
		w.keep, w.lends = w.random.IntN(3), w.random.IntN(2) == 0
	}
	rate, slide := w.rates["rate"], w.rates["slide"]
	define("rate", 0, `"rate":[%d,1,%d]`, rate[0], rate[1])
	define("slide", 0, `"rate":[%d,1,%d],"sliding":true`, slide[0], slide[0])
	hard, lent, each := 4+some(8), 4+some(8), 2+some(6)
	w.caps["hard"] = map[string]int{"x": max(1, hard*4/10), "y": max(1, hard*3/10), "*": 1}
	w.caps["lent"] = map[string]int{}
	w.caps["each"] = map[string]int{}
	if !w.lends {
		w.caps["each"] = map[string]int{"x": 2, "y": 2, "z": 2, "-": 2}
	}
	define("hard", hard, `"by":["path","v"],"shares":{"x":0.4,"y":0.3}`)
	define("lent", lent, `"by":["path","v"],"shares":{"x":0.5,"y":0.3},"others":0.2,"borrow":true,"keep":%d`, w.keep)
	define("each", each, `"by":["path","v"],"each":2,"borrow":%t`, w.lends)
	w.caps["many"] = map[string]int{}
	define("many", some(4), `"by":["path","d"]`)
	names := slices.Sorted(maps.Keys(throttles))
	for _, name := range w.names {
		throttles["fair:"+name] = `{"patience":60,"by":["path","v"],"weights":{"x":3}}`
	}
	if w.decides != "" {
		throttles["planner"] = fmt.Sprintf(`{"asks":%q,"patience":%d}`, w.decides, patience)
	}
	draw := func(into []string) []string {
		for range w.random.IntN(3) {
			if name := names[w.random.IntN(len(names))]; !slices.Contains(into, name) {
				into = append(into, name)
			}
		}
		return into
	}
	for _, class := range []string{"K1", "K2", "K3"} {
		if anew {
			w.classes[class] = modelClass{weight: some(3), throttles: draw(nil), shuts: class == "K1" && w.shuts > 0}
		}
	}
	w.classes["Free"] = modelClass{weight: 1, bypass: w.bypasses}
	for i, name := range w.names {
		if anew {
			var q modelQueue
			if w.decides != "" && (i == 0 || w.random.IntN(2) == 0) {
				q.throttles = append(q.throttles, "planner")
				if w.random.IntN(2) == 0 {
					q.throttles = append(q.throttles, "lent")
				}
			}
			if w.crowds {
				q.throttles = append(q.throttles, "many")
			}
			q.throttles = draw(q.throttles)
			if w.fair && w.shape%2 == 1 {
				q.fair = "fair:" + name
			}
			q.order = []string{"", "", `"ageing":60,`, `"slice":5,`}[w.random.IntN(4)]
			delete(w.limits, "ql:q:"+name)
			if w.random.IntN(2) == 0 {
				w.limits["ql:q:"+name] = 1
			}
			w.queues[name] = q
		}
		if w.limits["ql:q:"+name] > 0 {
			w.limits["ql:q:"+name] = []int{some(3), some(10)}[w.random.IntN(2)]
		}
		queues[name] = w.compile(w.queues[name], w.limits["ql:q:"+name])
	}
	w.note("rules come, shape %d: %v, %v, %v", w.shape, w.queues, w.classes, w.limits)
	w.rule(queues, throttles)
	if w.shuts > 0 {
		table := fmt.Sprintf("s %d", 2000000000)
		for i := range 401 { // it stays open at last
			table += fmt.Sprintf(" %.0f", w.shuts+10*float64(i))
		}
		ok(w.t, w.redis.HSet(w.t.Context(), "ql:oarlock:windows", "UTC|n", table).Err())
	}
}

// isShut reports whether the window of a job was shut at a time.
func (w *modelWorld) isShut(p Put, at float64) bool {
	turn := (at - w.shuts) / 10
	return w.classes[p.Klass].shuts && turn < 400 && int(math.Floor(turn))%2 != 0
}

// keptOut reports whether a job may not begin for its window, or only since a moment ago may.
func (w *modelWorld) keptOut(p Put) bool {
	return !w.legs[p.JID] && (w.isShut(p, w.now) || w.isShut(p, w.now-3))
}

// inside checks that a job which begins does so in its window, and by its rates. Who was parked goes on at any time, and is counted by no rate.
func (w *modelWorld) inside(p Put) {
	w.t.Helper()
	if w.legs[p.JID] {
		return
	}
	if w.isShut(p, w.now-0.01) && w.isShut(p, w.now+0.01) {
		w.fail("%s begins, whose window is shut", p.JID)
	}
	if _, lost := w.lost[p.JID]; lost || w.front[p.JID] || w.came > 0 {
		return
	}
	for _, n := range w.needs(p) {
		switch rate, many := w.rates[n.tid], float64(n.places); n.tid {
		case "rate":
			full := max(w.charged[n.tid], w.now)
			if full+(min(many, float64(rate[1]))-float64(rate[1]))/float64(rate[0]) > w.now+0.001 {
				w.fail("%s begins before its rate %v lets it", p.JID, rate)
			}
			w.charged[n.tid] = full + many/float64(rate[0])
		case "slide":
			w.begun = slices.DeleteFunc(w.begun, func(s modelStart) bool { return s.at <= w.now-0.999 })
			used := 0
			for _, s := range w.begun {
				used += s.many
			}
			if used+n.places > rate[0] {
				w.fail("%s begins where %d of %d did in a second", p.JID, used, rate[0])
			}
			w.begun = append(w.begun, modelStart{w.now, n.places})
		}
	}
}

// hold notes what a job has from now on which begins. Who comes back to more than it needs has that, and is not asked again for what it had.
func (w *modelWorld) hold(p Put) {
	before, now := w.owns[p.JID], map[string]modelHold{}
	for _, n := range w.needs(p) {
		since := w.now
		if had := before[n.tid]; had.least >= n.places {
			since = had.since
		}
		now[n.tid] = modelHold{n.places, max(n.places, before[n.tid].most), since}
	}
	w.owns[p.JID] = now
}

// park notes that a job waits for its answer.
func (w *modelWorld) park(jid string, until float64) {
	w.parked[jid], w.legs[jid] = until, true
	for tid := range w.owns[jid] {
		if base, _, _ := strings.Cut(tid, "="); w.free[base] {
			delete(w.owns[jid], tid)
		}
	}
}

// die lets a worker know of nothing that it had; the locks run out in a moment.
func (w *modelWorld) die(worker *modelWorker) {
	w.note("%s dies", worker.name)
	for _, job := range worker.has {
		w.lost[job.JID] = w.now + 0.5
		delete(w.grace, job.JID)
		delete(w.running, job.JID)
		ok(w.t, w.redis.ZAddXX(w.t.Context(), "ql:q:"+job.Queue+"-locks", redis.Z{Score: w.now + 0.5, Member: job.JID}).Err())
		ok(w.t, w.redis.HSet(w.t.Context(), "ql:j:"+job.JID, "expires", fmt.Sprintf("%.3f", w.now+0.5)).Err())
	}
	worker.has = nil
}

// cancel lets somebody cancel a job, whatever it does.
func (w *modelWorld) cancel(jid string) {
	w.note("%s is canceled", jid)
	run, runs := w.running[jid]
	if w.random.IntN(2) == 0 {
		w.foreign(Qless, "cancel", jid)
	} else {
		w.foreign(Reqless, "job.cancel", jid)
	}
	for _, worker := range w.workers {
		worker.has = slices.DeleteFunc(worker.has, func(job Taken) bool { return job.JID == jid })
	}
	if _, lost := w.lost[jid]; runs || lost {
		w.ghosts[jid] = true
		if runs && run.Popped > 0 && w.random.IntN(2) == 0 {
			w.left = append(w.left, Settlement{JID: jid, Queue: run.Queue, Popped: run.Popped, Key: run.Key, Places: run.Places, Action: LeaveTurn})
		}
	} else {
		delete(w.owns, jid)
	}
	delete(w.running, jid)
	delete(w.jobs, jid)
	for _, of := range []map[string]float64{w.parked, w.lost, w.held} {
		delete(of, jid)
	}
	delete(w.answered, jid)
	w.ended++
}

// leaveTurns tells that attempts are over whose jobs were canceled.
func (w *modelWorld) leaveTurns(worker *modelWorker) []Settlement {
	some := w.left
	w.left = nil
	for _, s := range some {
		delete(w.owns, s.JID)
	}
	return some
}

// awake are those queues of a worker that it works now.
func (w *modelWorld) awake(worker *modelWorker) []string {
	return slices.DeleteFunc(slices.Clone(worker.queues), func(queue string) bool { return w.asleep[queue] })
}

// change lets something change that keeps jobs from running.
func (w *modelWorld) change() {
	queues := slices.Sorted(maps.Keys(w.queues))
	queue := queues[w.random.IntN(len(queues))]
	if parked := slices.Sorted(maps.Keys(w.parked)); len(parked) > 0 && w.random.IntN(3) == 0 {
		w.answer(parked[w.random.IntN(len(parked))])
	}
	if jobs := slices.Sorted(maps.Keys(w.jobs)); w.dies && len(jobs) > 0 && w.random.IntN(15) == 0 {
		w.cancel(jobs[w.random.IntN(len(jobs))])
	}
	if w.changes && w.random.IntN(60) == 0 {
		w.install()
	}
	switch w.random.IntN(60) {
	case 0:
		w.most[queue] = w.random.IntN(4)
		w.note("max-concurrency of %s is %d", queue, w.most[queue])
		ok(w.t, w.client.Set(w.t.Context(), queue+"-max-concurrency", fmt.Sprint(w.most[queue])))
	case 1, 2:
		if w.asleep[queue] {
			w.note("%s wakes", queue)
			delete(w.asleep, queue)
		} else if len(w.asleep) < len(queues)-1 {
			w.crowd(queue)
			w.note("%s sleeps", queue)
			w.asleep[queue] = true
		}
	case 3:
		if w.forgets {
			w.forgetKeys()
		}
	case 4:
		if w.decides != "" {
			w.crowd(queue)
		}
	}
}

// crowd lets jobs of very many values wait in a queue, once.
func (w *modelWorld) crowd(queue string) {
	if !w.crowds {
		return
	}
	w.crowds = false
	for i := range 110 {
		w.putOne(queue, fmt.Sprintf("%s %d", queue, 2*i))
	}
	w.note("a crowd comes to %s", queue)
	for range 4 {
		w.takeAs(w.workers[0], nil)
	}
}

func (w *modelWorld) answer(jid string) {
	p := w.jobs[jid]
	reply := w.call("respond", (&Response{Klass: p.Klass, Correlation: jid, Data: []byte("1")}).words()...).([]any)
	if reply[0] == "resumed" {
		w.answered[jid] = true
	} else if w.parked[jid] > w.now && !w.answered[jid] {
		w.fail("%s is parked until %v, and its answer was %v", jid, w.parked[jid], reply)
	}
}

// forgetKeys deletes something of what is known of those that wait.
func (w *modelWorld) forgetKeys() {
	kinds := []string{"rota:", "over:", "wait:", "waited", "eldest:", "waitlists:", "due:", "rested:", "virtual", "fair:"}
	kinds = kinds[w.random.IntN(len(kinds)):][:1]
	w.note("%v are deleted", kinds)
	for _, key := range w.redis.Keys(w.t.Context(), "ql:oarlock:*").Val() {
		if slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(key, "ql:oarlock:"+kind) }) {
			w.redis.Del(w.t.Context(), key)
		}
	}
	w.calm = w.now + 60
}

// decideAll lets the command decide, if it is asked. Of even values it holds jobs for a while.
func (w *modelWorld) decideAll() {
	if w.decides == "" {
		return
	}
	q := w.ask("web1")
	if q.Number == 0 {
		return
	}
	var verdicts []Verdict
	for _, c := range q.Candidates {
		if until := w.held[c.JID]; until > w.now && until-w.holds.Seconds() > w.came { // where rules change it is asked anew
			w.fail("it is asked about %s, which it holds until %v", c.JID, until)
		}
		var data struct{ D string }
		ok(w.t, json.Unmarshal(c.Data, &data))
		v := Verdict{c.JID, c.Queue, VerdictStart, time.Minute, "so it is"}
		if even := strings.ContainsAny(data.D[len(data.D)-1:], "02468"); even && w.holds > 0 && w.random.IntN(20) > 0 {
			v.Verb, v.For = []string{VerdictHold, VerdictDelay}[min(1, w.random.IntN(10)/9)], w.holds
			w.held[c.JID] = w.now + w.holds.Seconds()
		}
		verdicts = append(verdicts, v)
	}
	w.decide(q.Number, Decision{Verdicts: verdicts})
}

// settle lets nobody end and nobody come, until nothing more begins of itself; then nothing waits that could run. Where nothing else is left, what
// keeps the others is taken away.
func (w *modelWorld) settle() {
	w.keepLocks()
	defer w.keepLocks()
	quiet, holders := 0, w.holders()
	for look := range 400 {
		if look%30 == 29 {
			w.keepLocks()
		}
		w.now += 1.1
		w.tend(w.awake(w.idle)...)
		w.decideAll()
		w.takeAs(w.idle, nil)
		quiet++
		// Who waited in vain for an answer, or was lost, gives up its places: then others are tried who wait for these.
		before := holders
		if holders = w.holders(); !reflect.DeepEqual(holders, before) {
			quiet = 0
		}
		if quiet > w.patience && w.now > w.calm {
			break
		}
	}
	if quiet > w.patience && len(w.idle.has) < w.idle.children {
		if jid := w.mustRun(); jid != "" {
			p := w.jobs[jid]
			w.note("at last, seen %v", w.redis.HGetAll(w.t.Context(), "ql:oarlock:seen").Val())
			p, waits := w.jobs[jid], w.waitsFor(jid)
			w.fail("%s of %s waits, which could run, for %v; others have %v\nit waits for %+v\nof %s there %v\nasleep %v, most %v", jid, p.Queue, w.needs(p), w.holders(), waits,
				p.Queue, w.ownKeysOf(p.Queue), w.asleep, w.most)
		}
	}
	w.began = w.now
	if len(w.running) > 0 || len(w.jobs) == 0 {
		return
	}
	clear(w.asleep)
	for queue := range w.most {
		ok(w.t, w.client.Set(w.t.Context(), queue+"-max-concurrency", "0"))
	}
	clear(w.most)
	for _, until := range w.held {
		w.now = max(w.now, until+0.1)
	}
}

// keepLocks renews all that runs.
func (w *modelWorld) keepLocks() {
	pipe := w.redis.Pipeline()
	for jid, run := range w.running {
		pipe.ZAddXX(w.t.Context(), "ql:q:"+run.Queue+"-locks", redis.Z{Score: w.now + 100, Member: jid})
		pipe.HSet(w.t.Context(), "ql:j:"+jid, "expires", fmt.Sprintf("%.3f", w.now+100))
	}
	must(pipe.Exec(w.t.Context()))(w.t)
}

// holders are those that have places: throttle → job → how many.
func (w *modelWorld) holders() map[string]map[string]int {
	all := map[string]map[string]int{}
	for _, key := range w.redis.Keys(w.t.Context(), "ql:th:*-locks").Val() {
		has := map[string]int{}
		for _, member := range w.redis.ZRange(w.t.Context(), key, 0, -1).Val() {
			jid, _, _ := strings.Cut(member, "\x00")
			has[jid]++
		}
		all[strings.TrimSuffix(strings.TrimPrefix(key, "ql:th:"), "-locks")] = has
	}
	return all
}

// limitOf is how many places a throttle has, or a value of one; 0: any number.
func (w *modelWorld) limitOf(tid string) int {
	if base, value, is := strings.Cut(tid, "="); is {
		return w.caps[base][value]
	}
	return w.limits[tid]
}

// atWork is how many jobs of each queue run, for all that anybody knows: those of workers that died do as long as their lock holds, and when a take has
// found that it ran out, for the time of grace.
func (w *modelWorld) atWork() map[string]int {
	many := map[string]int{}
	for _, run := range w.running {
		many[run.Queue]++
	}
	for jid, until := range w.lost {
		queue := w.jobs[jid].Queue
		if ends := w.redis.ZScore(w.t.Context(), "ql:q:"+queue+"-locks", jid).Val(); ends > until+0.001 {
			if was := w.grace[jid]; was > 0 && ends > was+0.001 {
				w.fail("%s of %s, whose worker died, has a time of grace until %v, and had one until %v", jid, queue, ends, was)
			}
			w.grace[jid] = ends
		}
		if max(until, w.grace[jid]) > w.now-2 {
			many[queue]++
		}
	}
	return many
}

// mustRun is a job that waits though it could run, or "": all its places are there, and none of them may be kept for another, which waits for a place
// that is taken, or, so on, for one that is kept.
func (w *modelWorld) mustRun() string {
	runs, holders, waits, kept := w.atWork(), w.holders(), map[string][]modelNeed{}, map[string]bool{}
	for jid, p := range w.jobs {
		_, is := w.running[jid]
		until, parks := w.parked[jid]
		// Whom the command held by other rules stands like anybody until it is asked anew.
		if held := w.held[jid]; held > w.now-2 && held-w.holds.Seconds() <= w.came && !w.asleep[p.Queue] {
			if at := w.waitsFor(jid); at != nil {
				kept[at.Throttle] = true
			}
		}
		if is || w.asleep[p.Queue] || w.held[jid] > w.now-2 || w.most[p.Queue] > 0 && runs[p.Queue] >= w.most[p.Queue] ||
			parks && !w.answered[jid] && until > w.now-2 || w.lost[jid] > w.now-15 {
			continue
		}
		if w.keptOut(p) {
			// One that waits for places hears that its window is shut when it is tried, and places are kept for it until then.
			if w.waitsFor(jid) != nil {
				for _, n := range w.needs(p) {
					kept[n.tid] = true
				}
			}
			continue
		}
		waits[jid] = slices.DeleteFunc(w.needs(p), func(n modelNeed) bool { return w.limitOf(n.tid) == 0 })
	}
	left := w.whoRuns(waits, holders, kept, nil)
	if len(left) > 0 {
		left = w.whoRuns(waits, holders, kept, w.standing(waits, holders))
	}
	for _, jid := range slices.Sorted(maps.Keys(left)) {
		return jid
	}
	return ""
}

// modelPlace is where a job stands that was tried, and since when its waitlist waits.
type modelPlace struct {
	tid   string
	since float64
}

// standing are those that stand where a place is missing. It is tried when that is there, and has its turn until then, though somewhere else, where it
// would be asked first, a place is missing by now, too.
func (w *modelWorld) standing(waits map[string][]modelNeed, holders map[string]map[string]int) map[string]modelPlace {
	stand := map[string]modelPlace{}
	for jid, needs := range waits {
		if at := w.waitsFor(jid); at != nil {
			for _, n := range needs {
				if n.tid == at.Throttle && w.used(holders, n.tid, jid)+n.places > w.limitOf(n.tid) {
					stand[jid] = modelPlace{n.tid, at.Since}
				}
			}
		}
	}
	return stand
}

// used is how many places of a throttle others have than a job.
func (w *modelWorld) used(holders map[string]map[string]int, tid, jid string) int {
	used := -holders[tid][jid]
	for _, many := range holders[tid] {
		used += many
	}
	return used
}

// whoRuns are those of the jobs that wait which lack nothing. What is kept already is given; and who stands where, or nil. Those come before who has not
// the turn there, unless he has waited for longer than patience, and than all of them.
func (w *modelWorld) whoRuns(waits map[string][]modelNeed, holders map[string]map[string]int, before map[string]bool, standing map[string]modelPlace) map[string][]modelNeed {
	waits, kept := maps.Clone(waits), maps.Clone(before)
	turn := map[string]float64{} // throttle → since when the first waits that stands there
	for _, at := range standing {
		if since, is := turn[at.tid]; !is || at.since < since {
			turn[at.tid] = at.since
		}
	}
	for changed := true; changed; {
		changed = false
		for jid, needs := range waits {
			last := -1
			for i, n := range needs {
				limit := w.limitOf(n.tid)
				if n.tid == "lent" {
					limit = max(n.places, limit-w.keep) // if it is beyond its share
				}
				full := w.used(holders, n.tid, jid)+n.places > limit
				since, taken := turn[n.tid]
				if taken {
					at := w.waitsFor(jid)
					taken = at == nil || at.Throttle != n.tid || (at.Next != "" || since < w.now-w.elder) && (at.Since >= since || at.Since > w.now-w.elder-2)
				}
				if full || (kept[n.tid] || taken) && holders[n.tid][jid] < n.places {
					last = i
				}
				if full {
					break
				}
			}
			if at, is := standing[jid]; is { // it has passed all before that, and these are kept, too
				last = max(last, slices.IndexFunc(needs, func(n modelNeed) bool { return n.tid == at.tid }))
			}
			if last < 0 {
				continue
			}
			delete(waits, jid)
			changed = true
			for _, n := range needs[:last+1] {
				kept[n.tid] = true
			}
		}
	}
	return waits
}

// finish looks at what is left when all jobs have ended.
func (w *modelWorld) finish() {
	if len(w.jobs) > 0 {
		w.fail("there is no end of it, with %d jobs: %v", len(w.jobs), w.ownKeys())
	}
	if w.calm > 0 || w.dies || w.changes {
		clear(w.asleep)
		for queue := range w.most {
			ok(w.t, w.client.Set(w.t.Context(), queue+"-max-concurrency", "0"))
		}
		w.now += 110 // so long may have places whose attempts were ended
		for range 8 {
			w.now += 6
			w.tend(w.awake(w.idle)...)
			w.takeAs(w.idle, nil)
		}
	}
	keys := slices.DeleteFunc(w.ownKeys(), func(key string) bool {
		name, _, _ := strings.Cut(key, ":")
		return slices.Contains([]string{"correlations", "correlations-due", "asker", "asked", "windows", "orders", "outside"}, name)
	})
	if len(keys) > 0 {
		w.fail("keys are left: %q", keys)
	}
	if left := slices.DeleteFunc(w.redis.Keys(w.t.Context(), "ql:th:*-locks").Val(), func(key string) bool { return key == "ql:th:planner-locks" }); len(left) > 0 {
		w.t.Errorf("places are left: %q", left)
	}
}

// ownKeysOf is what the gate keeps of a queue and its throttles.
func (w *modelWorld) ownKeysOf(queue string) (all []string) {
	for _, key := range w.ownKeys() {
		kind, rest, _ := strings.Cut(key, ":")
		switch name := "ql:oarlock:" + key; kind {
		case "waited":
			all = append(all, fmt.Sprintln(key, w.redis.SMembers(w.t.Context(), name).Val()))
		case "open", "due", "rota", "over", "eldest", "wait":
			if len(all) < 40 {
				all = append(all, fmt.Sprintln(key, w.redis.ZRangeWithScores(w.t.Context(), name, 0, 5).Val(), w.redis.ZCard(w.t.Context(), name).Val()))
			}
		case "waitlists":
			if rest == queue {
				all = append(all, fmt.Sprintln(key, w.redis.HGetAll(w.t.Context(), name).Val()))
			}
		}
	}
	return all
}

func (w *modelWorld) waitsFor(jid string) *WaitsFor {
	waits := must(w.client.WaitsFor(w.t.Context(), jid))(w.t)
	return waits
}
