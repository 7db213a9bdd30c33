package service

import (
	"context"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"oarlock/internal/hub"
	"oarlock/internal/screen"
	"oarlock/runner"
	"oarlock/supervisor"
)

const (
	// mostTold is how many attempts that ended well have a line of their own, a second and
	// pool; the others are summed up in one.
	mostTold = 100
	// accountEvery is how often the log says what was done, were it nothing.
	accountEvery = time.Hour
	// wordLimit is how many bytes of a name that somebody chose stand in a line of the log.
	wordLimit = 256
)

// attemptLog writes a line about each attempt that ended, sums up where too many end well,
// and says once an hour what was done. Safe for concurrent use.
type attemptLog struct {
	log      *slog.Logger
	standing func() []any // what to say of the supervisor once an hour

	mu    sync.Mutex // for memory only: lines are written without it
	which string     // one of config.Attempts
	pools map[string]*poolPace
	hour  account
}

// poolPace is what was told of a pool in the second under way.
type poolPace struct {
	told    int
	untold  int // attempts that are to be summed up
	took    time.Duration
	longest time.Duration
}

// account counts attempts by what became of them.
type account map[string]int

func newAttemptLog(log *slog.Logger, which string, standing func() []any) *attemptLog {
	return &attemptLog{log: log, which: which, standing: standing, pools: map[string]*poolPace{}, hour: account{}}
}

// tell sets of which attempts there are lines.
func (l *attemptLog) tell(which string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.which = which
}

// note hears of an attempt that has ended.
func (l *attemptLog) note(e *supervisor.Event, outcome string) {
	said := false
	l.mu.Lock()
	l.hour[outcome]++
	switch {
	case l.which == "all" && well(outcome):
		wall := time.Duration(0)
		if e.Ending != nil { // its answer ended it
			wall = e.Ending.Wall
		}
		said = l.pace(e.Pool).pass(wall)
	default:
		said = l.which != "none" && !well(outcome)
	}
	l.mu.Unlock()
	if said {
		l.say(e, outcome)
	}
}

// well reports whether an attempt ended as most do.
func well(outcome string) bool { return outcome == hub.Done || outcome == hub.Parked }

// pace is that of a pool. The caller holds mu.
func (l *attemptLog) pace(pool string) *poolPace {
	p := l.pools[pool]
	if p == nil {
		p = &poolPace{}
		l.pools[pool] = p
	}
	return p
}

// pass tells whether one more attempt, which took so long, may have a line of its own.
func (p *poolPace) pass(took time.Duration) bool {
	if p.told < mostTold {
		p.told++
		return true
	}
	p.untold++
	p.took += took
	p.longest = max(p.longest, took)
	return false
}

// sumUp writes the line about those that had none of their own.
func (l *attemptLog) sumUp(pool string, sum *poolPace) {
	if sum.untold == 0 {
		return
	}
	mean := sum.took / time.Duration(sum.untold)
	l.log.Info("more attempts ended well", "pool", pool, "attempts", sum.untold,
		"mean", mean.Round(time.Microsecond), "longest", sum.longest.Round(time.Microsecond))
}

// say writes the line about one attempt.
func (l *attemptLog) say(e *supervisor.Event, outcome string) {
	level := slog.LevelWarn
	switch {
	case well(outcome):
		level = slog.LevelInfo
	case e.Ending != nil && e.Ending.Kind == runner.Innocent: // it was kept ready, and another child has it
		level = slog.LevelDebug
	}
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 13)
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("jid", word(e.Job.JID))
	text("klass", word(e.Job.Klass))
	text("queue", word(e.Job.Queue))
	text("pool", e.Pool)
	text("outcome", outcome)
	if e.Ending != nil {
		attrs = append(attrs, slog.String("kind", e.Ending.Kind.String()), slog.Duration("duration", e.Ending.Wall.Round(time.Millisecond)))
	}
	attrs = append(attrs, slog.Int("attempt", e.Job.Attempt))
	text("run", e.Job.Run)
	text("trace_id", e.Job.Trace.ID())
	if e.PID != 0 {
		attrs = append(attrs, slog.Int("pid", e.PID))
	}
	if outcome != hub.Done {
		text("group", word(e.Group))
		text("err", screen.Shorten(e.Message, 300))
	}
	l.log.LogAttrs(context.Background(), level, "attempt ended", attrs...)
}

// word cuts a name for the log: whoever puts a job may name it at any length.
func word(name string) string {
	if len(name) <= wordLimit {
		return name
	}
	end := wordLimit
	for end > wordLimit-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// run sums up each second, and accounts for each hour, until ctx ends.
func (l *attemptLog) run(ctx context.Context) error {
	second, hour := time.NewTicker(time.Second), time.NewTicker(accountEvery)
	defer second.Stop()
	defer hour.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-second.C:
			l.flush()
		case <-hour.C:
			l.account()
		}
	}
}

// flush ends a second: it writes what there is to be summed up.
func (l *attemptLog) flush() {
	l.mu.Lock()
	pools := l.pools
	l.pools = make(map[string]*poolPace, len(pools))
	l.mu.Unlock()
	for name, p := range pools {
		l.sumUp(name, p)
	}
}

// account says what was done in the last hour.
func (l *attemptLog) account() {
	l.mu.Lock()
	hour := l.hour
	l.hour = account{}
	l.mu.Unlock()
	message := "done in the last hour: nothing"
	var attrs []any
	if len(hour) > 0 {
		message = "done in the last hour"
		attrs = append(attrs, hub.Done, hour[hub.Done], hub.Failed, hour[hub.Failed], hub.Retried, hour[hub.Retried])
		for _, outcome := range []string{hub.Parked, hub.Released, hub.Requeued, hub.Canceled, hub.Lost, hub.HandedOn} {
			if n := hour[outcome]; n > 0 {
				attrs = append(attrs, outcome, n)
			}
		}
	}
	l.log.Info(message, append(attrs, l.standing()...)...)
}
