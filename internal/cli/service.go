package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/control"
	"oarlock/internal/cron"
	"oarlock/internal/logging"
	"oarlock/internal/output"
	"oarlock/internal/plan"
	"oarlock/internal/redact"
	"oarlock/internal/screen"
	"oarlock/internal/systemd"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// service is a supervisor with what surrounds it in a process of its own: signals, the
// control socket, the watch on the configuration, the service manager.
type service struct {
	logs     *logging.Log
	log      *slog.Logger
	attempts *attemptLog
	outputs  *output.Store // nil before run
	rates    *rates
	depths   *depths // nil before run
	redactor atomic.Pointer[redact.Redactor]
	reread   func() (config.Config, error) // the configuration as it is now
	watch    []part                        // more that runs as long as the supervisor
	terminal bool                          // ^Z is the shell's, not ours
	childLog func(supervisor.Line)         // hears the lines of children; nil: the log
	own      *connect.Own                  // nil: Redis lives without us
	emptying *untilEmpty                   // leaves when the queues are empty; nil: it stays

	host  *runner.Host
	sup   *supervisor.Supervisor
	crons *cron.Keeper
	ready atomic.Bool // the service manager was told so, and not yet that it stops

	reloads  sync.Mutex    // one reload at a time; each ends in time. It guards the next three
	tried    config.Sum    // of what the last one read, be it good or bad
	latest   *reloadReport // of the last that changed something; nil if none did
	latestAt time.Time
	reading  chan struct{} // of size 1: holds a token while a configuration is being read
	hangup   chan struct{} // of size 1: HUP came
	begun    chan struct{} // closed when there is a supervisor
	stopping chan struct{} // closed when a limit was set to the time in which to leave
	leaving  chan struct{} // closed when the parts were told to end
	stopOnce sync.Once

	mu    sync.Mutex // for memory only
	cfg   config.Config
	quiet bool

	owners []int         // to whom the configuration belonged when we started
	first  config.Config // with which we started; what needs a restart is still as it says
}

// newService makes a service that logs to logs, as l says. What the standard library logs goes
// the same way, so that none of it can stand still before a log that nobody reads.
func newService(logs *logging.Log, l config.Log, reread func() (config.Config, error)) *service {
	s := &service{
		logs: logs, log: logs.Logger(), rates: newRates(), reread: reread,
		reading: make(chan struct{}, 1), hangup: make(chan struct{}, 1),
		begun: make(chan struct{}), stopping: make(chan struct{}), leaving: make(chan struct{}),
	}
	s.attempts = newAttemptLog(s.log, l.Attempts, s.standing)
	slog.SetDefault(s.log)
	return s
}

// owns tells whoever asks the supervisor that the Redis at url is its own.
func (s *service) owns(url string, cfg config.Config) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		path = cfg.Path // and nobody finds it
	}
	s.own = &connect.Own{URL: url, Config: path}
}

// last ends the log, and returns the error with which the program is to end: without its
// words, where the log is blocked, for they would stand still like all others.
func (s *service) last(err error) error {
	if !s.logs.Close() && err != nil {
		return silent{exitCode(err)}
	}
	return err
}

// part is something that runs until its context ends.
type part func(context.Context) error

// run supervises the pools of cfg until a signal, the control socket or ctx ends it,
// and returns when nothing of it is left, or by the last resort.
func (s *service) run(ctx context.Context, cfg config.Config) error {
	s.cfg, s.first, s.tried = cfg, cfg, cfg.Sum
	outlivePipes()
	signals, stops, release := catchSignals(s.terminal)
	defer release()
	ended := make(chan error, 1)
	go func() { ended <- s.work(ctx, cfg, signals) }() // or the process ends, by the last resort
	select {
	case err := <-ended:
		return err
	case <-s.stopping:
	case <-stops:
	}
	return lastResort(ended, s.atWork, s.timeToLeave)
}

