package queue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"oarlock/queue/internal/wire"
)

// What is here plays random programs of jobs with keys, and looks after each step at all that is kept of them. The
// calls go to the scripts as they are sent, at a time that the program makes up.

// turnsMix says who else is at work.
type turnsMix int

const (
	ours  turnsMix = iota // our scripts alone
	ended                 // clients that know no keys put, pop, and end what they popped
	wild                  // they cancel, move, take back and revive, too
)

func (m turnsMix) String() string { return [...]string{"ours", "ended", "wild"}[m] }

// turnsWorld is one program: what it does is drawn, what it knows is what the children of a supervisor would.
type turnsWorld struct {
	*course
	mix turnsMix

	made     int                 // jobs so far
	joined   map[string]int      // by jid: its place in the order of its key, as a producer would say
	begun    map[string]bool     // since it joined
	due      map[string]float64  // of delayed jobs
	planned  map[string]float64  // when those were put
	attempts map[string]turnsRun // by jid: what runs under a lock of ours, or a foreigner's
	orphans  map[string]turnsRun // by jid and time: taken from us while it ran; its child lives
	order    int
	was      *turnsShot
}

// turnsRun is an attempt.
type turnsRun struct {
	jid, queue, key, worker string
	popped, expires         float64
	foreign                 bool
}

var turnQueues = []string{"q", "p:q"}
var turnKeys = []string{"a", "b b"}

// newTurnsWorld empties the lab for a program.
func newTurnsWorld(t testing.TB, l *lab, mix turnsMix, seed uint64, change func(string) string) *turnsWorld {
	t.Helper()
	w := &turnsWorld{course: newCourse(t, l, seed, uint64(mix), change), mix: mix,
		joined: map[string]int{}, begun: map[string]bool{}, due: map[string]float64{}, planned: map[string]float64{}, attempts: map[string]turnsRun{}, orphans: map[string]turnsRun{}}
	for _, words := range [][]any{{"heartbeat", 60}, {"grace-period", 10}} {
		l.redis.HSet(t.Context(), "ql:config", words...)
	}
	return w
}

func (w *turnsWorld) step(int) (more bool) {
	w.act()
	w.look()
	return true
}

// act does one thing.
func (w *turnsWorld) act() {
	w.now += w.random.Float64()
	if w.mix != ours && w.rarely(6) {
		w.strange()
		return
	}
	switch n := w.random.IntN(100); {
	case n < 30:
		w.put()
	case n < 62:
		w.exchange()
	case n < 68:
		w.batch("tend", "0", "0", "q", "p:q")
	case n < 71:
		w.batch("sweep", "50", "q", "p:q")
	case n < 75:
		w.cancel(w.single)
	case n < 78:
		w.takeBack(w.single)
	case n < 82:
		w.bury()
	case n < 85:
		w.now += 30 * w.random.Float64()
	case n < 86:
		w.now += 100
	case n < 90:
		w.single("unfail", oneOf(w.course, turnQueues), "g", "3")
	case n < 93:
		w.ourPop()
	default:
		w.batch("outlook", "q", "p:q")
	}
}

// jid is that of a job that is there, or was.
func (w *turnsWorld) jid() string {
	if w.made == 0 {
		return "none"
	}
	if w.was != nil && w.rarely(2) {
		var behind []string
		for jid, job := range w.was.Jobs {
			if strings.HasPrefix(job.Lane, "-") {
				behind = append(behind, jid)
			}
		}
		if slices.Sort(behind); len(behind) > 0 {
			return oneOf(w.course, behind)
		}
	}
	return fmt.Sprintf("j %d", w.random.IntN(w.made))
}

