package queue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What is here plays random programs of puts that merge: every payload is acknowledged once, or its job is dead.

// mergeWorld is one program. It draws, calls and fails as that of turns does.
type mergeWorld struct {
	*turnsWorld
	put     map[int]float64 // score by payload
	acked   map[int]int     // how often
	running map[string]Taken
	jobs    int
}

var mergeOrders = map[string]string{"q": "order=key merge=set run_payloads=4 run_bytes=40", "p:q": "order=key merge=all run_payloads=3"}

func newMergeWorld(t testing.TB, l *lab, seed uint64, change func(string) string) *mergeWorld {
	w := &mergeWorld{turnsWorld: newTurnsWorld(t, l, ours, seed, change), put: map[int]float64{}, acked: map[int]int{}, running: map[string]Taken{}}
	for queue, order := range mergeOrders {
		l.redis.HSet(t.Context(), "ql:oarlock:rules", "o:"+queue, order)
	}
	return w
}

func (w *mergeWorld) step(int) (more bool) {
	w.now += w.random.Float64()
	switch n := w.random.IntN(10); {
	case n < 5:
		w.more()
	case n < 9:
		w.work(w.random.IntN(4))
	default:
		w.revive()
	}
	return true
}

// more puts one to three payloads.
func (w *mergeWorld) more() {
	var puts []Put
	for range 1 + w.random.IntN(3) {
		w.jobs++
		score, retries := float64(w.random.IntN(5)), w.random.IntN(2)
		p := Put{Queue: oneOf(w.course, turnQueues), JID: fmt.Sprintf("j %d", w.jobs), Klass: "K", Key: oneOf(w.course, turnKeys),
			Data: fmt.Append(nil, w.jobs), Score: &score, Retries: &retries}
		if w.rarely(6) {
			p.Delay = Duration(10 * w.random.Float64())
		}
		if w.rarely(10) {
			p.Merge = MergeNone
		}
		w.put[w.jobs] = score
		puts = append(puts, p)
	}
	if w.batch("put", appendPuts([]any{""}, puts)...) == nil {
		w.fail("put answered nothing")
	}
}

// work settles what runs, in one way or another, and takes so many more.
func (w *mergeWorld) work(take int) {
	var sent []*Settlement
	for jid, job := range w.running {
		s := &Settlement{JID: jid, Queue: job.Queue, Popped: job.Popped, Action: oneOf(w.course, []Action{Complete, Retry, Retry, Fail, Release})}
		if s.Action == Retry || s.Action == Fail {
			s.Group, s.Message = "g", "m"
		}
		if s.Action == Retry && w.rarely(2) {
			s.Delay = Duration(5 * w.random.Float64())
		}
		sent = append(sent, s)
	}
	slices.SortFunc(sent, func(a, b *Settlement) int { return strings.Compare(a.JID, b.JID) })
	w.exchanged(sent, take)
}

// exchanged settles and takes, and looks at every run that it is given.
func (w *mergeWorld) exchanged(sent []*Settlement, count int) {
	raw := w.batch("exchange", exchangeArgs("w", sent, make([][]Put, len(sent)), Take{Queues: turnQueues, Count: count, Order: Ordered})...)
	reply, err := readExchange(raw, w.now, make([]SettleResult, len(sent)), turnQueues)
	if err != nil || len(reply.Broken) > 0 {
		w.fail("exchange answered %v: %v, %v", raw, err, reply.Broken)
	}
	for i, s := range sent {
		if reply.Results[i].Err != nil {
			w.fail("%+v: %v", *s, reply.Results[i].Err)
		}
		if part := reply.Results[i].Part; part != "" {
			w.dead(w.running[s.JID], part)
		}
		if s.Action == Complete {
			for _, p := range w.payloads(w.running[s.JID]) {
				if w.acked[p]++; w.acked[p] > 1 {
					w.fail("payload %d was acknowledged twice", p)
				}
			}
		}
		delete(w.running, s.JID)
	}
	for _, job := range reply.Jobs {
		w.running[job.JID] = job
		w.look(job)
	}
}

// dead checks that the payload which failed alone was the oldest of its job.
func (w *mergeWorld) dead(job Taken, part string) {
	data := w.lab.redis.HGet(w.t.Context(), "ql:j:"+part, "data").Val()
	if list := w.payloads(job); fmt.Sprintf("[%d]", list[0]) != data {
		w.fail("of %s %s is dead", job.Data, data)
	}
}

