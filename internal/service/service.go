// Package service is the process that supervises: it reads signals, answers on the control socket, reloads
// the configuration, tells the service manager and the log how it goes, and leaves in time whatever stands still. It
// owns the supervisor, its host and the connection to Redis for as long as Run lasts. It must not know
// the command line, nor how anything is shown to people.
package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"oarlock/internal/accord"
	"oarlock/internal/callback"
	"oarlock/internal/census"
	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/control"
	"oarlock/internal/cron"
	"oarlock/internal/decider"
	"oarlock/internal/hub"
	"oarlock/internal/logging"
	"oarlock/internal/metrics"
	"oarlock/internal/output"
	"oarlock/internal/plan"
	"oarlock/internal/redact"
	"oarlock/internal/rules"
	"oarlock/internal/systemd"
	"oarlock/internal/web"
	"oarlock/queue"
	"oarlock/queue/admin"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Options are what a service is told beside its configuration.
type Options struct {
	Log      *logging.Log                  // where it says what happens; its maker closes it when Run has returned
	Reread   func() (config.Config, error) // the configuration as it is now, for a reload
	Version  string                        // of this program
	OwnRedis string                        // the URL of a Redis that lives and ends with the service; "" means: none does
	Signals  *Signals                      // caught before there was a service; nil: it catches them itself
	Terminal bool                          // ^Z is the shell's, not ours
	Programs bool                          // the children of a pool are replaced when a file changes that its command names
	ChildLog func(supervisor.Line)         // hears the lines of children, and never waits; nil: they are logged
	Page     *Page                         // where browsers are answered, unless the configuration says it; nil: nowhere
	Beside   []Beside                      // more that runs as long as the supervisor

	// UntilEmpty makes the service leave when its queues have nothing ready, and nothing due Within.
	UntilEmpty bool
	Within     time.Duration
}

// Beside is something that runs beside a supervisor, which goes on without it.
type Beside struct {
	Run     func(context.Context) error // until its context ends
	Without string                      // what the log says where it failed: what that means
}

// Service is a supervisor with what surrounds it in a process of its own: signals, the
// control socket, the watch on the configuration, the service manager. Run is called once; all other
// methods may be called while it runs, when it has begun to supervise, by several goroutines.
type Service struct {
	options  Options
	logs     *logging.Log
	log      *slog.Logger
	attempts *attemptLog
	outputs  *output.Store // nil before Run
	rates    *rates
	depths   *depths      // nil before Run
	memory   *redisMemory // likewise
	redactor atomic.Pointer[redact.Redactor]
	secrets  atomic.Pointer[callback.Secrets] // of addresses for answers
	own      *connect.Own                     // nil: Redis lives without us
	emptying *untilEmpty                      // leaves when the queues are empty; nil: it stays

	host     *runner.Host
	sup      *supervisor.Supervisor
	hub      *hub.Hub
	metrics  *metrics.Metrics
	census   *census.Keeper
	web      *web.App
	crons    *cron.Keeper
	rules    *accord.Keeper
	deciders *decider.Keeper
	fullness *fullness
	refusals refusals    // of the control socket
	ready    atomic.Bool // the service manager was told so, and not yet that it stops
	draining atomic.Bool // it leaves, with a limit or without

	reloads   sync.Mutex // one reload at a time; each ends in time. It guards the next three
	tried     config.Sum // of what the last one read, be it good or bad
	latest    *Reloaded  // the last that changed something; nil if none did
	latestAt  time.Time
	reading   chan struct{} // of size 1: holds a token while a configuration is being read
	hangup    chan struct{} // of size 1: HUP came
	hooked    chan struct{} // of size 1: what becomes a job may have changed
	reordered chan struct{} // of size 1: what has keys may have changed
	begun     chan struct{} // closed when there is a supervisor
	stopping  chan struct{} // closed when a limit was set to the time in which to leave
	hurry     chan struct{} // closed when that limit was taken back to now
	leaving   chan struct{} // closed when the parts were told to end
	stopOnce  sync.Once
	hurryOnce sync.Once

	mu    sync.Mutex // for memory only
	cfg   config.Config
	quiet bool

	orderConflicts []rules.Conflict // what Redis has otherwise of the order of queues

	owners []int         // to whom the configuration belonged when we started
	first  config.Config // with which we started; what needs a restart is still as it says
}

