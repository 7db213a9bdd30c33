package queue

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// parking is a key space in which jobs park, under a clock that the test moves.
type parking struct {
	t   *testing.T
	l   *lab
	c   *Client
	now float64
}

func newParking(t *testing.T) *parking {
	l := newLab(t, "shared", DefaultNamespace)
	return &parking{t: t, l: l, c: labClient(t, l), now: 1700000000}
}

// do runs a command at the test's time.
func (p *parking) do(dialect Dialect, command string, args ...any) any {
	p.t.Helper()
	reply, err := p.c.run(p.t.Context(), p.c.redis, script.Name{Dialect: dialect, Command: command}, p.now, args...)
	stop(p.t, err != nil, "%s %v: %v", command, args, err)
	return reply
}

// exchange settles and takes for a worker, a second later than the call before.
func (p *parking) exchange(worker string, count int, settlements ...Settlement) Reply {
	p.t.Helper()
	p.now++
	sent, puts, results := checkSettlements(settlements)
	take := Take{Queues: []string{"q"}, Count: count}
	reply := must(readExchange(p.do(Batch, "exchange", exchangeArgs(worker, sent, puts, take)...), p.now, results, take.Queues))(p.t)
	return reply
}

// take takes the one job that there is.
func (p *parking) take() Taken {
	p.t.Helper()
	reply := p.exchange("w", 5)
	if len(reply.Jobs) != 1 || len(reply.Broken) > 0 {
		p.t.Fatalf("took %+v, broken %v; want one job", reply.Jobs, reply.Broken)
	}
	return reply.Jobs[0]
}

// nothing takes and finds no job.
func (p *parking) nothing() {
	p.t.Helper()
	if reply := p.exchange("w", 5); len(reply.Jobs) > 0 || len(reply.Broken) > 0 {
		p.t.Fatalf("took %+v, broken %v; want nothing", reply.Jobs, reply.Broken)
	}
}

func (p *parking) put(jid string) { p.do(Qless, "put", "", "q", jid, "K", `{"n":1}`, 0) }

// settle settles one job and returns the state that it came to.
func (p *parking) settle(job Taken, s Settlement) string {
	p.t.Helper()
	s.JID, s.Queue, s.Popped = job.JID, job.Queue, job.Popped
	r := p.exchange("w", 0, s).Results[0]
	if r.Err != nil {
		p.t.Fatalf("%s of %s: %v", s.Action, job.JID, r.Err)
	}
	return r.State
}

// park puts, takes and parks a job, for a minute.
func (p *parking) park(jid, correlation string) Taken {
	p.t.Helper()
	p.put(jid)
	job := p.take()
	if state := p.settle(job, Settlement{Action: Park, Correlation: correlation, Delay: time.Minute, Checkpoint: []byte(`{"step":2}`)}); state != "scheduled" {
		p.t.Fatalf("it parked as %s", state)
	}
	return job
}

// respond answers; what is empty is left out.
func (p *parking) respond(correlation, jid, data, failed, end string) string {
	p.t.Helper()
	r := Response{Klass: "K", Correlation: correlation, JID: jid, Data: []byte(data), Error: failed, End: AnswerEnd(end)}
	p.now++
	words, ok := p.do(Batch, "respond", r.words()...).([]any)
	stop(p.t, !ok || len(words) != 2, "respond answered %v", words)
	return words[0].(string)
}

func (p *parking) want(got, want string) {
	p.t.Helper()
	never(p.t, got != want, "the answer is %s, want %s", got, want)
}

// told checks what a job was told of its answer.
func (p *parking) told(job Taken, correlation, data string) {
	p.t.Helper()
	a := job.Answer
	if a == nil || a.Correlation != correlation || string(a.Data) != data || job.Expired {
		p.t.Fatalf("%s was told %+v, expired %v; want %s %s", job.JID, a, job.Expired, correlation, data)
	}
}

// untold checks that a job was told of no answer.
func (p *parking) untold(job Taken, expired bool) {
	p.t.Helper()
	if job.Answer != nil || job.Expired != expired {
		p.t.Fatalf("%s was told %+v, expired %v; want nothing and %v", job.JID, job.Answer, job.Expired, expired)
	}
}

func (p *parking) field(jid, name string) string {
	return p.c.redis.HGet(p.t.Context(), "ql:j:"+jid, name).Val()
}