// put puts one to three jobs, now and then one that is there already.
func (w *turnsWorld) put() {
	puts := make([]Put, 1+w.random.IntN(3))
	for i := range puts {
		p := Put{Queue: oneOf(w.course, turnQueues), Klass: "K", JID: fmt.Sprintf("j %d", w.made), Data: []byte("{}")}
		if !w.rarely(6) {
			p.Key = oneOf(w.course, turnKeys)
		}
		switch {
		case w.rarely(6) && w.made > 0:
			p.JID = w.jid()
		default:
			w.made++
		}
		if w.rarely(5) {
			p.Delay = Duration(1 + 40*w.random.Float64())
		} else if w.made%5 == 0 {
			p.At = time.Unix(int64(w.now)/20*20+20, 0) // as others
		}
		if w.rarely(8) && w.made > 1 {
			if on := w.jid(); numberOf(on) < numberOf(p.JID) { // never in a circle, whichever are put again
				p.Depends = []string{on}
			}
		}
		if w.rarely(4) {
			p.Priority = new(float64)
			*p.Priority = float64(w.random.IntN(3))
		}
		one := 1
		p.Retries = &one
		puts[i] = p
	}
	w.batch("put", appendPuts([]any{""}, puts)...)
	w.expect(puts)
}

// expect notes in which order jobs that were just put are to begin, where nothing delays them.
func (w *turnsWorld) expect(puts []Put) {
	shot := w.shot()
	for _, p := range puts {
		w.orphan(p.JID)
		job := shot.Jobs[p.JID]
		w.rejoins(p.JID, job.State != "waiting") // dependencies may be those of a put before
		if job.State == "scheduled" {
			w.due[p.JID], w.planned[p.JID] = w.now+p.Delay.Seconds(), w.now
			if !p.At.IsZero() {
				w.due[p.JID] = float64(p.At.Unix())
			}
		}
		// Of one that stood there before, and is delayed now, the entry is void.
		stands := p.Key != "" && strings.HasPrefix(job.Lane, "-")
		if entries := shot.Entries[fmt.Sprintf("%d:%s:%s", len(p.Queue), p.Queue, p.Key)]; stands && w.mix != wild && len(entries) == 1 && strings.HasSuffix(entries[0], " "+p.JID) {
			holder := shot.Jobs[strings.TrimPrefix(shot.Turns[p.Queue][p.Key], "=")]
			if holder.State == "complete" || holder.State == "failed" {
				w.fail("%s stands behind a job that is %s", p.JID, holder.State)
			}
		}
	}
}

// rejoins says that a job comes last of its key, now or, which is seen then, later.
func (w *turnsWorld) rejoins(jid string, later bool) {
	w.begun[jid] = false
	delete(w.joined, jid)
	delete(w.due, jid)
	delete(w.planned, jid)
	if !later {
		w.order++
		w.joined[jid] = w.order
	}
}

// arrivals notes in which order those came that were to come later.
func (w *turnsWorld) arrivals(shot *turnsShot) {
	var jids []string
	for jid, job := range shot.Jobs {
		if _, known := w.joined[jid]; !known && job.Lane != "" && job.Lane[:1] != "=" {
			jids = append(jids, jid)
		}
	}
	place := func(jid string) (call, index int) {
		fmt.Sscanf(turnsMark.FindStringSubmatch(shot.Jobs[jid].Lane)[3], shot.Jobs[jid].Queue+":%d.%d ", &call, &index)
		if shot.Jobs[jid].Lane[:1] == "+" {
			call = 0
		}
		return call, index
	}
	slices.SortFunc(jids, func(a, b string) int {
		aCall, aIndex := place(a)
		bCall, bIndex := place(b)
		return cmp.Or(aCall-bCall, aIndex-bIndex)
	})
	for i, jid := range jids {
		for _, before := range jids[:i] {
			if w.due[jid] > 0 && w.due[jid] < w.due[before]-1e-5 && shot.Jobs[jid].key(shot.Jobs[before].Queue) == shot.Jobs[before].key(shot.Jobs[before].Queue) {
				w.fail("%s was due before %s and stands behind it", jid, before)
			}
			if w.due[jid] > 0 && w.due[jid] == w.due[before] && w.planned[jid] < w.planned[before] && shot.Jobs[jid].key(shot.Jobs[before].Queue) == shot.Jobs[before].key(shot.Jobs[before].Queue) {
				w.fail("%s was put before %s for the same moment and stands behind it", jid, before)
			}
		}
		w.order++
		w.joined[jid] = w.order
	}
}

