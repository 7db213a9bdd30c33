package pool

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/lookout"
	"oarlock/supervisor/report"
)

// What a supervisor tells its pools, and asks them. All of it is safe for concurrent use, waits
// for nothing, and does nothing where the pool has ended.

// Name is the pool's name, as it is configured.
func (p *Pool) Name() string { return p.name }

// Worker is the name under which Redis knows who holds the pool's locks.
func (p *Pool) Worker() string { return p.worker }

// MaxCrashes is how many crashes a job of the pool may have, as it is configured.
func (p *Pool) MaxCrashes() int { return int(p.maxCrashes.Load()) }

// Done is closed when the pool has ended.
func (p *Pool) Done() <-chan struct{} { return p.done }

// Owes reports whether a pool that has ended left jobs about which Redis was told nothing.
func (p *Pool) Owes() bool { return p.life.owing }

// Drain makes the pool take nothing more and end when nothing is in flight. Jobs still at work
// after timeout are interrupted; 0 means no limit. Called again it can only shorten the time.
func (p *Pool) Drain(timeout time.Duration) { p.post(func() { p.drain(timeout) }) }

// Kill ends everything at once. The jobs go back uncounted if Redis answers soon.
func (p *Pool) Kill() { p.post(p.kill) }

// Quiet makes the pool take nothing, or take again.
func (p *Pool) Quiet(quiet bool) {
	p.post(func() {
		p.life.quiet = quiet
		p.exchanges.wake()
	})
}

// Abstain makes the pool take nothing, and say why; or take again, with why "". It stands beside Quiet, and a pool of a list
// does not heed it: what must count for jobs of queues is nothing to that.
func (p *Pool) Abstain(why string) {
	if p.listed != nil {
		return
	}
	p.post(func() {
		p.life.abstains = why
		p.exchanges.wake()
	})
}

// QuietAlone is Quiet for this pool alone: what all pools are told leaves it as it is.
func (p *Pool) QuietAlone(quiet bool) {
	p.post(func() {
		p.life.alone = quiet
		p.exchanges.wake()
	})
}

// Scale sets how many children the pool keeps; where it has bounds, for the moment only.
func (p *Pool) Scale(n int) {
	p.post(func() {
		if p.cfg.MaxChildren == 0 {
			p.cfg.Children = n
		}
		p.scaled(n, report.ScaledAsked)
		p.beginAnew()
	})
}

// Recycle replaces all children by those of a new generation, which is trusted or has to prove
// itself.
func (p *Pool) Recycle(trusted bool) { p.post(func() { p.turnOver(p.cfg.Child, trusted) }) }

// RecycleSlot replaces the child of one slot by another of the same generation. Like the next two it answers when it
// is done, unless the pool ends before.
func (p *Pool) RecycleSlot(n int) <-chan error {
	return p.ask(func() error { return p.recycleSlot(n) })
}

// StopRun stops the attempt whose run has that id: its job goes back, uncounted.
func (p *Pool) StopRun(run string) <-chan error {
	return p.ask(func() error { return p.stopRun(run) })
}

// AbandonRoll gives up the roll under way.
func (p *Pool) AbandonRoll() <-chan error { return p.ask(p.abandon) }

// ask has the loop do something, and tell what came of it.
func (p *Pool) ask(do func() error) <-chan error {
	answer := make(chan error, 1)
	p.post(func() { answer <- do() })
	return answer
}

// recycleSlot lets the member of a slot be replaced as if it had reached a limit.
func (p *Pool) recycleSlot(n int) error {
	if p.once() {
		return fmt.Errorf("pool %s starts a child for each job: there is none to replace", p.name)
	}
	i := slices.IndexFunc(p.slots, func(s *slot) bool { return s.n == n })
	switch {
	case i < 0:
		return fmt.Errorf("pool %s has no slot %d", p.name, n)
	case p.slots[i].member == nil:
		return fmt.Errorf("slot %d of pool %s has no child at the moment", n, p.name)
	}
	p.slots[i].member.asked = true
	return nil
}

// stopRun interrupts an attempt.
func (p *Pool) stopRun(run string) error {
	for _, a := range p.flight {
		if handle(a.wire.Run) != run {
			continue
		}
		switch a.stage {
		case running:
			p.log.Info("stopping a job because somebody asked for it", "jid", a.job.JID, "queue", a.job.Queue, "run", run)
			p.stop(a, runner.CauseShutdown, p.cfg.Child.KillGrace)
			return nil
		case stopping:
			return fmt.Errorf("job %s is being stopped already: %s", a.job.JID, a.cause)
		}
	}
	return errors.New("that run is over, or was given back")
}

// Reconfigure gives the pool another configuration, of the same name and mode.
func (p *Pool) Reconfigure(next Config) {
	p.asked.Store(&next.Queues)
	p.maxCrashes.Store(int64(next.MaxCrashes))
	p.post(func() { p.reconfigure(next) })
}

// Signaled tells that this process was just sent a signal that ends it.
func (p *Pool) Signaled() { p.post(p.signaled) }

// Warn tells that something may have happened to the lock of a job.
func (p *Pool) Warn(n queue.Notice) { p.post(func() { p.warn(n) }) }

// Missed tells that notices may have been missed: any of the pool's jobs may be meant.
func (p *Pool) Missed() { p.post(p.renewals.now) }

// Snapshot asks for a description of the pool, which comes unless the pool ends before.
func (p *Pool) Snapshot() <-chan report.PoolSnapshot {
	answer := make(chan report.PoolSnapshot, 1)
	p.post(func() { answer <- p.snapshot() })
	return answer
}

// Working asks how many jobs the pool's children have; the answer comes unless the pool ends before.
func (p *Pool) Working() <-chan int {
	answer := make(chan int, 1)
	p.post(func() { answer <- p.working() })
	return answer
}

// working is how many jobs children of the pool are at work on.
func (p *Pool) working() int {
	n := 0
	for _, a := range p.flight {
		if a.atWork() && !a.member.keeps(a) {
			n++
		}
	}
	return n
}

// reconfigure gives the pool its new configuration.
func (p *Pool) reconfigure(next Config) {
	if p.life.draining {
		return
	}
	last := p.cfg
	p.cfg = next
	if next.List == nil && !reflect.DeepEqual(last.Queues, next.Queues) {
		p.serve(lookout.Expand(next.Queues, p.queues)) // the lookout will find what else its globs stand for
	}
	if last.Children != next.Children || last.MinChildren != next.MinChildren || last.MaxChildren != next.MaxChildren {
		least, most := next.bounds()
		p.scaled(min(max(p.target, least), most), report.ScaledReload)
	}
	p.eachMember(func(m *member) { m.limit(&p.cfg) })
	if !reflect.DeepEqual(last.Child, next.Child) {
		p.turnOver(next.Child, false)
	}
	p.menu.Serve(p.queues, next.Order)
	p.exchanges.wake()
}

// warn hears that something may have happened to the lock of a job.
func (p *Pool) warn(n queue.Notice) {
	a := p.flight[n.JID]
	if a == nil || a.stage == settling {
		return
	}
	a.hint = a.hint || n.Kind == queue.NoticeCanceled
	p.renewals.now()
}
