package cli

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/dustin/go-humanize"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/runner"
	"oarlock/supervisor"
)

// capacity is what this host carries.
type capacity struct {
	strength runner.KillStrength // of pools that do not say
	bounds   []runner.Bound
	memory   bool // the kernel holds children in control groups to limits.memory
}

// capacityHere finds it out, for a command that has no children.
func capacityHere() capacity {
	c := capacity{strength: runner.KillGuard, bounds: runner.Bounds()} // the costliest, if the host does not tell
	if host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)}); err == nil {
		c.strength, _ = host.KillStrength()
		c.memory = host.HoldsMemory(runner.KillCgroup)
		_ = host.Close() // it had no children
	}
	return c
}

// killed is how children of a pool are killed.
func (c capacity) killed(p *supervisor.Pool) runner.KillStrength {
	if p.Child.Kill == runner.KillAuto {
		return c.strength
	}
	return p.Child.Kill
}

// demand is what the children of all pools take: as many as count says of each.
func (c capacity) demand(pools []supervisor.Pool, count func(*supervisor.Pool) int) (d runner.Demand) {
	for i := range pools {
		d = d.With(c.killed(&pools[i]), count(&pools[i]))
	}
	return d
}

// most is how many children a pool may have when it does not roll.
func most(p *supervisor.Pool) int { return max(p.Children, p.MaxChildren) }

// told says what the children of pools take in the middle of a roll, of what there is least of;
// and if that is too much, how many there may be. It is one sentence.
func (c capacity) told(pools []supervisor.Pool) (sentence string, fits bool) {
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

// refuse says why a pool cannot have n children beside those that the others have now; nil if
// it can.
func (c capacity) refuse(pools []supervisor.Pool, name string, n int, now map[string]int) error {
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

// fit cuts pools down to what the host carries, each by the same part, and returns what it cut,
// a sentence for each.
func (c capacity) fit(pools []supervisor.Pool) (cut []string) {
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

// carries cuts pools down to what this host carries, and says so in the log.
func (s *service) carries(pools []supervisor.Pool) {
	for _, cut := range s.capacity().fit(pools) {
		s.log.Error(cut)
	}
}

// capacity is what this host carries now.
func (s *service) capacity() capacity { return capacity{s.strength, runner.Bounds(), s.memory} }

// Scale sets how many children a pool has, as far as this host carries them.
func (s *service) Scale(pool string, children int) error {
	told, err := supervise(s.config(), s.log)
	if err != nil {
		return err
	}
	now := map[string]int{}
	for _, p := range s.sup.Snapshot().Pools {
		now[p.Name] = p.Children
	}
	if err := s.capacity().refuse(told.Pools, pool, children, now); err != nil {
		return err
	}
	s.log.Info("scaling", "pool", pool, "children", children)
	return s.sup.Scale(pool, children)
}

// printCapacity says what the children of a configuration take of this host.
func printCapacity(w io.Writer, cfg config.Config) {
	told, err := supervise(cfg, nil)
	if err != nil {
		return // it was validated; a file has changed since
	}
	sentence, fits := capacityHere().told(told.Pools)
	if sentence == "" {
		return
	}
	if !fits {
		sentence = string(screen.Paint(w, screen.Yellow, "Warning:")) + " " + sentence
	}
	screen.PrintLine(w, sentence)
}
