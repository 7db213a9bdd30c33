package metrics

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"oarlock/internal/census"
	"oarlock/queue"
)

const (
	// mostGroups is how many groups of failed jobs have a label of their own: the largest.
	mostGroups = 50
	// censusPatience is how long a scrape waits for a census.
	censusPatience = 2 * time.Second
	// censusLasts is how old one may be that is told at all: then the numbers end, rather than stand still.
	censusLasts = 5 * time.Minute
)

// Queues answers a scrape of all queues of the namespace, from a census that is at most five seconds old, or the last
// there was. Those that have most jobs, up to most of them, have a label of their own. get is that of a census.Keeper.
func Queues(get func(context.Context) (census.Census, error), most int) http.Handler {
	return newPage(collector(func(out chan<- prometheus.Metric) {
		ctx, cancel := context.WithTimeout(context.Background(), censusPatience)
		defer cancel()
		c, _ := get(ctx) // its age tells whether it is the last there was
		tellQueues(out, c, most)
	}), false)
}

func tellQueues(out chan<- prometheus.Metric, c census.Census, most int) {
	s := &scrape{out: out}
	age := time.Since(c.At)
	if c.At.IsZero() {
		return
	}
	s.always(censusAge, age.Seconds())
	if age > censusLasts {
		return
	}
	s.always(queuesKnown, float64(len(c.Queues)))
	labelled, rest := largest(c.Queues, most)
	s.always(queuesExported, float64(len(labelled)))
	now := c.Now + age.Seconds()
	fair := map[string]*queue.Fairness{}
	for i := range c.Fair {
		fair[c.Fair[i].Queue] = &c.Fair[i]
	}
	turns := func(q *queue.QueueCensus) row { return rowOf(q, now).withTurns(fair[q.Name], now) }
	for i := range labelled {
		s.queue(label(labelled[i].Name), turns(&labelled[i]))
	}
	if len(rest) > 0 {
		var sum row
		for i := range rest {
			sum.add(turns(&rest[i]))
		}
		s.queue(other, sum)
	}
	s.groups(c.Groups)
	s.always(correlations, float64(c.Correlations))
	for i := range c.Loads {
		s.throttle(&c.Loads[i], now)
	}
	for i := range c.Shares {
		s.share(&c.Shares[i])
	}
}

// throttle tells how a throttle of the rules is used, and waited for; of one without a limit there is none.
func (s *scrape) throttle(load *queue.ThrottleLoad, now float64) {
	name := label(load.ID)
	if load.Maximum > 0 {
		s.always(throttleLimit, float64(load.Maximum), name)
	}
	s.always(throttleUsed, float64(load.Used), name)
	s.always(throttleWaiting, float64(load.Waiting), name)
	oldest := 0.0
	if load.Since > 0 {
		oldest = max(0, now-load.Since)
	}
	s.always(throttleOldest, oldest, name)
}

// share tells how the part of a throttle that a value has is used, and waited for.
func (s *scrape) share(of *census.Share) {
	name, value := label(of.Throttle), label(of.Value)
	if of.Own > 0 {
		s.always(shareLimit, float64(of.Own), name, value)
	}
	s.always(shareUsed, float64(of.Used), name, value)
	s.always(shareWaiting, float64(of.Waiting), name, value)
}

// largest are the queues with most jobs, up to so many, and the others. One that is named like these is among them.
func largest(all []queue.QueueCensus, most int) (labelled, rest []queue.QueueCensus) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b queue.QueueCensus) int { return cmp.Compare(jobs(&b), jobs(&a)) })
	for i := range sorted {
		if sorted[i].Name != other && len(labelled) < most {
			labelled = append(labelled, sorted[i])
		} else {
			rest = append(rest, sorted[i])
		}
	}
	return labelled, rest
}

// jobs is how many there are in a queue.
func jobs(q *queue.QueueCensus) int {
	return q.Waiting + q.Running + q.Stalled + q.Scheduled + q.Depends + q.Recurring + q.Throttled
}

// row is what is told of a queue, or of some together.
type row struct {
	states [7]int
	ready  int
	lag    float64 // the longest
	paused bool
	today  queue.DayCounts
	keys   queue.KeysCensus
	behind int
	block  float64 // the longest
	some   bool    // it is of one queue at least
	fair   bool
	values int     // of fair queues: that wait
	oldest float64 // the longest
}