// races are those of a park with its answer, and which test of TestParkAndAnswer runs each, in both orders where it has two.
var races = []struct{ race, test string }{
	{"an answer comes while it is parked", "P1: parked, then answered"},
	{"an answer crosses the settlement that parks", "answered during the attempt that parks"},
	{"an answer crosses the deadline", "answered past the deadline, before the take and after it"},
	{"an answer comes to one that waits after its deadline", "answered when it is to be tried again"},
	{"an answer comes by two doors", "answered twice, by two doors"},
	{"an answer comes before its job", "answered before there was a job, twice"},
	{"an answer comes when all is over", "canceled"},
	{"an answer names a job, and another has the correlation", "P2, P3: a correlation is of one job at a time"},
	{"the child dies after its request, before it parks", "it dies before it parks, and is answered meanwhile"},
	{"the supervisor dies after the verdict, before it is settled", "its lock runs out before it parks, and it is answered meanwhile"},
	{"the reply of the park is lost", "the reply of its park is lost, and it is answered before it is asked for"},
	{"the leg that goes on dies", "told again after a crash, an interruption, a lost lock and a retry"},
	{"the attempt past the deadline dies", "deadline mark survives a lock that runs out"},
	{"another client makes it ready before its time", "a foreign client brings it in before its time"},
	{"another client takes it at its deadline", "a foreign client pops it at its deadline"},
	{"another client takes it when it was answered", "a foreign client pops it by a script of its own when it was answered"},
	{"another client puts it again while it is parked", "a foreign client puts it again"},
}

