package queue

import (
	"os"
	"slices"
	"testing"
)

// TestManyBlockedJobsBeforeAFreeOne: in front of a job that may run stand very many that may not. Each call files 64 of them, for three commands
// each and a few besides, the last as the first; then the free one begins, and whoever takes beside them pays nothing for them. With OARLOCK_FAULTS=all
// they are 100,000, and the time of the calls is told.
func TestManyBlockedJobsBeforeAFreeOne(t *testing.T) {
	many := 10_000
	if os.Getenv("OARLOCK_FAULTS") == "all" {
		many = 100_000
	}
	c := newGateCost(t, true, func(w *gateWorld, do func()) float64 {
		w.redis.ConfigResetStat(t.Context())
		do()
		return float64(commandsRun(t, w.lab))
	})
	c.rule(map[string]string{"q": `{"shape":"a","klass":{"K":{"weight":1,"throttles":["erp"]}}}`}, map[string]string{"erp": `{"limit":1,"patience":60}`})
	take := func() (jobs []Taken, more bool) {
		c.now += 0.001
		reply := c.exchange("w", nil, Take{Queues: []string{"q"}, Count: 1})
		return reply.Jobs, reply.More
	}
	free := func(jid string) { c.put(Put{Queue: "q", JID: jid, Klass: "Free", Data: []byte("{}")}) }
	free("f0")
	alone := c.meter(func() { take() })
	c.fill("q", 1)
	take() // the only place is taken
	c.fill("q", many)
	free("f1")
	var commands []float64
	began := ""
	for more := true; began == "" && more; {
		commands = append(commands, c.meter(func() {
			var jobs []Taken
			if jobs, more = take(); len(jobs) > 0 {
				began = jobs[0].JID
			}
		}))
	}
	if began != "f1" || len(commands) > many/callFiles+2 {
		t.Errorf("after %d calls begins %q", len(commands), began)
	}
	first, last := slices.Max(commands[:10]), slices.Max(commands[len(commands)-10:])
	if first > 240 || last > 1.05*first {
		t.Errorf("the first calls run %v commands, the last %v", first, last)
	}
	free("f2")
	var jobs []Taken
	if beside := c.meter(func() { jobs, _ = take() }); len(jobs) != 1 || beside > alone+4 {
		t.Errorf("a take beside them runs %v commands, and %v without them; began %v", beside, alone, jobs)
	}
}
