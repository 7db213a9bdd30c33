package supervisor

import (
	"errors"
	"fmt"
	"time"

	"oarlock/supervisor/internal/pool"
)

// What can be done to one pool, slot, run or roll. All of it acts in the pool's loop.

// QuietPool makes one pool take nothing more until ResumePool. Jobs that it has go on. It stays so over
// reloads that keep the pool, over Quiet and Resume. The error says that there is no such pool.
func (s *Supervisor) QuietPool(name string) error { return s.setQuietPool(name, true) }

// ResumePool ends QuietPool. While all pools are quiet, by Quiet, this one stays so too, and the error says that.
func (s *Supervisor) ResumePool(name string) error { return s.setQuietPool(name, false) }

func (s *Supervisor) setQuietPool(name string, quiet bool) error {
	p, err := s.pool(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if quiet {
		s.alone[name] = true
	} else {
		delete(s.alone, name)
	}
	p.QuietAlone(quiet)
	if !quiet && s.quiet {
		return errors.New("the whole supervisor is quiet, and so is the pool until that is resumed")
	}
	return nil
}

// RecycleSlot replaces the child of a slot by another of the same generation, which is ready before the old one
// leaves; a job that it has it finishes. The error says that there is no such pool or slot, or no child in it, or
// that the pool starts one for each job.
func (s *Supervisor) RecycleSlot(name string, slot int) error {
	return s.ask(name, func(p *pool.Pool) <-chan error { return p.RecycleSlot(slot) })
}

// StopRun stops the run of that id (RunSnapshot.Run), as a stop of the supervisor would: its child is told, and
// killed after kill_grace. The job goes back to the front of its queue; that costs it nothing but an interruption.
// The error says that there is no such pool, or that the run is over or being stopped already.
func (s *Supervisor) StopRun(name, run string) error {
	return s.ask(name, func(p *pool.Pool) <-chan error { return p.StopRun(run) })
}

// AbandonRoll gives up the change of generation that a pool is in, as the first bad sign would: the old generation
// has its slots again. The error says that there is no such pool, or no roll.
func (s *Supervisor) AbandonRoll(name string) error {
	return s.ask(name, (*pool.Pool).AbandonRoll)
}

// ask has the loop of a pool do something and waits for what came of it, no longer than for a snapshot.
func (s *Supervisor) ask(name string, do func(*pool.Pool) <-chan error) error {
	p, err := s.pool(name)
	if err != nil {
		return err
	}
	select {
	case err := <-do(p):
		return err
	case <-p.Done():
		return fmt.Errorf("the pool %q has just ended", name)
	case <-time.After(snapshotWait):
		return fmt.Errorf("the pool %q does not answer: it may yet do so", name)
	}
}

// event tells the observer of something that concerns no single pool.
func (s *Supervisor) event(e Event) {
	if s.shared.OnEvent != nil {
		s.shared.OnEvent(e)
	}
}

// tellOutage returns what the gate tells of Redis; it calls it for one outage after the other.
func (s *Supervisor) tellOutage() func(error) {
	var since time.Duration
	return func(away error) {
		if away != nil {
			since = s.shared.Clock()
			s.event(Event{Kind: RedisAway, Message: away.Error()})
			return
		}
		s.event(Event{Kind: RedisBack, Took: s.shared.Clock() - since})
	}
}
