package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"oarlock/queue/internal/wire"
)

// What is here plays random programs of all that there is at once: keys, weights, shares, windows, parks and their answers,
// dependencies, recurring jobs, priorities, workers that die, replies that are lost, rules that come and go, and programs that
// know of none of it. After each step all that is kept is looked at.

// jointWorld is one program. Of turns it knows what a turnsWorld knows.
type jointWorld struct {
	*turnsWorld
	client   *Client
	ruled    map[string]bool      // queues that the rules concern
	limits   map[string]int       // throttle → places, as the rules say
	free     bool                 // who is parked has no place of the throttle a
	elders   map[string]bool      // jids that ran or had places when these rules came, as long as they have not begun anew: nobody asked for what they have
	came     float64              // when these rules did: attempts that are older may not have been asked for their places
	shut     bool                 // the queue p:q has a window, which is shut and open for 20 s each in turn, 100 times
	since    float64              // from then on
	parked   map[string]float64   // jid → until when, where no answer came
	answered map[string]bool      // jid: an answer came that counts, and is not settled
	lost     map[string]bool      // worker: what it was answered last is not known
	rules    int                  // so many were installed
	again    string               // the recurring job, if there is one
	told     map[string]*editions // worker, or '' who puts → what rules do not concern
}

// beside is what somebody was told of rules that do not concern him.
func (w *jointWorld) beside(who string) *editions {
	if w.told[who] == nil {
		w.told[who] = &editions{}
	}
	return w.told[who]
}

// jointClasses are the classes of the rules, and one of which they say nothing.
var jointClasses = []string{"Heavy", "Light", "Free", "Plain"}

func newJointWorld(t testing.TB, l *lab, client *Client, mix turnsMix, seed uint64, change func(string) string) *jointWorld {
	t.Helper()
	w := &jointWorld{turnsWorld: newTurnsWorld(t, l, mix, seed, change), client: client, limits: map[string]int{}, elders: map[string]bool{},
		ruled: map[string]bool{}, parked: map[string]float64{}, answered: map[string]bool{}, lost: map[string]bool{}, told: map[string]*editions{}}
	w.batch("order", "f", "0", "keep", "q", "order=key")
	w.install()
	return w
}

// install puts other rules in place of those that are there: of both queues, of one, or now and then none.
func (w *jointWorld) install() {
	w.ruled = []map[string]bool{{}, {"q": true}, {"p:q": true}, {"q": true, "p:q": true}}[min(3, w.random.IntN(8))]
	r := w.rulesOf()
	known, err := w.client.Rules(w.t.Context())
	if err == nil {
		w.note("rules %v", r)
		_, err = w.client.InstallRules(w.t.Context(), known.Version, r)
	}
	ok(w.t, err)
	w.rules++
	w.came = w.now
	w.elders = map[string]bool{}
	jids, _ := w.eval(jointEldersScript).([]any)
	for _, jid := range jids {
		w.elders[jid.(string)] = true
	}
}

const jointEldersScript = `
local jids = {}
for _, name in ipairs(redis.call('KEYS', 'ql:j:*')) do
  if redis.call('TYPE', name).ok == 'hash' and redis.call('HGET', name, 'state') == 'running' then jids[#jids + 1] = string.sub(name, 6) end
end
for _, name in ipairs(redis.call('KEYS', 'ql:th:*-locks')) do
  for _, holder in ipairs(redis.call('ZRANGE', name, 0, -1)) do jids[#jids + 1] = string.match(holder, '^[^%z]*') end
end
return jids`

// rulesOf makes up rules of the queues that are ruled.
func (w *jointWorld) rulesOf() NewRules {
	r := NewRules{Doc: "{}", Windows: map[string]string{}}
	w.shut, w.free, w.limits = false, false, map[string]int{}
	if len(w.ruled) == 0 {
		return r
	}
	of := fmt.Sprintf(`"klass":{"Heavy":{"weight":2,"throttles":["a"]},"Light":{"weight":1},"Free":{"weight":1,"bypass":%t}}`, w.rules%2 == 0) // where nobody bypasses, a queue can be full
	limit, whole, mine := 1+w.random.IntN(4), 2+w.random.IntN(4), 1+w.random.IntN(3)
	w.limits, w.free = map[string]int{"a": limit, "by": whole}, w.rarely(2)
	r.Throttles = []RuledThrottle{{Name: "a", Rules: fmt.Sprintf(`{"limit":%d,"patience":5,"free":%t}`, limit, w.free), Limit: limit},
		{Name: "by", Rules: fmt.Sprintf(`{"limit":%d,"patience":5,"by":["path","v"],"shares":{"x":0.5,"y":0.5},"borrow":%t}`, whole, w.rarely(2)), Limit: whole}}
	if w.ruled["q"] {
		w.limits["ql:q:q"] = mine
		r.Queues = append(r.Queues, RuledQueue{"q", fmt.Sprintf(`{"shape":"s%d","limited":true,"throttles":["by"],"by":{"by":["path","v"]},%s}`, w.rules, of), mine})
	}
	if w.ruled["p:q"] {
		windows := ""
		if w.rarely(3) {
			spec, table := fmt.Sprint("UTC|", w.rules), "s 2000000000"
			for i := range 100 {
				table += fmt.Sprintf(" %.0f", w.now+20*float64(i+1))
			}
			windows = `,"windows":[{"name":"n","spec":"` + spec + `"}]`
			w.shut, w.since, r.Windows[spec] = true, w.now, table
		}
		r.Queues = append(r.Queues, RuledQueue{"p:q", fmt.Sprintf(`{"shape":"p%d","throttles":["a"],"by":{"by":["path","v"]},%s%s}`, w.rules, of, windows), 0})
	}
	return r
}

