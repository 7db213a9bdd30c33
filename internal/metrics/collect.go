package metrics

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"oarlock/runner"
	"oarlock/supervisor"
)

// collector is a function that tells all numbers. It describes none before: which there are, it does not know.
type collector func(chan<- prometheus.Metric)

func (c collector) Describe(chan<- *prometheus.Desc)     {}
func (c collector) Collect(out chan<- prometheus.Metric) { c(out) }

// series names one number of a metric, by the first two labels.
type series struct {
	metric        *metric
	first, second string
}

// scrape is one telling of all numbers.
type scrape struct {
	out  chan<- prometheus.Metric
	seen map[series]bool // gauges that were not always zero; nil: all are told
}

// number tells a number, unless it is zero and always was.
func (s *scrape) number(m *metric, value float64, labels ...string) {
	if value == 0 && s.seen != nil && !s.seen[key(m, labels)] {
		return
	}
	s.always(m, value, labels...)
}

// always tells a number, be it zero.
func (s *scrape) always(m *metric, value float64, labels ...string) {
	if s.seen != nil && value != 0 {
		s.seen[key(m, labels)] = true
	}
	valued := prometheus.GaugeValue
	if m.kind == counter {
		valued = prometheus.CounterValue
	}
	s.out <- prometheus.MustNewConstMetric(m.desc, valued, value, labels...)
}

func key(m *metric, labels []string) series {
	k := series{metric: m}
	if len(labels) > 0 {
		k.first = labels[0]
	}
	if len(labels) > 1 {
		k.second = labels[1]
	}
	return k
}

// sum tells a summary, unless there was nothing to sum up.
func (s *scrape) sum(m *metric, count int, sum time.Duration, labels ...string) {
	if count > 0 {
		s.out <- prometheus.MustNewConstSummary(m.desc, uint64(count), sum.Seconds(), nil, labels...)
	}
}

// flag is 1 or 0.
func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// collect tells all numbers of the process.
func (m *Metrics) collect(out chan<- prometheus.Metric) {
	shot, err := m.o.Snapshot(context.Background()) // a second at most, as of its contract
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &scrape{out, m.seen}
	s.always(buildInfo, 1, m.o.Version, runtime.Version())
	s.always(startTime, float64(m.began.UnixMilli())/1e3)
	s.always(reloadGood, flag(m.good))
	s.always(reloadAt, float64(m.reloaded.UnixMilli())/1e3)
	for _, result := range slices.Sorted(maps.Keys(m.reloads)) {
		s.always(reloads, float64(m.reloads[result]), result)
	}
	if m.rules != nil {
		version, conflicts := m.rules()
		s.always(rulesVersion, float64(version))
		s.always(rulesConflict, float64(conflicts))
	}
	if m.windows != nil {
		s.windows(m.windows())
	}
	if m.deciders != nil {
		s.decided(m.deciders())
	}
	m.collectRedis(s, &shot, err == nil)
	m.collectWeb(s)
	m.collectKlasses(s)
	m.marks.tell(s)
	if err != nil {
		return
	}
	for event, n := range m.hookJobs {
		s.number(hookJobs, float64(n), event)
	}
	s.always(ready, flag(shot.Ready))
	s.always(quiet, flag(shot.Quiet))
	s.always(abstaining, flag(shot.Abstains != ""))
	s.always(draining, flag(shot.Draining))
	for i := range shot.Intake {
		s.intake(&shot.Intake[i])
	}
	s.lists(&shot)
	s.served(m.o.Queues, m.o.Most)
	for _, name := range shot.Stuck {
		if m.pools[name] != nil {
			s.always(poolStuck, 1, label(name))
		}
	}
	for _, p := range merged(shot.Pools) {
		if t := m.pools[p.Name]; t != nil {
			p.Name = label(p.Name)
			s.pool(&p)
			s.tallies(&p, t)
		}
	}
}

// merged is one pool for each name: where its mode was changed by a reload, there are two for as long as the old one
// drains, and the new one, which has the label, says what is true of both.
func merged(pools []supervisor.PoolSnapshot) []supervisor.PoolSnapshot {
	var out []supervisor.PoolSnapshot
	for _, p := range pools {
		if n := len(out); n > 0 && out[n-1].Name == p.Name { // they are in order
			if old := out[n-1]; old.Draining {
				p.Slots = slices.Concat(p.Slots, old.Slots)
				p.Unsettled, p.InDoubt = p.Unsettled+old.Unsettled, p.InDoubt || old.InDoubt
				out[n-1] = p
			} else {
				out[n-1].Slots = slices.Concat(old.Slots, p.Slots)
			}
			continue
		}
		out = append(out, p)
	}
	return out
}