// orphan says that whatever runs of a job was taken from its worker; its child lives for now.
func (w *turnsWorld) orphan(jid string) {
	if run, is := w.attempts[jid]; is {
		delete(w.attempts, jid)
		w.orphans[fmt.Sprintf("%s %f", jid, run.popped)] = run
	}
}

// exchange settles some of what we have, and takes more.
func (w *turnsWorld) exchange() {
	worker := oneOf(w.course, []string{"w1", "w2"})
	var settlements []Settlement
	over := map[string]bool{}
	for _, jid := range slices.Sorted(maps.Keys(w.attempts)) {
		run := w.attempts[jid]
		if run.worker != worker || run.foreign || w.rarely(3) || over[jid] {
			continue
		}
		over[jid] = true
		s := Settlement{JID: jid, Queue: run.queue, Popped: run.popped, Action: oneOf(w.course, []Action{Complete, Complete, Complete, Retry, Fail, Release, Cancel, Requeue})}
		switch s.Action {
		case Complete:
			if w.rarely(4) {
				s.Next = oneOf(w.course, turnQueues)
				if w.rarely(3) {
					s.Delay = Duration(20 * w.random.Float64())
				}
			}
		case Retry, Requeue:
			if w.rarely(2) {
				s.Delay = Duration(20 * w.random.Float64())
			}
		case Fail:
			s.Group, s.Message = "g", "m"
		case Release:
			s.Counter, s.MaxCrashes, s.Group = CountCrash, 1, "g"
			s.Front = w.rarely(2)
		}
		settlements = append(settlements, s)
	}
	for _, id := range slices.Sorted(maps.Keys(w.orphans)) {
		if run := w.orphans[id]; run.worker == worker && !run.foreign && w.rarely(3) {
			settlements = append(settlements, Settlement{JID: run.jid, Queue: run.queue, Popped: run.popped, Key: run.key, Action: LeaveTurn})
			delete(w.orphans, id)
		}
	}
	sent, puts, _ := checkSettlements(settlements)
	take := Take{Queues: turnQueues, Count: w.random.IntN(4), Order: oneOf(w.course, []Order{Ordered, RoundRobin, Oldest})}
	raw := w.batch("exchange", exchangeArgs(worker, sent, puts, take)...)
	reply, err := readExchange(raw, w.now, make([]SettleResult, len(sent)), take.Queues)
	if err != nil {
		w.fail("exchange answered %v: %v", raw, err)
	}
	if len(reply.Broken) > 0 {
		w.fail("exchange left out %v", reply.Broken)
	}
	for i, s := range settlements {
		w.settled(s, reply.Results[i])
	}
	for _, job := range reply.Jobs {
		w.began(turnsRun{job.JID, job.Queue, job.Key, worker, w.now, job.Expires, false})
	}
}

// settled hears what became of a settlement: its attempt is over either way.
func (w *turnsWorld) settled(s Settlement, r SettleResult) {
	if s.Action == LeaveTurn {
		if r.State != "left" {
			w.fail("leave: %+v", r)
		}
		if holder := w.shot().Turns[s.Queue][s.Key]; strings.HasPrefix(holder, "!") && strings.HasSuffix(holder, " "+wire.Mark(s.Popped)+" "+s.JID) {
			w.fail("after the end of %s the turn of %q is %q", s.JID, s.Key, holder)
		}
		return
	}
	run := w.attempts[s.JID]
	if s.Action == Cancel && r.Err != nil && !errors.Is(r.Err, ErrLockLost) {
		return // another waits for it
	}
	delete(w.attempts, s.JID)
	if r.Err != nil {
		if w.mix != wild && run.expires > w.now {
			w.fail("the settlement %+v of a job that is ours was refused: %v", s, r.Err)
		}
		return
	}
	if s.Action == Requeue || s.Next != "" {
		w.rejoins(s.JID, s.Delay > 0)
	}
}

