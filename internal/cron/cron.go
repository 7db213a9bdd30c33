// Package cron keeps the recurring jobs that are put at the times of a schedule: it puts the runs
// that are due, and sees to it that Redis knows what the configuration says.
//
// Nobody leads. Each supervisor has a Keeper, and each run is put by one script that does so once,
// whoever asks for it.
package cron

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"oarlock/internal/schedule"
	"oarlock/queue"
)

const (
	// lookPause is how often is looked, at least, for what others have made.
	lookPause = 5 * time.Second
	// agreePause is how often is said what the file has: well within queue.CronLease.
	agreePause = 10 * time.Second
	// againPause is how soon is looked again after a failure, or after what another has changed.
	againPause = time.Second
)

// store is what a Keeper needs of a queue.Client, whose comments are its contract.
type store interface {
	Now() float64
	AgreeCrons(context.Context, queue.CronHolder, []queue.Cron) ([]queue.CronAgreement, error)
	LeaveCrons(context.Context, queue.CronHolder, []queue.Cron) ([]string, error)
	PutCron(ctx context.Context, c queue.Cron, rev string, next time.Time, holder queue.CronHolder) (bool, error)
	DueCrons(context.Context) ([]queue.DueCron, float64, error)
	AllCrons(context.Context) ([]queue.DueCron, error)
	RunCrons(context.Context, []queue.CronRun) ([]queue.CronRan, error)
}

// Keeper puts what is due. Its methods are safe for concurrent use.
type Keeper struct {
	store  store
	await  func(context.Context)
	holder queue.CronHolder
	log    *slog.Logger
	news   chan struct{}     // of size 1: the file has changed
	said   map[string]string // by name: what was last logged of it; of the goroutine of Run
	skips  map[string]skips  // by name; of the same
	failed string            // the last error that was logged; of the same
	latest time.Time         // of Redis' clock, that was seen; of the same

	mu   sync.Mutex
	file []queue.Cron
}

// New makes a keeper for a supervisor whose file is shared by a fleet of that name. It does
// nothing before Run. await returns when Redis is there, or its context ends.
func New(client *queue.Client, await func(context.Context), fleet string, log *slog.Logger) *Keeper {
	return build(client, await, fleet, log)
}

func build(s store, await func(context.Context), fleet string, log *slog.Logger) *Keeper {
	return &Keeper{
		store: s, await: await, holder: queue.CronHolder{Fleet: fleet, Instance: strconv.FormatUint(rand.Uint64(), 36)},
		log: log, news: make(chan struct{}, 1), said: map[string]string{}, skips: map[string]skips{},
	}
}

// Set says what recurring jobs the file has now, each with a schedule that can be read.
func (k *Keeper) Set(file []queue.Cron) {
	k.mu.Lock()
	k.file = slices.Clone(file)
	k.mu.Unlock()
	select {
	case k.news <- struct{}{}:
	default:
	}
}

// Run keeps them until ctx ends. While Redis is away it waits; it returns nil.
func (k *Keeper) Run(ctx context.Context) error {
	var agreeAt time.Time
	for {
		k.await(ctx)
		if ctx.Err() != nil {
			return nil
		}
		began := time.Now()
		if !began.Before(agreeAt) {
			agreed, err := k.agree(ctx)
			agreeAt = began.Add(jittered(agreePause))
			if !agreed || err != nil {
				agreeAt = began.Add(againPause)
			}
			k.failure(ctx, err)
		}
		err := k.realign(ctx)
		next := 0.0
		if err == nil {
			next, err = k.work(ctx)
		}
		k.failure(ctx, err)
		wait := min(lookPause, time.Until(agreeAt))
		if err != nil {
			wait = againPause
		} else if next > 0 {
			wait = min(wait, queue.Duration(next-k.store.Now()))
		}
		timer := time.NewTimer(max(wait, 0))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-k.news:
			agreeAt = time.Time{}
		}
		timer.Stop()
	}
}

// jittered is pause, a tenth more or less, so that many supervisors do not ask at once.
func jittered(pause time.Duration) time.Duration {
	return pause - pause/10 + rand.N(pause/5)
}

