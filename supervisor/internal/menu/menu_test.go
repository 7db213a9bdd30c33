package menu

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"oarlock/queue"
)

// larder is what there is in the queues that a menu is of: when each job was put, by queue.
type larder map[string][]float64

// take serves the menu as the take of the script does, of queues that have what it says.
func (l larder) take(m *Menu, count int) (from []string, more bool) {
	queues, heads := m.Hand()
	take := queue.Take{Queues: queues, Heads: heads, Order: m.order, Count: count}
	reply := queue.Reply{Now: 1000}
	for len(reply.Jobs) < count {
		best := -1
		for i, name := range queues {
			switch {
			case len(l[name]) == 0:
			case best < 0, m.order == queue.Oldest && l[name][0] < l[queues[best]][0]:
				best = i
			}
		}
		if best < 0 {
			break
		}
		name := queues[best]
		l[name] = l[name][1:]
		reply.Jobs = append(reply.Jobs, queue.Taken{Queue: name})
		if m.order == queue.RoundRobin { // the next one's turn
			queues = append(slices.Clone(queues[best+1:]), queues[:best+1]...)
		}
	}
	for _, name := range take.Queues {
		if len(l[name]) == 0 {
			reply.Left = append(reply.Left, queue.QueueLeft{Queue: name})
		} else if m.order == queue.Oldest {
			reply.Left = append(reply.Left, queue.QueueLeft{Queue: name, Head: l[name][0]})
		}
	}
	for _, job := range reply.Jobs {
		from = append(from, job.Queue)
	}
	return from, m.Heard(take, &reply)
}

// Of more queues than a take is handed, each has its turn also where the order is drawn.
func TestShuffledMenusServeAllQueues(t *testing.T) {
	var m Menu
	var names []string
	l := larder{}
	for i := range 200 {
		name := fmt.Sprint("q", i)
		names = append(names, name)
		l[name] = []float64{1, 2, 3}
	}
	m.Serve(names, queue.Shuffled)
	m.See(l.seen(), 0)
	served := map[string]bool{}
	for range 8000 {
		queues, _ := m.Hand()
		if len(queues) != fewQueues {
			t.Fatalf("%d queues are handed", len(queues))
		}
		served[queues[0]] = true
	}
	if len(served) != len(names) {
		t.Errorf("%d of %d queues were ever the first", len(served), len(names))
	}
}

// seen is what the lookout would tell of the larder.
func (l larder) seen() (seen []Seen) {
	for name, jobs := range l {
		if len(jobs) > 0 {
			seen = append(seen, Seen{name, jobs[0]})
		}
	}
	return seen
}

// TestTakesOfManyQueues works off 100 queues, three jobs each, 7 at a time.
func TestTakesOfManyQueues(t *testing.T) {
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprintf("q%03d", i)
	}
	for _, order := range []queue.Order{queue.Ordered, queue.RoundRobin, queue.Oldest} {
		t.Run(string(order), func(t *testing.T) {
			l, m := larder{}, &Menu{}
			for i := range 100 {
				at := float64(1 + (i*37)%100)
				l[names[2*i]] = []float64{at, at + 100, at + 200}
			}
			m.Serve(names, order)
			if !m.Empty() {
				t.Error("a menu of many queues has some of which nothing is known")
			}
			m.See(l.seen(), 900)
			var served []string
			takes := 0
			for more := true; more; takes++ {
				if queues, _ := m.Hand(); len(queues) > fewQueues {
					t.Fatalf("a take is handed %d queues", len(queues))
				}
				var from []string
				from, more = l.take(m, 7)
				served = append(served, from...)
			}
			if len(served) != 300 || takes > 300/7+5 {
				t.Fatalf("%d jobs in %d takes", len(served), takes)
			}
			if !m.Empty() {
				t.Error("something is left")
			}
			first := served[:100]
			switch order {
			case queue.Ordered:
				if !slices.IsSorted(served) {
					t.Errorf("served %v", served)
				}
			default:
				distinct := slices.Compact(slices.Sorted(slices.Values(first)))
				if len(distinct) != 100 {
					t.Errorf("the first 100 jobs are of %d queues", len(distinct))
				}
			}
			if order == queue.RoundRobin && !slices.IsSorted(first) {
				t.Errorf("served %v", first)
			}
			if order == queue.Oldest {
				for i, name := range first {
					var n int
					fmt.Sscanf(name, "q%d", &n)
					if want := i; (n/2*37)%100 != want {
						t.Fatalf("job %d is of %s", i, name)
					}
				}
			}
		})
	}
}

// TestTakesInTurnGoOnAfterALook sees to it that a look begins no new turn.
func TestTakesInTurnGoOnAfterALook(t *testing.T) {
	names := make([]string, 100)
	l, m := larder{}, &Menu{}
	for i := range names {
		names[i] = fmt.Sprintf("q%02d", i)
		l[names[i]] = make([]float64, 100)
	}
	m.Serve(names, queue.RoundRobin)
	count := map[string]int{}
	for range 300 {
		m.See(l.seen(), 900)
		from, _ := l.take(m, 1)
		count[from[0]]++
	}
	for _, name := range names {
		if count[name] != 3 {
			t.Fatalf("served %v", count)
		}
	}
}

// TestMenuHearsOfWhatComesAndLeaves has a queue that gave nothing, and gives something again.
func TestMenuHearsOfWhatComesAndLeaves(t *testing.T) {
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprintf("q%02d", i)
	}
	m := &Menu{}
	m.Serve(names, queue.Oldest)
	m.See([]Seen{{"q05", 50}, {"q07", 30}}, 100)
	hand := func() string {
		queues, heads := m.Hand()
		return fmt.Sprint(strings.Join(queues, " "), heads)
	}
	steps := []struct {
		what string
		do   func()
		want string
	}{
		{"the look", func() {}, "q07 q05[30 50]"},
		{"q07 has nothing left", func() { m.leave("q07", 0, 101) }, "q05[50]"},
		{"something comes into it", func() { m.Came(map[string]struct{}{"q07": {}}, 110) }, "q05 q07[50 110]"},
		{"and into one not seen", func() { m.Came(map[string]struct{}{"q39": {}}, 120) }, "q05 q07 q39[50 110 120]"},
		{"and into one not ours", func() { m.Came(map[string]struct{}{"x": {}}, 120) }, "q05 q07 q39[50 110 120]"},
		{"q05 may run no more", func() { m.leave("q05", 0, 121) }, "q07 q39[110 120]"},
		{"a job of it ends", func() { m.Left("q05") }, "q05 q07 q39[50 110 120]"},
		{"fewer queues", func() { m.Serve(names[:8], queue.Oldest) }, "q00 q01 q02 q03 q04 q06 q05 q07[0 0 0 0 0 0 50 110]"},
		{"of few, all are handed", func() { m.See([]Seen{{"q05", 50}}, 130) }, "q05 q00 q01 q02 q03 q04 q06 q07[50 130 130 130 130 130 130 130]"},
	}
	for _, step := range steps {
		step.do()
		if got := hand(); got != step.want {
			t.Errorf("%s: the menu is %s, want %s", step.what, got, step.want)
		}
	}
}