// began hears of an attempt that begins.
func (w *turnsWorld) began(run turnsRun) {
	job := w.shot().Jobs[run.jid]
	if !run.foreign && w.mix == ours && job.key(run.queue) != run.key {
		w.fail("%s was handed out with key %q and has %q", run.jid, run.key, job.key(run.queue))
	}
	run.key = job.key(run.queue)
	if w.mix != wild && run.key != "" {
		for _, others := range []map[string]turnsRun{w.attempts, w.orphans} {
			for _, other := range others {
				if other.key == run.key && other.queue == run.queue && other.expires > w.now && !(other.jid == run.jid && w.attempts[run.jid] == other) {
					w.fail("%s begins while %s of the same key %q lives", run.jid, other.jid, run.key)
				}
			}
		}
		w.overtakes(run)
	}
	w.begun[run.jid] = true
	w.attempts[run.jid] = run
}

// overtakes looks whether somebody of the key came before a job that begins for the first time.
func (w *turnsWorld) overtakes(run turnsRun) {
	if w.begun[run.jid] {
		return
	}
	for jid, job := range w.was.Jobs {
		if jid == run.jid || job.key(run.queue) != run.key || job.Lane[:1] != "-" || w.begun[jid] {
			continue
		}
		if before, known := w.joined[jid]; known && before < w.joined[run.jid] {
			w.fail("%s begins before %s of the same key %q", run.jid, jid, run.key)
		}
	}
}

// cancel removes a job.
func (w *turnsWorld) cancel(call func(string, ...any) any) {
	jid := w.jid()
	if call("cancel", jid) == nil {
		return
	}
	if _, exists := w.shot().Jobs[jid]; !exists {
		w.orphan(jid)
	}
}

// takeBack takes a running job from its worker.
func (w *turnsWorld) takeBack(call func(string, ...any) any) {
	jid, any := someone(w.course, w.attempts)
	if !any {
		return
	}
	if _, failed := call("timeout", jid).(error); !failed {
		shot, run := w.shot(), w.attempts[jid]
		if entries := shot.Entries[fmt.Sprintf("%d:%s:%s", len(run.queue), run.queue, run.key)]; w.mix == ours && strings.HasPrefix(shot.Jobs[jid].Lane, "-") && !strings.HasSuffix(entries[0], " "+jid) {
			w.fail("%s was taken back and is not the first of %q", jid, entries)
		}
		w.orphan(jid)
	}
}

// bury ends a running job by the protocol.
func (w *turnsWorld) bury() {
	jid, any := someone(w.course, w.attempts)
	if !any {
		return
	}
	w.end(w.single, w.attempts[jid], false)
}

// end ends a running job by a command of the protocol.
func (w *turnsWorld) end(call func(string, ...any) any, run turnsRun, foreign bool) {
	switch w.random.IntN(4) {
	case 0:
		call("fail", run.jid, run.worker, "g", "m")
	case 1:
		call("retry", run.jid, run.queue, run.worker, strconv.Itoa(10*w.random.IntN(2)))
	case 2:
		call("complete", run.jid, run.worker, run.queue, "{}")
	case 3:
		_, refused := call("complete", run.jid, run.worker, run.queue, "{}", "next", oneOf(w.course, turnQueues)).(error)
		// A refused job keeps its place. After a foreign client's call it also keeps its turn in its own queue.
		if !foreign && !refused {
			w.rejoins(run.jid, w.was.Jobs[run.jid].Lane == "")
		}
	}
	delete(w.attempts, run.jid)
}

