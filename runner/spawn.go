package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/protocol"
	"oarlock/runner/internal/tree"
)

// Defaults of a Spec.
const (
	defaultStartTimeout = 30 * time.Second
	defaultWriteTimeout = 10 * time.Second
	defaultExitTimeout  = 10 * time.Second
)

// privateWorkDir as Spec.Dir stands for the private directory.
const privateWorkDir = "private"

// statusFD is the number of the descriptor for status lines in a child.
const statusFD = 3

// withDefaults returns spec with the zero values replaced that stand for another.
func withDefaults(spec *Spec) *Spec {
	s := *spec
	fill := func(d *time.Duration, missing time.Duration) {
		if *d == 0 {
			*d = missing
		}
	}
	fill(&s.StartTimeout, defaultStartTimeout)
	fill(&s.WriteTimeout, defaultWriteTimeout)
	fill(&s.ExitTimeout, s.KillGrace)
	fill(&s.ExitTimeout, defaultExitTimeout)
	if s.MaxLine == 0 {
		s.MaxLine = protocol.DefaultMaxLine
	}
	return &s
}

// start starts a child up to the point where its process runs.
func (h *Host) start(ctx context.Context, spec *Spec, slot int, first *protocol.Job, lease time.Duration, events Events) (*Child, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(spec.Command) == 0 {
		return nil, errors.New("no command is given")
	}
	c := &Child{
		host: h, spec: withDefaults(spec), slot: slot, events: events, first: first,
		kept:  newTranscript(spec.KeepOutput),
		ready: make(chan struct{}), claimed: make(chan struct{}), exited: make(chan struct{}),
	}
	var err error
	if c.dir, err = h.privateDir(spec); err != nil {
		return nil, err
	}
	ours, theirs, err := openChannels(c.spec)
	if err == nil {
		err = c.takeChannels(ours)
	}
	if err == nil {
		if spec.Mode == Preload {
			c.proc, err = h.fork(ctx, spec, c, theirs)
		} else {
			c.proc, err = h.launch(c, lease, theirs)
		}
	}
	theirs.close()
	if err != nil {
		ours.close()
		if c.dir != "" {
			h.dirs.Remove(c.dir)
		}
		return nil, err
	}
	c.pid = c.proc.PID()
	c.started = time.Now()
	for _, s := range c.streams() {
		c.listening.Go(func() {
			<-c.claimed
			s.listen()
		})
	}
	return c, nil
}

// launch makes the process of c.
func (h *Host) launch(c *Child, lease time.Duration, files channels) (p tree.Process, err error) {
	dir := c.spec.Dir
	if dir == privateWorkDir {
		dir = c.dir
	}
	set, err := settingsOf(dir, &c.spec.Sandbox)
	if err != nil {
		return nil, err
	}
	set.Until = lease
	strength, err := h.starter.Resolve(c.spec.Kill)
	if err != nil {
		return nil, err
	}
	if c.filled, err = c.words(); err != nil {
		return nil, err
	}
	cmd := tree.Command(slices.Concat(c.spec.Command, c.filled.args))
	cmd.Dir = dir
	cmd.Env = c.environment(c.filled.vars)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files.in, files.out, files.err
	if files.in == nil {
		cmd.Stdin = nil
	}
	if files.status != nil {
		cmd.ExtraFiles = []*os.File{files.status} // becomes statusFD
	}
	p, err = h.starter.Start(cmd, strength, set)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.spec.Command[0], c.filled.tooLong(err))
	}
	return p, nil
}

// settingsOf turns the words of a sandbox into numbers. Names are looked up each time, for an
// administrator may add a user while we run.
func settingsOf(dir string, b *Sandbox) (tree.Settings, error) {
	s := tree.Settings{Dir: dir, Umask: b.Umask, Nice: b.Nice, OOMScoreAdj: b.OOMScoreAdj, NoNewPrivs: b.NoNewPrivs}
	var err error
	if s.User, err = tree.LookUp(b.User, b.Group); err != nil {
		return s, err
	}
	l := &b.Limits
	for _, limit := range []struct {
		resource int
		max      *uint64
	}{
		{unix.RLIMIT_NOFILE, l.NoFile},
		{unix.RLIMIT_CORE, l.Core},
		{unix.RLIMIT_FSIZE, l.FSize},
	} {
		if limit.max != nil {
			s.Limits = append(s.Limits, tree.Rlimit{Resource: limit.resource, Max: *limit.max})
		}
	}
	if l.Memory != nil {
		s.Memory = *l.Memory
	}
	if l.CPU != nil {
		s.Limits = append(s.Limits, tree.Rlimit{Resource: unix.RLIMIT_CPU, Max: uint64((*l.CPU + time.Second - 1) / time.Second)})
	}
	return s, nil
}

// mostCallback is how long an address is that goes into an environment, where no variable has more than 128 KiB: a class may have any
// name.
const mostCallback = 8 << 10

