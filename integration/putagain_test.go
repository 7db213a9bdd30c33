package integration

import (
	"fmt"
	"syscall"
	"testing"

	"oarlock/queue"
)

// What is put again while it runs, as where the latest of many changes is to win, runs with
// what was put last, though its own pool may take it before it hears that it was put.
func putAgainWhileRunning(t *testing.T, r *rig) {
	const together = 20
	version := func(jids []string, w work) {
		t.Helper()
		puts := make([]queue.Put, len(jids))
		for i, jid := range jids {
			puts[i] = r.describe(t, w)
			puts[i].JID = jid
		}
		got(r.client.PutAll(t.Context(), puts))(t)
	}
	first, second := work{MS: 20_000, Beat: 20}, work{MS: 1, Beat: 1}
	a := r.start(t, "a", pool{children: 4})
	for i := range 12 {
		jid := fmt.Sprintf("customer-%d", i)
		r.jids = append(r.jids, jid)
		version([]string{jid}, first)
		r.ledger.await(t, "version 1 begun", begun(2*i+1))
		version([]string{jid}, second)
		r.ledger.await(t, "version 2 begun", beganAgain([]string{jid}))
	}
	a.stop(t)

	r.start(t, "b", pool{children: together})
	var many []string
	for i := range together {
		many = append(many, fmt.Sprintf("of-many-%d", i))
	}
	r.jids = append(r.jids, many...)
	version(many, first)
	r.ledger.await(t, "all of version 1 begun", begun(2*12+together))
	version(many, second)
	r.ledger.await(t, "all of version 2 begun", beganAgain(many))
	r.finish(t, allowed{twice: len(r.jids)})
}

// What hangs and is taken back by an operator is ended, though its own pool may have taken it
// again before it hears of that.
func takenBackWhileHanging(t *testing.T, r *rig) {
	const hanging = 16
	jids := r.put(t, hanging, work{End: "hang"})
	r.begins(t, pool{children: hanging + 4}, hanging)
	old := r.ledger.all(t)
	for _, jid := range jids {
		must(t, r.client.Timeout(t.Context(), jid))
	}
	r.ledger.await(t, "all begun again", beganAgain(jids))
	for _, e := range old {
		if p, ok := readProcess(e.pid); ok && p.state != 'Z' && syscall.Kill(e.pid, 0) == nil {
			t.Errorf("the attempt of job %s that was taken back still runs: %v", e.jid, p)
		}
	}
	for _, jid := range jids {
		p := r.describe(t, work{MS: 1})
		p.JID = jid
		got(r.client.Put(t.Context(), p))(t)
	}
	r.finish(t, allowed{twice: hanging})
}