// work is run, however long it may stand still.
func (s *service) work(ctx context.Context, cfg config.Config, signals <-chan os.Signal) error {
	makeThreads()
	told, err := plan.Supervisor(cfg, s.log)
	if err != nil {
		return err
	}
	client, err := connect.Open(ctx, cfg.Redis, s.log)
	if err != nil {
		return err
	}
	defer client.Close()
	stateDir := told.StateDir // where it is asked
	var remove func()
	if told.StateDir, remove, err = s.stateDir(stateDir); err != nil {
		return err
	}
	defer remove()
	host, err := runner.NewHost(runner.HostOptions{Logger: s.log, PrivateRoot: filepath.Join(told.StateDir, "private")})
	if err != nil {
		return err
	}
	s.depths = &depths{ask: askDepths(client)}
	s.outputs = output.New(told.StateDir, s.log)
	s.redactor.Store(redactorOf(cfg.Log))
	told.OnEvent, told.ChildLog = s.note, s.childLog
	s.host = host
	s.carries(told.Pools)
	s.sup = supervisor.New(told, client, host)
	close(s.begun)
	s.crons = cron.New(client, s.sup.AwaitRedis, plan.Fleet(cfg), s.log)
	s.crons.Set(plan.Crons(cfg))
	s.log.Info("supervising", "pools", len(told.Pools), "redis", connect.Address(cfg.Redis.URL), "config", cfg.Path, "found", cfg.Found, "pid", os.Getpid())
	warnOfRoot(s.log, cfg)
	for _, text := range plan.CapacityOf(host).WatchedMemory(cfg) {
		s.log.Warn(text)
	}
	warnOfExposure(s.log, cfg)
	for _, warning := range cfg.MissingScripts() {
		s.log.Warn(warning)
	}
	s.warnOfDoubts(cfg)
	s.owners = config.Owners(cfg.Files)

	parts := append([]part{
		s.supervise,
		func(ctx context.Context) error { return s.obey(ctx, signals) },
		s.reloadOnHangup,
		s.attempts.run,
		s.outputs.Run,
		s.crons.Run,
		func(ctx context.Context) error { return sweepStats(ctx, client, s.sup.AwaitRedis, s.log) },
		func(ctx context.Context) error { return s.announce(ctx, client) },
		func(ctx context.Context) error { systemd.Watchdog(ctx, s.alive); return nil },
		s.optional("nobody can ask it over its socket", func(ctx context.Context) error { return control.Serve(ctx, stateDir, s, nil) }),
	}, s.watch...)
	if e := s.emptying; e != nil {
		e.log, e.asks, e.sup, e.drain = s.log, client, s.sup, s.Drain
		e.pools = func() map[string]config.Pool { return s.config().Pools }
		parts = append(parts, e.run)
	}
	if cfg.Path != "" {
		parts = append(parts, s.optional("the configuration is not watched; HUP reloads it", func(ctx context.Context) error {
			return config.Watch(ctx, cfg.Path, nil, s.reloadChanged)
		}))
	}
	return errors.Join(runAll(ctx, parts...), host.Close())
}

// warnOfDoubts logs which files of cfg others may have written.
func (s *service) warnOfDoubts(cfg config.Config) {
	for _, doubt := range cfg.Doubts {
		s.log.Warn("the configuration is in doubt", "why", doubt)
	}
}

// stateDir returns dir if it can be used as a state directory. If others may have written
// there it is none, and another is made until remove is called; but for root, whose supervisor
// could be made to end anybody's processes.
func (s *service) stateDir(dir string) (state string, remove func(), err error) {
	err = supervisor.CheckStateDir(dir)
	var exposed *supervisor.ExposedError
	if err == nil && os.Geteuid() == 0 {
		err = config.OthersMayWrite(dir) // it could be another the next time it is looked at
	}
	if errors.As(err, &exposed) && os.Geteuid() != 0 {
		s.log.Warn("the state directory is not ours alone, and what is in it is not believed: should this supervisor be killed, its jobs wait for their locks", "err", err)
		dir, err = os.MkdirTemp("", "oarlock-")
		remove = func() { os.RemoveAll(dir) }
	} else {
		remove = func() {}
	}
	if err != nil {
		return "", nil, config.Wrong("supervisor.state_dir", err)
	}
	return dir, remove, nil
}