func (w *jointWorld) step(i int) (more bool) {
	w.act()
	w.look()
	w.places()
	if i%25 == 24 {
		w.idle()
	}
	return true
}

// act does one thing.
func (w *jointWorld) act() {
	w.now += w.random.Float64()
	if w.mix != ours && w.rarely(7) {
		w.strange()
		return
	}
	switch n := w.random.IntN(100); {
	case n < 26:
		w.put()
	case n < 58:
		worker := oneOf(w.course, []string{"w1", "w2"})
		w.exchange(worker, w.random.IntN(4), w.verdicts(worker))
	case n < 68:
		w.respond()
	case n < 74:
		w.tend()
	case n < 77:
		w.sweep()
	case n < 86:
		w.amend()
	case n < 88:
		w.now += 30 * w.random.Float64()
	case n < 89:
		w.now += 100
	case n < 91:
		w.install()
	case n < 93:
		w.die()
	case n < 95:
		w.recur()
	default:
		w.batch("outlook", "q", "p:q")
	}
}

func (w *jointWorld) tend() { w.batch("tend", "0", "2", "q", "p:q", "q", "p:q") }

func (w *jointWorld) sweep() { w.batch("sweep", "50", "q", "p:q") }

// put puts one to three jobs, now and then one that is there already.
func (w *jointWorld) put() {
	puts := make([]Put, 1+w.random.IntN(3))
	one := 1
	for i := range puts {
		p := Put{Queue: oneOf(w.course, turnQueues), Klass: oneOf(w.course, jointClasses), JID: fmt.Sprintf("j %d", w.made), Retries: &one,
			Data: []byte(`{"v":"` + string("xyz"[w.random.IntN(3)]) + `"}`)}
		if w.rarely(2) {
			p.Key = oneOf(w.course, turnKeys)
		}
		if w.rarely(12) && w.made > 0 {
			p.JID = w.jid()
			w.forget(p.JID)
		} else if w.made++; w.rarely(8) && w.made > 1 {
			p.Depends = []string{fmt.Sprintf("j %d", w.random.IntN(w.made-1))} // and never in a circle
		}
		if w.rarely(5) {
			p.Delay = Duration(1 + 40*w.random.Float64())
		}
		if w.rarely(4) {
			p.Priority = new(float64)
			*p.Priority = float64(w.random.IntN(3))
		}
		if w.rarely(8) {
			p.Throttles = []string{"a"}
		}
		if p.Key != "" && p.JID == fmt.Sprintf("j %d", w.made-1) && w.rarely(2) {
			p.Klass, p.Merge = "Light", MergeSet // many alike, or none could be merged
			if p.Key != turnKeys[0] {
				p.Merge = oneOf(w.course, []Merge{MergeAll, MergeLast})
			}
		}
		puts[i] = p
	}
	w.putAll(puts)
}

// putAll puts, and looks at what became of it: what merges does so into a job that waits for nothing but its turn, a time or a place, and
// what nothing delays is there to be taken.
func (w *jointWorld) putAll(puts []Put) {
	args := appendPuts([]any{""}, puts)
	if edition := w.beside("").saysNothingOf(w.now, nil); edition != "" {
		args = append(args, edition)
	}
	raw, _ := w.batch("put", args...).([]any)
	results := make([]PutResult, len(puts))
	in := wire.Reader{Items: raw}
	readPuts(&in, results)
	if len(in.Items) > 0 {
		w.beside("").learn(w.now, in.Text(), nil)
	}
	if in.Err != nil || len(in.Items) > 0 {
		w.fail("put answered %v: %v", raw, in.Err)
	}
	for i, r := range results {
		_, runs := w.attempts[r.JID]
		_, parks := w.parked[r.JID]
		if r.Merged != "" && w.mix == ours && (runs || parks || w.answered[r.JID]) {
			w.fail("%s was %s into %s, which runs %t, is parked %t, is answered %t", puts[i].JID, r.Merged, r.JID, runs, parks, w.answered[r.JID])
		}
		again := slices.ContainsFunc(puts[i+1:], func(p Put) bool { return p.JID == puts[i].JID })
		if again || r.Merged != "" || r.Err != nil || puts[i].Delay > 0 {
			continue
		}
		if state := w.lab.redis.HGet(w.t.Context(), "ql:j:"+puts[i].JID, "state").Val(); state == "scheduled" {
			w.fail("%s was put without a delay, and is scheduled", puts[i].JID)
		}
	}
}

