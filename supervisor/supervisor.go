// Package supervisor decides which job runs on which child, and what Redis is told
// after. It joins package queue, which knows Redis, to package runner, which knows
// processes; a job passes through it from one to the other and back.
//
// A [Supervisor] has pools, and each pool a loop of its own which owns its state. It begins and
// ends them, and is what they have in common: one look at all queues, one subscription, one
// memory of what is left if it is killed.
package supervisor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/internal/inbox"
	"oarlock/supervisor/internal/intake"
	"oarlock/supervisor/internal/lists"
	"oarlock/supervisor/internal/lookout"
	"oarlock/supervisor/internal/pool"
	"oarlock/supervisor/internal/starts"
	"oarlock/supervisor/internal/statedir"
	"oarlock/supervisor/report"
)

// Supervisor works the jobs of some queues with some pools of children. Its methods are
// safe for concurrent use.
type Supervisor struct {
	host   *runner.Host // nil in tests
	redis  redis
	shared pool.Shared
	look   *lookout.Lookout
	lists  *lists.Keeper
	intake *intake.Keeper
	inbox  inbox.Inbox // for the goroutine of Run, which owns the life file and the notices
	log    *slog.Logger

	mu      sync.Mutex
	cfg     Config
	pools   map[string]*pool.Pool // those that were not told to drain
	leaving []*pool.Pool          // those that were
	began   time.Duration         // 0 before Run
	quiet   bool
	abstain string          // why nothing is taken, of our own accord; "": it is
	alone   map[string]bool // pools that were told by themselves to be quiet
	ending  bool            // no pool is started any more
	owing   bool            // a pool left jobs about which Redis was told nothing
}

// New prepares a supervisor, which does nothing before Run. client and host remain
// the caller's, and must outlive Run; the session of each pool is made from client.
func New(cfg Config, client *queue.Client, host *runner.Host) *Supervisor {
	s := build(cfg, redisClient{client}, hostStarter{host})
	s.host = host
	return s
}

// build is New for anything that behaves like a client and a host.
func build(cfg Config, r redis, start pool.Starter) *Supervisor {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.PollInterval <= 0 {
		cfg.PollInterval = DefaultPollInterval
	}
	if cfg.Clock == nil {
		cfg.Clock = new(clock.Boot).Now
	}
	if cfg.Name == "" {
		cfg.Name, _ = os.Hostname() // "" will do: the rest of a worker's name is unique
	}
	s := &Supervisor{
		log:   cfg.Logger,
		inbox: inbox.New(),
		cfg:   cfg,
		pools: map[string]*pool.Pool{},
		alone: map[string]bool{},
		redis: r,
		shared: pool.Shared{
			Clock:      cfg.Clock,
			Redis:      r,
			Starter:    start,
			Starts:     starts.New(starts.AtATime(), cfg.Logger),
			Places:     starts.NewPlaces(),
			Complaints: lookout.NewComplaints(cfg.Logger, cfg.Clock),
			Base:       cfg.Logger,
			Host:       cfg.Name,
			OnEvent:    cfg.OnEvent,
			Callback:   cfg.Callback,
			Ask:        cfg.Ask,
			Awake:      cfg.Awake,
			ChildLog:   cfg.ChildLog,
			Poll:       cfg.PollInterval,
			InFlight:   new(atomic.Int64),
		},
	}
	s.shared.Gate = gate.New(r.Ping, cfg.Logger, s.tellOutage())
	if s.shared.ChildLog == nil {
		s.shared.ChildLog = func(l Line) { LogLine(cfg.Logger, l) }
	}
	s.look = lookout.New(r, s.shared.Gate, cfg.Clock, cfg.PollInterval, s.shared.Complaints, cfg.Logger)
	s.look.Hear(func(t queue.Tended) { s.event(Event{Kind: Tended, Tended: &t, Message: report.TendedWords(&t)}) })
	s.look.HearAnswers(func(taken, broken int) { s.event(Event{Kind: AnswersRead, Count: taken, Broken: broken}) })
	s.lists = lists.New(r, s.shared.Gate, cfg.Clock, cfg.PollInterval, cfg.Logger)
	s.intake = intake.New(r, s.shared.Gate, cfg.PollInterval, cfg.Logger)
	s.intake.Set(cfg.Intake)
	s.shared.Soon = s.look.Soon
	return s
}

