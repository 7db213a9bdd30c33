package queue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
	t      testing.TB
	lab    *lab
	change func(string) string // of every script, for mutations
	mix    turnsMix
	random *rand.Rand
	now    float64

	made     int                 // jobs so far
	joined   map[string]int      // by jid: its place in the order of its key, as a producer would say
	begun    map[string]bool     // since it joined
	due      map[string]float64  // of delayed jobs
	planned  map[string]float64  // when those were put
	attempts map[string]turnsRun // by jid: what runs under a lock of ours, or a foreigner's
	orphans  map[string]turnsRun // by jid and time: taken from us while it ran; its child lives
	order    int
	log      []string
	was      *turnsShot
	then     func() // after each step; may be nil
}

// turnsRun is an attempt.
type turnsRun struct {
	jid, queue, key, worker string
	popped, expires         float64
	foreign                 bool
}

// turnsFault is what a step is panicked with that finds something wrong.
type turnsFault string

var turnQueues = []string{"q", "p:q"}
var turnKeys = []string{"a", "b b"}

// newTurnsWorld empties the lab for a program.
func newTurnsWorld(t testing.TB, l *lab, mix turnsMix, seed uint64, change func(string) string) *turnsWorld {
	t.Helper()
	if err := l.redis.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	w := &turnsWorld{t: t, lab: l, change: change, mix: mix, random: rand.New(rand.NewPCG(seed, uint64(mix))), now: 1763700000,
		joined: map[string]int{}, begun: map[string]bool{}, due: map[string]float64{}, planned: map[string]float64{}, attempts: map[string]turnsRun{}, orphans: map[string]turnsRun{}}
	for _, words := range [][]any{{"heartbeat", 60}, {"grace-period", 10}} {
		l.redis.HSet(t.Context(), "ql:config", words...)
	}
	return w
}

func (w *turnsWorld) fail(format string, args ...any) {
	panic(turnsFault(fmt.Sprintf(format, args...)))
}

// faultOf is the fault that ended a program, as recover returned it; "" if none did.
func faultOf(recovered any) string {
	if recovered == nil {
		return ""
	}
	text, ok := recovered.(turnsFault)
	if !ok {
		panic(recovered)
	}
	return string(text)
}

// play runs a program of so many steps and drains what it left. It returns what was wrong, "" if nothing, and
// the program.
func (w *turnsWorld) play(steps int) (wrong string) {
	defer func() { wrong = faultOf(recover()) }()
	for range steps {
		w.step()
		w.look()
		if w.then != nil {
			w.then()
		}
	}
	w.drain()
	return ""
}

// eval runs a script as it is, or with the mutation.
func (w *turnsWorld) eval(text string, argv ...any) any {
	words := make([]string, len(argv))
	for i, arg := range argv {
		switch arg := arg.(type) {
		case string:
			words[i] = arg
		case []byte:
			words[i] = string(arg)
		default:
			words[i] = fmt.Sprint(arg)
		}
	}
	reply, err := w.lab.eval(w.t.Context(), text, nil, words)
	if err != nil && strings.Contains(err.Error(), "user_script") && !strings.Contains(err.Error(), "(): ") {
		w.fail("a script failed: %v", err)
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return reply
}

// batch calls one of our own commands.
func (w *turnsWorld) batch(command string, args ...any) any {
	text := w.change(w.lab.text(Batch, command))
	w.note("%s %q", command, args)
	return w.eval(text, append([]any{wire.Number(w.now)}, args...)...)
}

// single calls a command of the protocol, as we know it.
func (w *turnsWorld) single(command string, args ...any) any {
	w.note("our %s %q", command, args)
	return w.eval(w.change(w.lab.text(Qless, "")), append([]any{command, wire.Number(w.now)}, args...)...)
}

// keyless is the unified script without what it knows of keys, as the original is.
var keyless = sync.OnceValue(func() string {
	nothing := strings.NewReplacer("'oarlock-lane'", "'oarlock-nothing'", "'ql:oarlock:rules'", "'ql:nothing'", "named.key", "named.nothing")
	return nothing.Replace(Unified(DefaultNamespace, Qless))
})

// foreign calls a command of the protocol in the original script.
func (w *turnsWorld) foreign(command string, args ...any) any {
	w.note("foreign %s %q", command, args)
	return w.eval(keyless(), append([]any{command, wire.Number(w.now)}, args...)...)
}

func (w *turnsWorld) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%.2f ", w.now-1763700000)+fmt.Sprintf(format, args...))
}