// failure logs an error, once until another comes. That Redis is away is said by others.
func (k *Keeper) failure(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, queue.ErrAway) || errors.Is(err, queue.ErrDoubt) {
		return
	}
	if text := err.Error(); text != k.failed {
		k.failed = text
		k.log.Error("recurring jobs cannot be looked after", "err", err)
	}
}

// say logs what happened to a recurring job, once until something else does.
func (k *Keeper) say(level slog.Level, name, message string, attrs ...any) {
	if k.said[name] != message {
		k.said[name] = message
		k.log.Log(context.Background(), level, message, append([]any{"recurring", name}, attrs...)...)
	}
}

// agree makes Redis know what the file says. It returns false if that is to be tried again soon.
func (k *Keeper) agree(ctx context.Context) (bool, error) {
	k.mu.Lock()
	file := k.file
	k.mu.Unlock()
	answers, err := k.store.AgreeCrons(ctx, k.holder, file)
	if err != nil {
		return false, err
	}
	all := true
	for i, a := range answers {
		c := file[i]
		switch a.Word {
		case queue.CronSame:
			delete(k.said, c.Name)
		case queue.CronHand:
			k.say(slog.LevelWarn, c.Name, "made by hand, so what the file says of it is left alone; `oarlock recur rm` makes room for it")
		case queue.CronOther:
			k.say(slog.LevelWarn, c.Name, "a newer file of another supervisor says otherwise, and counts as long as that runs")
		case queue.CronNew:
			done, err := k.write(ctx, c, a)
			if err != nil {
				return false, err
			}
			all = all && done
		}
	}
	ended, err := k.store.LeaveCrons(ctx, k.holder, file)
	for _, name := range ended {
		delete(k.said, name)
		delete(k.skips, name)
		k.log.Info("recurs no more: it has left the file", "recurring", name)
	}
	return all, err
}

// write makes Redis know one of them, and reports whether nobody else did meanwhile.
func (k *Keeper) write(ctx context.Context, c queue.Cron, a queue.CronAgreement) (bool, error) {
	s, err := schedule.Parse(c.Schedule, c.Zone)
	if err != nil {
		return true, err // the file was checked
	}
	done, err := k.store.PutCron(ctx, c, a.Rev, NextRun(s, a.Next, k.now()), k.holder)
	if done {
		delete(k.said, c.Name)
		k.log.Info("recurs as the file says", "recurring", c.Name, "schedule", c.Schedule, "zone", s.Zone().String(), "queue", c.Queue)
	}
	return done, err
}

// NextRun is when a recurring job that is given the schedule s at now runs next. A run of its last
// schedule that was due at last and was not put yet is put, if the new one has it, too.
func NextRun(s schedule.Schedule, last, now time.Time) time.Time {
	if !last.IsZero() && !last.After(now) {
		return s.Next(last.Add(-1))
	}
	return s.Next(now)
}

// now is the time of Redis.
func (k *Keeper) now() time.Time { return At(k.store.Now()) }

// At is a time of Redis, in seconds since the epoch.
func At(seconds float64) time.Time {
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}

// clockStep is how far the clock of Redis has to go back for runs to be reckoned anew.
const clockStep = time.Minute

// realign lets recurring jobs come when they are due by a clock of Redis that was ahead and went
// back: they had been put off to a time that is far away now. What was put meanwhile is not put
// again, as long as its job is there.
func (k *Keeper) realign(ctx context.Context) error {
	now := k.now()
	if !now.Before(k.latest.Add(-clockStep)) {
		if now.After(k.latest) {
			k.latest = now
		}
		return nil
	}
	all, err := k.store.AllCrons(ctx)
	if err != nil {
		return err
	}
	var runs []queue.CronRun
	for _, d := range all {
		s, err := schedule.Parse(d.Schedule, d.Zone)
		if next := s.Next(now); err == nil && d.Due.After(next) {
			runs = append(runs, queue.CronRun{DueCron: d, Next: next})
		}
	}
	for some := range slices.Chunk(runs, queue.CronRuns) {
		if _, err := k.store.RunCrons(ctx, some); err != nil {
			return err
		}
	}
	k.log.Warn("the clock of Redis went back; when recurring jobs are due was reckoned anew", "by", k.latest.Sub(now).Round(time.Second), "recurring_jobs", len(runs))
	k.latest = now
	return nil
}