// TestParkAndAnswer is every order in which a park and its answer can come, and what others may do between.
func TestParkAndAnswer(t *testing.T) {
	tests := []struct {
		name string
		do   func(p *parking)
	}{
		{"P1: parked, then answered", func(p *parking) {
			first := p.park("j", "order 17")
			never(p.t, p.field("j", "worker") != "" || len(p.c.redis.ZRange(p.t.Context(), "ql:w:w:jobs", 0, -1).Val()) != 0, "it is held by a worker still")
			p.nothing()
			p.want(p.respond("order 17", "", `{ "big":12345678901234567890, "e":[]}`, "", ""), "resumed")
			job := p.take()
			p.told(job, "order 17", `{ "big":12345678901234567890, "e":[]}`)
			if string(job.Checkpoint) != `{"step":2}` || job.Remaining != first.Remaining || job.Crashes != 0 || job.Correlation != "order 17" {
				p.t.Errorf("the leg began with %+v", job)
			}
			if state := p.settle(job, Settlement{Action: Complete}); state != "complete" {
				p.t.Errorf("it ended as %s", state)
			}
			p.want(p.respond("order 17", "", "1", "", ""), "late")
			p.nothing()
		}},
		{"answered twice, by two doors", func(p *parking) {
			p.park("j", "c")
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			p.want(p.respond("c", "", "2", "", ""), "again")
			job := p.take()
			p.told(job, "c", "1")
			p.want(p.respond("c", "", "3", "", ""), "again")
			p.settle(job, Settlement{Action: Complete})
			p.nothing()
		}},
		{"answered before there was a job, twice", func(p *parking) {
			p.want(p.respond("c", "", "1", "", ""), "kept")
			p.want(p.respond("c", "", "2", "", ""), "again")
			p.put("j")
			if state := p.settle(p.take(), Settlement{Action: Park, Correlation: "c", Delay: time.Minute}); state != "waiting" {
				p.t.Errorf("it parked as %s", state)
			}
			p.told(p.take(), "c", "1")
		}},
		{"answered during the attempt that parks", func(p *parking) {
			p.park("j", "a")
			p.want(p.respond("a", "", "1", "", ""), "resumed")
			job := p.take()
			p.settle(job, Settlement{Action: Retry, DropAnswer: true})
			job = p.take()
			p.untold(job, false)
			p.want(p.respond("a", "", "2", "", ""), "kept")
			p.want(p.respond("a", "", "3", "", ""), "again")
			if state := p.settle(job, Settlement{Action: Park, Delay: time.Minute}); state != "waiting" {
				p.t.Errorf("it parked as %s", state)
			}
			p.told(p.take(), "a", "2")
		}},
		{"an answer to what was asked before is none to what is asked now", func(p *parking) {
			p.park("j", "a")
			p.want(p.respond("a", "", "1", "", ""), "resumed")
			job := p.take()
			p.settle(job, Settlement{Action: Park, Correlation: "b", Delay: time.Minute})
			p.want(p.respond("a", "", "2", "", ""), "late")
			p.nothing()
			p.want(p.respond("b", "", "3", "", ""), "resumed")
			p.told(p.take(), "b", "3")
		}},
		{"in vain, and settled so", func(p *parking) {
			p.park("j", "c")
			p.now += 60
			job := p.take()
			p.untold(job, true)
			p.settle(job, Settlement{Action: Retry, Group: "park-timeout"})
			job = p.take()
			p.untold(job, false)
			never(p.t, job.Remaining != 4 || string(job.Checkpoint) != `{"step":2}`, "the next attempt began with %+v", job)
		}},
		{"deadline mark survives the reply", func(p *parking) {
			p.park("j", "c")
			p.now += 60
			p.take()
			held, _, _ := readHeld(p, "w")
			stop(p.t, len(held) != 1 || !held[0].Expired, "an audit finds %+v", held)
			p.now += 100 // its supervisor is gone
			p.do(Batch, "sweep", 50, "q")
			p.now += 11
			p.do(Batch, "sweep", 50, "q")
			p.untold(p.take(), true)
		}},
		{"deadline mark survives a lock that runs out", func(p *parking) {
			p.park("j", "c")
			p.now += 60
			p.untold(p.take(), true)
			p.now += 100
			reply := p.exchange("w", 5)
			for range 12 {
				if len(reply.Jobs) > 0 {
					break
				}
				p.now++
				reply = p.exchange("w", 5)
			}
			stop(p.t, len(reply.Jobs) != 1, "took %+v", reply)
			p.untold(reply.Jobs[0], true)
		}},
		{"answered past the deadline, before the take and after it", func(p *parking) {
			p.park("j", "c")
			p.now += 60
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			p.told(p.take(), "c", "1")
			p = newParking(p.t)
			p.park("j", "c")
			p.now += 60
			job := p.take()
			p.untold(job, true)
			p.want(p.respond("c", "", "1", "", ""), "kept")
			p.settle(job, Settlement{Action: Retry, Group: "park-timeout"})
			p.told(p.take(), "c", "1")
		}},
		{"answered when it is to be tried again", func(p *parking) {
			p.park("j", "c")
			p.now += 60
			p.settle(p.take(), Settlement{Action: Retry, Group: "park-timeout", Delay: 30 * time.Second})
			p.want(p.respond("c", "", "1", "", ""), "kept")
			p.nothing() // it waits for its time still
			p.now += 30
			p.told(p.take(), "c", "1")
		}},
		{"it dies before it parks, and is answered meanwhile", func(p *parking) {
			p.do(Batch, "put", appendPuts([]any{""}, []Put{{Queue: "q", JID: "j", Klass: "K", Correlation: "c"}})...)
			job := p.take()
			p.want(p.respond("c", "", "1", "", ""), "kept") // to the request that it had sent
			p.settle(job, Settlement{Action: Release, Counter: CountCrash, MaxCrashes: 3})
			job = p.take()
			p.told(job, "c", "1")
			never(p.t, job.Crashes != 1, "it crashed %d times", job.Crashes)
			p.want(p.respond("c", "", "2", "", ""), "again") // to that of its second attempt
			p.settle(job, Settlement{Action: Complete})
			p.nothing()
		}},
		{"its lock runs out before it parks, and it is answered meanwhile", func(p *parking) {
			p.put("j")
			job := p.take()
			p.want(p.respond("c", "", "1", "", ""), "kept")
			p.now += 100
			p.do(Batch, "sweep", 50, "q")
			p.now += 11
			p.do(Batch, "sweep", 50, "q")
			again := p.take()
			p.untold(again, false)
			late := Settlement{JID: "j", Queue: "q", Popped: job.Popped, Action: Park, Correlation: "c", Delay: time.Minute}
			if r := p.exchange("w", 0, late).Results[0]; r.Err == nil {
				p.t.Errorf("the first attempt parked it as %+v", r)
			}
			if state := p.settle(again, Settlement{Action: Park, Correlation: "c", Delay: time.Minute}); state != "waiting" {
				p.t.Errorf("it parked as %s", state)
			}
			p.told(p.take(), "c", "1")
		}},
		{"the reply of its park is lost, and it is answered before it is asked for", func(p *parking) {
			for _, answered := range []bool{false, true} {
				p := newParking(p.t)
				job := p.park("j", "c")
				if answered {
					p.want(p.respond("c", "", "1", "", ""), "resumed")
				}
				if became := p.do(Batch, "resolve", "w", "j", wire.Mark(job.Popped)).([]any); became[0] != "else" {
					p.t.Errorf("of the attempt that parked it is said %v", became)
				}
				again := Settlement{JID: "j", Queue: "q", Popped: job.Popped, Action: Park, Correlation: "c", Delay: time.Hour}
				if r := p.exchange("w", 0, again).Results[0]; r.Err == nil {
					p.t.Errorf("it parked twice, as %+v", r)
				}
				if !answered {
					p.nothing()
					p.want(p.respond("c", "", "1", "", ""), "resumed")
				}
				p.told(p.take(), "c", "1")
			}
		}},
		{"told again after a crash, an interruption, a lost lock and a retry", func(p *parking) {
			p.park("j", "c")
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			job := p.take()
			p.settle(job, Settlement{Action: Release, Counter: CountCrash, MaxCrashes: 3})
			job = p.take()
			p.told(job, "c", "1")
			p.settle(job, Settlement{Action: Release, Counter: CountInterruption, Front: true})
			p.told(p.take(), "c", "1")
			p.now += 100
			p.do(Batch, "sweep", 50, "q")
			p.now += 11
			p.do(Batch, "sweep", 50, "q")
			job = p.take()
			p.told(job, "c", "1")
			p.settle(job, Settlement{Action: Retry})
			p.told(p.take(), "c", "1")
			p.want(p.respond("c", "", "2", "", ""), "again")
		}},
		{"a failed one forgets its answer, and keeps its correlation when it is tried again", func(p *parking) {
			p.park("j", "c")
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			p.settle(p.take(), Settlement{Action: Fail, Group: "g"})
			p.want(p.respond("c", "", "2", "", ""), "late")
			p.do(Batch, "amend", "j", "failed", p.field("j", "time"), "retry", 0)
			job := p.take()
			p.untold(job, false)
			if state := p.settle(job, Settlement{Action: Park, Delay: time.Minute}); state != "scheduled" {
				p.t.Errorf("it parked as %s", state)
			}
			p.want(p.respond("c", "", "3", "", ""), "resumed")
			p.told(p.take(), "c", "3")
		}},
		{"a failed one that is tried again is answered before it parks", func(p *parking) {
			p.park("j", "c")
			p.want(p.respond("c", "", "", "there is none", "fail"), "resumed")
			p.settle(p.take(), Settlement{Action: Fail, Group: "answered"})
			p.want(p.respond("c", "", "2", "", ""), "late")
			p.do(Batch, "amend", "j", "failed", p.field("j", "time"), "retry", 0)
			job := p.take()
			p.want(p.respond("c", "", "3", "", ""), "kept")
			p.want(p.respond("c", "", "4", "", ""), "again")
			if state := p.settle(job, Settlement{Action: Park, Delay: time.Minute}); state != "waiting" {
				p.t.Errorf("it parked as %s", state)
			}
			p.told(p.take(), "c", "3")
		}},
		{"a failed one that is tried again takes its correlation from nobody", func(p *parking) {
			p.park("j", "c")
			p.want(p.respond("c", "", "", "there is none", "fail"), "resumed")
			p.settle(p.take(), Settlement{Action: Fail, Group: "answered"})
			p.park("k", "c")
			p.do(Batch, "amend", "j", "failed", p.field("j", "time"), "retry", 0)
			p.want(p.respond("c", "j", "1", "", ""), "late")
			p.want(p.respond("c", "", "2", "", ""), "resumed")
			p.want(p.respond("c", "k", "2", "", ""), "again")
		}},
		{"P2, P3: a correlation is of one job at a time", func(p *parking) {
			p.park("j", "c")
			p.put("k")
			if state := p.settle(p.take(), Settlement{Action: Park, Correlation: "c", Delay: time.Minute}); state != "failed" {
				p.t.Errorf("the second parked as %s", state)
			}
			if n := p.c.redis.LLen(p.t.Context(), "ql:f:duplicate-correlation").Val(); n != 1 {
				p.t.Errorf("%d jobs in the group duplicate-correlation", n)
			}
			p.want(p.respond("c", "k", "0", "", ""), "late")
			p.want(p.respond("c", "j", "1", "", ""), "resumed")
			p.settle(p.take(), Settlement{Action: Complete})
			p.park("l", "c") // it is free again
			p.want(p.respond("c", "j", "2", "", ""), "late")
			p.want(p.respond("c", "", "3", "", ""), "resumed")
			p.told(p.take(), "c", "3")
		}},
		{"two park with one correlation in one call", func(p *parking) {
			p.want(p.respond("c", "", "1", "", ""), "kept")
			p.put("j")
			p.put("k")
			reply := p.exchange("w", 2)
			var both []Settlement
			for _, job := range reply.Jobs {
				both = append(both, Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: Park, Correlation: "c", Delay: time.Minute})
			}
			states := map[string]string{}
			for i, r := range p.exchange("w", 0, both...).Results {
				states[r.State] = both[i].JID
			}
			if len(states) != 2 || states["waiting"] == "" || states["failed"] == "" {
				p.t.Fatalf("they came to %v, want one that waits with the answer and one that failed", states)
			}
			if group := p.c.redis.LRange(p.t.Context(), "ql:f:duplicate-correlation", 0, -1).Val(); !slices.Equal(group, []string{states["failed"]}) {
				p.t.Errorf("%v are in the group duplicate-correlation", group)
			}
			job := p.take()
			p.told(job, "c", "1")
			never(p.t, job.JID != states["waiting"], "%s was told", job.JID)
		}},
		{"a park that is refused stands in nobody's way", func(p *parking) {
			p.put("j")
			p.put("k")
			reply := p.exchange("w", 2)
			first, second := reply.Jobs[0], reply.Jobs[1]
			results := p.exchange("w", 0,
				Settlement{JID: first.JID, Queue: first.Queue, Popped: first.Popped + 1, Action: Park, Correlation: "c", Delay: time.Minute},
				Settlement{JID: second.JID, Queue: second.Queue, Popped: second.Popped, Action: Park, Correlation: "c", Delay: time.Minute}).Results
			never(p.t, !errors.Is(results[0].Err, ErrLockLost) || results[1].State != "scheduled", "they came to %+v", results)
		}},
		{"P3: put with a correlation", func(p *parking) {
			p.want(p.respond("c", "", "1", "", ""), "kept")
			put := func(jid, correlation string) any {
				return p.do(Batch, "put", appendPuts([]any{""}, []Put{{Queue: "q", JID: jid, Klass: "K", Correlation: correlation}})...).([]any)[0]
			}
			if word := put("j", "c"); word != "put" {
				p.t.Fatalf("the put is answered %v", word)
			}
			before := dump(p.t.Context(), p.c.redis)
			if no, refused := put("k", "c").([]any); !refused || no[0] != "correlation c of class K is held by job j" {
				p.t.Errorf("the second put is answered %v", no)
			}
			if now := dump(p.t.Context(), p.c.redis); fmt.Sprint(now) != fmt.Sprint(before) {
				p.t.Error("a refused put changed something")
			}
			job := p.take()
			p.told(job, "c", "1") // it was answered before it was put
			p.settle(job, Settlement{Action: Park, Delay: time.Minute})
			p.want(p.respond("c", "", "2", "", ""), "resumed")
			job = p.take()
			p.told(job, "c", "2")
			p.settle(job, Settlement{Action: Complete})
			if word := put("k", "c"); word != "put" {
				p.t.Errorf("when it is free, the put is answered %v", word)
			}
			p.want(p.respond("c", "", "3", "", ""), "kept")
			p.told(p.take(), "c", "3")
		}},
		{"a foreign client brings it in before its time", func(p *parking) {
			p.park("j", "c")
			p.now += 60
			p.do(Qless, "peek", "q", 10)
			p.now -= 60 // its clock was ahead
			stop(p.t, p.field("j", "state") != "waiting", "it was not brought in")
			p.nothing()
			never(p.t, p.field("j", "state") != "scheduled", "it did not go back")
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			p.told(p.take(), "c", "1")
		}},
		{"a foreign client pops it at its deadline", func(p *parking) {
			p.park("j", "c")
			p.now += 60
			p.do(Qless, "pop", "q", "foreign", 1)
			stop(p.t, p.field("j", "worker") != "foreign", "it was not popped")
			p.want(p.respond("c", "", "1", "", ""), "kept")
			p.do(Qless, "retry", "j", "q", "foreign")
			job := p.take()
			p.told(job, "c", "1") // which came while the other had it, whose attempt was told nothing
			p.settle(job, Settlement{Action: Complete})
			p.want(p.respond("c", "", "2", "", ""), "late")
			p.nothing()
		}},
		{"a foreign client pops it when it was answered", func(p *parking) {
			p.park("j", "c")
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			p.do(Qless, "pop", "q", "foreign", 1)
			p.do(Qless, "retry", "j", "q", "foreign")
			p.told(p.take(), "c", "1") // by our script, it could ask for the answer
		}},
		{"a foreign client pops it by a script of its own when it was answered", func(p *parking) {
			p.park("j", "c")
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			life := p.field("j", "oarlock-life")
			p.do(Qless, "pop", "q", "foreign", 1)
			p.c.redis.HSet(p.t.Context(), "ql:j:j", "oarlock-life", life) // which that leaves as it is
			p.do(Qless, "retry", "j", "q", "foreign")
			p.untold(p.take(), false)
		}},
		{"a foreign client puts it again", func(p *parking) {
			p.park("j", "c")
			p.put("j")
			p.untold(p.take(), false)
			p.want(p.respond("c", "", "1", "", ""), "kept")
			p.now += 100
			p.do(Batch, "sweep", 50, "q")
			p.now += 11
			p.do(Batch, "sweep", 50, "q")
			p.told(p.take(), "c", "1")
		}},
		{"canceled", func(p *parking) {
			p.park("j", "c")
			p.do(Qless, "cancel", "j")
			p.want(p.respond("c", "", "1", "", ""), "late")
			p.nothing()
		}},
		{"nobody makes it due", func(p *parking) {
			p.park("j", "c")
			for _, action := range []string{"retry", "now", "move"} {
				answers := p.do(Batch, "amend", "j", "scheduled", p.field("j", "time"), action, 1, "queue", "other").([]any)
				if no, refused := answers[0].([]any); !refused || no[0] != "refused" {
					p.t.Errorf("%s is answered %v", action, answers)
				}
			}
			p.nothing()
			p.do(Batch, "amend", "j", "scheduled", p.field("j", "time"), "cancel", 0)
			p.want(p.respond("c", "", "1", "", ""), "late")
		}},
		{"it waits longer, and less long", func(p *parking) {
			p.park("j", "c")
			extend := func(seconds int) {
				p.t.Helper()
				if answers := p.do(Batch, "amend", "j", "scheduled", p.field("j", "time"), "extend", 1, "delay", seconds).([]any); answers[0] != "done" {
					p.t.Fatalf("%d s more are answered %v", seconds, answers)
				}
			}
			p.now += 50
			extend(600)
			p.now += 590
			p.nothing()
			extend(100000)
			p.now += 90000
			p.do(Batch, "sweep", 50, "q")
			p.nothing()
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			job := p.take()
			p.told(job, "c", "1")
			if answers := p.do(Batch, "amend", "j", "running", p.field("j", "time"), "extend", 1, "delay", 60).([]any); answers[0] == "done" {
				p.t.Error("one that runs was made to wait")
			}
			p.settle(job, Settlement{Action: Park, Correlation: "c", Delay: time.Hour})
			extend(5)
			p.now += 5
			p.untold(p.take(), true)
		}},
		{"the answer ends it", func(p *parking) {
			p.put("j")
			p.settle(p.take(), Settlement{Action: Park, Correlation: "c", Delay: time.Minute, AnswerEnds: true})
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			if job := p.take(); job.Answer == nil || job.Answer.End != EndsComplete {
				p.t.Errorf("it was told %+v", job.Answer)
			}
			p = newParking(p.t)
			p.park("j", "c")
			p.want(p.respond("c", "", "", `no "money"`, "fail"), "resumed")
			if a := p.take().Answer; a == nil || a.End != EndsFailed || !a.Failed || a.Error != `no "money"` {
				p.t.Errorf("it was told %+v", a)
			}
		}},
		{"on to the next queue with an answer that nobody was told", func(p *parking) {
			p.park("j", "c")
			p.now += 60
			p.settle(p.take(), Settlement{Action: Retry, Group: "park-timeout"})
			job := p.take()
			p.want(p.respond("c", "", "1", "", ""), "kept")
			p.settle(job, Settlement{Action: Complete, Next: "q"})
			p.told(p.take(), "c", "1")
		}},
		{"places of throttles are kept", func(p *parking) {
			p.do(Reqless, "throttle.set", "erp", 1)
			p.do(Reqless, "queue.put", "", "q", "j", "K", "{}", 0, "throttles", `["erp"]`)
			p.settle(p.take(), Settlement{Action: Park, Correlation: "c", Delay: time.Minute})
			p.do(Reqless, "queue.put", "", "q", "k", "K", "{}", 0, "throttles", `["erp"]`)
			p.nothing()
			p.want(p.respond("c", "", "1", "", ""), "resumed")
			job := p.take()
			p.told(job, "c", "1")
			p.settle(job, Settlement{Action: Complete})
			if next := p.take(); next.JID != "k" {
				p.t.Errorf("then came %s", next.JID)
			}
		}},
		{"P9: what is said of an end comes true at the end", func(p *parking) {
			p.park("j", "c")
			p.now += 50
			p.nothing()
			p.now += 10
			p.untold(p.take(), true)
		}},
		{"pushed to the list", func(p *parking) {
			p.park("j", "c")
			p.c.redis.RPush(p.t.Context(), "ql:oarlock:responses", "K\nc\n{\"a\":\n1}", "K\nc\n2", "rubbish", "K\nx\nno json")
			p.do(Batch, "respond.inbox", 10)
			p.told(p.take(), "c", "{\"a\":\n1}")
			if n := p.c.redis.LLen(p.t.Context(), "ql:oarlock:responses-broken").Val(); n != 2 {
				p.t.Errorf("%d were set aside, want 2", n)
			}
		}},
		{"pushed to the list by who ends lines otherwise", func(p *parking) {
			p.park("j", "c")
			p.c.redis.RPush(p.t.Context(), "ql:oarlock:responses", "K\r\nc\r\n{\"a\":1}")
			p.do(Batch, "respond.inbox", 10)
			p.told(p.take(), "c", `{"a":1}`)
		}},
		{"an answer to one job, before it parks, is nobody else's", func(p *parking) {
			p.want(p.respond("c", "j", "0", "", ""), "late") // there is no such job
			p.put("j")
			p.want(p.respond("c", "j", "1", "", ""), "kept")
			p.want(p.respond("c", "j", "2", "", ""), "again")
			p.want(p.respond("c", "", "3", "", ""), "kept") // to whoever parks with it
			p.want(p.respond("c", "j", "2", "", ""), "again")
			p.do(Qless, "put", "", "other", "l", "K", "{}", 0)
			p.want(p.respond("c", "l", "4", "", ""), "again")
			job := p.take()
			p.put("k")
			p.settle(p.take(), Settlement{Action: Park, Correlation: "c", Delay: time.Minute})
			p.told(p.take(), "c", "3")
			p.settle(job, Settlement{Action: Retry})
			job = p.take()
			p.untold(job, false) // it has not parked yet
			if state := p.settle(job, Settlement{Action: Park, Correlation: "other", Delay: time.Minute}); state != "scheduled" {
				p.t.Errorf("it parked for another as %s", state)
			}
			p.do(Batch, "amend", "k", "running", p.field("k", "time"), "cancel", 0)
			p.want(p.respond("other", "j", "4", "", ""), "resumed")
			if state := p.settle(p.take(), Settlement{Action: Park, Correlation: "c", Delay: time.Minute}); state != "waiting" {
				p.t.Errorf("it parked as %s", state)
			}
			p.told(p.take(), "c", "1")
			if early := p.field("j", "oarlock-early"); early != "" {
				p.t.Errorf("%s is kept still", early)
			}
		}},
		{"an answer to one job is kept for it where the correlation was another's", func(p *parking) {
			for _, last := range []string{"i", "j"} { // after the first, nobody has asked whether it is over
				p.park(last, "c")
				p.want(p.respond("c", "", "1", "", ""), "resumed")
				p.settle(p.take(), Settlement{Action: Complete})
				if last == "j" {
					p.want(p.respond("c", "j", "1", "", ""), "late")
				}
				next := last + "-next"
				p.put(next)
				p.want(p.respond("c", next, "2", "", ""), "kept")
				p.want(p.respond("c", "", "0", "", ""), "late")
				p.want(p.respond("c", last, "1", "", ""), "late")
				p.want(p.respond("c", next, "3", "", ""), "again")
				if state := p.settle(p.take(), Settlement{Action: Park, Correlation: "c", Delay: time.Minute}); state != "waiting" {
					p.t.Errorf("it parked as %s", state)
				}
				job := p.take()
				p.told(job, "c", "2")
				p.settle(job, Settlement{Action: Complete})
			}
		}},
		{"an answer to one job goes with that job", func(p *parking) {
			p.put("j")
			p.want(p.respond("c", "j", "1", "", ""), "kept")
			p.settle(p.take(), Settlement{Action: Complete})
			if early := p.field("j", "oarlock-early"); early != "" {
				p.t.Errorf("%s is kept still", early)
			}
			p.want(p.respond("c", "j", "1", "", ""), "late")
		}},
		{"an answer that nobody was told outlives another put", func(p *parking) {
			put := func(klass, correlation string) {
				p.t.Helper()
				must(p.c.Put(p.t.Context(), Put{Queue: "q", JID: "j", Klass: klass, Correlation: correlation}))(p.t)
			}
			p.want(p.respond("c", "", "1", "", ""), "kept")
			put("K", "c")
			put("K", "c") // as by a client that heard no reply
			put("K", "")
			p.want(p.respond("c", "", "2", "", ""), "again")
			job := p.take()
			p.told(job, "c", "1")
			put("K", "c") // with other work to do, of which nobody was told anything
			p.untold(p.take(), false)
			p.want(p.respond("c", "", "3", "", ""), "kept")
			put("K", "other")
			p.untold(p.take(), false)
			p.want(p.respond("other", "", "4", "", ""), "kept")
			put("L", "")
			p.untold(p.take(), false)
		}},
		{"the rules say how long and how large", func(p *parking) {
			p.do(Batch, "install", "", "{}", "", 0, 0, 0, 0, 0, 0, 10, 3)
			p.want(p.respond("c", "", "1", "", ""), "refused")
			p.want(p.respond("c", "", "1234", "", ""), "refused")
			p.park("j", "c")
			p.want(p.respond("c", "", "1234", "", ""), "refused")
			p.want(p.respond("c", "", "123", "", ""), "resumed")
			p.settle(p.take(), Settlement{Action: Complete})
			p.want(p.respond("c", "", "1", "", ""), "late")
			p.now += 11
			p.do(Batch, "sweep", 50, "q")
			p.want(p.respond("c", "", "1", "", ""), "refused") // it is not known any more that it is over
		}},
		{"what is over is forgotten after a day", func(p *parking) {
			p.want(p.respond("early", "", "1", "", ""), "kept")
			p.park("j", "c")
			p.do(Qless, "cancel", "j")
			for range 3 {
				p.now += 90000
				p.do(Batch, "sweep", 50, "q")
			}
			for _, key := range p.c.redis.Keys(p.t.Context(), "ql:oarlock:*").Val() {
				never(p.t, key != "ql:oarlock:needs", "%s is left", key)
			}
		}},
	}
	run := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.do(newParking(t)) })
		run[tt.name] = true
	}
	for _, r := range races {
		never(t, !run[r.test], "%s: there is no test %q", r.race, r.test)
	}
}