// forget says that nobody of ours has a job any more, and that it waits for no answer.
func (w *jointWorld) forget(jid string) {
	w.orphan(jid)
	delete(w.parked, jid)
	delete(w.answered, jid)
}

// correlation is that of an attempt that parks.
func (w *jointWorld) correlation() string { return fmt.Sprint("c", w.random.IntN(8)) }

// verdicts are what becomes of some of what a worker has.
func (w *jointWorld) verdicts(worker string) (settlements []Settlement) {
	for _, jid := range slices.Sorted(maps.Keys(w.attempts)) {
		run := w.attempts[jid]
		if run.worker != worker || run.foreign || w.rarely(3) {
			continue
		}
		s := Settlement{JID: jid, Queue: run.queue, Popped: run.popped, Action: oneOf(w.course, []Action{Complete, Complete, Complete, Park, Park, Retry, Fail, Release, Cancel, Requeue})}
		switch s.Action {
		case Complete:
			if w.rarely(5) {
				s.Next = oneOf(w.course, turnQueues)
			}
		case Park:
			s.Correlation, s.Delay = w.correlation(), Duration(1+60*w.random.Float64())
		case Retry, Requeue:
			if w.rarely(2) {
				s.Delay = Duration(20 * w.random.Float64())
			}
		case Fail:
			s.Group, s.Message = "g", "m"
		case Release:
			s.Counter, s.MaxCrashes, s.Group, s.Front = oneOf(w.course, []Counter{CountCrash, CountBatch}), 1, "g", w.rarely(2)
			if s.Counter == CountBatch {
				s.Batch = 2
			}
		}
		settlements = append(settlements, s)
	}
	for _, id := range slices.Sorted(maps.Keys(w.orphans)) {
		if run := w.orphans[id]; run.worker == worker && !run.foreign && w.rarely(3) {
			settlements = append(settlements, Settlement{JID: run.jid, Queue: run.queue, Popped: run.popped, Key: run.key, Action: LeaveTurn})
			delete(w.orphans, id)
		}
	}
	return settlements
}

// exchange settles some of what a worker has, and takes more; now and then the reply is lost.
func (w *jointWorld) exchange(worker string, count int, settlements []Settlement) {
	if w.lost[worker] {
		w.audit(worker)
	}
	take := Take{Queues: turnQueues, Count: count, Order: oneOf(w.course, []Order{Ordered, RoundRobin, Oldest})}
	if len(settlements) > 0 && w.rarely(4) {
		take = Take{} // no child is free
	}
	for range 20 {
		sent, puts, results := checkSettlements(settlements)
		crashes := w.crashes(settlements)
		raw := w.call(worker, sent, puts, take)
		reply, err := readExchange(raw, w.now, results, take.Queues)
		if err != nil || w.broken(reply) {
			w.fail("exchange answered %v: %v", raw, err)
		}
		for i, r := range reply.Results {
			if settlements[i].Counter == CountBatch && r.Err == nil && (r.Crashes > crashes[i] || r.State == "failed") {
				w.fail("%s came with others, which died, and is %s after %d crashes, of %d before", settlements[i].JID, r.State, r.Crashes, crashes[i])
			}
		}
		if w.lose(worker, settlements, reply) {
			return
		}
		for i, s := range settlements {
			w.settled(s, reply.Results[i])
		}
		for _, job := range reply.Jobs {
			w.inside(job)
			w.began(job, worker)
		}
		if settlements, take.Count = nil, take.Count-len(reply.Jobs); !reply.More || take.Count <= 0 {
			return
		}
	}
	w.fail("there is more and more")
}

// crashes is how many each of some jobs has had.
func (w *jointWorld) crashes(of []Settlement) []int {
	n := make([]int, len(of))
	for i, s := range of {
		n[i], _ = w.lab.redis.HGet(w.t.Context(), "ql:j:"+s.JID, "oarlock-crashes").Int()
	}
	return n
}

// call is an exchange, by the script for ruled queues where the other says so.
func (w *jointWorld) call(worker string, sent []*Settlement, puts [][]Put, take Take) any {
	args := exchangeArgs(worker, sent, puts, take)
	with := args
	if edition := w.beside(worker).saysNothingTo(w.now, sent, puts, take); edition != "" {
		with = append(args, edition)
	}
	raw := w.batch("exchange", with...)
	if raw == "ruled" {
		return w.batch("ruled", args...)
	}
	if said, _ := raw.([]any); len(said) > exchangeWidth {
		w.beside(worker).learn(w.now, fmt.Sprint(said[exchangeWidth]), take.Queues)
	}
	return raw
}

