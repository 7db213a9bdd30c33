package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"oarlock/queue"
)

// TestDayOfEverything mixes the kinds of a day at random, from the seed: one supervisor has
// them all at once. None is lost, none
// runs twice that need not, and each ends as it must.
func TestDayOfEverything(t *testing.T) {
	long(t, "a soak")
	row(t, "day of everything", rigOptions{alone: true}, func(t *testing.T, r *rig) {
		r.speechless = true // this worker's ledger names more than runs
		a := r.day(t,
			shift{name: "plain", worker: "uses-the-helper.py", children: 2, retry: "200ms"},
			shift{name: "ahead", worker: "uses-the-helper.py", children: 2, more: "prefetch = 16"},
			shift{name: "many", queues: []string{"many-*"}, worker: "uses-the-helper.py", children: 2, more: `order = "oldest"`},
			shift{name: "recycled", worker: "uses-the-helper.py", children: 1, more: "max_jobs = 1"},
			shift{name: "grows", worker: "uses-the-helper.py", children: -1, more: "min_children = 1\nmax_children = 4"},
		)
		m := mix{rig: r, failing: make(map[string]bool)}
		began := now()
		until := began + soakLength(t).Seconds()
		for now() < until {
			m.wave(t)
			within(t, 5*time.Minute, func() error { // some, but no more than can be worked off
				if left := r.unsettled(t); left > 400 {
					return fmt.Errorf("%d jobs are on their way, and no fewer", left)
				}
				return nil
			})
		}
		jobs := r.settled(t)
		for _, j := range jobs {
			want := "complete"
			if m.failing[j.jid] {
				want = "failed"
			}
			if j.state != want {
				t.Errorf("job %s of queue %s is %s, want %s", j.jid, j.queue, j.state, want)
			}
		}
		if worked := versions(r.ledger.all(t), "end", 2); len(worked) != m.again {
			t.Errorf("the latest data of %d of %d jobs that were put again were worked", len(worked), m.again)
		}
		r.note("jobs_per_second", float64(len(jobs))/fairly(began, now()))
		r.check(t, allowed{twice: m.retried})
		a.stop(t)
	})
}

// mix puts waves of jobs of all kinds.
type mix struct {
	*rig
	waves   int
	failing map[string]bool // jobs that are to fail
	retried int             // jobs that are to run more than once
	again   int             // jobs that were put again
}

// wave puts between one and a hundred jobs of one kind.
func (m *mix) wave(t testing.TB) {
	t.Helper()
	m.waves++
	n := 1 + m.random.IntN(100)
	kinds := []func(testing.TB, int){m.short, m.queues, m.later, m.chain, m.raise, m.notYet, m.putAgain, m.tenant, m.large}
	kinds[m.random.IntN(len(kinds))](t, n)
}

// somewhere is the name of one of the queues that no pool has globs for.
func (m *mix) somewhere() string {
	return []string{"plain", "ahead", "recycled", "grows"}[m.random.IntN(4)]
}

func (m *mix) short(t testing.TB, n int) { m.order(t, many(n, m.somewhere(), m.random.IntN(5))) }

func (m *mix) queues(t testing.TB, n int) {
	tasks := make([]task, n)
	for i := range tasks {
		tasks[i] = task{queue: fmt.Sprint("many-", m.random.IntN(1000))}
	}
	m.order(t, tasks)
}

func (m *mix) later(t testing.TB, n int) {
	tasks, wait := many(n, m.somewhere(), 0), time.Duration(m.random.IntN(1500))*time.Millisecond
	for i := range tasks {
		tasks[i].more = func(p *queue.Put) { p.Delay = wait }
	}
	m.order(t, tasks)
}

func (m *mix) chain(t testing.TB, n int) {
	var before []string
	for range min(n, 20) {
		before, _ = m.order(t, []task{{queue: m.somewhere(), more: func(p *queue.Put) { p.Depends = before }}})
	}
}

func (m *mix) raise(t testing.TB, n int) {
	tasks := many(n, "plain", 1)
	for i := range tasks {
		if i%10 > 0 {
			tasks[i].data["raise"] = true
			tasks[i].more = retries(1)
		}
	}
	jids, _ := m.order(t, tasks)
	for i, jid := range jids {
		if i%10 > 0 {
			m.failing[jid] = true
			m.retried++
		}
	}
}

func (m *mix) notYet(t testing.TB, n int) {
	tasks := many(n, m.somewhere(), 1)
	for i := range tasks {
		tasks[i].data["notyet"] = []float64{m.random.Float64(), 1}
	}
	m.order(t, tasks)
	m.retried += n
}

func (m *mix) putAgain(t testing.TB, n int) {
	n = min(n, 10)
	for version := 1; version <= 2; version++ {
		for i := range n {
			p := queue.Put{Queue: "plain", JID: fmt.Sprintf("again-%d-%d", m.waves, i), Klass: "Work", Data: fmt.Appendf(nil, `{"ms":20,"version":%d}`, version)}
			got(m.client.Put(t.Context(), p))(t)
			if version == 1 {
				m.jids = append(m.jids, p.JID)
			}
		}
	}
	m.again += n
	m.retried += n
}

func (m *mix) tenant(t testing.TB, n int) {
	id := fmt.Sprint("tenant-", m.random.IntN(3))
	must(t, m.client.SetThrottle(t.Context(), queue.Throttle{ID: id, Maximum: 1}))
	tasks := many(n, m.somewhere(), 2)
	for i := range tasks {
		tasks[i].more = func(p *queue.Put) { p.Throttles = []string{id} }
	}
	m.order(t, tasks)
}

func (m *mix) large(t testing.TB, n int) {
	m.order(t, slices.Repeat(payloads(1, "plain")[1:], min(n, 2))) // of 1 MB
}