// Run works until it was told to drain or stop and nothing is left to do. When ctx
// ends it stops, as by Stop. It waits for Redis for as long as it takes.
//
// The error is about the state directory; nothing was started then. Run must be
// called once.
func (s *Supervisor) Run(ctx context.Context) error {
	legacy, err := statedir.Begin(s.cfg.StateDir)
	if err != nil {
		return err
	}
	s.shared.Legacy, s.shared.Suspects = legacy, statedir.NewSuspects(legacy)
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	var parts sync.WaitGroup
	parts.Go(func() { s.shared.Gate.Run(background) })
	parts.Go(func() { s.look.Run(background) })
	parts.Go(func() { s.lists.Run(background) })
	parts.Go(func() { s.intake.Run(background) })
	parts.Go(func() { s.successor().Run(background) })

	s.mu.Lock()
	s.began = s.shared.Clock()
	for _, p := range s.cfg.Pools {
		s.add(p)
	}
	s.mu.Unlock()
	s.changed()

	stop := ctx.Done()
	var listening listening
	for {
		select {
		case <-stop:
			stop = nil
			s.Stop()
		case <-s.inbox.Wake:
		}
		s.inbox.Work()
		pools, over := s.reap()
		if over {
			break
		}
		listening.to(background, s, pools)
	}
	listening.stop()
	end()
	seeOut(&parts)
	if s.owing {
		legacy.Abandon()
	} else {
		legacy.End()
	}
	return nil
}

// lastBreath is how long the supervisor waits for questions to Redis whose answers
// nobody needs any more.
const lastBreath = 200 * time.Millisecond

// seeOut waits for parts that were told to end. What they have just asked a Redis that
// does not answer cannot be taken back: that ends when the client is closed, at the
// latest, and nothing is done with it.
func seeOut(parts *sync.WaitGroup) {
	ended := make(chan struct{})
	go func() { // ends with the last of them
		parts.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(lastBreath):
	}
}

// add starts a pool. The caller holds mu.
func (s *Supervisor) add(cfg Pool) {
	if s.ending {
		return
	}
	p := pool.New(&s.shared, cfg, s.workerName(cfg.Name))
	p.Quiet(s.quiet)
	p.Abstain(s.abstain)
	p.QuietAlone(s.alone[cfg.Name])
	s.pools[cfg.Name] = p
	s.bequeath()
	go func() {
		s.event(Event{Kind: PoolBegan, Pool: cfg.Name})
		p.Run()
		s.event(Event{Kind: PoolEnded, Pool: cfg.Name})
		s.changed()
	}() // reap waits for it
}

// workerName makes a name that no other pool, here or anywhere, has or ever had:
// names are all that Redis knows of who holds a lock.
func (s *Supervisor) workerName(of string) string {
	var unique [5]byte
	rand.Read(unique[:]) // never fails, by its documentation
	return fmt.Sprintf("%s-%d-%s-%x", s.cfg.Name, os.Getpid(), of, unique)
}

// changed makes Run look at its pools again.
func (s *Supervisor) changed() { s.inbox.Post(func() {}) }

// reap forgets pools that have ended, and reports whether the supervisor has.
func (s *Supervisor) reap() (left []*pool.Pool, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = slices.DeleteFunc(s.leaving, func(p *pool.Pool) bool {
		select {
		case <-p.Done():
			s.owing = s.owing || p.Owes()
			return true
		default:
			return false
		}
	})
	for _, p := range s.pools {
		left = append(left, p)
	}
	var watched []lookout.Pool
	var listed []lists.Pool
	for _, p := range left {
		if p.List() != nil {
			listed = append(listed, p)
		} else {
			watched = append(watched, p)
		}
	}
	if !s.ending {
		for _, from := range s.cfg.Intake {
			listed = append(listed, intakeList{queue.List{Name: from.List}, s.intake})
		}
	}
	s.look.Watch(watched)
	s.lists.Watch(listed)
	left = append(left, s.leaving...)
	return left, s.ending && len(left) == 0
}

