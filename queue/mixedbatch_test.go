package queue

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"oarlock/queue/internal/wire"
)

// TestMixedBatches is TestMixedDialects with our batch commands at work on the same keys.
func TestMixedBatches(t *testing.T) {
	l := newLab(t, "shared", DefaultNamespace)
	checkAtRandom(t, func(rt *rapid.T) {
		l.redis.FlushDB(t.Context())
		m := &mixture{lab: l, t: rt, ctx: t, now: 1000}
		m.call("config.set", "grace-period", rapid.SampledFrom([]string{"10", "0"}).Draw(rt, "grace"))
		m.call("throttle.set", "t1", "1")
		m.call("throttle.set", "t2", "2")
		m.call("queue.throttle.set", "q2", "2")
		for range rapid.IntRange(1, 60).Draw(rt, "calls") {
			if rapid.Bool().Draw(rt, "batch") {
				m.batchStep()
			} else {
				m.step()
			}
			m.check()
		}
		m.call("throttle.delete", "ql:q:q2")
		m.finish()
	})
}

// batch runs a batch command now.
func (m *mixture) batch(command string, args ...any) any {
	m.t.Helper()
	text := assembled(Batch, command, DefaultNamespace)
	reply, err := redis.NewScript(text).Run(m.ctx.Context(), m.lab.redis, nil, append([]any{m.now}, args...)...).Result()
	if err != nil && !isNull(err) {
		m.t.Fatalf("%s %v: %v", command, args, err)
	}
	return reply
}

func (m *mixture) batchStep() {
	m.now += rapid.IntRange(0, 30).Draw(m.t, "seconds")
	worker := m.pick("worker", "w1", "w2")
	switch m.pick("batch command", "put", "exchange", "exchange", "exchange", "renew", "sweep", "amend") {
	case "put":
		m.batch("put", appendPuts([]any{""}, m.somePuts())...)
	case "exchange":
		m.batchExchange(worker)
	case "renew":
		var items []RenewItem
		for _, job := range m.held(worker) {
			items = append(items, RenewItem{JID: job.JID, Queue: job.Queue, Popped: job.Popped})
		}
		m.batch("renew", renewArgs(worker, items)...)
	case "sweep":
		m.batch("sweep", 3, "q1", "q2")
	case "amend":
		m.amend()
	}
}

// amend changes a job as it is now.
func (m *mixture) amend() {
	jid := m.jid()
	seen := m.lab.redis.HMGet(m.ctx.Context(), "ql:j:"+jid, "state", "time").Val()
	if seen[0] == nil {
		return
	}
	a := Amendment{JID: jid, State: seen[0].(string), Mark: seen[1].(string), Queue: m.pick("to", "q1", "q2"),
		Change: Change(m.pick("change", "retry", "move", "cancel", "timeout", "priority")), Priority: 1,
		Delay: time.Duration(rapid.IntRange(0, 1).Draw(m.t, "delay")) * 20 * time.Second}
	in := wire.Read(m.batch("amend", a.append(nil)...))
	if _, err := readAmended(&in, jid); err != nil && Class(err) != Refused {
		m.t.Fatalf("%+v: %v", a, err)
	}
}

func (m *mixture) somePuts() []Put {
	puts := make([]Put, rapid.IntRange(1, 3).Draw(m.t, "puts"))
	for i := range puts {
		m.puts++
		puts[i] = Put{Queue: m.pick("queue", "q1", "q2"), JID: "j" + strconv.Itoa(m.puts), Klass: "K"}
		if rapid.Bool().Draw(m.t, "again") {
			puts[i].JID, puts[i].IfExists = m.jid(), IfExists(m.pick("if exists", "", "final", "never"))
		}
		switch m.pick("kind", "plain", "plain", "delayed", "throttled", "dependent", "tagged") {
		case "delayed":
			puts[i].Delay = 20 * time.Second
		case "throttled":
			puts[i].Throttles = []string{"t2", "t1"}[rapid.IntRange(0, 1).Draw(m.t, "first throttle"):]
		case "dependent":
			puts[i].Depends = []string{m.jid()}
		case "tagged":
			puts[i].Tags = []string{"x", "z"}
		}
	}
	return puts
}

// held are the jobs that Redis says a worker holds.
func (m *mixture) held(worker string) []Taken {
	in := wire.Read(m.batch("held", worker, 0, "q1", "q2"))
	jobs, err := readAllTaken(in.List())
	if err != nil {
		m.t.Fatal(err)
	}
	for i := range jobs {
		jobs[i].Popped = jobs[i].Put
	}
	return jobs
}

func (m *mixture) batchExchange(worker string) {
	var settlements []Settlement
	for _, job := range m.held(worker) {
		s := Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped,
			Action: Action(m.pick("action", "complete", "complete", "retry", "fail", "release", "")),
			Group:  "group", Message: "message"}
		switch s.Action {
		case "":
			continue // it runs on
		case Complete:
			s.Next = m.pick("next", "", "", "q1", "q2")
			if rapid.IntRange(0, 3).Draw(m.t, "puts?") == 0 {
				s.Puts = m.somePuts()
			}
		case Retry:
			s.Delay = time.Duration(rapid.IntRange(0, 1).Draw(m.t, "delay")) * 30 * time.Second
		case Release:
			s.Counter, s.MaxCrashes = Counter(m.pick("counter", "", "crash", "interruption", "release")), 1
			s.Front = rapid.Bool().Draw(m.t, "front")
		}
		settlements = append(settlements, s)
	}
	take := Take{Queues: []string{"q1", "q2"}, Count: rapid.IntRange(0, 4).Draw(m.t, "count"),
		Order: Order(m.pick("order", string(Ordered), string(RoundRobin), string(Oldest)))}
	sent, puts, results := checkSettlements(settlements)
	reply, err := readExchange(m.batch("exchange", exchangeArgs(worker, sent, puts, take)...), float64(m.now), results, take.Queues)
	if err != nil {
		m.t.Fatal(err)
	}
	for i, r := range reply.Results {
		if r.Err != nil {
			m.t.Fatalf("%+v: %v", settlements[i], r.Err)
		}
	}
	if len(reply.Jobs) > take.Count || len(reply.Broken) > 0 {
		m.t.Fatalf("asked for %d, took %+v", take.Count, reply)
	}
}
