package plan

import (
	"fmt"
	"log/slog"

	"github.com/dustin/go-humanize"

	"oarlock/internal/config"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Capacity is what this host carries, as it was found at one moment.
type Capacity struct {
	strength runner.KillStrength // of pools that do not say
	bounds   []runner.Bound
	memory   bool // the kernel holds children in control groups to limits.memory
}

// CapacityOf is what host carries now; of nil, what this host does if it kills in the costliest way.
func CapacityOf(host *runner.Host) Capacity {
	c := Capacity{strength: runner.KillGuard, bounds: runner.Bounds()}
	if host != nil {
		c.strength, _ = host.KillStrength()
		c.memory = host.HoldsMemory(runner.KillCgroup)
	}
	return c
}

// CapacityHere is what this host carries, for who has no children.
func CapacityHere() Capacity {
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return CapacityOf(nil)
	}
	defer host.Close() // it had no children
	return CapacityOf(host)
}

// killed is how children of a pool are killed.
func (c Capacity) killed(p *supervisor.Pool) runner.KillStrength {
	if p.Child.Kill == runner.KillAuto {
		return c.strength
	}
	return p.Child.Kill
}

// demand is what the children of all pools take: as many as count says of each.
func (c Capacity) demand(pools []supervisor.Pool, count func(*supervisor.Pool) int) (d runner.Demand) {
	for i := range pools {
		d = d.With(c.killed(&pools[i]), count(&pools[i]))
	}
	return d
}

// most is how many children a pool may have when it does not roll.
func most(p *supervisor.Pool) int { return max(p.Children, p.MaxChildren) }

// Needs is Told for the pools of a configuration that was validated; it says nothing if that is no longer good, for
// a file that it names has changed since.
func (c Capacity) Needs(cfg config.Config) (sentence string, fits bool) {
	told, err := Supervisor(cfg, nil)
	if err != nil {
		return "", true
	}
	return c.Told(told.Pools)
}

// Told says what the children of pools take in the middle of a roll, of what there is least of;
// and if that is too much, how many there may be. It is one sentence.
func (c Capacity) Told(pools []supervisor.Pool) (sentence string, fits bool) {
	crowd := c.demand(pools, (*supervisor.Pool).Crowd)
	told := crowd.Told(c.bounds)
	if told == "" {
		return "", true
	}
	if crowd != c.demand(pools, most) {
		told = "In the middle of a roll " + told
	}
	if _, part := crowd.Tightest(c.bounds); part <= 1 {
		return told + ".", true
	}
	var none runner.Demand
	room := none.Room(c.strength, c.bounds)
	return fmt.Sprintf("%s: there is room for %s.", told, humanize.Comma(int64(room))), false
}

// Refuse says why a pool cannot have n children beside those that the others have now; nil if
// it can.
func (c Capacity) Refuse(pools []supervisor.Pool, name string, n int, now map[string]int) error {
	others := c.demand(pools, func(p *supervisor.Pool) int {
		if p.Name == name {
			return 0
		}
		return now[p.Name]
	})
	for i := range pools {
		if pools[i].Name != name {
			continue
		}
		how := c.killed(&pools[i])
		if room := others.Room(how, c.bounds); n > room {
			var alone runner.Demand
			return fmt.Errorf("pool %s cannot have %s children: %s; beside the other pools there is room for %s", name, humanize.Comma(int64(n)),
				alone.With(how, n).Told(c.bounds), humanize.Comma(int64(room)))
		}
	}
	return nil
}

// Fit cuts pools down to what the host carries, each by the same part, and returns what it cut,
// a sentence for each.
func (c Capacity) Fit(pools []supervisor.Pool) (cut []string) {
	all := c.demand(pools, most)
	_, part := all.Tightest(c.bounds)
	if part <= 1 {
		return nil
	}
	for i := range pools {
		p := &pools[i]
		wanted := most(p)
		n := max(int(float64(wanted)/part), 1)
		if wanted <= n {
			continue
		}
		p.Children, p.MinChildren, p.MaxChildren = min(p.Children, n), min(p.MinChildren, n), min(p.MaxChildren, n)
		cut = append(cut, fmt.Sprintf("pool %s gets %s of %s children: %s", p.Name, humanize.Comma(int64(n)), humanize.Comma(int64(wanted)), all.Told(c.bounds)))
	}
	return cut
}