// intakeList is a list that is taken in, for who counts what is in lists.
type intakeList struct {
	list   queue.List
	keeper *intake.Keeper
}

func (l intakeList) List() *queue.List { return &l.list }

func (l intakeList) Looked(counts queue.ListCounts, _ int, _ time.Duration) {
	l.keeper.Looked(l.list.Name, counts)
}

// Drain makes all pools take nothing more, and Run return when all that is in flight
// was finished and settled. There is no limit to the time that may take; Stop and
// StopNow end it sooner.
func (s *Supervisor) Drain() { s.end(func(p *pool.Pool) { p.Drain(0) }) }

// Stop is Drain with a limit: jobs still at work after Config.DrainTimeout are
// interrupted, which costs them nothing.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	timeout := s.cfg.DrainTimeout
	s.mu.Unlock()
	s.end(func(p *pool.Pool) { p.Drain(max(timeout, 1)) })
}

// StopNow kills all children, gives their jobs back if Redis answers within half a
// second, and makes Run return, within a second even if Redis hangs.
func (s *Supervisor) StopNow() { s.end((*pool.Pool).Kill) }

func (s *Supervisor) end(how func(*pool.Pool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	s.intake.Set(nil)
	for _, p := range s.pools {
		s.leaving = append(s.leaving, p)
	}
	clear(s.pools)
	for _, p := range s.leaving {
		how(p)
	}
	s.changed()
}

// Signaled tells that this process was just sent a signal that ends it; Stop or StopNow
// follow. Whoever sent it may have sent it to the children too, so a child that ends without
// a verdict from a second before to a second after that was interrupted, by whatever code or
// signal: its job goes back uncounted. That includes exit code 0, for many programs leave so
// when they are told to, in the middle of their work; only a verdict is believed then.
func (s *Supervisor) Signaled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pools {
		p.Signaled()
	}
	for _, p := range s.leaving {
		p.Signaled()
	}
}

// Quiet makes all pools take nothing more until Resume.
func (s *Supervisor) Quiet() { s.setQuiet(true) }

// Resume ends Quiet. Pools that are quiet by QuietPool stay so.
func (s *Supervisor) Resume() { s.setQuiet(false) }

func (s *Supervisor) setQuiet(quiet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = quiet
	for _, p := range s.pools {
		p.Quiet(quiet)
	}
}

// Abstain makes all pools that work queues take nothing, those too that come with a Reload, for as long as what must count for
// their jobs does not count yet; why says so, in words that follow "takes no jobs: ". With why "" they take again. It is none of
// Quiet's business, which people say. It may be called before Run.
func (s *Supervisor) Abstain(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.abstain == why {
		return
	}
	s.abstain = why
	for _, p := range s.pools {
		p.Abstain(why)
	}
}

// abstains is why nothing is taken though Redis is there and nobody wants quiet; "" where that is not so.
func (s *Supervisor) abstains() string {
	if !s.fresh() || !s.shared.Gate.IsOpen() {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.look.Abstains(), s.abstain)
}

// pool finds a pool by name.
func (s *Supervisor) pool(name string) (*pool.Pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pools[name]; p != nil {
		return p, nil
	}
	if s.ending {
		return nil, errEnding
	}
	return nil, fmt.Errorf("no pool named %q", name)
}

// Scale sets how many children a pool keeps, until a Reload that changes the pool. In a pool with
// bounds it is moved within them only for the moment. A child too many leaves when it
// has finished its job. The error says that there is no such pool, or that n is
// negative.
func (s *Supervisor) Scale(name string, n int) error {
	p, err := s.pool(name)
	if err != nil {
		return err
	}
	if n < 0 {
		return errors.New("a pool cannot have a negative number of children")
	}
	p.Scale(n)
	return nil
}

// Recycle replaces the children of a pool, of all pools if it is "", one slot at a
// time and each by one that is ready. The error says that there is no such pool.
//
// A new generation of children has to prove itself in one slot first: by an acknowledged
// job, or 20 endings no worse than those before, or, where no job comes or tells anything,
// by a minute. Until then the old one stays, and takes back its slot at the first bad sign.
func (s *Supervisor) Recycle(name string) error { return s.recycle(name, false) }

