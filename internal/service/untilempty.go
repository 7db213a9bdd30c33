package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

const (
	// emptyLook is the time between two looks at the queues while nothing is at work here.
	emptyLook = 250 * time.Millisecond
	// emptySay is how often the log says what is waited for.
	emptySay = 30 * time.Second
	// emptyStill is for how long jobs that wait for others must have stood still: what frees
	// them does it piece by piece.
	emptyStill = 10 * time.Second
	// emptyPatience is how long pools may have no children that start before they are given up.
	emptyPatience = time.Minute
	// emptyLast bounds the last look, at what is left.
	emptyLast = 2 * time.Second
)

// untilEmpty makes a service leave when there is nothing for its pools to do: when nothing is
// at work here, and in no queue of theirs that is served is a job ready, due within a time,
// or locked by somebody who may be dead. It belongs to its run; tally may be told at any time.
type untilEmpty struct {
	within time.Duration
	log    *slog.Logger
	asks   interface {
		QueueNames(context.Context) ([]string, error)
		Outlook(context.Context, []string) ([]queue.QueueOutlook, float64, error)
		Underway(context.Context, []string) ([]queue.LockTimes, bool, error)
		Queues(context.Context) ([]queue.QueueCounts, error)
		Setting(context.Context, string) (string, error)
		CountLists(context.Context, []string) ([]queue.ListCounts, error)
	}
	sup interface {
		Ready() bool
		InFlight() int
		Snapshot() supervisor.Snapshot
	}
	pools func() map[string]config.Pool // as they are now
	drain func()                        // makes the service leave

	tally endTally
	done  Emptied // complete when run has returned

	began   time.Time
	told    time.Time          // when the log last said what is waited for
	renewed map[string]float64 // by queue: a lock that runs out later is one whose worker lives
	waiting int                // jobs that wait for others, as last counted,
	still   time.Time          // and since when they are as many
	stuck   time.Time          // since when no pool starts a child for what is ready, or nothing is taken
}

// run looks until the service leaves, by itself or not, and then takes stock of what is left.
func (e *untilEmpty) run(ctx context.Context) error {
	e.began = time.Now()
	e.told = e.began
	e.restless()
	look := time.NewTicker(emptyLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			e.done.Seconds = time.Since(e.began).Seconds()
			e.takeStock(context.WithoutCancel(ctx))
			return nil
		case <-look.C:
		}
		if e.done.Empty || e.done.Why != "" {
			continue // it leaves
		}
		waits, err := e.look(ctx)
		switch {
		case err != nil: // of the moment: the gate says so
			e.restless()
		case waits == "":
			e.done.Empty = e.done.Why == ""
			e.done.Trouble = troubleOf(e.sup.Snapshot())
			e.log.Info("leaving: the queues are empty", "empty", e.done.Empty)
			e.drain()
		case time.Since(e.told) >= emptySay:
			e.told = time.Now()
			e.log.Info("not empty yet", "waiting_for", waits)
		}
	}
}

// troubleOf says which pools do not work as they should: jobs of theirs may have been given
// back, to be worked much later.
func troubleOf(shot supervisor.Snapshot) []string {
	trouble := []string{}
	for _, pool := range shot.Pools {
		if why := cmp.Or(pool.Barren, pool.Breaker); why != "" {
			trouble = append(trouble, "pool "+pool.Name+": "+why)
		}
	}
	return trouble
}

// restless forgets what was seen of queues that stood still.
func (e *untilEmpty) restless() {
	e.renewed, e.still = map[string]float64{}, time.Time{}
}

// look says what is still to be waited for; "" for nothing.
func (e *untilEmpty) look(ctx context.Context) (string, error) {
	if !e.sup.Ready() || e.sup.InFlight() > 0 {
		e.restless()
		if shot := e.sup.Snapshot(); shot.Abstains != "" && e.sup.InFlight() == 0 {
			return e.patience("the supervisor " + shot.AbstainsWords()), nil
		}
		return "jobs that are at work here, or Redis", nil
	}
	names, err := e.queues(ctx)
	if err != nil {
		return "", err
	}
	outlook, now, err := e.asks.Outlook(ctx, names)
	if err != nil {
		return "", err
	}
	outlook = slices.DeleteFunc(outlook, func(q queue.QueueOutlook) bool { return q.Paused || q.Damage != "" })
	listed, inWork, err := e.lists(ctx)
	if err != nil {
		return "", err
	}
	if waits := e.ready(slices.Concat(outlook, listed)); waits != "" || e.done.Why != "" {
		return waits, nil
	}
	if inWork != "" {
		return inWork, nil
	}
	for _, q := range outlook {
		if in := inRedis(q.NextDue - now); q.NextDue > 0 && in <= e.within {
			return fmt.Sprintf("a job of %s that is due in %s", q.Queue, screen.Span(max(in, 0))), nil
		}
	}
	if waits, err := e.locked(ctx, outlook, now); waits != "" || err != nil {
		return waits, err
	}
	return e.dependent(ctx, names)
}