// payloads are those of a job.
func (w *mergeWorld) payloads(job Taken) (list []int) {
	text := string(job.Data)
	if job.Merge == "" {
		text = "[" + text + "]"
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		w.fail("%s has the data %s: %v", job.JID, job.Data, err)
	}
	return list
}

// look checks a run: its payloads are sorted, those of nobody else, and no more than fit.
func (w *mergeWorld) look(job Taken) {
	list := w.payloads(job)
	if job.Damage != "" || int64(len(job.Data)) != job.Size {
		w.fail("%s with %s of %d bytes is damaged: %s", job.JID, job.Data, job.Size, job.Damage)
	}
	most := map[string]int{"q": 4, "p:q": 3}[job.Queue]
	if len(list) > most || job.Queue == "q" && job.Size > 40 {
		w.fail("%s has %s", job.JID, job.Data)
	}
	for i, p := range list {
		if job.Merge != "" && job.Scores[i] != w.put[p] || i > 0 && job.Scores[i] < job.Scores[i-1] {
			w.fail("%s has %s with the scores %v", job.JID, job.Data, job.Scores)
		}
		for jid, other := range w.running {
			if jid != job.JID && slices.Contains(w.payloads(other), p) {
				w.fail("payload %d runs in %s and in %s", p, jid, job.JID)
			}
		}
	}
}

// revive brings a failed job back.
func (w *mergeWorld) revive() {
	all := w.failed()
	if len(all) == 0 {
		return
	}
	job := oneOf(w.course, all)
	mark := w.lab.redis.HGet(w.t.Context(), "ql:j:"+job, "time").Val()
	w.batch("amend", Amendment{JID: job, State: "failed", Mark: mark, Change: AmendRetry}.append(nil)...)
}

func (w *mergeWorld) failed() (jids []string) {
	for _, group := range w.lab.redis.SMembers(w.t.Context(), "ql:failures").Val() {
		jids = append(jids, w.lab.redis.LRange(w.t.Context(), "ql:f:"+group, 0, -1).Val()...)
	}
	slices.Sort(jids)
	return jids
}

func (w *mergeWorld) finish() {
	for range 200 {
		for range w.failed() {
			w.revive()
		}
		w.now += 20
		w.batch("tend", "0", "0", "q", "p:q")
		var sent []*Settlement
		for jid, job := range w.running {
			sent = append(sent, &Settlement{JID: jid, Queue: job.Queue, Popped: job.Popped, Action: Complete})
		}
		w.exchanged(sent, 50)
		if len(w.acked) == len(w.put) && len(w.running) == 0 {
			break
		}
	}
	for p := range w.put {
		if w.acked[p] != 1 {
			w.fail("payload %d was acknowledged %d times", p, w.acked[p])
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

// TestMergeModel plays random programs.
func TestMergeModel(t *testing.T) {
	for _, server := range []string{"shared", "embedded"} {
		l := newLab(t, server, DefaultNamespace)
		playAll(t, 10, 150, func(seed uint64) program { return newMergeWorld(t, l, seed, unchanged) })
	}
}

// TestMergeMutations makes mistakes in the scripts, and plays until a program finds each.
func TestMergeMutations(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	mustFindEach(t, []mistake{
		{name: "a job that runs takes payloads", changes: []string{"local waits = f[1] == 'waiting' or", "local waits = f[1] == 'running' or f[1] == 'waiting' or"}},
		{name: "limits are not kept", changes: []string{"if count > most or bytes > most_bytes then return nil end", ""}},
		{name: "limits are not kept where two jobs become one", changes: []string{"if #list > most or run_load(mode, list) % 4294967296 > most_bytes then return nil end", ""}},
		{name: "a job whose payloads another has stays", changes: []string{"  delete_job(key)\nend", "end"}},
		{name: "what waits behind is forgotten", changes: []string{"  write_run(jid, mode, list)\n  vanish(other", "  vanish(other"}},
		{name: "the dead payload stays with the others", changes: []string{"local dead = { table.remove(list, 1) }", "local dead = { list[1] }"}},
		{name: "old payloads stay where they were", changes: []string{"  drop_payloads(key, stays)\nend", "end"}},
		{name: "payloads are not sorted", changes: []string{"    if a.by ~= b.by then return a.by < b.by end\n", ""}},
		{name: "a job that is brought back is not told of", changes: []string{"  write_run(other, mode, list, 'remaining', w[12] or '25')\n", ""}},
	}, 12, 80, func(_ mistake, i uint64, change func(string) string) program {
		return newMergeWorld(t, l, 1000+i, change)
	})
}