// Replace is Recycle without proof: the new children have all slots as soon as they are
// ready, for somebody who is at work on the program and wants to see what it does now.
func (s *Supervisor) Replace(name string) error { return s.recycle(name, true) }

func (s *Supervisor) recycle(name string, trusted bool) error {
	if name != "" {
		p, err := s.pool(name)
		if err != nil {
			return err
		}
		p.Recycle(trusted)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errEnding
	}
	for _, p := range s.pools {
		p.Recycle(trusted)
	}
	return nil
}

// errEnding refuses what makes no sense any more.
var errEnding = errors.New("the supervisor is draining, and leaves")

// Ready reports whether Redis has answered lately, and jobs are being taken where there are any; that people want quiet
// does not change it.
func (s *Supervisor) Ready() bool {
	s.mu.Lock()
	began, ending := s.began, s.ending
	s.mu.Unlock()
	return began > 0 && !ending && s.fresh() && s.shared.Gate.IsOpen() && s.abstains() == ""
}

// Queues is what there was in the queues of all pools when Redis last told, and its time then; nil if it has not told lately. The
// caller must not change it. It asks nobody.
func (s *Supervisor) Queues() (seen []queue.QueueOutlook, now float64) {
	if !s.fresh() {
		return nil, 0
	}
	return s.look.Seen()
}

// fresh reports whether Redis has told lately what there is in the queues.
func (s *Supervisor) fresh() bool {
	last := s.look.Answered()
	return last > 0 && s.shared.Clock()-last < 3*s.shared.Poll+2*time.Second
}

// InFlight is how many attempts are not over. Unlike Snapshot it waits for nobody, and so
// answers when a pool stands still.
func (s *Supervisor) InFlight() int { return int(s.shared.InFlight.Load()) }

// Away returns why Redis cannot be used at the moment; nil if it can, or if nobody has
// asked it yet.
func (s *Supervisor) Away() error { return s.shared.Gate.Reason() }

// AwaitRedis returns when Redis is thought to be there, or when ctx ends: at once where it is. What
// asks Redis beside the pools waits so, and one alone looks whether it is back. It is safe for
// concurrent use.
func (s *Supervisor) AwaitRedis(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.shared.Gate.Open():
	}
}

// WhileRedis calls do whenever Redis is thought to be there, one call after the other, and ends the context of the call
// when Redis is away, until ctx ends or do fails, whose error it returns. What listens to Redis beside the pools does
// it so, and dials as little as they do. It is safe for concurrent use.
func (s *Supervisor) WhileRedis(ctx context.Context, do func(context.Context) error) error {
	for {
		s.AwaitRedis(ctx)
		if ctx.Err() != nil {
			return nil
		}
		there, away := context.WithCancel(ctx)
		watched := make(chan struct{})
		go func() { // waited for below
			defer close(watched)
			select {
			case <-s.shared.Gate.Closed():
				away()
			case <-there.Done():
			}
		}()
		err := do(there)
		away()
		<-watched
		if err != nil {
			return err
		}
	}
}

// snapshotWait bounds how long Snapshot waits for a pool. Their loops never wait for
// anything, so only a busy machine makes it that long: while it starts thousands of children, for instance.
const snapshotWait = time.Second

// Snapshot describes the supervisor as it is now. Pools whose loop does not answer
// within a second are named in its Stuck, and nothing else is told of them.
func (s *Supervisor) Snapshot() Snapshot { return s.SnapshotWithin(snapshotWait) }