// ourPop takes by the protocol's pop.
func (w *turnsWorld) ourPop() { w.pop(w.single, false) }

// pop takes by a command of the protocol.
func (w *turnsWorld) pop(call func(string, ...any) any, foreign bool) {
	q := oneOf(w.course, turnQueues)
	for _, view := range w.views(call("pop", q, "f", "2")) {
		w.began(turnsRun{view.JID, q, "", "f", w.now, view.Expires, true})
	}
}

// poppedView is what these programs read of a job that the protocol's pop answers.
type poppedView struct {
	JID     string
	Expires float64
}

// views reads the answer of a pop.
func (w *turnsWorld) views(answer any) (views []poppedView) {
	text, _ := answer.(string)
	if text == "" || text == "{}" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &views); err != nil {
		w.fail("pop answered %s", text)
	}
	return views
}

// waitedFor reports whether jobs depend on one: whoever knows no keys and completes it brings these in past the others of their keys, and may pop them before one
// of ours has met them.
func (w *turnsWorld) waitedFor(jid string) bool {
	return w.lab.redis.Exists(w.t.Context(), "ql:j:"+jid+"-dependents").Val() == 1
}

// numberOf is how many jobs were made before one.
func numberOf(jid string) (n int) {
	fmt.Sscanf(jid, "j %d", &n)
	return n
}

// strange does what clients do that know nothing of keys.
func (w *turnsWorld) strange() {
	kinds := 3
	if w.mix == wild {
		kinds = 9
	}
	switch w.random.IntN(kinds) {
	case 0:
		w.pop(w.foreign, true)
	case 1:
		for _, jid := range slices.Sorted(maps.Keys(w.attempts)) {
			if run := w.attempts[jid]; run.foreign && !(w.mix == ended && w.waitedFor(jid)) {
				w.end(w.foreign, run, true)
				return
			}
		}
	case 2:
		jid := fmt.Sprintf("j %d", w.made)
		w.made++
		w.rejoins(jid, true)
		w.foreign("put", "f", oneOf(w.course, turnQueues), jid, "K", "{}", "0", "tags", oneOf(w.course, []string{"[]", `["key:a"]`, `["x","key:b b"]`}))
	case 3:
		w.cancel(w.foreign)
	case 4, 5:
		jid := w.jid()
		w.foreign("put", "f", oneOf(w.course, turnQueues), jid, "K", "{}", oneOf(w.course, []string{"0", "10"}))
		w.orphan(jid)
		w.rejoins(jid, true)
	case 6:
		w.takeBack(w.foreign)
	case 7:
		w.foreign("unfail", oneOf(w.course, turnQueues), "g", "2")
	case 8:
		w.foreign("depends", w.jid(), "off", "all")
	}
}

func (w *turnsWorld) finish() {
	w.attempts, w.orphans = map[string]turnsRun{}, map[string]turnsRun{}
	for range 60 {
		w.now += 100
		w.single("unfail", "q", "g", "100")
		w.single("unfail", "q", "failed-retries-q", "100")
		w.single("unfail", "p:q", "failed-retries-p:q", "100")
		w.batch("sweep", "50", "q", "p:q")
		for range 4 {
			w.batch("tend", "0", "0", "q", "p:q")
		}
		for range 8 {
			raw := w.batch("exchange", exchangeArgs("w1", nil, nil, Take{Queues: turnQueues, Count: 100, Order: Ordered})...)
			reply, err := readExchange(raw, w.now, nil, turnQueues)
			if err != nil {
				w.fail("exchange answered %v: %v", raw, err)
			}
			var sent []*Settlement
			for _, job := range reply.Jobs {
				sent = append(sent, &Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: Complete})
			}
			w.batch("exchange", exchangeArgs("w1", sent, make([][]Put, len(sent)), Take{})...)
			w.now++
		}
		if w.drained() {
			break
		}
	}
	shot := w.shot()
	for jid, job := range shot.Jobs {
		if job.State != "complete" {
			w.fail("%s is left, %+v", jid, job)
		}
	}
	if len(shot.Turns)+len(shot.Entries)+len(shot.Lanes)+len(shot.Behind) > 0 {
		w.fail("keys are left: %+v", shot)
	}
}