// runAll runs every part, ends the others as soon as one fails, and returns when all of
// them have returned, with every error they gave. The end of the supervisor counts as
// failure, too, and is not among the errors.
func runAll(ctx context.Context, parts ...part) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	results := make(chan error, len(parts))
	for _, each := range parts {
		go func() { results <- each(ctx) }()
	}
	var errs []error
	for range parts {
		err := <-results
		if err == nil {
			continue // a part that has nothing to do here
		}
		stop()
		if !errors.Is(err, errFinished) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// optional makes a part one without which the jobs go on: that it failed is logged, with
// what that means.
func (s *service) optional(without string, p part) part {
	return func(ctx context.Context) error {
		if err := p(ctx); err != nil {
			s.log.Error(without, "err", err)
		}
		return nil
	}
}

// supervise is the part that the others are there for: they end when it has.
func (s *service) supervise(ctx context.Context) error {
	err := s.sup.Run(ctx)
	s.attempts.flush()
	if err != nil {
		return config.Wrong("supervisor.state_dir", err)
	}
	return errFinished
}

// errFinished says that the supervisor has left as it was asked to.
var errFinished = errors.New("finished")

// obey does what signals say.
func (s *service) obey(ctx context.Context, signals <-chan os.Signal) error {
	stopping := false
	for {
		var got os.Signal
		select {
		case <-ctx.Done():
			return nil
		case got = <-signals:
		}
		switch got {
		case syscall.SIGTERM, syscall.SIGINT:
			s.sup.Signaled()
			if stopping {
				s.sup.StopNow()
				s.log.Warn("stopping now: what runs is killed and given back", "signal", got)
				continue
			}
			stopping = true
			s.Stop()
			s.log.Info("draining: leaving when what runs has finished; once more stops now", "signal", got, "drain_timeout", s.config().Supervisor.DrainTimeout)
		case syscall.SIGQUIT:
			s.Drain()
			s.log.Info("draining without a limit: leaving when what runs has finished", "signal", got)
		case syscall.SIGTSTP, syscall.SIGUSR2:
			s.Quiet()
		case syscall.SIGCONT:
			s.Resume()
		case syscall.SIGHUP:
			select {
			case s.hangup <- struct{}{}:
			default: // a reload is to come that will see what is in the file now
			}
		case syscall.SIGUSR1:
			s.logs.Reopen()
		case syscall.SIGTTIN:
			s.dump()
		}
	}
}

const (
	// announceEvery is how often the service manager learns how it goes.
	announceEvery = 2 * time.Second
	// readyEvery is how often to look whether the supervisor is ready, until it is.
	readyEvery = 50 * time.Millisecond
	// readySoon is how long that may take before the log says what it waits for.
	readySoon = time.Second
)

// loopsAnswer is the longest time in which the loops of all pools answer, none of which
// ever waits for anything.
const loopsAnswer = 900 * time.Millisecond

// announce tells the log and the service manager when the supervisor is ready, and the
// manager what it does, before and after.
func (s *service) announce(ctx context.Context, client *queue.Client) error {
	look, tell := time.NewTicker(readyEvery), time.NewTicker(announceEvery)
	defer look.Stop()
	defer tell.Stop()
	began, waiting := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			if s.sup.Ready() {
				look.Stop()
				s.log.Info("ready", "after", time.Since(began).Round(time.Millisecond))
				systemd.Ready()
				s.ready.Store(true)
				warnOfRedis(ctx, s.log, client)
				break
			}
			if err := s.sup.Away(); err != nil && !waiting && time.Since(began) > readySoon {
				waiting = true
				s.log.Warn("waiting for Redis", "redis", connect.Address(s.config().Redis.URL), "err", err, "hint", connect.Hint(s.config().Redis.URL, err))
			}
			continue
		case <-tell.C:
		}
		if os.Getenv("NOTIFY_SOCKET") != "" {
			s.tellManager()
		}
	}
}

// tellManager says in one line what the supervisor does, and asks for more time where
// it needs it.
func (s *service) tellManager() {
	shot := s.sup.Snapshot()
	if shot.Draining || !s.ready.Load() {
		systemd.Extend(3 * announceEvery)
	}
	systemd.Status("%s", managerStatus(shot, s.ready.Load(), connect.Address(s.config().Redis.URL)))
}

// managerStatus is what the service manager shows of a supervisor. ready says that it was told so before.
func managerStatus(shot supervisor.Snapshot, ready bool, redis string) string {
	away := ""
	if what, why := shot.RedisTrouble(); what != "" {
		away = fmt.Sprintf("Redis at %s %s (%s); ", redis, what, screen.Visible(screen.Shorten(why, 200)))
	}
	switch {
	case shot.Draining:
		return away + "draining: " + inFlight(shot)
	case !ready:
		return "waiting for Redis at " + redis
	case away != "":
		return away + "no jobs are taken; " + inFlight(shot)
	}
	return inFlight(shot)
}