// work puts all runs that are due, and returns when the next is to be looked at, or 0.
func (k *Keeper) work(ctx context.Context) (next float64, err error) {
	for {
		due, next, err := k.store.DueCrons(ctx)
		if err != nil || len(due) == 0 {
			return next, err
		}
		done := false
		now := k.now()
		for len(due) > 0 {
			var runs []queue.CronRun
			for room := queue.CronRuns; len(due) > 0 && room > 0; due = due[1:] {
				run := plan(due[0], now, room)
				runs = append(runs, run)
				room -= max(1, len(run.Times))
			}
			answers, err := k.store.RunCrons(ctx, runs)
			if err != nil {
				return 0, err
			}
			for i, ran := range answers {
				k.tell(runs[i], ran)
				done = done || ran.Word == "ran"
			}
		}
		if !done { // another is at it, or none can be put
			return k.store.Now() + againPause.Seconds(), nil
		}
	}
}

// tell logs what became of runs, where that is not as usual.
func (k *Keeper) tell(run queue.CronRun, ran queue.CronRan) {
	switch {
	case ran.Word == "refused":
		k.say(slog.LevelError, run.Name, "a run cannot be put, and is tried again every minute: "+ran.Why)
		return
	case ran.Word != "ran":
		return
	}
	delete(k.said, run.Name)
	if run.GivenUp > 0 {
		k.log.Warn("runs were missed: nobody was there to put them", "recurring", run.Name, "missed", run.GivenUp, "since", run.Due, "policy", string(run.Missed))
	}
	if ran.Skipped > 0 {
		k.skipped(run.Name, ran.Skipped)
	}
	if ran.Put > 0 {
		k.log.Debug("runs were put", "recurring", run.Name, "put", ran.Put)
	}
}

// skipsPause is how often at most it is said of a recurring job that runs were skipped, which may be
// as it should.
const skipsPause = time.Hour

// skips are those of one recurring job.
type skips struct {
	said time.Time
	more int // since then
}

// skipped logs that runs were skipped, with those that it did not tell of before.
func (k *Keeper) skipped(name string, n int) {
	s := k.skips[name]
	s.more += n
	if now := time.Now(); s.said.IsZero() || now.Sub(s.said) >= skipsPause {
		k.log.Info("runs were skipped: the last is not over", "recurring", name, "skipped", s.more)
		s = skips{said: now}
	}
	k.skips[name] = s
}

const (
	// inTime is how late a run may be that is not missed.
	inTime = time.Minute
	// mostMadeUp is how many missed runs are made up for.
	mostMadeUp = 100
	// mostCounted is how many missed runs are counted.
	mostCounted = 1000
)

// plan says which runs are to be put of a recurring job, room at most; more of them are due after
// those.
func plan(d queue.DueCron, now time.Time, room int) queue.CronRun {
	run := queue.CronRun{DueCron: d, Next: d.Due}
	if d.Due.IsZero() || d.Due.After(now) {
		return run // one that waits for the last
	}
	s, err := schedule.Parse(d.Schedule, d.Zone)
	if err != nil {
		run.Unread = true
		return run
	}
	from := d.Due
	if earliest := now.AddDate(-10, 0, 0); from.Before(earliest) {
		from = earliest // somebody wrote nonsense there, which would take as long to count
	}
	times, _ := s.Between(from, now, mostCounted)
	late := 0 // of them, which are not put
	switch d.Missed {
	case queue.Skip:
		for late < len(times) && now.Sub(times[late]) > inTime {
			late++
		}
	case queue.RunAll:
		late = max(0, len(times)-mostMadeUp)
	default:
		late = max(0, len(times)-1)
	}
	run.GivenUp, run.Times, run.Next = late, times[late:], s.Next(now)
	if len(run.Times) > room {
		run.Times, run.Next = run.Times[:room], run.Times[room]
	}
	return run
}