// broken reports whether a call had to leave something out. Where rules come and go, a job that waited in a queue without them stays
// among those that wait for a throttle which it needs no more; once it is cancelled, that there is none is found and said.
func (w *jointWorld) broken(reply Reply) bool {
	return slices.ContainsFunc(reply.Broken, func(b Broken) bool { return b.Reason != "there is no job behind it" })
}

// lose reports whether a reply is lost. What was settled is known by its call: it is told for sure, as resolve would.
func (w *jointWorld) lose(worker string, settlements []Settlement, reply Reply) bool {
	if !w.rarely(15) {
		return false
	}
	w.note("which %s does not hear", worker)
	for i, s := range settlements {
		w.settled(s, reply.Results[i])
	}
	w.lost[worker] = true
	return true
}

// audit finds what a worker has whose reply was lost.
func (w *jointWorld) audit(worker string) {
	delete(w.lost, worker)
	raw, _ := w.batch("held", worker, 0, "q", "p:q").([]any)
	jobs, err := readAllTaken(raw[0].([]any))
	if err != nil {
		w.fail("held answered %v: %v", raw, err)
	}
	for _, job := range jobs {
		if run, known := w.attempts[job.JID]; known && run.worker == worker {
			continue
		}
		if job.Popped = job.Put; job.Expires > w.now {
			w.began(job, worker)
		}
	}
}

// inside checks that a job which begins does so in its window, unless it goes on with an answer or for want of one.
func (w *jointWorld) inside(job Taken) {
	after := w.now - w.since
	_, turn := math.Modf(after / 40)
	if w.shut && job.Queue == "p:q" && job.Answer == nil && !job.Expired && after < 2000 && turn > 0.02 && turn < 0.48 {
		w.fail("%s begins %v s after its window was shut for the first time of 20 s", job.JID, after)
	}
}

// began hears of an attempt that begins.
func (w *jointWorld) began(job Taken, worker string) {
	if job.Popped == 0 {
		job.Popped = w.now
	}
	for _, others := range []map[string]turnsRun{w.attempts, w.orphans} {
		for _, other := range others {
			if job.Key != "" && w.mix == ours && other.key == job.Key && other.queue == job.Queue && other.expires > w.now && other.jid != job.JID {
				w.fail("%s begins while %s of the same key %q lives", job.JID, other.jid, job.Key)
			}
		}
	}
	if w.mix == ours && strings.HasPrefix(job.JID, "again ") && job.Queue == "q" && job.Key == "" {
		w.fail("%s begins, and was not asked for the turn of its key", job.JID)
	}
	if until, parks := w.parked[job.JID]; parks && w.mix == ours && job.Answer == nil && (!job.Expired || until > w.now) {
		w.fail("%s waits for an answer until %v, and begins at %v, expired %v", job.JID, until, w.now, job.Expired)
	}
	if w.answered[job.JID] && w.mix == ours && job.Answer == nil {
		w.fail("%s was answered and begins without its answer", job.JID)
	}
	if job.Answer != nil {
		delete(w.parked, job.JID)
	} else if job.Popped > w.came && !job.Expired && w.ruled[job.Queue] {
		delete(w.elders, job.JID) // who goes on has what it had, and so has, where no rules are, who is taken over
	}
	w.attempts[job.JID] = turnsRun{job.JID, job.Queue, job.Key, worker, job.Popped, job.Expires, false}
}

// settled hears what became of a settlement: its attempt is over either way.
func (w *jointWorld) settled(s Settlement, r SettleResult) {
	if s.Action == LeaveTurn {
		return
	}
	run := w.attempts[s.JID]
	if s.Action == Cancel && r.Err != nil && !errors.Is(r.Err, ErrLockLost) {
		return // another waits for it
	}
	delete(w.attempts, s.JID)
	if r.Err != nil {
		if w.mix == ours && run.expires > w.now {
			w.fail("the settlement %+v of a job that is ours was refused: %v", s, r.Err)
		}
		return
	}
	delete(w.parked, s.JID)
	switch {
	case s.Action == Park && r.State == "scheduled":
		w.parked[s.JID] = w.now + s.Delay.Seconds()
		delete(w.answered, s.JID)
	case s.Action == Park && r.State == "waiting":
		w.answered[s.JID] = true
	case r.State == "complete" || r.State == "failed" || r.State == "canceled" || s.Action == Requeue || s.Next != "":
		delete(w.answered, s.JID)
	}
}

// respond answers somebody, or nobody.
func (w *jointWorld) respond() {
	r := Response{Klass: oneOf(w.course, jointClasses), Correlation: w.correlation(), Data: []byte("1")}
	if w.rarely(4) {
		r.JID = w.jid()
	}
	answers, _ := w.batch("respond", r.words()...).([]any)
	if len(answers) != 2 || answers[0] == "refused" {
		w.fail("respond answered %v", answers)
	}
	jid, _ := answers[1].(string)
	if until, parks := w.parked[jid]; answers[0] == "resumed" {
		if w.mix == ours && !parks {
			w.fail("%s was resumed, and did not wait until %v", jid, until)
		}
		delete(w.parked, jid)
		w.answered[jid] = true
	}
}