func (w *turnsWorld) drained() bool {
	shot := w.shot()
	for _, job := range shot.Jobs {
		if job.State != "complete" {
			return false
		}
	}
	return len(shot.Turns)+len(shot.Entries)+len(shot.Lanes) == 0
}

// unchanged is no mutation.
func unchanged(text string) string { return text }

// TestTurns plays random programs in the three mixes.
func TestTurns(t *testing.T) {
	for _, server := range []string{"shared", "embedded"} {
		t.Run(server, func(t *testing.T) {
			l := newLab(t, server, DefaultNamespace)
			steps := 250
			if testing.Short() && server == "embedded" {
				steps = 40
			}
			for _, mix := range []turnsMix{ours, ended, wild} {
				playAll(t, 10, steps, func(seed uint64) program { return newTurnsWorld(t, l, mix, seed, unchanged) })
			}
		})
	}
}

// turnsMutations are mistakes in the scripts that the programs must find.
var turnsMutations = []mistake{
	{"places are not compared", []string{
		"if text ~= mark_text('-', queue, place, key) then return false end",
		"if string.sub(text or '', 1, 1) ~= '-' then return false end"}, 0, ours},
	{"the holder that is over keeps its mark", []string{
		"if marked then redis.call('HSET', 'ql:j:' .. jid, 'oarlock-lane', mark_text('=', queue, '', key)) end\n  if ended",
		"if ended"}, 2, wild},
	{"nobody looks", []string{
		"local function tend_queue(queue)\n",
		"local function tend_queue(queue)\n  do return end\n"}, 0, ours},
	{"an entry that is dropped leaves its mark", []string{
		"    redis.call('HSET', job, 'oarlock-lane', mark_text('=', queue, '', key))\n    return false",
		"    return false"}, 1, wild},
	{"a settlement does not pass the turn on", []string{
		"  else\n    pass_on(queue, key, now)\n  end\nend",
		"  end\nend"}, 0, ours},
	{"whoever is met may run", []string{
		"  local stands = of == queue and sign == '-'\n",
		"  if key then return key end\n  local stands = of == queue and sign == '-'\n"}, 6, ours},
	{"no ghost of a job that is taken from its worker", []string{
		"  ends = numeric(ends, now)\n  if ends > now then",
		"  ends = numeric(ends, now)\n  if false then"}, 2, ended},
	{"a job that is taken back waits for nobody", []string{
		"  if sign ~= '+' or of ~= job.queue or ends <= now then return false end\n",
		"  if true then return false end\n"}, 0, ours},
	{"a job that is taken back stands last", []string{
		"stand_behind('LPUSH', of, key, jid)",
		"stand_behind('RPUSH', of, key, jid)"}, 0, ours},
	{"a shelved job that is due asks for no turn", []string{
		"  if not arrive_at(queue, job.jid, job.mark, now) then\n    seat(",
		"  do\n    seat("}, 0, ours},
	{"shelved jobs come in by their names", []string{
		"    if a.place ~= b.place then return a.place < b.place end\n    if a.put ~= b.put then return a.put < b.put end\n    return a.rank < b.rank\n",
		"    return a.jid < b.jid\n"}, 0, ended},
	{"of one moment the last one put comes first", []string{
		"if a.put ~= b.put then return a.put < b.put end\n    return a.rank < b.rank\n",
		"return a.rank > b.rank\n"}, 0, ours},
	{"a job that fails keeps the turn", []string{
		"  if has and failed and is_set(queue, 'after_fail=hold') then",
		"  if has and failed then"}, 0, ours},
	{"who goes on to another queue keeps the turn", []string{
		"  if s.lane then pass_turn(batch, s) end\n  if depend(",
		"  if depend("}, 0, ours},
	{"the end of a ghost is not heard", []string{
		"then return pass_on(queue, key, now) end\n  if holder",
		"then return end\n  if holder"}, 0, ours},
	{"a lane that was empty is not looked after", []string{
		"    check_turn(queue, key, now)\n  end\n  return false\nend",
		"  end\n  return false\nend"}, 15, ended},
	{"the turn goes to who came last", []string{
		"redis.call('LPOP', lane)",
		"redis.call('RPOP', lane)"}, 0, ours},
	{"a freed job asks for no turn", []string{
		"  if lane and arrive_at(queue, jid, lane, now) then return end\n",
		""}, 1, ours},
	{"a turn is gone though somebody stands behind", []string{
		"if redis.call('EXISTS', unpack(lanes)) == 0 then",
		"if true then"}, 0, ours},
	{"who is complete passes no turn on", []string{
		"  if batch.departs then pass_turns(batch) end\n",
		""}, 0, ours},
	{"entries are not counted", []string{
		"  redis.call('HINCRBY', 'ql:oarlock:behind', queue, '1')\n",
		""}, 0, ours},
}

