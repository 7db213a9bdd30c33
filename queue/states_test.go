package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// phases are the states of a job as they were called where programs waited for answers first, and which may follow each: an
// initial one has not run, retry is after an attempt that failed, and what is final stays so.
var phases = map[string][]string{
	"initial": {"initial", "running", "final"},
	"running": {"running", "retry", "final"},
	"retry":   {"retry", "running", "final"},
	"final":   {"final"},
}

// lives are jobs at random: what was seen of each last.
type lives struct {
	*parking
	random *rand.Rand
	phase  map[string]string
	held   []Taken        // as they were taken, some of them long ago
	counts map[string]int // attempts that counted, by jid
}

// look reads the phase of a job, which was phase before.
func (l *lives) look(jid, before string) string {
	l.t.Helper()
	f := must(l.l.redis.HMGet(l.t.Context(), "ql:j:"+jid, "state", "oarlock-park").Result())(l.t)
	switch state := f[0]; {
	case state == nil, state == "complete", state == "failed":
		return "final" // nil is canceled
	case state == "running", state == "stalled", state == "scheduled" && f[1] != nil, before == "running" && l.resumed(jid):
		return "running"
	case before == "initial":
		return "initial"
	}
	return "retry"
}

// resumed tells whether a job that was parked has its answer and waits for a child.
func (l *lives) resumed(jid string) bool {
	at, err := l.l.redis.HGet(l.t.Context(), "ql:j:"+jid, "oarlock-response-at").Result()
	return err == nil && at != ""
}

// do does something with jobs at random, and says what.
func (l *lives) step(n int) string {
	jid := fmt.Sprint("j", l.random.IntN(len(l.phase)+1))
	switch l.random.IntN(12) {
	case 0, 1:
		jid = fmt.Sprint("j", len(l.phase))
		l.do(Qless, "put", "", "q", jid, "K", `{}`, l.random.IntN(2)*30, "retries", l.random.IntN(3))
		l.phase[jid] = "initial"
		return "put " + jid
	case 2, 3, 4:
		for _, job := range l.exchange("w", 1+l.random.IntN(3)).Jobs {
			if attempt := 1 + job.Retries - job.Remaining + job.Crashes; attempt < l.counts[job.JID] || attempt > l.counts[job.JID]+1 {
				l.t.Fatalf("step %d: %s is taken for attempt %d, and was last for %d", n, job.JID, attempt, l.counts[job.JID])
			} else {
				l.counts[job.JID] = attempt
			}
			l.held = append(l.held, job)
		}
		return "take"
	case 5:
		l.now += 120 // locks end, what is delayed is due
		return "wait"
	case 6:
		if l.phase[jid] == "" {
			return "nothing"
		}
		l.do(Qless, "cancel", jid)
		return "cancel " + jid
	case 7:
		return "answer " + l.respond(fmt.Sprint("c", l.random.IntN(len(l.phase)+1)), "", `{}`, "", []string{"", "complete"}[l.random.IntN(2)])
	}
	if len(l.held) == 0 {
		return "nothing"
	}
	job := l.held[l.random.IntN(len(l.held))]
	s := []Settlement{{Action: Complete}, {Action: Fail, Group: "g"}, {Action: Retry, Delay: time.Minute, Group: "g"}, {Action: Retry, Group: "g"},
		{Action: Release}, {Action: Release, Counter: CountCrash, MaxCrashes: 2, Group: "g"}, {Action: Park, Correlation: "c" + job.JID[1:], Delay: time.Minute}}[l.random.IntN(7)]
	s.JID, s.Queue, s.Popped = job.JID, job.Queue, job.Popped
	r := l.exchange("w", 0, s).Results[0]
	return fmt.Sprintf("%s %s: %s %v", s.Action, job.JID, r.State, r.Err)
}

// P32, P33: whatever happens to jobs, also what comes too late, their states follow one another as they may, a final one stays, and each
// attempt but the first of a job counts one failure or crash more than the one before, or none.
func TestStatesOfAJob(t *testing.T) {
	for seed := range uint64(4) {
		l := &lives{parking: newParking(t), random: rand.New(rand.NewPCG(seed, 1)), phase: map[string]string{}, counts: map[string]int{}}
		met := map[string]int{}
		for n := range 400 {
			said := l.step(n)
			for jid, before := range l.phase {
				after := l.look(jid, before)
				stop(t, !slices.Contains(phases[before], after), "seed %d, step %d, %s: %s was %s and is %s", seed, n, said, jid, before, after)
				if l.phase[jid] = after; after != before {
					met[before+" "+after]++
				}
			}
		}
		for _, move := range []string{"initial running", "initial final", "running retry", "running final", "retry running"} {
			never(t, met[move] == 0, "seed %d: %s was never met, of %v", seed, move, met)
		}
	}
}

// P7, P36: a put that says nothing runs now, has the priority that is in the middle, five retries and no time limit of its own.
func TestAPutThatSaysNothing(t *testing.T) {
	p := newParking(t)
	jid := must(p.c.Put(t.Context(), Put{Queue: "q", Klass: "K"}))(t)
	job, err := p.c.Get(t.Context(), jid)
	if err != nil || job.State != "waiting" || job.Priority != 0 || job.Retries != 5 || job.Remaining != 5 || string(job.Data) != "{}" || job.Kept.Timeout != 0 {
		t.Errorf("it is %+v (%v)", job, err)
	}
	p.now = p.c.Now()
	if taken := p.take(); taken.JID != jid {
		t.Errorf("taken was %s", taken.JID)
	}
}
