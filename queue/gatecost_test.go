package queue

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gateRules are the rules of what the gate costs: of queue q there are none in the namespace without rules, and none in the others
// but where that is said.
var gateRules = map[string]string{
	"plain":  `{"shape":"a","klass":{"Other":{"weight":2,"throttles":["erp"]}}}`,
	"limit":  `{"shape":"a","limited":true,"limit_of_queue":1000000}`,
	"path":   `{"shape":"a","limited":true,"limit_of_queue":1000000,"throttles":["region"],"by":{"region":["path","region"]}}`,
	"full":   `{"shape":"a","throttles":["erp"]}`,
	"parted": `{"shape":"a","throttles":["erp","region"],"by":{"region":["path","region"]}}`,
	"some":   `{"shape":"a","throttles":["fifty"]}`,
}

const gateThrottles = `{"limit":1000000,"patience":60,"by":["path","region"],"shares":{"east":0.5,"west":0.5}}`

// gateData is data of 205 bytes, with a region.
func gateData(i int) []byte {
	text := fmt.Sprintf(`{"region":"%s","n":%d,"text":"`, []string{"east", "west"}[i%2], i)
	return []byte(text + strings.Repeat("x", 203-len(text)) + `"}`)
}

// gateCost is what the server does for the calls of a case: in instructions, or in commands.
type gateCost struct {
	*gateWorld
	meter func(do func()) float64
	n     int
	// The edition of the rules that says nothing of what is done here, as a put and an exchange were told.
	puts, takes string
}

// newGateCost makes a world, with rules or without.
func newGateCost(t testing.TB, ruled bool, meter func(w *gateWorld, do func()) float64) *gateCost {
	w := gateWorldOn(t, "redis")
	c := &gateCost{gateWorld: w, meter: func(do func()) float64 { return meter(w, do) }}
	if ruled {
		w.rule(gateRules, map[string]string{"erp": `{"limit":1,"patience":60}`, "region": gateThrottles, "fifty": `{"limit":50,"patience":60}`})
	}
	// Lua begins anew: its garbage collection costs by what it keeps, which is more where a script has installed rules.
	must0(t, w.redis.ScriptFlush(t.Context()).Err())
	return c
}

// fill puts jobs into a queue, of the same moment.
func (c *gateCost) fill(queue string, many int) {
	c.t.Helper()
	for left := many; left > 0; left -= 500 {
		c.now += 0.01
		args := appendPuts([]any{"w"}, putsOf(min(left, 500), func(int) Put {
			c.n++
			return Put{Queue: queue, Klass: "K", JID: fmt.Sprintf("j%07d", c.n), Data: gateData(c.n)}
		}))
		if c.puts != "" {
			args = append(args, c.puts)
		}
		if said := c.call("put", args...).([]any); len(said) > min(left, 500) {
			c.puts = said[len(said)-1].(string)
		}
	}
}

// by calls a script, ruled or not.
func (c *gateCost) by(command string, settle []Taken, queue string, count int) []Taken {
	c.t.Helper()
	c.now += 0.01
	sent, puts, results := checkSettlements(done(settle...))
	args := exchangeArgs("w", sent, puts, Take{Queues: []string{queue}, Count: count})
	if c.takes != "" && command == "exchange" {
		args = append(args, c.takes)
	}
	reply, err := readExchange(c.call(command, args...), c.now, results, []string{queue})
	must0(c.t, err)
	if reply.edition != "" {
		c.takes = reply.edition
	}
	return reply.Jobs
}

// job is what a job costs from put to its end, in batches of so many: those of a call are settled by the call that takes the next.
func (c *gateCost) job(command, queue string, batch, rounds int) float64 {
	c.t.Helper()
	var has []Taken
	turn := func() {
		c.fill(queue, batch)
		if has = c.by(command, has, queue, batch); len(has) != batch {
			c.t.Fatalf("of %s %d were taken", queue, len(has))
		}
	}
	for range 3 {
		turn() // tables and statistics are there
	}
	return c.meter(func() {
		for range rounds {
			turn()
		}
	}) / float64(rounds*batch)
}

// blocked is what it costs to file a job, of so many.
func (c *gateCost) blocked(queue string, many int) float64 {
	c.t.Helper()
	c.fill(queue, many+1)
	c.by("ruled", nil, queue, 1) // the one that runs, and the first to wait
	c.fill(queue, many)
	waiting := func() int { return int(c.redis.ZCard(c.t.Context(), "ql:q:"+queue+"-throttled").Val()) }
	before := waiting()
	cost := c.meter(func() {
		for range many / callFiles {
			c.by("ruled", nil, queue, 1)
		}
	})
	return cost / float64(waiting()-before)
}

// callFiles is how many jobs a call files.
const callFiles = 64

// saturated is what settling a job and taking the next costs where more than may run wait.
func (c *gateCost) saturated(command, queue string, batch, rounds int) float64 {
	c.t.Helper()
	c.fill(queue, (rounds+12)*batch+400)
	has := c.by(command, nil, queue, 50)
	for range 10 { // those that must wait are filed
		has = append(has, c.by(command, nil, queue, 50-len(has))...)
	}
	turn := func() {
		next := c.by(command, has[:batch], queue, batch)
		if len(next) != batch {
			c.t.Fatalf("of %s %d were taken", queue, len(next))
		}
		has = append(has[batch:], next...)
	}
	turn()
	return c.meter(func() {
		for range rounds {
			turn()
		}
	}) / float64(rounds*batch)
}