// SnapshotWithin is Snapshot where loops have so long to answer.
func (s *Supervisor) SnapshotWithin(wait time.Duration) Snapshot {
	ready, abstains := s.Ready(), s.abstains()
	s.mu.Lock()
	shot := Snapshot{
		Name:     s.cfg.Name,
		PID:      os.Getpid(),
		Ready:    ready,
		Quiet:    s.quiet,
		Draining: s.ending,
		Abstains: abstains,
	}
	if s.began > 0 {
		shot.Up = (s.shared.Clock() - s.began).Seconds()
	}
	pools := slices.Clone(s.leaving)
	for _, p := range s.pools {
		pools = append(pools, p)
	}
	s.mu.Unlock()
	if s.host != nil {
		strength, _ := s.host.KillStrength()
		shot.KillStrength = strength.String()
	}
	shot.Short, _ = s.shared.Starts.ShortOf(s.shared.Clock())
	shot.Redis = s.shared.Gate.Describe()
	shot.Intake = s.intake.Snapshot()
	if last := s.look.Answered(); last > 0 {
		shot.Seen = max((s.shared.Clock() - last).Seconds(), 0.001)
	}
	shot.Pools, shot.Stuck = askPools(pools, wait)
	for i := range shot.Pools {
		if p := &shot.Pools[i]; p.List != nil { // the lookout looks at no lists, but what the key space needs holds for them, too
			p.Abstains = s.look.Abstains()
		}
	}
	return shot
}

// askPools asks pools how they are, each by name, and returns the names of those that do not answer in time.
func askPools(pools []*pool.Pool, wait time.Duration) (told []PoolSnapshot, stuck []string) {
	told = []PoolSnapshot{} // which JSON has as a list
	patience, impatient := context.WithTimeout(context.Background(), wait)
	defer impatient()
	answers := make([]<-chan PoolSnapshot, len(pools))
	for i, p := range pools {
		answers[i] = p.Snapshot()
	}
	for i, p := range pools {
		select {
		case answer := <-answers[i]:
			told = append(told, answer)
			continue
		case <-p.Done():
			continue
		case <-patience.Done():
		}
		select { // it may have answered while another was waited for
		case answer := <-answers[i]:
			told = append(told, answer)
		case <-p.Done():
		default:
			stuck = append(stuck, p.Name())
		}
	}
	slices.SortFunc(told, func(a, b PoolSnapshot) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(stuck)
	return told, slices.Compact(stuck)
}

// levelOf is the level that a child names in its own words, or in those of its language's logger; info if nobody
// knows it, for what a child says is not lost over a word.
func levelOf(word string) (level slog.Level, known bool) {
	switch strings.ToLower(word) {
	case "trace", "debug":
		return slog.LevelDebug, true
	case "info", "notice":
		return slog.LevelInfo, true
	case "warn", "warning":
		return slog.LevelWarn, true
	case "error", "critical", "fatal":
		return slog.LevelError, true
	}
	return slog.LevelInfo, false
}

// LogLine is the default of Config.ChildLog: it logs the child's words, as such. It is safe for concurrent use.
func LogLine(log *slog.Logger, l Line) {
	ctx := context.Background()
	if l.Dropped > 0 {
		log.Warn(runner.TooManyLines(l.Dropped), "pool", l.Pool, "slot", l.Slot, "stream", l.Stream.String(), "jid", l.JID)
		return
	}
	if l.Record != nil {
		level, known := levelOf(l.Record.Level)
		if !log.Enabled(ctx, level) {
			return
		}
		attrs := []slog.Attr{ // the stream first: what follows are the words of a child
			slog.String("stream", l.Stream.String()), slog.String("pool", l.Pool), slog.String("jid", l.JID),
		}
		if l.TraceID != "" {
			attrs = append(attrs, slog.String("trace_id", l.TraceID))
		}
		if !known {
			attrs = append(attrs, slog.String("child.level", l.Record.Level))
		}
		for _, f := range l.Record.Fields {
			attrs = append(attrs, slog.String("child."+f.Name, string(f.Value)))
		}
		log.LogAttrs(ctx, level, l.Record.Message, attrs...)
		return
	}
	level := slog.LevelInfo
	if l.Overwritten {
		level = slog.LevelDebug // a progress bar is for who looks on
	}
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("line", string(protocol.Visible(nil, l.Text))),
		slog.String("stream", l.Stream.String()), slog.String("pool", l.Pool), slog.Int("slot", l.Slot),
		slog.String("jid", l.JID),
	}
	if l.TraceID != "" {
		attrs = append(attrs, slog.String("trace_id", l.TraceID))
	}
	if l.Refused != "" {
		attrs = append(attrs, slog.String("refused", l.Refused))
	}
	log.LogAttrs(ctx, level, "child", attrs...)
}