// New makes a service of the pools of cfg, which was validated. It starts nothing.
func New(cfg config.Config, o Options) *Service {
	s := &Service{
		options: o, logs: o.Log, log: o.Log.Logger(), rates: newRates(),
		cfg: cfg, first: cfg, tried: cfg.Sum,
		reading: make(chan struct{}, 1), hangup: make(chan struct{}, 1), hooked: make(chan struct{}, 1), reordered: make(chan struct{}, 1),
		begun: make(chan struct{}), stopping: make(chan struct{}), hurry: make(chan struct{}), leaving: make(chan struct{}),
	}
	s.attempts = newAttemptLog(s.log, cfg.Log.Attempts, s.standing)
	s.metrics = s.newMetrics(cfg.Metrics)
	s.hub = s.newHub()
	if o.OwnRedis != "" {
		path, err := filepath.Abs(cfg.Path)
		if err != nil {
			path = cfg.Path // and nobody finds it
		}
		s.own = &connect.Own{URL: o.OwnRedis, Config: path}
	}
	if o.UntilEmpty {
		s.emptying = &untilEmpty{within: o.Within, done: Emptied{Within: o.Within}}
	}
	return s
}

// Run supervises until a signal, the control socket or ctx ends it, and returns when nothing of it is left, or
// by the last resort. A Redis that is away is waited for. Errors of the configuration are config.Problems. What the
// standard library logs goes the way of our log from now on, so that none of it can stand still before a log that
// nobody reads; and the signals of this process are caught.
func (s *Service) Run(ctx context.Context) error {
	slog.SetDefault(s.log)
	cfg := s.config()
	outlivePipes()
	signals := s.options.Signals
	if signals == nil {
		signals = CatchSignals(s.options.Terminal)
	}
	defer signals.Release()
	ended := make(chan error, 1)
	go func() { ended <- s.work(ctx, cfg, signals.all) }() // or the process ends, by the last resort
	select {
	case err := <-ended:
		return err
	case <-s.stopping:
	case <-signals.stops:
	}
	return lastResort(ended, s.hurry, s.remains, s.timeToLeave)
}

// Emptied is what a service with UntilEmpty has done; it is asked when Run has returned.
func (s *Service) Emptied() Emptied { return s.emptying.done }

// part is something that runs until its context ends.
type part func(context.Context) error

// work is Run, however long it may stand still.
func (s *Service) work(ctx context.Context, cfg config.Config, signals <-chan os.Signal) error {
	makeThreads()
	told, err := plan.Supervisor(cfg, s.log)
	if err != nil {
		return err
	}
	client, err := connect.Open(ctx, cfg.Redis, s.log, s.metrics.JobCall)
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
	s.host, s.outputs, s.depths = host, output.New(told.StateDir, s.log), &depths{ask: askDepths(client)}
	s.memory = &redisMemory{ask: func(ctx context.Context) (map[string]string, error) { return admin.Facts(ctx, client, "memory") }}
	s.redactor.Store(LogRedactor(cfg.Log))
	told.OnEvent, told.ChildLog, told.OnDeath = s.hub.Note, s.hub.Line, s.tellDeath(client)
	if err := s.learnSecrets(cfg.Park); err != nil {
		return config.Wrong("park.secret_file", err)
	}
	base := cfg.Web.Base()
	told.Callback = func(klass, jid string) string { return s.secrets.Load().Address(base, klass, jid) }
	told.Ask = plan.RetryDecider(host, filepath.Dir(cfg.Path))
	if cfg.Web.RollCall {
		told.Awake = newAwake(client).pools
	}
	s.carries(told.Pools)
	limitGarbage(told.Pools)
	s.sup = supervisor.New(told, client, host)
	close(s.begun)
	look, err := connect.Looking(ctx, cfg.Redis, s.log, s.metrics.WebCall)
	if err != nil {
		return err
	}
	defer look.Close()
	s.metrics.Clients(client, look)
	s.census = census.New(look, s.noteCensus)
	s.rules = accord.NewKeeper(client, s.sup.AwaitRedis, s.holdForRules, s.log)
	s.rules.Tell(func(before, now int) {
		s.hub.Note(supervisor.Event{Kind: supervisor.RulesChanged, From: before, To: now})
	})
	s.rules.TellWindows(func(w accord.Opening) {
		kind := supervisor.WindowShut
		if w.Open {
			kind = supervisor.WindowOpened
		}
		s.hub.Note(supervisor.Event{Kind: kind, Name: w.Name})
	})
	s.fullness = &fullness{throttles: s.rules.Throttles, limits: look.RuledLimits, heard: s.hub.Listened, tell: s.hub.Note}
	s.rules.Set(cfg.RulesFile())
	s.deciders = decider.New(client, s.decide, s.sup.AwaitRedis, cfg.Supervisor.HostName(), s.log)
	s.deciders.Set(plan.Deciders(cfg))
	s.metrics.Deciders(s.deciders.Counts)
	s.web = s.newWeb(cfg, look)
	door, err := s.webDoor(cfg.Web)
	if err != nil {
		return err
	}
	s.crons = cron.New(client, s.sup.AwaitRedis, plan.Fleet(cfg), s.log)
	s.crons.Set(plan.Crons(cfg))
	s.metrics.Rules(s.rules.Counts)
	s.metrics.Windows(s.windows)
	s.owners = config.Owners(cfg.Files)
	s.log.Info("supervising", "pools", len(told.Pools), "redis", connect.Address(cfg.Redis.URL), "config", cfg.Path, "named", !cfg.Found, "pid", os.Getpid())
	s.warn(cfg)
	return errors.Join(runAll(ctx, s.parts(cfg, client, stateDir, signals, door)...), host.Close())
}