// amend changes a job as it is.
func (w *jointWorld) amend() {
	jid := w.jid()
	if waits := w.lab.redis.ZRange(w.t.Context(), "ql:q:"+oneOf(w.course, turnQueues)+"-throttled", 0, -1).Val(); len(waits) > 0 && w.rarely(3) {
		jid = oneOf(w.course, waits)
	} else if parks, any := someone(w.course, w.parked); any && w.rarely(2) {
		jid = parks
	}
	f := w.lab.redis.HMGet(w.t.Context(), "ql:j:"+jid, "state", "time").Val()
	if f[0] == nil {
		return
	}
	action := oneOf(w.course, []string{"cancel", "now", "now", "retry", "move", "timeout", "priority", "extend", "kill"})
	options := map[string][]any{"move": {1, "queue", oneOf(w.course, turnQueues)}, "priority": {1, "priority", 2}, "extend": {1, "delay", 30}}[action]
	if options == nil {
		options = []any{0}
	}
	answers, _ := w.batch("amend", append([]any{jid, f[0], f[1], action}, options...)...).([]any)
	if len(answers) != 1 || answers[0] != "done" {
		return
	}
	if until, parks := w.parked[jid]; parks && w.mix == ours && until > w.now {
		switch action {
		case "now", "retry", "move", "kill":
			w.fail("%s waits for an answer, and %s was done to it", jid, action)
		}
	}
	switch action {
	case "cancel", "retry", "move", "kill":
		w.forget(jid)
	case "timeout":
		w.orphan(jid)
	case "extend":
		w.parked[jid] = w.now + 30
	}
}

// die lets a worker know of nothing that it has; the locks run out.
func (w *jointWorld) die() {
	worker := oneOf(w.course, []string{"w1", "w2"})
	w.note("%s dies", worker)
	for jid, run := range w.attempts {
		if run.worker == worker {
			w.orphan(jid)
		}
	}
	for id, run := range w.orphans {
		if run.worker == worker {
			delete(w.orphans, id) // its children are dead, too
		}
	}
	w.lost[worker] = false
}

// recur lets a job come again and again, for a while; its key is said by a tag.
func (w *jointWorld) recur() {
	w.single("unrecur", w.again)
	if w.again = fmt.Sprint("again ", w.made, " ", len(w.log)); w.rarely(2) {
		w.single("recur", "q", w.again, "Light", `{"v":"x"}`, "interval", "20", "0", "tags", `["key:`+turnKeys[0]+`"]`)
	}
}

// strange does what clients do that know nothing of keys and rules.
func (w *jointWorld) strange() {
	switch w.random.IntN(3) {
	case 0:
		w.popStrangely()
	case 1:
		for _, jid := range slices.Sorted(maps.Keys(w.attempts)) {
			run := w.attempts[jid]
			if !run.foreign {
				continue
			}
			switch w.random.IntN(3) {
			case 0:
				w.foreign("fail", run.jid, run.worker, "g", "m")
			case 1:
				w.foreign("retry", run.jid, run.queue, run.worker, "0")
			case 2:
				w.foreign("complete", run.jid, run.worker, run.queue, "{}")
			}
			delete(w.attempts, jid)
			return
		}
	case 2:
		jid := fmt.Sprintf("j %d", w.made)
		w.made++
		w.foreign("put", "f", oneOf(w.course, turnQueues), jid, oneOf(w.course, jointClasses), `{"v":"x"}`, "0")
	}
}

// popStrangely takes jobs by the pop of qless, or by that of reqless.
func (w *jointWorld) popStrangely() {
	q := oneOf(w.course, turnQueues)
	for _, view := range w.views(w.foreign(oneOf(w.course, []string{"pop", "queue.pop"}), q, "f", "2")) {
		w.forget(view.JID)
		w.attempts[view.JID] = turnsRun{view.JID, q, "", "f", w.now, view.Expires, true}
	}
}

func (w *jointWorld) finish() {
	if w.mix != ours { // a foreigner can leave a place taken in a throttle which nobody of ours gave, and nobody finds that
		return
	}
	w.attempts, w.orphans, w.lost = map[string]turnsRun{}, map[string]turnsRun{}, map[string]bool{}
	w.single("unrecur", w.again)
	if w.shut {
		w.rules = 0
		w.install()
		for w.shut {
			w.install()
		}
	}
	for range 80 {
		w.now += 100
		for _, q := range turnQueues {
			for _, group := range []string{"g", "failed-retries-" + q, "duplicate-correlation", "killed"} {
				w.single("unfail", q, group, "100")
			}
		}
		w.sweep()
		for range 3 {
			w.tend()
		}
		for range 8 {
			reply, err := readExchange(w.call("w1", nil, nil, Take{Queues: turnQueues, Count: 100, Order: Ordered}), w.now, nil, turnQueues)
			if err != nil || w.broken(reply) {
				w.fail("exchange answered %+v: %v", reply, err)
			}
			var sent []*Settlement
			for _, job := range reply.Jobs {
				sent = append(sent, &Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: Complete})
			}
			w.call("w1", sent, make([][]Put, len(sent)), Take{})
			w.now++
		}
		if w.over() && len(w.left()) == 0 {
			if found := Diagnose(w.t, w.client); len(found) > 0 {
				w.fail("doctor says %q", found)
			}
			return
		}
	}
	for jid, job := range w.places().Jobs {
		if job.State != "complete" {
			w.fail("%s is left, %+v", jid, job)
		}
	}
	w.fail("keys %q are left, %v", w.left(), w.lab.redis.ZRangeWithScores(w.t.Context(), "ql:th:a-locks", 0, -1).Val())
}

