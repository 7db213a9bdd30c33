package hub

import (
	"context"
	"slices"
	"sync"
	"time"

	"oarlock/supervisor"
)

const (
	// Of each pool, of all together, and of up to mostQueues queues there are finePoints of finePause, an hour, and
	// coarsePoints of coarsePause, a day.
	finePause    = 10 * time.Second
	finePoints   = 360
	coarsePause  = 5 * time.Minute
	coarsePoints = 288
	mostQueues   = 200
)

// Point is how it went for a while: of a pool or of all by their own count, of a queue by Redis'.
type Point struct {
	At       float64 `json:"at"`       // the end of that while, in seconds since the epoch on this host's clock
	Done     int     `json:"done"`     // attempts that ended well meanwhile
	Failed   int     `json:"failed"`   // jobs that failed for good
	Bad      int     `json:"bad"`      // attempts that ended otherwise, these included
	Waiting  int     `json:"waiting"`  // at the end, jobs that a pool could take; of a queue all that wait, behind others and for throttles too
	Oldest   float64 `json:"oldest"`   // seconds that the next of them had been waiting; the most there was
	Busy     int     `json:"busy"`     // children with a job, at the end
	Children int     `json:"children"` // all of them
}

// History is how it went lately.
type History struct {
	Fine   []Point `json:"fine"`   // of ten seconds each, up to an hour; oldest first
	Coarse []Point `json:"coarse"` // of five minutes each, up to a day
}

// QueuePoint is what there is in a queue, and what became of its jobs since midnight UTC.
type QueuePoint struct {
	Queue        string
	Waiting      int
	Oldest       float64 // seconds
	Done, Failed int
	At           time.Time // when that was asked
}

// seriesKey names whose history it is: a pool's, a queue's, or, with neither, that of all.
type seriesKey struct{ pool, queue string }

// history counts and samples. Its lock is taken in the loops of the pools, for a few additions.
type history struct {
	mu      sync.Mutex
	living  map[string]int    // pools that were begun and did not end, by name
	tallies map[string]*tally // by pool; since the last sample
	series  map[seriesKey]*series
	queues  map[string]QueuePoint // as last told
	last    map[string]QueuePoint // as of the last sample
}

// tally is how attempts of a pool ended.
type tally struct{ done, failed, bad int }

// series are the points of one pool or queue.
type series struct {
	fine, coarse []Point
	sum          Point // of the coarse point that has begun
	summed       int   // fine points in it
}

func (s *history) begin() {
	s.living = map[string]int{}
	s.tallies, s.series = map[string]*tally{}, map[seriesKey]*series{}
	s.queues, s.last = map[string]QueuePoint{}, map[string]QueuePoint{}
}

// count hears an event.
func (s *history) count(e *supervisor.Event) {
	outcome := OutcomeOf(e)
	if outcome == "" && e.Kind != supervisor.PoolBegan && e.Kind != supervisor.PoolEnded {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case supervisor.PoolBegan:
		s.living[e.Pool]++
		return
	case supervisor.PoolEnded:
		if s.living[e.Pool]--; s.living[e.Pool] <= 0 {
			delete(s.living, e.Pool)
			delete(s.tallies, e.Pool)
			delete(s.series, seriesKey{pool: e.Pool})
		}
		return
	}
	t := s.tallies[e.Pool]
	if t == nil {
		t = &tally{}
		s.tallies[e.Pool] = t
	}
	switch outcome {
	case Done:
		t.done++
	case Failed:
		t.failed++
		t.bad++
	case Retried:
		t.bad++
	}
}

// lives reports whether a pool of that name was begun and has not ended.
func (s *history) lives(pool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.living[pool] > 0
}

// NoteQueues hears what there is in queues. Of more than 200 of which there is no history yet, the first are kept.
func (h *Hub) NoteQueues(queues []QueuePoint) {
	s := &h.history
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range queues {
		if _, known := s.queues[q.Queue]; known || len(s.queues) < mostQueues {
			s.queues[q.Queue] = q
		}
	}
}

// PoolHistory is how it went for a pool, or for all together if pool is "".
func (h *Hub) PoolHistory(pool string) History { return h.history.of(seriesKey{pool: pool}) }

// QueueHistory is how it went for a queue, as far as somebody looked. It is empty if nobody did.
func (h *Hub) QueueHistory(queue string) History { return h.history.of(seriesKey{queue: queue}) }

func (s *history) of(key seriesKey) History {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.series[key]
	if one == nil {
		return History{}
	}
	return History{Fine: slices.Clone(one.fine), Coarse: slices.Clone(one.coarse)}
}

// sample takes a sample of everything, again and again.
func (h *Hub) sample(ctx context.Context) {
	tick := time.NewTicker(finePause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		shot, err := h.Snapshot(ctx)
		if err != nil {
			return
		}
		h.history.take(shot, time.Now())
		h.unheard()
	}
}

// take adds a point to each series.
func (s *history) take(shot supervisor.Snapshot, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := float64(now.UnixMilli()) / 1e3
	all := Point{At: at}
	for i := range shot.Pools {
		p := pointOf(&shot.Pools[i], at)
		if t := s.tallies[shot.Pools[i].Name]; t != nil {
			p.Done, p.Failed, p.Bad = t.done, t.failed, t.bad
			*t = tally{}
		}
		all.add(p)
		all.Waiting, all.Busy, all.Children = all.Waiting+p.Waiting, all.Busy+p.Busy, all.Children+p.Children
		if s.living[shot.Pools[i].Name] > 0 {
			s.push(seriesKey{pool: shot.Pools[i].Name}, p)
		}
	}
	s.push(seriesKey{}, all)
	for name, q := range s.queues {
		if now.Sub(q.At) > coarsePause { // nobody looks any more
			delete(s.queues, name)
			delete(s.last, name)
			delete(s.series, seriesKey{queue: name})
			continue
		}
		p := Point{At: at, Waiting: q.Waiting, Oldest: q.Oldest}
		if last, known := s.last[name]; known { // at midnight both begin anew
			p.Done, p.Failed = max(q.Done-last.Done, 0), max(q.Failed-last.Failed, 0)
			p.Bad = p.Failed
		}
		s.last[name] = q
		s.push(seriesKey{queue: name}, p)
	}
}

// pointOf is what there is of a point in a snapshot.
func pointOf(p *supervisor.PoolSnapshot, at float64) Point {
	point := Point{At: at, Waiting: p.Ready, Oldest: p.Oldest, Children: len(p.Slots)}
	for i := range p.Slots {
		if len(p.Slots[i].Runs) > 0 {
			point.Busy++
		}
	}
	return point
}

// add adds what happened in another while.
func (p *Point) add(q Point) {
	p.At = q.At
	p.Done, p.Failed, p.Bad = p.Done+q.Done, p.Failed+q.Failed, p.Bad+q.Bad
	p.Oldest = max(p.Oldest, q.Oldest)
}

// push adds a point to a series. The caller holds mu.
func (s *history) push(key seriesKey, p Point) {
	one := s.series[key]
	if one == nil {
		one = &series{}
		s.series[key] = one
	}
	one.fine = append(one.fine[max(len(one.fine)-finePoints+1, 0):], p)
	one.sum.add(p)
	one.sum.Waiting, one.sum.Busy, one.sum.Children = p.Waiting, p.Busy, p.Children
	if one.summed++; one.summed == int(coarsePause/finePause) {
		one.coarse = append(one.coarse[max(len(one.coarse)-coarsePoints+1, 0):], one.sum)
		one.sum, one.summed = Point{}, 0
	}
}