// readHeld is what an audit of a worker finds.
func readHeld(p *parking, worker string) ([]Taken, bool, error) {
	raw := p.do(Batch, "held", worker, 0, "q").([]any)
	jobs, err := readAllTaken(raw[0].([]any))
	return jobs, raw[1].(int64) == 1, err
}

// TestAnswersThatWillNotDo: such an answer is refused with a reason, and changes nothing.
func TestAnswersThatWillNotDo(t *testing.T) {
	p := newParking(t)
	p.park("j", "c")
	before := dump(t.Context(), p.c.redis)
	long := string(make([]byte, 1025))
	for _, r := range []Response{
		{Klass: "", Correlation: "c"}, {Klass: "K", Correlation: ""}, {Klass: "K", Correlation: long},
		{Klass: "K", Correlation: "c", Data: []byte("{")}, {Klass: "K", Correlation: "c", Data: []byte("\"\xff\"")}, {Klass: "K", Correlation: "c", End: "ended"},
		{Klass: "K", Correlation: "c", Error: string(make([]byte, MaxResponse+1))},
	} {
		if result, err := p.c.Respond(t.Context(), r); err == nil {
			t.Errorf("%.60q of %.40q was %s", r.Correlation, r.Klass, result.Word)
		}
	}
	if now := dump(t.Context(), p.c.redis); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("something changed: %v, before %v", now, before)
	}
}
