package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"oarlock/queue"
)

// everyWay is a pool for each way in which a child may live and be killed; auto is by a control group
// where there are any.
func everyWay(t *testing.T, r *rig, name string) (config string, queues []string) {
	command := got(json.Marshal(command(t, "first-never-ends.py")))(t)
	var text strings.Builder
	text.WriteString(r.head(name, ""))
	for _, mode := range []string{"once", "reuse", "preload"} {
		for _, kill := range []string{"auto", "guard", "group"} {
			queue := mode + "-" + kill
			fmt.Fprintf(&text, `
[pools.%s]
queues = [%q]
mode = %q
command = %s
children = 1
kill_grace = "1s"
sandbox = { kill = %q, env = { LEDGER = %q } }
`, queue, queue, mode, command, kill, r.ledger.path)
			queues = append(queues, queue)
		}
	}
	return text.String(), queues
}

// putEach puts a job into each of the queues.
func (r *rig) putEach(t *testing.T, queues []string, data string) []string {
	t.Helper()
	puts := make([]queue.Put, len(queues))
	for i, name := range queues {
		puts[i] = queue.Put{Queue: name, Klass: "Work", Data: []byte(data)}
	}
	return r.putAll(t, puts)
}

func pausedInEveryWay(t *testing.T, r *rig) {
	config, queues := everyWay(t, r, "a")
	r.putEach(t, queues, `{}`)
	a := r.startConfig(t, "a", config)
	r.ledger.await(t, "all jobs begun", begun(len(queues)))
	a.signal(t, syscall.SIGSTOP)
	config, _ = everyWay(t, r, "b")
	b := r.startConfig(t, "b", config)
	r.ledger.await(t, "all jobs begun again", begun(2*len(queues)))
	jobs := r.settled(t)
	a.signal(t, syscall.SIGCONT)

	allDone(t, jobs)
	more := map[string]int{} // for a lock that a busy machine costs
	for _, jid := range r.starved(t) {
		more[jid]++
	}
	for _, j := range jobs {
		// One retry is what the protocol charges for a lock that ran out.
		popped, settled := j.settlements()
		if popped < 2 || popped > 2+more[j.jid] || settled != 1 {
			t.Errorf("job %s: popped %d times, settled %d times; want 2 and 1", j.jid, popped, settled)
		}
	}
	for _, rs := range runs(r.ledger.all(t)) {
		if again := rs[len(rs)-1]; again.paid < 1 || again.paid > 1+more[again.jid] {
			t.Errorf("job %s had paid %d retries when it began again, want 1", again.jid, again.paid)
		}
	}
	// Whether it hears first that the child is dead or that the lock is lost is all the same.
	for _, queue := range queues {
		a.said(t, `"attempt ended"`, fmt.Sprintf(`"queue":%q`, queue), `"kind":"lock-lost"`)
	}
	b.stop(t)
	r.putEach(t, queues, `{"quick":true}`) // A has children in all ways again
	allDone(t, r.settled(t))
	// Two runs of one job side by side is what this row is about: I5, with nothing allowed.
	r.check(t, allowed{twice: len(queues)})
}