// alive reports whether the loops of all pools answer: a snapshot waits for them, and not
// for Redis. A supervisor that waits for Redis, or drains, is well.
func (s *service) alive() bool {
	began := time.Now()
	s.sup.Snapshot()
	return time.Since(began) < loopsAnswer
}

// note hears of everything countable, from the loops of the pools: it never waits.
func (s *service) note(e supervisor.Event) {
	if s.emptying != nil {
		s.emptying.tally.note(&e)
	}
	if outcome := outcomeOf(&e); outcome != "" {
		s.attempts.note(&e, outcome)
		s.keepOutput(&e, outcome)
		s.rates.note(e.Pool, e.Job.Queue, outcome)
	}
}

// standing is what the hourly line says of the supervisor beside what was done.
func (s *service) standing() []any {
	attrs := []any{"at_work", s.sup.InFlight()}
	if err := s.sup.Away(); err != nil {
		attrs = append(attrs, "redis", "away: "+err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		attrs = append(attrs, "quiet", true)
	}
	return attrs
}

// atWork is how many jobs are in flight; none before there is a supervisor.
func (s *service) atWork() int {
	select {
	case <-s.begun:
		return s.sup.InFlight()
	default:
		return 0
	}
}

// inFlight sums up the pools of shot in one line.
func inFlight(shot supervisor.Snapshot) string {
	busy, slots, oldest := 0, 0, 0.0
	for _, pool := range shot.Pools {
		for _, slot := range pool.Slots {
			slots++
			if len(slot.Runs) > 0 {
				busy++
				oldest = max(oldest, slot.Runs[0].Age)
			}
		}
	}
	text := fmt.Sprintf("%d of %d children busy", busy, slots)
	if busy > 0 {
		text += ", the longest for " + screen.Span(time.Duration(oldest*float64(time.Second)))
	}
	if shot.Short != "" {
		text += "; " + shot.Short
	}
	return text
}

// Status, Quiet, Resume, Drain, Stop, Reload, Scale and Recycle are what the control
// socket asks for.

// Status is what the status command prints.
func (s *service) Status() any {
	r := report{Snapshot: s.sup.Snapshot(), Log: s.logs.State(), Output: s.outputs.State(), OwnRedis: s.own}
	r.MemoryWatched = plan.CapacityOf(s.host).WatchedMemory(s.config())
	var known bool
	if r.Queues, r.QueuesLeftOut, known = s.queueReports(r.Snapshot); !known {
		ago := cmp.Or(r.Seen, r.Up)
		since := time.Now().Add(-time.Duration(ago * float64(time.Second)))
		r.UnknownSince = &since
	}
	return r
}

// Quiet takes no more jobs until Resume.
func (s *service) Quiet() {
	s.sup.Quiet()
	if s.setQuiet(true) {
		s.log.Info("quiet: no more jobs are taken until CONT, or `oarlock resume`")
	}
}

// Asked notes who asks for a change over the socket.
func (s *service) Asked(verb string, by control.Peer) {
	s.log.Info("asked over the control socket", "to", verb, "pid", by.PID, "uid", by.UID)
}

// Resume takes jobs again.
func (s *service) Resume() {
	s.sup.Resume()
	if s.setQuiet(false) { // service managers send CONT along with TERM
		s.log.Info("resumed")
	}
}

// setQuiet reports whether that is a change.
func (s *service) setQuiet(quiet bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.quiet != quiet
	s.quiet = quiet
	return changed
}

// Drain leaves when everything that runs has finished.
func (s *service) Drain() {
	s.sup.Drain()
	s.ready.Store(false)
	systemd.Stopping()
}

// Stop leaves when everything that runs has finished, at the latest after drain_timeout.
func (s *service) Stop() {
	s.stopOnce.Do(func() { close(s.stopping) }) // first: nothing below may stand in its way
	s.sup.Stop()
	s.ready.Store(false)
	systemd.Stopping()
}

// Recycle replaces the children of a pool, or of all.
func (s *service) Recycle(pool string) error {
	s.log.Info("recycling", "pool", pool)
	return s.sup.Recycle(pool)
}

// config is the configuration in force.
func (s *service) config() config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

// dump writes all goroutines and the state of all pools to the log.
func (s *service) dump() {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	state, err := json.Marshal(s.sup.Snapshot())
	s.log.Info("dump", "goroutines", string(stacks), "state", string(state), "err", err)
}