// The words for what is in a place for a child.
const (
	placeStarting = "starting"
	placeReady    = "ready"
	placeBusy     = "busy"
	placeLeaving  = "leaving"
	placeStaying  = "staying" // an old child, idle, until a roll is over
	placeMissing  = "missing" // no child, though there should be one
)

// place is the word for a slot. In mode once a slot without a job has no child and could take one.
func place(s *supervisor.SlotSnapshot, mode string) string {
	switch s.State {
	case placeStarting, placeReady, placeBusy, placeLeaving, placeStaying:
		return s.State
	case "empty":
		if mode == runner.Once.String() {
			return placeReady
		}
	}
	return placeMissing
}

// pool tells what the snapshot of a pool says.
func (s *scrape) pool(p *supervisor.PoolSnapshot) {
	places := map[string]int{}
	var all, largest int64
	for i := range p.Slots {
		slot := &p.Slots[i]
		places[place(slot, p.Mode)]++
		all, largest = all+slot.Memory, max(largest, slot.Memory)
	}
	for _, state := range []string{placeStarting, placeReady, placeBusy, placeLeaving, placeStaying, placeMissing} {
		s.number(poolChildren, float64(places[state]), p.Name, state)
	}
	s.always(poolTarget, float64(p.Children), p.Name, "now")
	s.always(poolTarget, float64(p.Least), p.Name, "min")
	s.always(poolTarget, float64(p.Most), p.Name, "max")
	s.always(poolGen, float64(p.Generation), p.Name)
	s.number(poolRolling, flag(p.Rolling), p.Name)
	s.number(poolQuiet, flag(p.Quiet), p.Name)
	s.always(poolBreaker, flag(p.Breaker != ""), p.Name)
	s.number(poolInDoubt, flag(p.InDoubt), p.Name)
	s.number(poolStuck, 0, p.Name)
	s.always(poolReady, float64(p.Ready), p.Name)
	if p.List == nil { // entries do not tell since when they wait
		s.always(poolOldest, p.Oldest, p.Name)
	}
	s.number(poolWaiting, float64(p.Waiting), p.Name)
	s.number(poolUnsettled, float64(p.Unsettled), p.Name)
	s.number(memory, float64(all), p.Name)
	s.number(memoryMax, float64(largest), p.Name)
	c := &p.Counters
	for m, n := range map[*metric]int{
		strayStatus: c.Unheard, late: c.Late, adopted: c.Adopted, recovered: c.Recovered, resolved: c.Resolved, refused: c.Refused, halved: c.Halved, retryAsked: c.Asked, retryUnsaid: c.Unanswered,
	} {
		s.number(m, float64(n), p.Name)
	}
}

// mostWindows is how many windows have a label of their own: the first.
const mostWindows = 100

// windows tells how the windows of the rules stand.
func (s *scrape) windows(all []Window) {
	for _, w := range all[:min(len(all), mostWindows)] {
		name, opens := label(w.Name), 0.0
		if !w.Opens.IsZero() {
			opens = float64(w.Opens.UnixMilli()) / 1e3
		}
		s.always(windowOpen, flag(w.Open), name)
		s.always(windowOpens, opens, name)
	}
}

// intake tells what became of the entries of a list.
func (s *scrape) intake(in *supervisor.IntakeSnapshot) {
	list := label(in.List)
	s.always(intakeMoved, float64(in.Jobs), list, "put")
	s.always(intakeMoved, float64(in.Broken), list, "broken")
	s.number(intakeMoved, float64(in.Merged), list, "merged")
	s.number(intakeMoved, float64(in.Moved-in.Jobs-in.Merged-in.Broken), list, "existed")
	s.always(intakeFull, flag(in.Full), list)
}