// TestJointWorlds plays random programs of all of it.
func TestJointWorlds(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	client := labClient(t, l)
	for _, mix := range []turnsMix{ours, ended} {
		playAll(t, 20, 150, func(seed uint64) program { return newJointWorld(t, l, client, mix, seed, unchanged) })
	}
}

// jointMutations are mistakes in the scripts that the programs must find: those that are made most easily where orders and limits meet.
var jointMutations = []mistake{
	{"the turn is not asked for before the gate",
		[]string{"if not job.has_turn and (job.lane or batch.ordered[queue]) and not may_begin(batch, queue, job, false) then", "if false then"}, 2, ours},
	{"what was canceled stays in its waitlist",
		[]string{"if state == 'throttled' and gate then leave_waitlist(jid, queue, throttles) end", ""}, 10, ours},
	{"a park passes the turn on",
		[]string{"  keep_ours(s, {})\n  if s.of_queue and s.of_queue ~= queue then carry_over(jid, 'anew', queue) end\n",
			"  keep_ours(s, {})\n  if s.lane then pass_turn(batch, s) end\n"}, 1, ours},
	{"a put merges into a parked job", []string{"and f[7] and f[8] and not (f[9] or f[10] or f[11] or f[13])", "and f[7] and f[8]"}, 1004, ours},
	{"a window counts at the put",
		[]string{"  if named.at then plan_put(batch, put) end\n",
			"  if named.at then plan_put(batch, put) end\n  if put.queue == 'p:q' and put.delay == 0 then put.delay = 20 end\n"}, 0, ours},
	{"the mark of a deadline is lost with the reply",
		[]string{"if leg.over then return { 'oarlock-park', 'over', 'oarlock-life', batch.time } end", "if leg.over then redis.call('HDEL', key, 'oarlock-park') return {} end"}, 4, ours},
	{"who goes on with an answer asks for none of the places that it gave back",
		[]string{"if #need.list > 0 then", "if #need.list > 0 and not job.leg then"}, 1, ours},
	{"a message that died counts for each of its jobs", []string{"elseif counter == 'crash' then", "elseif counter == 'crash' or counter == 'batch' then"}, 1, ours},
	{"a parked job can be made due", []string{"if f[9] and a.state == 'scheduled' and f[10] == f[2] and (", "if false and ("}, 5, ours},
	{"a job with places is settled by who knows no gate",
		[]string{"  for _, s in ipairs(settlements) do\n    if not seen[s.queue] then", "  for _, s in ipairs({}) do\n    if not seen[s.queue] then",
			"if batch.throttled and (batch.ruled or batch.edition) and not batch.gate then", "if false then"}, 30, ours},
	{"a keyed job depends with the turn", []string{"  if lane and arrive_at(queue, jid, lane, now) then return end\n", ""}, 0, ours},
	{"an answer makes nobody due",
		[]string{"  seat(queue, '-work', '+inf', jid)\n  redis.call('ZREM', 'ql:q:' .. queue .. '-scheduled', jid)\n", ""}, 12, ours},
	{"a queue is full whose places those have who are parked",
		[]string{"return t.used >= t.max and t.used <= redis.call('ZCARD', 'ql:q:' .. queue .. '-locks')", "return t.used >= t.max"}, 0, ours},
	{"who is taken over is asked for nothing", []string{"batch.gated and batch.gated[queue] and batch.gate, 0, 0", "nil, 0, 0"}, 45, ours},
}

// TestJointMutations makes each mistake, in whatever script it is, and plays until a program finds it. That an idle pool counts as awake is shown by
// TestQueuesTakeTurns: where nobody is, nothing stands still, but turns are not kept.
func TestJointMutations(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	client := labClient(t, l)
	mustFindEach(t, jointMutations, 20, 150, func(m mistake, i uint64, change func(string) string) program {
		return newJointWorld(t, l, client, m.mix, 1000+m.first+i, change)
	})
}

// jointShot is where all jobs stand.
type jointShot struct {
	Jobs  map[string]jointJob
	Used  map[string]int      // by throttle: places that are taken
	Asked map[string][]string // of those: by whom that began since the rules came
	Parks map[string][]string // of these: by whom that is parked
	Wrong []string            // who is to have a place, or to have none, and is not so
}