// parts are all that runs together, until the supervisor has left.
func (s *Service) parts(cfg config.Config, client *queue.Client, stateDir string, signals <-chan os.Signal, door part) []part {
	parts := []part{
		s.supervise,
		func(ctx context.Context) error { return s.obey(ctx, signals) },
		s.reloadOnHangup,
		s.hub.Run,
		s.census.Run,
		s.attempts.run,
		s.outputs.Run,
		s.crons.Run,
		s.rules.Run,
		s.deciders.Run,
		s.fullness.run,
		func(ctx context.Context) error { return s.keepHooks(ctx, client) },
		func(ctx context.Context) error { return s.keepOrder(ctx, client) },
		func(ctx context.Context) error { return s.noteServed(ctx, client) },
		func(ctx context.Context) error { return sweepStats(ctx, client, s.sup.AwaitRedis, s.log) },
		func(ctx context.Context) error { return s.announce(ctx, client) },
		func(ctx context.Context) error { systemd.Watchdog(ctx, s.alive); return nil },
		s.optional("nobody can ask it over its socket", func(ctx context.Context) error {
			return control.Serve(ctx, stateDir, socket{s}, control.Options{Beside: s.web.Handler(controlDoor()), Log: s.log, Refuse: s.refuse})
		}),
	}
	if cfg.Web.RollCall {
		parts = append(parts, s.optional("no other host is told how it is", func(ctx context.Context) error {
			return s.sup.WhileRedis(ctx, s.voice(cfg, client).Run)
		}))
	}
	if door != nil {
		parts = append(parts, s.optional("nobody can look at it over HTTP, but over the control socket", door))
	}
	if where := cfg.Web.MetricsListen; where != "" {
		parts = append(parts, s.optional("nobody can scrape it at web.metrics_listen", func(ctx context.Context) error { return s.monitorDoor(ctx, where) }))
	}
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
	if s.options.Programs {
		parts = append(parts, s.programWatches(cfg)...)
	}
	for _, b := range s.options.Beside {
		parts = append(parts, s.optional(b.Without, b.Run))
	}
	return parts
}