// queues are those that the pools serve, globs replaced by what there is.
func (e *untilEmpty) queues(ctx context.Context) ([]string, error) {
	var names, globs []string
	for _, pool := range e.pools() {
		for _, pattern := range pool.Queues {
			if queue.IsGlob(pattern) {
				globs = append(globs, pattern)
			} else {
				names = append(names, pattern)
			}
		}
	}
	if len(globs) > 0 {
		known, err := e.asks.QueueNames(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range known {
			if queue.MatchAny(globs, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// ready says which jobs could be taken now. Where the pools whose queues have them start no
// child for a while, they are given up: done.Why says so then, and nothing is waited for.
func (e *untilEmpty) ready(outlook []queue.QueueOutlook) string {
	n := 0
	var in []string
	for _, q := range outlook {
		if q.Ready > 0 {
			n += q.Ready
			in = append(in, q.Queue)
		}
	}
	if n == 0 {
		e.stuck = time.Time{}
		return ""
	}
	e.restless()
	waits := fmt.Sprintf("%s ready in %s", screen.Some(n, "job"), enumerate(in))
	shot, able := e.sup.Snapshot(), false
	if shot.Quiet {
		waits += "; it is quiet: `oarlock resume`"
	}
	for _, pool := range shot.Pools {
		switch {
		case !slices.ContainsFunc(in, func(name string) bool {
			return slices.Contains(pool.Queues, name) || pool.List != nil && pool.List.Name == name
		}):
		case pool.Barren != "":
			waits += fmt.Sprintf("; pool %s: %s", pool.Name, pool.Barren)
		case pool.Breaker != "":
			waits += fmt.Sprintf("; pool %s goes slowly: %s", pool.Name, pool.Breaker)
			able = true
		default:
			able = true
		}
	}
	if able || shot.Quiet || len(shot.Pools) == 0 {
		e.stuck = time.Time{}
		return waits
	}
	return e.patience(waits)
}

// patience waits for what does not come by itself, for a while: then it is given up, done.Why says so, and nothing is waited for.
func (e *untilEmpty) patience(waits string) string {
	switch {
	case e.stuck.IsZero():
		e.stuck = time.Now()
	case time.Since(e.stuck) >= emptyPatience:
		e.done.Why = waits
		return ""
	}
	return waits
}

// locked says which jobs others have at work who may be dead. A lock that is renewed is one
// of somebody who lives, and not waited for; one that runs out makes its job ready.
func (e *untilEmpty) locked(ctx context.Context, outlook []queue.QueueOutlook, now float64) (string, error) {
	names := make([]string, len(outlook))
	for i, q := range outlook {
		names[i] = q.Queue
	}
	locks, freeing, err := e.asks.Underway(ctx, names)
	if err != nil {
		return "", err
	}
	if freeing {
		return "dependents of complete jobs, which are being freed", nil
	}
	for i, lock := range locks {
		name := names[i]
		if lock.Last == 0 {
			delete(e.renewed, name)
			continue
		}
		if _, seen := e.renewed[name]; !seen {
			e.renewed[name] = lock.Last + e.grace(ctx) + 1
		}
		if lock.First <= e.renewed[name] {
			return fmt.Sprintf("jobs of %s that other workers hold, until their locks are renewed or run out, in %s", name, screen.Span(max(inRedis(lock.First-now), 0))), nil
		}
	}
	return "", nil
}

// grace is how many seconds a job is held back when its lock has run out.
func (e *untilEmpty) grace(ctx context.Context) float64 {
	text, err := e.asks.Setting(ctx, "grace-period")
	grace, bad := strconv.ParseFloat(text, 64)
	if err != nil || bad != nil || grace < 0 {
		return 10
	}
	return min(grace, 60)
}

// dependent says whether jobs wait for others that did not stand still for long enough.
func (e *untilEmpty) dependent(ctx context.Context, names []string) (string, error) {
	left, err := e.count(ctx, names)
	if err != nil {
		return "", err
	}
	waiting := left.Depends + left.Throttled + left.Behind
	if waiting == 0 {
		return "", nil
	}
	if waiting != e.waiting || e.still.IsZero() {
		e.waiting, e.still = waiting, time.Now()
	}
	if time.Since(e.still) < emptyStill {
		return screen.Some(waiting, "job") + " waiting for others", nil
	}
	return "", nil
}

// takeStock counts what is left.
func (e *untilEmpty) takeStock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, emptyLast)
	defer cancel()
	names, err := e.queues(ctx)
	if err == nil {
		var left Left
		if left, err = e.count(ctx, names); err == nil {
			e.done.Left = &left
		}
	}
	if err != nil {
		e.done.Unknown = err.Error()
	}
	e.tally.into(&e.done)
}

// count counts what is in the queues.
func (e *untilEmpty) count(ctx context.Context, names []string) (Left, error) {
	all, err := e.asks.Queues(ctx)
	if err != nil {
		return Left{}, err
	}
	looks, _, err := e.asks.Outlook(ctx, names)
	if err != nil {
		return Left{}, err
	}
	l := Left{Paused: []PausedQueue{}, Damaged: []string{}}
	for _, q := range looks {
		l.Behind += q.Behind
	}
	for _, q := range all {
		if _, ours := slices.BinarySearch(names, q.Name); !ours {
			continue
		}
		if q.Damage != "" {
			l.Damaged = append(l.Damaged, q.Name)
			continue
		}
		l.Running += q.Running
		l.Depends += q.Depends
		l.Throttled += q.Throttled
		if q.Paused {
			l.Paused = append(l.Paused, PausedQueue{q.Name, q.Waiting + q.Stalled + q.Scheduled})
			continue
		}
		l.Ready += q.Waiting + q.Stalled
		l.Scheduled += q.Scheduled
		l.Recurring += q.Recurring
	}
	slices.SortFunc(l.Paused, func(a, b PausedQueue) int { return cmp.Compare(a.Queue, b.Queue) })
	return l, nil
}

// inRedis is a span of Redis' time as one of ours.
func inRedis(n float64) time.Duration {
	const most = float64(100 * 365 * 24 * time.Hour)
	return time.Duration(max(min(n*float64(time.Second), most), -most))
}

// enumerate names a few of many.
func enumerate(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + screen.Count(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}