// environment returns the environment of the child: the pool's, vars, and ours on top.
func (c *Child) environment(vars []string) []string {
	s := c.spec
	ours := map[string]string{
		protocolEnv:        strconv.Itoa(protocol.Version),
		"OARLOCK_MODE":     s.Mode.String(),
		"OARLOCK_POOL":     s.Pool,
		"OARLOCK_SLOT":     strconv.Itoa(c.slot),
		"OARLOCK_STATUS":   s.Status.String(),
		"OARLOCK_MAX_LINE": strconv.Itoa(s.MaxLine),
		supervisorEnv:      ownMark(),
	}
	if s.Status != StatusExit {
		ours["OARLOCK_STATUS_FD"] = strconv.Itoa(statusFD)
	}
	if s.DrainSignal != 0 {
		ours["OARLOCK_DRAIN_SIGNAL"] = strings.TrimPrefix(unix.SignalName(s.DrainSignal), "SIG")
	}
	if c.dir != "" {
		ours["OARLOCK_DIR"], ours["TMPDIR"] = c.dir, c.dir
	}
	if s.PTY {
		ours["TERM"], ours["NO_COLOR"] = "dumb", "1"
	}
	if j := c.first; j != nil {
		ours["OARLOCK_RUN"] = j.Run
		ours["OARLOCK_JID"] = envText(j.JID)
		ours["OARLOCK_KLASS"] = envText(j.Klass)
		ours["OARLOCK_QUEUE"] = envText(j.Queue)
		ours["OARLOCK_ATTEMPT"] = strconv.Itoa(j.Attempt)
		if j.Callback != "" && len(j.Callback) <= mostCallback {
			ours["OARLOCK_CALLBACK"] = j.Callback
		}
		ours["OARLOCK_TIMEOUT"] = strconv.FormatFloat(j.Timeout.Seconds(), 'f', -1, 64)
	}
	if j := c.first; j != nil && j.Trace != nil {
		ours["TRACEPARENT"], ours["TRACESTATE"] = j.Trace.Parent, j.Trace.State
	}
	env := make([]string, 0, len(s.Env)+len(vars)+len(ours)+1)
	buffering := false
	for i, entry := range slices.Concat(s.Env, vars) {
		name, _, _ := strings.Cut(entry, "=")
		_, taken := ours[name]
		if _, filled := s.Vars[name]; filled && i < len(s.Env) {
			taken = true
		}
		if !taken && !strings.HasPrefix(name, "OARLOCK_") {
			env = append(env, entry)
		}
		buffering = buffering || name == "PYTHONUNBUFFERED"
	}
	for name, value := range ours {
		env = append(env, name+"="+value)
	}
	if !buffering {
		env = append(env, "PYTHONUNBUFFERED=1") // or its lines would come when it ends
	}
	return env
}

// envLimit is the longest text of a job that an environment is given, in bytes.
const envLimit = 1 << 10

// envText makes a name that somebody chose for a job fit for an environment.
func envText(s string) string {
	return string(protocol.Visible(nil, []byte(s[:min(len(s), envLimit)])))
}

// channels are the ends of what connects us and a child, ours or the child's.
type channels struct {
	in, out, err, status *os.File // in or status nil: there is none
	terminal             bool     // out is a pseudo-terminal
}

func (f *channels) close() {
	for _, file := range []*os.File{f.in, f.out, f.err, f.status} {
		if file != nil {
			file.Close()
		}
	}
}

// openChannels makes what connects us and a child of spec. Both are to be closed
// if there is an error.
func openChannels(spec *Spec) (ours, theirs channels, err error) {
	if spec.Input != InputNone {
		if theirs.in, ours.in, err = tree.Pipe(false); err != nil {
			return ours, theirs, err
		}
	}
	ours.terminal = spec.PTY
	if spec.PTY {
		ours.out, theirs.out, err = openTerminal()
	} else {
		ours.out, theirs.out, err = tree.Pipe(true)
	}
	if err != nil {
		return ours, theirs, err
	}
	if ours.err, theirs.err, err = tree.Pipe(true); err != nil {
		return ours, theirs, err
	}
	if spec.Status != StatusExit {
		ours.status, theirs.status, err = tree.Pipe(true)
	}
	return ours, theirs, err
}

// takeChannels makes the streams of c of our ends.
func (c *Child) takeChannels(ours channels) (err error) {
	if c.in, err = newStdin(ours.in); err != nil {
		return err
	}
	if c.out, err = newStream(c, Stdout, ours.out, ours.terminal); err != nil {
		return err
	}
	if c.err, err = newStream(c, Stderr, ours.err, false); err != nil {
		return err
	}
	if ours.status != nil {
		c.st, err = newStream(c, StatusStream, ours.status, false)
	}
	return err
}

// streams returns what c is listened to by.
func (c *Child) streams() []*stream {
	if c.st == nil {
		return []*stream{c.out, c.err}
	}
	return []*stream{c.st, c.out, c.err}
}

// privateDir makes the private directory that spec asks for; none is "".
func (h *Host) privateDir(spec *Spec) (string, error) {
	if !spec.Sandbox.PrivateDir && spec.Dir != privateWorkDir {
		return "", nil
	}
	owner, err := tree.LookUp(spec.Sandbox.User, spec.Sandbox.Group)
	if err != nil {
		return "", err
	}
	if owner == nil {
		return h.dirs.Create(-1, -1)
	}
	return h.dirs.Create(owner.UID, owner.GID)
}

// giveBackDir takes the private directory away from a child that ended so, and
// returns where it is kept if it is.
func (c *Child) giveBackDir(exit *Exit, keep bool) string {
	dirs := c.host.dirs
	switch {
	case c.dir == "":
	case keep:
		return dirs.Keep(c.dir, c.spec.Pool, c.spec.Sandbox.KeepFailed)
	case c.leftNobody(exit):
		dirs.GiveBack(c.dir)
	default:
		dirs.Remove(c.dir)
	}
	return ""
}

// leftNobody tells whether nothing is alive, for sure, that a child has started which ended so.
func (c *Child) leftNobody(exit *Exit) bool {
	strength, err := c.host.starter.Resolve(c.spec.Kill)
	return err == nil && strength != tree.Group && exit.Left == 0 && exit.Signal == 0 && exit.Cause == CauseNone && !exit.Lost
}