type jointJob struct {
	State, Lane, Queue string
	In                 []string // an entry of a waitlist counts where the job says so; another is dropped when it is met
}

const jointShotScript = `
local shot = { Jobs = {}, Used = {}, Asked = {}, Parks = {} }
local elders = {}
for i = 3, #ARGV do elders[ARGV[i]] = true end
local wrong = {}
local waits = {}
for _, name in ipairs(redis.call('KEYS', 'ql:oarlock:waitlist:*')) do
  local rest = string.sub(name, #'ql:oarlock:waitlist:' + 1)
  local length, from = string.match(rest, '^(%d+):()')
  local queue = string.sub(rest, from, from + length - 1)
  for _, jid in ipairs(redis.call('ZRANGE', name, 0, -1)) do
    waits[queue .. '\0' .. jid] = true
    if redis.call('EXISTS', 'ql:j:' .. jid) == 0 then wrong[#wrong + 1] = jid .. ' is no more, and waits in ' .. name end
  end
end
local lanes = {}
for _, name in ipairs(redis.call('KEYS', 'ql:oarlock:lane:*')) do
  for _, entry in ipairs(redis.call('LRANGE', name, 0, -1)) do
    local jid = string.match(entry, '^%S+ (.*)$')
    lanes[jid] = entry
  end
end
for _, name in ipairs(redis.call('KEYS', 'ql:j:*')) do
  if redis.call('TYPE', name).ok == 'hash' then
    local jid = string.sub(name, 6)
    local f = redis.call('HMGET', name, 'state', 'oarlock-lane', 'queue')
    local job = { State = f[1] or '', Lane = f[2] or '', Queue = f[3] or '', In = {} }
    for _, queue in ipairs({ 'q', 'p:q' }) do
      for _, part in ipairs({ 'work', 'scheduled', 'locks', 'depends', 'throttled' }) do
        if redis.call('ZSCORE', 'ql:q:' .. queue .. '-' .. part, jid) then job.In[#job.In + 1] = part end
      end
    end
    if job.State == 'throttled' and waits[job.Queue .. '\0' .. jid] then job.In[#job.In + 1] = 'waitlist' end
    if lanes[jid] and string.sub(job.Lane, 1, 1) == '-' then job.In[#job.In + 1] = 'lane' end
    if #job.In == 0 then job.In = nil end
    shot.Jobs[jid] = job
    local throttles, gate, since, queue, klass = unpack(redis.call('HMGET', name, 'throttles', 'oarlock-gate', 'time', 'queue', 'klass'))
    local older = f[1] == 'running' and tonumber(since) <= tonumber(ARGV[1])
    if f[1] == 'running' and gate and klass ~= 'Free' and not older and string.find(ARGV[2], ' ' .. queue .. ' ', 1, true) then
      for _, tid in ipairs(cjson.decode(throttles)) do
        if not redis.call('ZSCORE', 'ql:th:' .. tid .. '-locks', jid) then wrong[#wrong + 1] = jid .. ' runs without ' .. tid end
      end
    end
  end
end
for _, name in ipairs(redis.call('KEYS', 'ql:th:*-locks')) do
  local tid = string.sub(name, 7, -7)
  shot.Used[tid] = redis.call('ZCARD', name)
  for _, holder in ipairs(redis.call('ZRANGE', name, 0, -1)) do
    local jid = string.match(holder, '^[^%z]*')
    local f = redis.call('HMGET', 'ql:j:' .. jid, 'state', 'throttles', 'oarlock-park', 'oarlock-response', 'time')
    local has = f[1] == 'running' or f[1] == 'stalled' or (f[3] or f[4]) and f[1] ~= 'complete' and f[1] ~= 'failed'
    local popped = string.match(holder, '%z%d+%z(.*)$')
    if not elders[jid] and not (popped and tonumber(popped) <= tonumber(ARGV[1])) then 
      shot.Asked[tid] = shot.Asked[tid] or {}
      table.insert(shot.Asked[tid], holder)
      if not popped and f[1] == 'scheduled' and f[3] and tonumber(f[5]) > tonumber(ARGV[1]) then
        shot.Parks[tid] = shot.Parks[tid] or {}
        table.insert(shot.Parks[tid], holder)
      end
    end
    if not popped and not (has and string.find(f[2] or '', '"' .. tid .. '"', 1, true)) then
      wrong[#wrong + 1] = jid .. ' has a place of ' .. tid
    end
  end
end
if #wrong > 0 then shot.Wrong = wrong end
return cjson.encode(shot)`

// jointRows is where a job of a state stands.
var jointRows = map[string][]string{
	"waiting": {"work", "lane"}, "scheduled": {"scheduled"}, "running": {"locks"}, "depends": {"depends"}, "throttled": {"throttled waitlist", "throttled", "work"},
	"stalled": {"work"}, "complete": {""}, "failed": {""},
}

