package pool

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/outcome"
)

// Working is a pool of some supervisor that takes jobs, as its supervisor just said.
type Working struct {
	Worker      string   // its worker name
	Generations []int    // of its children
	Queues      []string // names or globs
}

// unknowns are the classes that the children of a pool do not know. While another pool that is awake works their queue, a
// take passes their jobs over, so that the other pool gets them.
type unknowns struct {
	of     map[classOf]*unknown
	others []Working     // the other pools that are awake,
	at     time.Duration // as of then; 0: nobody has asked
	out    bool          // somebody asks
}

// classOf is a class of jobs in a queue.
type classOf struct{ queue, klass string }

// unknown is a class that a generation does not know.
type unknown struct {
	gen   *generation
	times int           // how often it said so after it was asked again
	until time.Duration // it is not asked again before
}

const (
	// passFirst is how long a pool passes a class over at first, passLimit at most.
	passFirst = 500 * time.Millisecond
	passLimit = 30 * time.Second
	// passClasses is how many classes a pool passes over at most.
	passClasses = 64
	// othersFresh is how long the list of other pools is good for.
	othersFresh = 2 * time.Second
	// othersPatience is how long an attempt waits at most for that list.
	othersPatience = 2 * time.Second
)

// generationName names a generation of children as no other is named, on any host.
func generationName(worker string, n int) string { return fmt.Sprintf("%s generation %d", worker, n) }

// known hears that the children know a class.
func (p *Pool) known(a *attempt) {
	if len(p.unknowns.of) > 0 {
		delete(p.unknowns.of, classOf{a.job.Queue, a.job.Klass})
	}
}

// unknown hears that a child does not know the class of its job. It reports whether the attempt is to wait until it is known
// which other pools are awake.
func (p *Pool) unknown(a *attempt) (waits bool) {
	if p.Awake == nil || p.listed != nil || a.lost || a.again || p.life.draining {
		return false
	}
	u := &p.unknowns
	p.passOver(classOf{a.job.Queue, a.job.Klass}, a.member.gen)
	if u.at > 0 && p.now-u.at < othersFresh {
		return false
	}
	p.advance(a, ended)
	a.settleAt = p.now + othersPatience
	p.withheld = append(p.withheld, a)
	if !u.out {
		u.out = true
		asked := p.now
		go func() { // reports to the loop
			ctx, cancel := context.WithTimeout(p.ctx, othersPatience)
			defer cancel()
			others := p.Awake(ctx)
			p.post(func() { p.heardOthers(others, asked) })
		}()
	}
	return true
}

// heardOthers hears which pools were awake at a time.
func (p *Pool) heardOthers(all []Working, at time.Duration) {
	u := &p.unknowns
	u.out, u.at = false, max(at, 1)
	u.others = slices.DeleteFunc(all, func(w Working) bool { return w.Worker == p.worker })
	for _, a := range p.withheld {
		if outcome.Unknown(a.ending) {
			a.settleAt = p.now
		}
	}
	p.exchanges.wake()
}

// passOver notes that a generation does not know a class: it is asked again after a while, which doubles each time.
func (p *Pool) passOver(c classOf, gen *generation) {
	u := &p.unknowns
	known := u.of[c]
	if known == nil || known.gen != gen {
		if len(c.klass) > queue.MaxName || !utf8.ValidString(c.klass) || !utf8.ValidString(c.queue) {
			return // a take could not say it
		}
		if len(u.of) >= passClasses { // those that were not met for a while make room
			for old, v := range u.of {
				if p.now >= v.until+passLimit {
					delete(u.of, old)
				}
			}
			if len(u.of) >= passClasses {
				return
			}
		}
		known = &unknown{gen: gen}
		if u.of == nil {
			u.of = map[classOf]*unknown{}
		}
		u.of[c] = known
	}
	if p.now >= known.until {
		known.until = p.now + time.Duration(clock.Spread(float64(min(passFirst<<min(known.times, 10), passLimit)), 0.5))
		known.times++
	}
}

// passes returns per queue the classes that the next take passes over, and until when at least; never if there are none.
func (p *Pool) passes() (by map[string][]string, until time.Duration) {
	until = never
	for c := range p.unknowns.of {
		if end, passed := p.passed(c); passed {
			if by == nil {
				by = map[string][]string{}
			}
			by[c.queue] = append(by[c.queue], c.klass)
			until = min(until, end)
		}
	}
	return by, until
}

// passed reports whether the pool passes a class over, and until when: only one that none of its children knows and that
// another pool may know.
func (p *Pool) passed(c classOf) (until time.Duration, is bool) {
	u := &p.unknowns
	known := u.of[c]
	if known == nil || p.now >= known.until || p.otherGeneration(known.gen) != nil {
		return 0, false
	}
	works := func(w Working) bool { return queue.MatchAny(w.Queues, c.queue) }
	return known.until, u.at == 0 || u.out || slices.ContainsFunc(u.others, works)
}

// otherGeneration returns a generation other than gen that has a child in a slot; nil if there is none.
func (p *Pool) otherGeneration(gen *generation) *generation {
	for _, s := range p.slots {
		other := s.gen
		if s.member != nil {
			other = s.member.gen
		}
		if other != nil && other != gen {
			return other
		}
	}
	return nil
}

// notAsked reports whether a generation of children that is awake and works the queue of a job was not asked for its class.
func (p *Pool) notAsked(a *attempt) bool {
	fresh := func(worker string, n int) bool {
		return !slices.Contains(a.job.Unknown.Names, generationName(worker, n))
	}
	if other := p.otherGeneration(a.member.gen); other != nil && fresh(p.worker, other.n) {
		return true
	}
	if p.Awake == nil || p.listed != nil {
		return false
	}
	return slices.ContainsFunc(p.unknowns.others, func(w Working) bool {
		return queue.MatchAny(w.Queues, a.job.Queue) && slices.ContainsFunc(w.Generations, func(n int) bool { return fresh(w.Worker, n) })
	})
}

// awaitsOthers hears of an ending what it says of the class of its job, and reports whether the attempt is to wait, before it is judged, until it
// is known which other pools are awake.
func (p *Pool) awaitsOthers(a *attempt, e *runner.Ending) bool {
	switch {
	case a.met:
		return false
	case !outcome.Unknown(e):
		p.known(a)
		return false
	}
	a.met = true
	return p.unknown(a)
}