// stateDir returns dir if it can be used as a state directory. If others may have written
// there it is none, and another is made until remove is called; but for root, whose supervisor
// could be made to end anybody's processes.
func (s *Service) stateDir(dir string) (state string, remove func(), err error) {
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
func (s *Service) optional(without string, p part) part {
	return func(ctx context.Context) error {
		if err := p(ctx); err != nil {
			s.log.Error(without, "err", err)
		}
		return nil
	}
}

// supervise is the part that the others are there for: they end when it has.
func (s *Service) supervise(ctx context.Context) error {
	err := s.sup.Run(ctx)
	s.attempts.flush()
	if err != nil {
		return config.Wrong("supervisor.state_dir", err)
	}
	return errFinished
}

// errFinished says that the supervisor has left as it was asked to.
var errFinished = errors.New("finished")

// echo is how long after a signal to stop another one is the same: timeout(1), and others that pass a signal on, send it to the process
// and once more to its group, and whoever means "now" needs longer.
const echo = 200 * time.Millisecond

// obey does what signals say.
func (s *Service) obey(ctx context.Context, signals <-chan os.Signal) error {
	stopping := false
	var echoes <-chan time.Time // while what comes may be an echo
	draining := func() {}       // says so, from when on a second signal counts
	defer func() { draining() }()
	for {
		var got os.Signal
		select {
		case <-ctx.Done():
			return nil
		case <-echoes:
			echoes = nil
			draining()
			draining = func() {}
			continue
		case got = <-signals:
		}
		switch got {
		case syscall.SIGTERM, syscall.SIGINT:
			s.sup.Signaled()
			switch {
			case echoes != nil:
			case stopping:
				s.stopNow()
				s.log.Warn("stopping now: what runs is killed and given back", "signal", got)
			default:
				stopping = true
				s.Stop()
				echoes = time.After(echo)
				draining = func() {
					s.log.Info("draining: leaving when what runs has finished; once more stops now", "signal", got, "drain_timeout", s.config().Supervisor.DrainTimeout)
				}
			}
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

// newHub makes what hears the events and lines of the supervisor, and passes them on to the log.
func (s *Service) newHub() *hub.Hub {
	lines := s.options.ChildLog
	if lines == nil {
		lines = func(l supervisor.Line) { supervisor.LogLine(s.log, l) }
	}
	return hub.New(hub.Options{
		Snapshot: func() supervisor.Snapshot { return s.sup.Snapshot() },
		Events:   []func(supervisor.Event){s.metrics.Note, s.note},
		Lines:    []func(supervisor.Line){s.metrics.Line, lines},
		Logger:   s.log,
	})
}

// note hears of everything countable, from the loops of the pools: it never waits.
func (s *Service) note(e supervisor.Event) {
	if s.emptying != nil {
		s.emptying.tally.note(&e)
	}
	if outcome := hub.OutcomeOf(&e); outcome != "" {
		s.attempts.note(&e, outcome)
		s.keepOutput(&e, outcome)
		s.rates.note(e.Pool, e.Job.Queue, outcome)
	}
}

// standing is what the hourly line says of the supervisor beside what was done.
func (s *Service) standing() []any {
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

// remains is how many jobs are in flight and children live; none before there is a supervisor.
func (s *Service) remains() remains {
	select {
	case <-s.begun:
		return remains{inFlight: s.sup.InFlight(), living: s.host.Living()}
	default:
		return remains{}
	}
}

// Quiet takes no more jobs until Resume.
func (s *Service) Quiet() {
	s.sup.Quiet()
	if s.setQuiet(true) {
		s.log.Info("quiet: no more jobs are taken until CONT, or `oarlock resume`")
	}
}

// Resume takes jobs again.
func (s *Service) Resume() {
	s.sup.Resume()
	if s.setQuiet(false) { // service managers send CONT along with TERM
		s.log.Info("resumed")
	}
}

// setQuiet reports whether that changes anything: what drains takes no jobs either way.
func (s *Service) setQuiet(quiet bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.quiet != quiet
	s.quiet = quiet
	return changed && !s.draining.Load()
}

// Drain leaves when everything that runs has finished.
func (s *Service) Drain() {
	s.draining.Store(true)
	s.sup.Drain()
	s.ready.Store(false)
	systemd.Stopping()
}

// Stop leaves when everything that runs has finished, at the latest after drain_timeout.
func (s *Service) Stop() {
	s.stopOnce.Do(func() { close(s.stopping) }) // first: nothing below may stand in its way
	s.draining.Store(true)
	s.sup.Stop()
	s.ready.Store(false)
	systemd.Stopping()
}

// stopNow kills what runs and leaves, after Stop.
func (s *Service) stopNow() {
	s.hurryOnce.Do(func() { close(s.hurry) })
	s.sup.StopNow()
}

// Recycle replaces the children of a pool, or of all.
func (s *Service) Recycle(pool string) error {
	s.log.Info("recycling", "pool", cmp.Or(pool, "all"))
	return s.sup.Recycle(pool)
}

// config is the configuration in force.
func (s *Service) config() config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

// dump writes all goroutines and the state of all pools to the log.
func (s *Service) dump() {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	state, err := json.Marshal(s.sup.Snapshot())
	s.log.Info("dump", "goroutines", string(stacks), "state", string(state), "err", err)
}
