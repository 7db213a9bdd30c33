package integration

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// stepwise is a pool for each way in which a child hears that the supervisor drains: by a line, or by a signal.
func stepwise(t *testing.T, r *rig, name string) (config string, queues []string) {
	config = r.head(name, "")
	for _, p := range []struct{ name, mode, worker, more string }{
		{"reuse", "reuse", "steps.py", ""},
		{"preload", "preload", "steps.py", ""},
		{"once", "once", "steps.py", `drain_signal = "USR1"`},
		{"script", "once", "steps.sh", `drain_signal = "USR1"`},
	} {
		command := got(json.Marshal(command(t, p.worker)))(t)
		config += fmt.Sprintf(`
[pools.%s]
queues = [%q]
mode = %q
command = %s
children = 1
%s
sandbox = { env = { LEDGER = %q } }
`, p.name, p.name, p.mode, command, p.more, r.ledger.path)
		queues = append(queues, p.name)
	}
	return config, queues
}

// restartedInSteps: a job of many steps goes on at the step at which each restart found it.
func restartedInSteps(t *testing.T, r *rig) {
	steps, between := 1000, 2000*int(time.Millisecond)
	config, queues := stepwise(t, r, "a")
	r.putEach(t, queues, fmt.Sprintf(`{"steps":%d,"ms":%d}`, steps, 50))
	slowest, restarts := 0.0, 0
	for ; r.unsettled(t) > 0; restarts++ {
		before := len(r.ledger.all(t))
		a := r.startConfig(t, "a", config)
		r.ledger.await(t, "work", func(es []entry) bool { return count(es[before:], "begin") >= r.unsettled(t) })
		last(time.Duration(between))
		told := now()
		a.signal(t, syscall.SIGTERM)
		if code := a.exit(t); code != 0 {
			t.Errorf("a drained supervisor exits with %d", code)
		}
		slowest = max(slowest, fairly(told, now()))
	}
	jobs := readJobs(t, r.db, r.jids)
	r.doneFree(t, jobs)
	run := map[string]int{}
	for _, e := range r.ledger.all(t) {
		if e.what == "step" {
			run[e.jid]++
		}
	}
	most := 0
	for _, n := range run {
		most = max(most, n)
	}
	if most > steps+steps/100 {
		t.Errorf("%d steps were run for %d", most, steps)
	}
	if restarts < 3 {
		t.Errorf("only %d restarts", restarts)
	}
	// Without a word the children would work on until drain_timeout, which is 30 s.
	if bound := 0.3; slowest > bound*float64(1) {
		t.Errorf("the slowest stop took %.3f s", slowest)
	}
	r.note("restarts", restarts, "slowest_stop", slowest, "steps", most)
}