func (w *turnsWorld) rarely(n int) bool { return w.random.IntN(n) == 0 }

func oneOf[T any](w *turnsWorld, list []T) T { return list[w.random.IntN(len(list))] }

// someone draws one of the keys of a map; false if it is empty.
func someone[V any](w *turnsWorld, of map[string]V) (string, bool) {
	if len(of) == 0 {
		return "", false
	}
	return oneOf(w, slices.Sorted(maps.Keys(of))), true
}

// step does one thing.
func (w *turnsWorld) step() {
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
		w.single("unfail", oneOf(w, turnQueues), "g", "3")
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
			return oneOf(w, behind)
		}
	}
	return fmt.Sprintf("j %d", w.random.IntN(w.made))
}

// put puts one to three jobs, now and then one that is there already.
func (w *turnsWorld) put() {
	puts := make([]Put, 1+w.random.IntN(3))
	for i := range puts {
		p := Put{Queue: oneOf(w, turnQueues), Klass: "K", JID: fmt.Sprintf("j %d", w.made), Data: []byte("{}")}
		if !w.rarely(6) {
			p.Key = oneOf(w, turnKeys)
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
		if entries := shot.Entries[fmt.Sprintf("%d:%s:%s", len(p.Queue), p.Queue, p.Key)]; p.Key != "" && w.mix != wild && len(entries) == 1 && strings.HasSuffix(entries[0], " "+p.JID) {
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
	worker := oneOf(w, []string{"w1", "w2"})
	var settlements []Settlement
	over := map[string]bool{}
	for _, jid := range slices.Sorted(maps.Keys(w.attempts)) {
		run := w.attempts[jid]
		if run.worker != worker || run.foreign || w.rarely(3) || over[jid] {
			continue
		}
		over[jid] = true
		s := Settlement{JID: jid, Queue: run.queue, Popped: run.popped, Action: oneOf(w, []Action{Complete, Complete, Complete, Retry, Fail, Release, Cancel, Requeue})}
		switch s.Action {
		case Complete:
			if w.rarely(4) {
				s.Next = oneOf(w, turnQueues)
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
	take := Take{Queues: turnQueues, Count: w.random.IntN(4), Order: oneOf(w, []Order{Ordered, RoundRobin, Oldest})}
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
	jid, any := someone(w, w.attempts)
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
	jid, any := someone(w, w.attempts)
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
		call("complete", run.jid, run.worker, run.queue, "{}", "next", oneOf(w, turnQueues))
		if !foreign { // else it has the turn still, where it goes on in its own queue
			w.rejoins(run.jid, w.was.Jobs[run.jid].Lane == "")
		}
	}
	delete(w.attempts, run.jid)
}

// ourPop takes by the protocol's pop.
func (w *turnsWorld) ourPop() { w.pop(w.single, false) }

// pop takes by a command of the protocol.
func (w *turnsWorld) pop(call func(string, ...any) any, foreign bool) {
	q := oneOf(w, turnQueues)
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
		w.foreign("put", "f", oneOf(w, turnQueues), jid, "K", "{}", "0", "tags", oneOf(w, []string{"[]", `["key:a"]`, `["x","key:b b"]`}))
	case 3:
		w.cancel(w.foreign)
	case 4, 5:
		jid := w.jid()
		w.foreign("put", "f", oneOf(w, turnQueues), jid, "K", "{}", oneOf(w, []string{"0", "10"}))
		w.orphan(jid)
		w.rejoins(jid, true)
	case 6:
		w.takeBack(w.foreign)
	case 7:
		w.foreign("unfail", oneOf(w, turnQueues), "g", "2")
	case 8:
		w.foreign("depends", w.jid(), "off", "all")
	}
}

// drain lets all that is left end, and looks at what is left then.
func (w *turnsWorld) drain() {
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
			programs, steps := 10, 250
			if testing.Short() && server == "embedded" {
				steps = 40
			}
			for _, mix := range []turnsMix{ours, ended, wild} {
				for seed := range Seeds(t, programs) {
					w := newTurnsWorld(t, l, mix, seed, unchanged)
					if wrong := w.play(steps); wrong != "" {
						t.Fatalf("mix %s, seed %d: %s\nafter\n%s", mix, seed, wrong, strings.Join(w.log[max(0, len(w.log)-60):], "\n"))
					}
				}
			}
		})
	}
}

// turnsMutations are mistakes in the scripts that the programs must find.
var turnsMutations = []struct {
	name, old, new string
	first          uint64   // the seed that is played first, for one is known to find it
	in             turnsMix // and the mix
}{
	{"places are not compared",
		"if text ~= mark_text('-', queue, place, key) then return false end",
		"if string.sub(text or '', 1, 1) ~= '-' then return false end", 0, ours},
	{"the holder that is over keeps its mark",
		"if marked then redis.call('HSET', 'ql:j:' .. jid, 'oarlock-lane', mark_text('=', queue, '', key)) end\n  if ended",
		"if ended", 2, wild},
	{"nobody looks",
		"local function tend_queue(queue)\n",
		"local function tend_queue(queue)\n  do return end\n", 0, ours},
	{"an entry that is dropped leaves its mark",
		"    redis.call('HSET', job, 'oarlock-lane', mark_text('=', queue, '', key))\n    return false",
		"    return false", 1, wild},
	{"a settlement does not pass the turn on",
		"  else\n    pass_on(queue, key, now)\n  end\nend",
		"  end\nend", 0, ours},
	{"whoever is met may run",
		"  local stands = of == queue and sign == '-'\n",
		"  if key then return key end\n  local stands = of == queue and sign == '-'\n", 6, ours},
	{"no ghost of a job that is taken from its worker",
		"  ends = numeric(ends, now)\n  if ends > now then",
		"  ends = numeric(ends, now)\n  if false then", 2, ended},
	{"a job that is taken back waits for nobody",
		"  if sign ~= '+' or of ~= job.queue or ends <= now then return false end\n",
		"  if true then return false end\n", 0, ours},
	{"a job that is taken back stands last",
		"stand_behind('LPUSH', of, key, jid)",
		"stand_behind('RPUSH', of, key, jid)", 0, ours},
	{"a shelved job that is due asks for no turn",
		"  if not arrive_at(queue, job.jid, job.mark, now) then\n    seat(",
		"  do\n    seat(", 0, ours},
	{"shelved jobs come in by their names",
		"    if a.place ~= b.place then return a.place < b.place end\n    if a.put ~= b.put then return a.put < b.put end\n    return a.rank < b.rank\n",
		"    return a.jid < b.jid\n", 0, ended},
	{"of one moment the last one put comes first",
		"if a.put ~= b.put then return a.put < b.put end\n    return a.rank < b.rank\n",
		"return a.rank > b.rank\n", 0, ours},
	{"a job that fails keeps the turn",
		"  if has and failed and is_set(queue, 'after_fail=hold') then",
		"  if has and failed then", 0, ours},
	{"who goes on to another queue keeps the turn",
		"  if s.lane then pass_turn(batch, s) end\n  if depend(",
		"  if depend(", 0, ours},
	{"the end of a ghost is not heard",
		"then return pass_on(queue, key, now) end\n  if holder",
		"then return end\n  if holder", 0, ours},
	{"a lane that was empty is not looked after",
		"    check_turn(queue, key, now)\n  end\n  return false\nend",
		"  end\n  return false\nend", 15, ended},
	{"the turn goes to who came last",
		"redis.call('LPOP', lane)",
		"redis.call('RPOP', lane)", 0, ours},
	{"a freed job asks for no turn",
		"  if lane and arrive_at(queue, jid, lane, now) then return end\n",
		"", 1, ours},
	{"a turn is gone though somebody stands behind",
		"if redis.call('EXISTS', unpack(lanes)) == 0 then", "if true then", 0, ours},
	{"who is complete passes no turn on",
		"  if batch.departs then pass_turns(batch) end\n", "", 0, ours},
	{"entries are not counted",
		"  redis.call('HINCRBY', 'ql:oarlock:behind', queue, '1')\n",
		"", 0, ours},
}

// TestTurnsMutations makes each mistake, in whatever script it is, and plays until a program finds it.
func TestTurnsMutations(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	for i, m := range turnsMutations {
		t.Run(m.name, func(t *testing.T) {
			oneOfMistakes(t, i)
			mixes := []turnsMix{ours, ended, wild}
			mustFind(t, []string{m.old, m.new}, 91, func(i uint64, change func(string) string) string {
				seed, mix := m.first, m.in
				if i > 0 {
					seed, mix = (i-1)/3, mixes[(i-1)%3]
				}
				return newTurnsWorld(t, l, mix, 1000+seed, change).play(120)
			})
		})
	}
}
