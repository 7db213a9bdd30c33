package intake

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/report"
)

const (
	// firstPage is how many entries are read at first: nobody knows yet how long they are. mostPage are read at a time at most.
	firstPage, mostPage = 10, 100
	// pageBytes is about how long they may be together.
	pageBytes = 4 << 20
	// leastRest is the shortest pause for jobs to leave the window.
	leastRest = 10 * time.Millisecond
)

// feeder takes in one list. But for the snapshot all is its goroutine's.
type feeder struct {
	source Source
	redis  Redis
	gate   *gate.Gate
	poll   time.Duration
	log    *slog.Logger
	end    context.CancelFunc

	page    int               // how many entries are read at a time
	rest    time.Duration     // the last pause for the window,
	since   int               // and how many entries were moved since then
	refused map[string]string // the entry that Redis refused to make a job of, and why

	mu   sync.Mutex
	shot report.IntakeSnapshot
}

func newFeeder(k *Keeper, s Source) *feeder {
	return &feeder{
		source: s, redis: k.redis, gate: k.gate, poll: k.poll, log: k.log.With("list", s.List, "queue", s.Queue), page: firstPage, rest: leastRest,
		shot: report.IntakeSnapshot{Queue: s.Queue, List: s.List},
	}
}

func (f *feeder) snapshot() report.IntakeSnapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.shot
}

// note changes the snapshot.
func (f *feeder) note(change func(*report.IntakeSnapshot)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.shot)
}

// run takes in until ctx ends.
func (f *feeder) run(ctx context.Context) {
	waiter := f.redis.ListWaiter(f.source.List)
	defer context.AfterFunc(ctx, func() { _ = waiter.Close() })() // which ends its wait
	defer func() { _ = waiter.Close() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.gate.Open():
		}
		pause, err := f.step(ctx, waiter)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			pause = f.trouble(err)
		}
		if pause <= 0 {
			continue
		}
		timer := time.NewTimer(clock.Jittered(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// trouble notes why a call failed, and returns how long to pause: not at all where the gate is closed.
func (f *feeder) trouble(err error) time.Duration {
	meaning := f.gate.SortHarmless(err)
	if meaning == gate.Away {
		return 0
	}
	f.note(func(s *report.IntakeSnapshot) {
		if meaning == gate.Refused && s.Trouble != err.Error() {
			f.log.Error("a list is not taken in", "err", err)
		}
		s.Trouble = err.Error()
	})
	return f.poll
}

// step takes in what comes next, or waits for it. It returns for how long to pause then.
func (f *feeder) step(ctx context.Context, waiter Waiter) (time.Duration, error) {
	next, err := f.redis.NextOfList(ctx, f.source.List, f.page)
	if err != nil {
		return 0, err
	}
	if len(next) == 0 {
		f.note(func(s *report.IntakeSnapshot) { s.Full, s.Trouble = false, "" })
		return 0, waiter.Await(ctx)
	}
	entries := f.read(next)
	done, err := f.redis.TakeIn(ctx, f.source.List, f.source.Queue, f.source.Window, entries)
	if err != nil {
		return 0, err
	}
	f.note(func(s *report.IntakeSnapshot) {
		s.Moved, s.Jobs, s.Merged, s.Broken = s.Moved+done.Moved, s.Jobs+done.Jobs, s.Merged+done.Merged, s.Broken+done.Broken
		s.Full, s.Trouble = done.Full, ""
	})
	if done.Broken > 0 {
		f.log.Warn("entries of a list cannot be jobs, and are set aside until somebody puts them back", "entries", done.Broken, "err", done.Why)
	}
	clear(f.refused)
	if done.Refused != nil {
		if gate.Of(done.Refused) != gate.Refused { // for want of memory, say: the entry is not to blame
			return 0, done.Refused
		}
		f.refused = map[string]string{entries[done.Moved].Entry: reason(done.Refused)}
	}
	f.since += done.Moved
	if !done.Full {
		return 0, nil
	}
	return f.pace(), nil
}

// read says which jobs entries are, of as many as are short enough together, and how many to read the next time.
func (f *feeder) read(next []string) []queue.Intake {
	var entries []queue.Intake
	bytes := 0
	for _, entry := range next {
		if bytes += len(entry); bytes > pageBytes && len(entries) > 0 {
			break
		}
		in := queue.Intake{Entry: entry, Trouble: f.refused[entry]}
		if in.Trouble == "" {
			var err error
			if in.Put, err = f.source.Read(entry); err != nil {
				in.Trouble = err.Error()
			}
		}
		entries = append(entries, in)
	}
	if bytes > pageBytes {
		f.page = max(1, len(entries)/2)
	} else {
		f.page = min(2*f.page, mostPage)
	}
	return entries
}

// pace is how long to pause for a window that is full: as long as about a tenth of it takes to leave, as the last pauses have shown.
func (f *feeder) pace() time.Duration {
	if f.since > max(1, f.source.Window/10) {
		f.rest /= 2
	} else {
		f.rest *= 2
	}
	f.since = 0
	f.rest = min(max(f.rest, leastRest), max(f.poll, leastRest))
	return f.rest
}

// reason is a refusal of Redis in its own words.
func reason(err error) string {
	var refused *queue.ScriptError
	if errors.As(err, &refused) {
		return refused.Message
	}
	return err.Error()
}