// TestTurnsMutations makes each mistake, in whatever script it is, and plays until a program finds it.
func TestTurnsMutations(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	mixes := []turnsMix{ours, ended, wild}
	mustFindEach(t, turnsMutations, 91, 120, func(m mistake, i uint64, change func(string) string) program {
		seed, mix := m.first, m.mix
		if i > 0 {
			seed, mix = (i-1)/3, mixes[(i-1)%3]
		}
		return newTurnsWorld(t, l, mix, 1000+seed, change)
	})
}

// turnsShot is all that is kept of turns at one moment.
type turnsShot struct {
	Jobs    map[string]turnsJob
	Turns   map[string]map[string]string // by queue and key
	Entries map[string][]string          // by the name of the list, without what all have
	Lanes   map[string][]string          // by queue
	Seats   map[string][]string          // by queue and part: jids
	Behind  map[string]string
}

type turnsJob struct{ State, Queue, Lane string }

// key is that of a job in a queue; "" if it has none there.
func (j turnsJob) key(queue string) string {
	m := turnsMark.FindStringSubmatch(j.Lane)
	if m == nil {
		return ""
	}
	n, _ := strconv.Atoi(m[2])
	if len(m[3]) < n || m[3][:n] != queue || j.Queue != queue && j.Queue != "" {
		return ""
	}
	_, key, _ := strings.Cut(m[3][n:], " ")
	return key
}

var turnsMark = regexp.MustCompile(`(?s)^([-+=])(\d+):(.*)$`)

const turnsShotScript = `
local shot = { Jobs = {}, Turns = {}, Entries = {}, Lanes = {}, Seats = {}, Behind = {} }
for _, name in ipairs(redis.call('KEYS', 'ql:j:*')) do
  if redis.call('TYPE', name).ok == 'hash' then
    local f = redis.call('HMGET', name, 'state', 'queue', 'oarlock-lane')
    shot.Jobs[string.sub(name, 6)] = { State = f[1] or '', Queue = f[2] or '', Lane = f[3] or '' }
  end
end
for _, queue in ipairs(ARGV) do
  local turns = redis.call('HGETALL', 'ql:oarlock:turns:' .. queue)
  local by = {}
  for i = 1, #turns, 2 do by[turns[i]] = turns[i + 1] end
  if #turns > 0 then shot.Turns[queue] = by end
  local lanes = redis.call('ZRANGE', 'ql:oarlock:lanes:' .. queue, 0, -1)
  if #lanes > 0 then shot.Lanes[queue] = lanes end
  for _, part in ipairs({ 'work', 'locks', 'scheduled', 'depends' }) do
    local jids = redis.call('ZRANGEBYSCORE', 'ql:q:' .. queue .. '-' .. part, '-inf', part == 'scheduled' and '9e9' or '+inf')
    if #jids > 0 then shot.Seats[queue .. '-' .. part] = jids end
  end
end
for _, name in ipairs(redis.call('KEYS', 'ql:oarlock:lane:*')) do
  shot.Entries[string.sub(name, 17)] = redis.call('LRANGE', name, 0, -1)
end
local behind = redis.call('HGETALL', 'ql:oarlock:behind')
for i = 1, #behind, 2 do shot.Behind[behind[i]] = behind[i + 1] end
local text = cjson.encode(shot)
return (string.gsub(text, ':%[%]', ':{}'))`

