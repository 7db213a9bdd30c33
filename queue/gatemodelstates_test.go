package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// What keeps jobs of the model of the gate from running, beside places: they are parked, nobody works their queue, as many of it run as its setting
// lets, or a command holds them. And what must run all the same.

// modelStates is what a world knows of that.
type modelStates struct {
	idle     *modelWorker       // takes only while all else is quiet, and has children enough
	free     map[string]bool    // throttles of which who is parked has no place
	parks    bool               // some jobs park
	crowds   bool               // more values wait at once than anybody looks at
	decides  string             // what the rules say of the command of the throttle planner; "" where there is none
	holds    time.Duration      // for so long the command holds those of even values
	most     map[string]int     // queue → its setting max-concurrency; 0 is none
	asleep   map[string]bool    // queues that nobody works now
	parked   map[string]float64 // jid → until when it waits for its answer
	answered map[string]bool    // of those
	held     map[string]float64 // jid → until when the command wants to hear nothing of it
	forgets  bool               // somebody deletes keys of throttles
	calm     float64            // what was deleted is mended by then
	made     int                // jobs, so far
	patience int                // so many looks in vain are enough
	log      []string
}

func newModelStates(random *rand.Rand) modelStates {
	one := func(of int) bool { return random.IntN(of) == 0 }
	s := modelStates{free: map[string]bool{}, most: map[string]int{}, asleep: map[string]bool{}, parked: map[string]float64{},
		answered: map[string]bool{}, held: map[string]float64{}, parks: one(2), crowds: one(6), forgets: one(4)}
	if one(3) {
		s.decides, s.holds = []string{"closed", "open"}[random.IntN(2)], []time.Duration{0, 3, 1000}[random.IntN(3)]*time.Second
	}
	s.crowds = s.crowds && (s.decides == "" || os.Getenv("OARLOCK_FAULTS") == "all") // which takes long
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
		p.Wants.Bypass = true
	}
	w.put(p)
	w.jobs[p.JID] = p
	w.made++
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
	switch w.random.IntN(60) {
	case 0:
		w.most[queue] = w.random.IntN(4)
		w.note("max-concurrency of %s is %d", queue, w.most[queue])
		must0(w.t, w.client.Set(w.t.Context(), queue+"-max-concurrency", fmt.Sprint(w.most[queue])))
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
		w.t.Fatalf("%s is parked until %v, and its answer was %v", jid, w.parked[jid], reply)
	}
}

// forgetKeys deletes something of what is known of those that wait.
func (w *modelWorld) forgetKeys() {
	kinds := []string{"rota:", "over:", "wait:", "waited", "eldest:", "waitlists:", "due:", "rested:", "virtual"}
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
		if until := w.held[c.JID]; until > w.now {
			w.t.Fatalf("it is asked about %s, which it holds until %v", c.JID, until)
		}
		var data struct{ D string }
		must0(w.t, json.Unmarshal(c.Data, &data))
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
	quiet := 0
	for look := range 400 {
		if look%30 == 29 {
			w.keepLocks()
		}
		before := len(w.running)
		w.now += 1.1
		w.tend(w.awake(w.idle)...)
		w.decideAll()
		w.takeAs(w.idle, nil)
		quiet++
		if len(w.running) > before {
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
			w.t.Fatalf("%s of %s waits, which could run, for %v; others have %v\nit waits for %+v\nof %s there %v\nasleep %v, most %v\n%s", jid, p.Queue, w.needs(p), w.holders(), waits,
				p.Queue, w.ownKeysOf(p.Queue), w.asleep, w.most, strings.Join(w.log[max(0, len(w.log)-30):], "\n"))
		}
	}
	w.began = w.now
	if len(w.running) > 0 || len(w.jobs) == 0 {
		return
	}
	clear(w.asleep)
	for queue := range w.most {
		must0(w.t, w.client.Set(w.t.Context(), queue+"-max-concurrency", "0"))
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
	_, err := pipe.Exec(w.t.Context())
	must0(w.t, err)
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

// mustRun is a job that waits though it could run, or "": all its places are there, and none of them may be kept for another, which waits for a place
// that is taken, or, so on, for one that is kept.
func (w *modelWorld) mustRun() string {
	runs := map[string]int{}
	for _, run := range w.running {
		runs[run.Queue]++
	}
	holders, waits := w.holders(), map[string][]modelNeed{}
	for jid, p := range w.jobs {
		_, is := w.running[jid]
		until, parks := w.parked[jid]
		if is || w.asleep[p.Queue] || w.held[jid] > w.now-2 || w.most[p.Queue] > 0 && runs[p.Queue] >= w.most[p.Queue] ||
			parks && !w.answered[jid] && until > w.now-2 {
			continue
		}
		waits[jid] = slices.DeleteFunc(w.needs(p), func(n modelNeed) bool { return w.limitOf(n.tid) == 0 })
	}
	kept := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for jid, needs := range waits {
			last := -1
			for i, n := range needs {
				used := -holders[n.tid][jid]
				for _, many := range holders[n.tid] {
					used += many
				}
				full := used+n.places > w.limitOf(n.tid)
				if full || kept[n.tid] && holders[n.tid][jid] < n.places {
					last = i
				}
				if full {
					break
				}
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
	for _, jid := range slices.Sorted(maps.Keys(waits)) {
		return jid
	}
	return ""
}

// end looks at what is left when all jobs have ended.
func (w *modelWorld) end() {
	if w.calm > 0 {
		for range 8 {
			w.now += 6
			w.tend(w.awake(w.idle)...)
			w.takeAs(w.idle, nil)
		}
	}
	keys := slices.DeleteFunc(w.ownKeys(), func(key string) bool {
		name, _, _ := strings.Cut(key, ":")
		return slices.Contains([]string{"correlations", "correlations-due", "asker", "asked"}, name)
	})
	if len(keys) > 0 {
		w.t.Errorf("keys are left: %q", keys)
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
	waits, err := w.client.WaitsFor(w.t.Context(), jid)
	must0(w.t, err)
	return waits
}