// lists tells of the lists that pools work, or that become jobs, of each once, though several pools may work it, or one still while it is taken in.
func (s *scrape) lists(shot *supervisor.Snapshot) {
	pools := shot.Pools
	all, late := map[string]supervisor.ListSnapshot{}, map[string]int{}
	for i := range pools {
		l := pools[i].List
		if l == nil {
			continue
		}
		sum := *l
		if other, twice := all[l.Name]; twice {
			if l.Unseen {
				sum.ListCounts, sum.Unseen = other.ListCounts, other.Unseen
			}
			sum.PutBack, sum.Retried, sum.Crashed = l.PutBack+other.PutBack, l.Retried+other.Retried, l.Crashed+other.Crashed
		}
		all[l.Name], late[l.Name] = sum, late[l.Name]+pools[i].Counters.Late
	}
	for name, l := range all {
		list := label(name)
		if !l.Unseen && l.Damage == "" {
			s.always(listJobs, float64(l.Waiting), list, "waiting")
			s.always(listJobs, float64(l.Progress), list, "progress")
			s.always(listJobs, float64(l.Failed), list, "failed")
			s.always(listJobs, float64(l.Broken), list, "broken")
		}
		s.always(listRequeued, float64(l.Retried), list, "retry")
		s.always(listRequeued, float64(l.Crashed), list, "crash")
		s.always(listRequeued, float64(l.PutBack), list, "monitor")
		s.always(staleAcks, float64(late[name]), list)
	}
	for i := range shot.Intake {
		in := &shot.Intake[i]
		if _, told := all[in.List]; !told {
			s.always(listJobs, float64(in.Waiting), label(in.List), "waiting")
			s.always(listJobs, float64(in.Aside), label(in.List), "broken")
		}
	}
}

// tallies tells what was counted of a pool by its events.
func (s *scrape) tallies(p *supervisor.PoolSnapshot, t *tallies) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.number(childStarts, float64(t.starts), p.Name)
	s.sum(childStart, t.comeUps, t.comingUp, p.Name)
	s.number(logLines, float64(t.lines.Load()), p.Name)
	s.number(logDropped, float64(t.dropped.Load()), p.Name)
	s.number(started, float64(t.started), p.Name)
	for kind, n := range t.endings {
		if n > 0 {
			s.number(attempts, float64(n), p.Name, runner.EndingKind(kind).String())
		}
	}
	for m, counts := range map[*metric]map[string]int{actions: t.actions, childExits: t.exits, poolRolls: t.rolls, locksLost: t.locks, renewals: t.renewed} {
		for word, n := range counts {
			s.always(m, float64(n), p.Name, word)
		}
	}
	s.always(breakerOpens, float64(t.opens), p.Name)
	t.duration.tell(s)
	t.wait.tell(s)
	s.number(cpu, t.cpu.Seconds(), p.Name)
	t.told = max(t.told, t.busy.Seconds()+atWork(p))
	s.number(busy, t.told, p.Name)
	if least, known := t.margin(time.Now()); known {
		s.always(margin, least.Seconds(), p.Name)
	}
}

// atWork is for how many seconds the children of a pool have worked on what they have, together.
func atWork(p *supervisor.PoolSnapshot) float64 {
	sum := 0.0
	for i := range p.Slots {
		if runs := p.Slots[i].Runs; len(runs) > 0 {
			sum += runs[0].Age
		}
	}
	return sum
}

// collectKlasses tells what was counted by class of job.
func (m *Metrics) collectKlasses(s *scrape) {
	k := m.klasses
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.all {
		s.number(klasses, float64(t.ack), t.label, "ack")
		s.number(klasses, float64(t.rest), t.label, "other")
		s.sum(klassTime, t.ack+t.rest, t.took, t.label)
	}
}

// collectRedis tells how it is between us and Redis. The caller holds mu.
func (m *Metrics) collectRedis(s *scrape, shot *supervisor.Snapshot, known bool) {
	if known {
		s.always(redisUp, flag(shot.Redis == "ok"))
	}
	last := m.lastOK.Load()
	wall := func() float64 { return float64(time.Now().UnixNano()) / 1e9 }
	if last != nil {
		s.always(lastTrip, wall()-time.Since(*last).Seconds()) // by the wall clock as it is now, which may have stepped
	}
	if m.jobs != nil && last != nil {
		s.always(clockOffset, m.jobs.Now()-wall())
	}
	for client, redis := range map[string]Redis{"jobs": m.jobs, "web": m.web} {
		if redis != nil {
			used, idle := redis.Connections()
			s.number(connections, float64(used), client, "used")
			s.number(connections, float64(idle), client, "idle")
		}
	}
	for _, h := range m.trips {
		h.tell(s)
	}
	for class, n := range m.errors {
		s.always(redisErrors, float64(n), class)
	}
}

// collectWeb tells of HTTP. The caller holds mu.
func (m *Metrics) collectWeb(s *scrape) {
	for by, n := range m.requests {
		s.always(webRequests, float64(n), by[0], by[1])
	}
	for by, n := range m.actions {
		s.always(webActions, float64(n), by[0], by[1])
	}
	m.seconds.tell(s)
	s.number(webRefused, float64(m.refused))
	s.number(webStreams, float64(m.streams))
}
