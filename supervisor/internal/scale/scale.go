// Package scale says how many children a pool between bounds should have, from how long its jobs take
// and how many wait. It owns what was learned of both; all of it is arithmetic. It knows no child
// and no queue.
package scale

import (
	"math"
	"time"
)

const (
	// Pause is how often a pool with bounds looks whether it has too many children.
	Pause = time.Second
	// age is how long jobs may be ready without a child for them before the pool
	// grows; where children take longer to start, it is that long.
	age = time.Second
	// goal is in what time a pool that grows wants to have worked off what waits. It
	// is less than age, because more will come meanwhile.
	goal = age / 2
	// lengthShare is the weight of one more job in the average of their lengths.
	lengthShare = 8
)

// Scale is what a pool knows of the work it has no room for. Times are on the pool's clock. The
// zero value is ready; it belongs to the pool's loop.
type Scale struct {
	fresh   bool          // what was seen was not considered yet
	crowded bool          // there is no room, and the last take got all that it asked for
	since   time.Duration // when that began
	askAt   time.Duration // when somebody may be asked to look again before it is time
	length  time.Duration // of a job, as a moving average; 0: not known
}

// Load is what there is to do, and who is there to do it.
type Load struct {
	Now    time.Duration
	Boot   time.Duration // how long a child takes to be ready
	Ready  int           // jobs that wait to be taken
	Slots  int           // children that there are, or soon will be
	Hands  int           // children that are there
	Busy   int           // those of them that have a job
	AtWork time.Duration // for how long these have been at their jobs, all together
	Target int           // how many children there should be, so far
}

// Crowded reports whether there was no room, and more than was taken.
func (s *Scale) Crowded() bool { return s.crowded }

// Full hears that there is no room. It reports whether what waits is to be looked at, and else when
// that may be asked for.
func (s *Scale) Full(now time.Duration) (look bool, at time.Duration) {
	if now < s.askAt {
		return false, s.askAt
	}
	s.askAt = now + age/2
	s.crowded, s.since = true, now
	return true, 0
}

// Saw hears how much there is to take now. It reports whether nothing is, though there was no room:
// no take would find that out.
func (s *Scale) Saw(ready int) (nothing bool) {
	if ready > 0 {
		s.fresh = true
		return false
	}
	nothing = s.crowded
	s.crowded = false
	return nothing
}

// News reports, once, that something was seen which waits.
func (s *Scale) News() bool {
	news := s.fresh
	s.fresh = false
	return news
}

// Short hears that there was less to take than there was room.
func (s *Scale) Short() { s.crowded = false }

// Lasted hears how long a child was at work on a job.
func (s *Scale) Lasted(length time.Duration) {
	if s.length == 0 {
		s.length = length
		return
	}
	s.length += (length - s.length) / lengthShare
}

// Length is how long jobs took of late; 0 if none has ended.
func (s *Scale) Length() time.Duration { return s.length }

// Wanted is how many children the pool should have for what was just seen to wait:
// enough to work off a backlog soon, by how long jobs take here; and some more where
// there has been one for long, however short. Children that would be ready only when it
// is gone are not wanted, and those that are starting count. 0 means that none is missing.
func (s *Scale) Wanted(l Load) int {
	if !s.crowded || l.Ready == 0 {
		return 0
	}
	patience := max(age, l.Boot)
	work := float64(l.Ready) * s.lengthOfJobs(l).Seconds()
	if work > float64(l.Hands)*patience.Seconds() {
		return l.Busy + min(l.Ready, int(math.Ceil(work/goal.Seconds())))
	}
	if l.Hands == l.Slots && l.Now-s.since >= patience {
		return l.Target + min(l.Ready, max(l.Target/4, 1))
	}
	return 0
}

// lengthOfJobs is how long a job takes a child of the pool, by those that ended lately
// and those at work; age if there was none.
func (s *Scale) lengthOfJobs(l Load) time.Duration {
	known := s.length
	if known == 0 {
		known = age
	}
	return max(known, l.AtWork/time.Duration(max(l.Busy, 1)))
}