// shot reads all.
func (w *turnsWorld) shot() *turnsShot {
	text, ok := w.eval(turnsShotScript, "q", "p:q").(string)
	var shot turnsShot
	stop(w.t, !ok || json.Unmarshal([]byte(text), &shot) != nil, "what is kept: %q", text)
	return &shot
}

// look checks the invariants.
func (w *turnsWorld) look() {
	shot := w.shot()
	w.was = shot
	w.arrivals(shot)
	count := map[string]int{}
	for jid, job := range shot.Jobs {
		m := turnsMark.FindStringSubmatch(job.Lane)
		if m == nil {
			if job.Lane != "" {
				w.fail("%s has the mark %q", jid, job.Lane)
			}
			continue
		}
		n, _ := strconv.Atoi(m[2])
		queue := m[3][:n]
		word, key, _ := strings.Cut(m[3][n+1:], " ")
		switch holder := shot.Turns[queue][key]; {
		case m[1] == "+" && holder != "="+jid:
			w.fail("%s has the mark %q, and the turn is %q", jid, job.Lane, holder)
		case m[1] == "-" && !slices.Contains(shot.Entries[fmt.Sprintf("%d:%s:%s", n, queue, key)], word+" "+jid):
			w.fail("%s has the mark %q and is not in its lane", jid, job.Lane)
		}
		if m[1] == "-" && w.mix == ours && job.State != "waiting" {
			w.fail("%s stands behind and is %s", jid, job.State)
		}
	}
	for queue, turns := range shot.Turns {
		for key, holder := range turns {
			if jid, is := strings.CutPrefix(holder, "="); is && w.mix == ours {
				if job := shot.Jobs[jid]; !strings.HasPrefix(job.Lane, "+") || job.State == "" || job.State == "failed" || job.State == "complete" {
					w.fail("the turn of %q in %s is %q, of which %+v", key, queue, holder, job)
				}
			}
		}
	}
	for name, entries := range shot.Entries {
		length, rest, _ := strings.Cut(name, ":")
		n, _ := strconv.Atoi(length)
		queue, key := rest[:n], rest[n+1:]
		count[queue] += len(entries)
		if shot.Turns[queue][key] == "" || !slices.Contains(shot.Lanes[queue], key) {
			w.fail("in %s %q stand behind %q: %q, %q", queue, entries, key, shot.Turns[queue][key], shot.Lanes[queue])
		}
	}
	for _, queue := range turnQueues {
		if n := shot.Behind[queue]; n != strconv.Itoa(count[queue]) && (n != "" || count[queue] != 0) {
			w.fail("of %s %q entries are counted, and there are %d", queue, n, count[queue])
		}
		if w.mix != wild {
			w.seats(shot, queue)
		}
	}
}

// seats checks that who is in a set of a queue has the turn of its key.
func (w *turnsWorld) seats(shot *turnsShot, queue string) {
	for _, part := range []string{"work", "locks", "scheduled"} {
		for _, jid := range shot.Seats[queue+"-"+part] {
			job := shot.Jobs[jid]
			if key := job.key(queue); key != "" && job.Lane[:1] != "+" && (w.mix == ours || job.Lane[:1] == "-") {
				w.fail("%s is in %s of %s and has the mark %q", jid, part, queue, job.Lane)
			}
		}
	}
}