// measureGate compares the cases with an ordinary job: what they cost more than that, or, of what is a part of it, how many of it. Each is
// compared in two servers that have done the same before.
func measureGate(t testing.TB, meter func(w *gateWorld, do func()) float64, rounds int) (found map[string]float64) {
	found = map[string]float64{}
	bare := func() *gateCost { return newGateCost(t, false, meter) }
	ruled := func() *gateCost { return newGateCost(t, true, meter) }
	for _, batch := range []int{50, 5, 1} {
		n := rounds * min(50/batch, 10)
		var costs []float64 // of one pair of servers it is off by as much as it is, now and then
		for range 3 {
			costs = append(costs, ruled().job("exchange", "ordinary", batch, n)/bare().job("exchange", "ordinary", batch, n)-1)
		}
		slices.Sort(costs)
		found[fmt.Sprintf("beside rules, by %d", batch)] = costs[1]
	}
	c := bare().job("exchange", "ordinary", 50, rounds)
	for _, name := range []string{"plain", "limit", "path"} {
		found[name] = ruled().job("ruled", name, 50, rounds)/c - 1
	}
	found["blocked"] = ruled().blocked("full", 1000) / c
	found["blocked by path"] = ruled().blocked("parted", 1000) / c
	found["saturated"] = ruled().saturated("ruled", "some", 10, 5*rounds) / bare().saturated("exchange", "some", 10, 5*rounds)
	return found
}

// TestCommandsOfTheGate counts the commands of Redis that the gate runs, whose number does not depend on the machine: what each case has beyond an
// ordinary job, or how many of it, and no more than a tenth above.
func TestCommandsOfTheGate(t *testing.T) {
	Long(t, "it measures costs")
	found := measureGate(t, func(w *gateWorld, do func()) float64 {
		w.redis.ConfigResetStat(t.Context())
		do()
		return float64(commandsRun(t, w.lab))
	}, 2)
	for name, budget := range map[string]float64{
		"beside rules, by 50": 0, "beside rules, by 5": 0, "beside rules, by 1": 0, "plain": 0.0104, "limit": 0.0262, "path": 0.063,
		"blocked": 0.3, "blocked by path": 0.31, "saturated": 1.17,
	} {
		if cost := found[name]; cost > budget*1.1 {
			t.Errorf("%s costs %.4f, of %v", name, cost, budget)
		}
	}
}

// BenchmarkGateCost counts the instructions of the server, with valgrind, and fails where the gate costs a tenth more than its budget:
//
//	go test ./queue -run '^$' -bench GateCost -benchtime 1x
func BenchmarkGateCost(b *testing.B) {
	dir := underCallgrind(b)
	limits := map[string]float64{
		"beside rules, by 50": 0.005, "beside rules, by 5": 0.01, "beside rules, by 1": 0.01, "plain": 0.03, "limit": 0.25, "path": 0.55,
		"blocked": 0.4, "blocked by path": 0.6, "saturated": 1.6,
	}
	for b.Loop() {
		found := measureGate(b, func(w *gateWorld, do func()) float64 { return instructions(w, dir, do) }, 40)
		for name, cost := range found {
			b.Logf("%-20s %.4f, budget %v", name, cost, limits[name])
			if cost > limits[name]*1.1 {
				b.Errorf("%s costs %.4f, of %v", name, cost, limits[name])
			}
		}
	}
}

// underCallgrind has the servers that a test starts from now on run under callgrind, which writes into dir.
func underCallgrind(t testing.TB) (dir string) {
	t.Helper()
	besides.Store(t, true) // it is not, for it sets the environment
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("SKIPPED valgrind not found: install it (apt install valgrind)")
	}
	dir = t.TempDir()
	wrapper := filepath.Join(dir, "redis-server")
	text := fmt.Sprintf("#!/bin/sh\nexec valgrind -q --vgdb-prefix=%[1]s/pipe --tool=callgrind --callgrind-out-file=%[1]s/out.%%p redis-server \"$@\"\n", dir)
	must0(t, os.WriteFile(wrapper, []byte(text), 0o755))
	t.Setenv("REDIS_SERVER", wrapper)
	return dir
}

var summary = regexp.MustCompile(`(?m)^(?:summary|totals): (\d+)`)

// instructions counts those of a world's server, under callgrind, while something is done.
func instructions(w *gateWorld, dir string, do func()) float64 {
	w.t.Helper()
	info := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(w.redis.Info(w.t.Context(), "server").Val())
	control := func(what string) {
		if out, err := exec.Command("callgrind_control", "--vgdb-prefix="+filepath.Join(dir, "pipe"), what, info[1]).CombinedOutput(); err != nil {
			w.t.Fatalf("callgrind_control %s: %v: %s", what, err, out)
		}
	}
	written := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "out."+info[1]+".*"))
		must0(w.t, err)
		return names
	}
	for _, old := range written() {
		must0(w.t, os.Remove(old))
	}
	// What the server does by itself is none of it, nor that it notes what takes long: under callgrind all does, more of it on a busy machine.
	for setting, value := range map[string]string{"hz": "1", "activerehashing": "no", "slowlog-log-slower-than": "-1"} {
		must0(w.t, w.redis.ConfigSet(w.t.Context(), setting, value).Err())
	}
	control("-z")
	do()
	control("-d")
	names := written()
	if len(names) != 1 {
		w.t.Fatalf("callgrind has written %q", names)
	}
	text, err := os.ReadFile(names[0])
	must0(w.t, err)
	m := summary.FindSubmatch(text)
	if m == nil {
		w.t.Fatalf("%s has no sum", names[0])
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	must0(w.t, err)
	return n
}