// places checks that each job stands in one place, and that no more places are taken than there are.
func (w *jointWorld) places() *jointShot {
	words := []any{wire.Number(w.came), " " + strings.Join(slices.Sorted(maps.Keys(w.ruled)), " ") + " "}
	for jid := range w.elders {
		words = append(words, jid)
	}
	text, _ := w.eval(jointShotScript, words...).(string)
	var shot jointShot
	if err := json.Unmarshal([]byte(text), &shot); err != nil {
		w.t.Fatalf("where all stands: %v in %q", err, text)
	}
	for jid, job := range shot.Jobs {
		in := strings.Join(job.In, " ")
		if job.State == "stalled" && in == "lane" { // taken back while others of its key go first
			continue
		}
		if w.mix != ours && job.State == "throttled" && in == "work waitlist" { // a foreigner let it try, of whom the waitlist was not told
			continue
		}
		if !slices.Contains(jointRows[job.State], in) {
			w.fail("%s is %s and stands in %q, with the mark %q", jid, job.State, in, job.Lane)
		}
		if job.State == "depends" && strings.HasPrefix(job.Lane, "+") {
			w.fail("%s depends on others and has the turn", jid)
		}
	}
	if w.mix != ours {
		return &shot
	}
	for jid, job := range shot.Jobs {
		if job.State == "running" && strings.HasPrefix(job.Lane, fmt.Sprintf("=%d:%s:", len(job.Queue), job.Queue)) {
			w.fail("%s runs, and has not the turn of its key: %q", jid, job.Lane)
		}
	}
	if len(shot.Wrong) > 0 {
		w.fail("%q", shot.Wrong)
	}
	if parks := shot.Parks["a"]; w.free && len(parks) > 0 {
		w.fail("%q are parked, and have places that those have not who are", parks)
	}
	for tid, limit := range w.limits {
		if all := shot.Asked[tid]; len(all) > limit {
			w.fail("%d places of %s are taken, of %d: by %q", len(all), tid, limit, all)
		}
	}
	return &shot
}

// idle lets a worker with free children look twice; beside others, for as long as it takes to find what they have left of places, and to give them to
// one after the other: then nothing waits that could run.
func (w *jointWorld) idle() {
	looks := 2
	if w.mix != ours {
		looks = 7
	}
	for range looks {
		w.now += 1.1
		w.tend()
		w.exchange("w1", 60, nil)
		w.look()
	}
	w.exchange("w1", 60, nil) // who could try only since a queue was looked at, of which a wake tells
	if w.mix != ours || w.lost["w1"] {
		return
	}
	shot := w.places()
	for jid, job := range shot.Jobs {
		if slices.Contains(job.In, "work") && !(job.Queue == "q" && w.isFull(shot)) {
			w.fail("%s waits, and children are free", jid)
		}
		if !slices.Contains(job.In, "throttled") {
			continue
		}
		var names []string
		f := w.lab.redis.HGet(w.t.Context(), "ql:j:"+jid, "throttles").Val()
		if err := json.Unmarshal([]byte(f), &names); err != nil {
			w.fail("%s waits for a place of %q", jid, f)
		}
		// Of what a waitlist has passed that waits for longest and is overdue, the places are kept for it.
		if !slices.ContainsFunc(names, func(tid string) bool {
			return shot.Used[tid] > 0 || w.lab.redis.ZCard(w.t.Context(), "ql:oarlock:eldest:"+tid).Val() > 1
		}) {
			w.fail("%s waits for a place of %q, of which nobody has any", jid, names)
		}
	}
}

// isFull reports whether jobs run in all places of the queue q: of what comes in then nothing is looked at.
func (w *jointWorld) isFull(shot *jointShot) bool {
	limit, runs := w.limits["ql:q:q"], 0
	for _, job := range shot.Jobs {
		if job.State == "running" && job.Queue == "q" {
			runs++
		}
	}
	return limit > 0 && shot.Used["ql:q:q"] >= limit && runs >= shot.Used["ql:q:q"]
}

// left are the keys that are there and ought not to be when all jobs are complete.
func (w *jointWorld) left() []string {
	return slices.DeleteFunc(w.lab.redis.Keys(w.t.Context(), "ql:*").Val(), mayStay)
}

// over reports whether all jobs are complete.
func (w *jointWorld) over() bool {
	for _, job := range w.places().Jobs {
		if job.State != "complete" {
			return false
		}
	}
	return true
}

// mayStay reports whether a key may be there when all jobs are complete.
func mayStay(key string) bool {
	ours, is := strings.CutPrefix(key, "ql:oarlock:")
	if !is {
		return !strings.HasPrefix(key, "ql:th:") || !strings.HasSuffix(key, "-locks")
	}
	name, _, _ := strings.Cut(ours, ":")
	return slices.Contains([]string{"rules", "needs", "seen", "tended", "held", "places", "windows", "outside", "correlations", "correlations-due", "early", "starts", "fair", "edition", "o"}, name)
}
