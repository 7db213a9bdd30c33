package integration

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"oarlock/queue"
)

// Jobs park, a third of them answered before there is a job, and all by two doors at once, while supervisors are
// killed: of all answers to a job one is accepted, and each job goes on with its own, to one end.
func TestA22ParkedAndAnsweredTwice(t *testing.T) {
	row(t, "A22", rigOptions{}, func(t *testing.T, r *rig) {
		const children, kills = 4, 3
		n := scaled(300, 10_000)
		order := func(i int) string { return fmt.Sprintf("order %d/é", i) }
		accepted := make([]int, n)
		var mu sync.Mutex // guards accepted
		answer := func(some []int) {
			for part := range slices.Chunk(some, 20) {
				responses := make([]queue.Response, len(part))
				for k, i := range part {
					responses[k] = queue.Response{Klass: "Pay", Correlation: order(i), Data: fmt.Appendf(nil, `{"of": %q}`, order(i))}
				}
				results, err := r.client.RespondAll(t.Context(), responses)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for k, result := range results {
					if result.Word == queue.Resumed || result.Word == queue.KeptFor {
						accepted[part[k]]++
					}
				}
				mu.Unlock()
			}
		}
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		answer(all[:n/3])
		puts := make([]queue.Put, n)
		for i := range puts {
			puts[i] = queue.Put{Queue: "work", JID: fmt.Sprintf("p-%d", i), Klass: "Pay", Data: fmt.Appendf(nil, `{"order": %q}`, order(i))}
		}
		r.putAll(t, puts)
		a := r.start(t, "a", pool{children: children, worker: "parks.py"})
		r.start(t, "b", pool{children: children, worker: "parks.py"})
		r.ledger.await(t, 30*time.Second, "jobs at work", func(es []entry) bool { return count(es, "ask") >= n/10 })
		var doors sync.WaitGroup
		for range 2 {
			shuffled := slices.Clone(all)
			r.random.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			doors.Go(func() { answer(shuffled) })
		}
		for k := range kills {
			r.ledger.await(t, 60*time.Second, "more jobs at their end", ended((k+1)*n/(kills+2)))
			a.kill(t)
			a = r.start(t, "a", pool{children: children, worker: "parks.py"})
		}
		doors.Wait()
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		for i, times := range accepted {
			if times != 1 {
				t.Errorf("of the answers to %s %d were accepted", order(i), times)
			}
		}
		ends := 0
		for _, e := range r.ledger.all(t) {
			switch e.what {
			case "foreign":
				t.Errorf("job %s was told of an answer to another", e.jid)
			case "end":
				ends++
			}
		}
		if ends < n || ends > n+kills*children {
			t.Errorf("%d runs were told of an answer, for %d jobs and %d killed children at most", ends, n, kills*children)
		}
		for _, job := range jobs {
			if _, settled := job.settlements(); settled != 1 {
				t.Errorf("job %s came to its end %d times", job.jid, settled)
			}
		}
		for _, key := range r.db.Keys(t.Context(), "ql:q:work-*").Val() {
			t.Errorf("%s is left", key)
		}
		r.note("jobs", n)
		r.note("kills", kills)
		r.note("told", ends)
	})
}