// withTurns adds how the turns of a queue go on; f is nil if it is not fair.
func (r row) withTurns(f *queue.Fairness, now float64) row {
	if f == nil || f.Damage != "" {
		return r
	}
	r.fair, r.values = true, f.Values
	if !r.paused {
		r.oldest = f.WaitedFor(now)
	}
	return r
}

// stateNames are the labels of row.states.
var stateNames = [7]string{"waiting", "running", "stalled", "scheduled", "depends", "recurring", "throttled"}

func rowOf(q *queue.QueueCensus, now float64) row {
	return row{
		states: [7]int{q.Waiting, q.Running, q.Stalled, q.Scheduled, q.Depends, q.Recurring, q.Throttled},
		ready:  q.Waiting - q.Behind + q.Stalled, lag: q.Lag(now), paused: q.Paused, today: q.Today, some: true,
		keys: q.Keys, behind: q.Behind, block: q.Keys.BlockedFor(now),
	}
}

// add adds another queue. Some are paused together if all are.
func (r *row) add(q row) {
	for i, n := range q.states {
		r.states[i] += n
	}
	r.ready += q.ready
	r.lag, r.paused, r.some = max(r.lag, q.lag), q.paused && (r.paused || !r.some), true
	r.keys.Ordered = r.keys.Ordered || q.keys.Ordered
	r.keys.All += q.keys.All
	r.keys.Blocked += q.keys.Blocked
	r.fair, r.values, r.oldest = r.fair || q.fair, r.values+q.values, max(r.oldest, q.oldest)
	r.behind, r.block = r.behind+q.behind, max(r.block, q.block)
	r.today.Completed += q.today.Completed
	r.today.Failures += q.today.Failures
	r.today.LocksRunOut += q.today.LocksRunOut
}

// queue tells what there is of a queue. Of states that are zero nothing is told: a queue comes and goes with its jobs.
func (s *scrape) queue(name string, r row) {
	for i, n := range r.states {
		if n > 0 {
			s.always(queueJobs, float64(n), name, stateNames[i])
		}
	}
	s.offers(name, r)
	if r.keys.Ordered {
		s.always(keys, float64(r.keys.All), name)
		s.always(keysBusy, float64(r.keys.Blocked), name)
		s.always(keyBlocked, r.block, name)
	}
	if r.fair {
		s.always(fairValues, float64(r.values), name)
		s.always(fairOldest, r.oldest, name)
	}
	s.always(queueCompleted, float64(r.today.Completed), name)
	s.always(queueFailures, float64(r.today.Failures), name)
	s.always(queueExpiries, float64(r.today.LocksRunOut), name)
}

// served tells of the queues that are worked here, those with most to do, up to most of them, by a label of their own.
func (s *scrape) served(seen func() ([]queue.QueueOutlook, float64), most int) {
	if seen == nil {
		return
	}
	all, now := seen()
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b queue.QueueOutlook) int { return cmp.Compare(b.Ready, a.Ready) })
	rest, told := row{}, 0
	for i := range sorted {
		q := &sorted[i]
		r := row{ready: q.Ready, lag: q.Lag(now), paused: q.Paused, some: true, behind: q.Behind}
		r.keys.Ordered = q.Keys
		switch {
		case q.Damage != "" && q.Lacks() == "": // nothing is known of it
		case q.Queue != other && told < most:
			told++
			s.offers(label(q.Queue), r)
		default:
			rest.add(r)
		}
	}
	if rest.some {
		s.offers(other, rest)
	}
}

// offers tells what there is to be taken of a queue.
func (s *scrape) offers(name string, r row) {
	s.always(queueReady, float64(r.ready), name)
	s.always(queueLag, r.lag, name)
	s.always(queuePaused, flag(r.paused), name)
	if r.keys.Ordered {
		s.always(jobsBehind, float64(r.behind), name)
	}
}

// groups tells how many jobs have failed.
func (s *scrape) groups(groups map[string]int) {
	type group struct {
		name string
		n    int
	}
	var all []group
	for name, n := range groups {
		if n > 0 { // less than none: its list is none
			all = append(all, group{name, n})
		}
	}
	slices.SortFunc(all, func(a, b group) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	rest := 0
	for i, g := range all {
		if i < mostGroups && g.name != other {
			s.always(failedJobs, float64(g.n), label(g.name))
		} else {
			rest += g.n
		}
	}
	if rest > 0 {
		s.always(failedJobs, float64(rest), other)
	}
}
