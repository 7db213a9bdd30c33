package service

import (
	"slices"
	"testing"
	"time"

	"oarlock/internal/rollcall"
	"oarlock/supervisor"
)

// A pool is awake that takes jobs and whose supervisor has answered lately.
func TestAwakePools(t *testing.T) {
	a, now := newAwake(nil), time.Now()
	a.now = func() time.Time { return now }
	pool := func(name string, change func(*supervisor.PoolSnapshot)) supervisor.PoolSnapshot {
		p := supervisor.PoolSnapshot{Name: name, Worker: name, Queues: []string{"q"}, Children: 1, Generation: 1, Slots: []supervisor.SlotSnapshot{{Generation: 1}, {Generation: 2}, {Generation: 1}}}
		if change != nil {
			change(&p)
		}
		return p
	}
	answer := func(pools ...supervisor.PoolSnapshot) rollcall.Answer {
		return rollcall.Answer{Status: supervisor.Snapshot{Pools: pools}}
	}
	names := func(all []supervisor.WorkingPool) (names []string) {
		for _, w := range all {
			names = append(names, w.Worker)
		}
		slices.Sort(names)
		return names
	}
	all := a.heard([]rollcall.Answer{answer(
		pool("works", nil),
		pool("quiet", func(p *supervisor.PoolSnapshot) { p.Quiet = true }),
		pool("drains", func(p *supervisor.PoolSnapshot) { p.Draining = true }),
		pool("abstains", func(p *supervisor.PoolSnapshot) { p.Abstains = "why" }),
		pool("barren", func(p *supervisor.PoolSnapshot) { p.Barren = "why" }),
		pool("empty", func(p *supervisor.PoolSnapshot) { p.Children = 0 }),
		pool("list", func(p *supervisor.PoolSnapshot) { p.Queues = []string{} }),
	), answer(pool("other", nil))})
	if got := names(all); !slices.Equal(got, []string{"other", "works"}) {
		t.Fatalf("awake are %q", got)
	}
	if g := all[0].Generations; !slices.Equal(g, []int{1, 2}) {
		t.Errorf("its generations are %v", g)
	}
	now = now.Add(20 * time.Second)
	if got := names(a.heard([]rollcall.Answer{answer(pool("works", nil))})); !slices.Equal(got, []string{"other", "works"}) {
		t.Errorf("when one is late, awake are %q", got)
	}
	now = now.Add(20 * time.Second)
	if got := names(a.heard([]rollcall.Answer{answer(pool("works", func(p *supervisor.PoolSnapshot) { p.Quiet = true }))})); len(got) != 0 {
		t.Errorf("when one is quiet and one is gone, awake are %q", got)
	}
}
