package runner

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/runnertest"
	"oarlock/runner/internal/tree"
)

// patience is how long a test waits for what must happen; ten million lines take their time
// under the race detector, on a machine that does other things.
const patience = 10 * time.Minute

// What the tests of all packages below use as well.
var (
	must     = runnertest.Must
	until    = runnertest.Until
	python   = runnertest.Python
	running  = runnertest.Running
	escapees = runnertest.Escapees
	scaled   = runnertest.Scaled
)

// strengths are those that this machine has; what it has not is said.
func strengths(t *testing.T) []KillStrength {
	t.Helper()
	starter, err := tree.Open()
	must(t, err)
	defer starter.Close()
	if _, err := starter.Resolve(KillCgroup); err != nil {
		t.Logf("this machine cannot show strength cgroup: %v", err)
		return []KillStrength{KillGuard, KillGroup}
	}
	return []KillStrength{KillCgroup, KillGuard, KillGroup}
}

var strengthNames = map[string]KillStrength{"cgroup": KillCgroup, "guard": KillGuard, "group": KillGroup}

// checkLeft fails the test if anything in file lives on; or, with strength group, if anything does not: what leaves the group is out of its reach, and the other strengths are for that.
func checkLeft(t *testing.T, strength KillStrength, file string) {
	t.Helper()
	runnertest.CheckLeft(t, strength == KillGroup, file)
}

// newHost returns a host that is closed, with all that it started, when the test ends.
func newHost(t testing.TB) *Host {
	t.Helper()
	return newHostAt(t, t.TempDir())
}

// newHostAt is newHost with its private directories in root.
func newHostAt(t testing.TB, root string) *Host {
	t.Helper()
	h, err := NewHost(HostOptions{Logger: logTo(t.Output()), PrivateRoot: root})
	must(t, err)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// fixture returns the command of a program in testdata.
func fixture(name string, args ...string) []string {
	path := filepath.Join("testdata", name)
	interpreter := "/bin/sh"
	if strings.HasSuffix(name, ".py") {
		interpreter = python()
	}
	return append([]string{interpreter, path}, args...)
}

// shell returns a command that runs a script.
func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

// witness is the Events of a test: it keeps what it is told.
type witness struct {
	mu          sync.Mutex
	logs        []loggedLine
	progress    int
	checkpoints []string
	wished      int // how often somebody was told to ask for wishes
	byes        []string
	refused     []string // verdicts that did not count: verb and reason

	ready    chan *Child
	stopping chan Cause
	endings  chan *Ending
	exits    chan Exit
}

type loggedLine struct {
	run     string
	stream  Stream
	text    string
	cut     int64
	dropped int
	record  *protocol.LogRecord
	refused string

	overwritten bool
}

func newWitness() *witness {
	return &witness{ready: make(chan *Child, 1000), stopping: make(chan Cause, 1000), endings: make(chan *Ending, 10000), exits: make(chan Exit, 1000)}
}

func (w *witness) ChildReady(c *Child)             { w.ready <- c }
func (w *witness) ChildExited(c *Child, exit Exit) { w.exits <- exit }

func (w *witness) Bye(c *Child, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byes = append(w.byes, reason)
}

func (w *witness) Log(c *Child, r *Run, line LogLine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run := ""
	if r != nil {
		run = r.Job.Run
	}
	w.logs = append(w.logs, loggedLine{run, line.Stream, string(line.Text), line.Cut, line.Dropped, line.Record, line.Refused, line.Overwritten})
}

func (w *witness) Refused(c *Child, r *Run, verdict, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, verdict+": "+why)
}

func (w *witness) Progress(*Child, *Run, protocol.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress++
}

func (w *witness) Checkpoint(c *Child, r *Run, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkpoints = append(w.checkpoints, string(data))
}

func (w *witness) Wished(*Child, *Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wished++
}

func (w *witness) RunStopping(c *Child, r *Run, cause Cause) {
	w.stopping <- cause
}

func (w *witness) RunEnded(c *Child, r *Run, e *Ending) { w.endings <- e }

// lines returns what was logged so far; more may come at any time.
func (w *witness) lines() []loggedLine {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.logs)
}

// told is how often somebody was told to ask for wishes.
func (w *witness) told() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wished
}

// text returns the lines of a run, joined.
func (w *witness) text(run string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, line := range w.logs {
		if line.run == run {
			fmt.Fprintln(&b, line.text)
		}
	}
	return b.String()
}

// logTo returns a logger that writes to w.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// await returns what comes out of ch, and fails the test if nothing does.
func await[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
		panic("unreachable")
	}
}

// newJob returns a job with that run id.
func newJob(run string) *protocol.Job {
	return &protocol.Job{Run: run, JID: "j-" + run, Klass: "Test", Queue: "q", Data: []byte(`{"n":1}`), Attempt: 1, Retries: 5, Remaining: 5}
}

// start starts a child, for a job with the run id r1 in mode Once, and waits
// until it is ready.
func start(t testing.TB, h *Host, spec *Spec, w *witness) *Child {
	t.Helper()
	if spec.Pool == "" {
		spec.Pool = "test"
	}
	if spec.Env == nil {
		spec.Env = []string{"PATH=/usr/bin:/bin"}
	}
	if spec.Kill == KillAuto {
		spec.Kill = KillGroup // a guard costs a process more; what needs one asks for it
	}
	var first *protocol.Job
	if spec.Mode == Once {
		first = newJob("r1")
	}
	c, err := h.Start(context.Background(), spec, 1, first, w)
	must(t, err)
	if spec.Mode != Once {
		await(t, w.ready, "ready child")
	}
	return c
}

// same fails the test unless got is want; format says what was got, after args.
func same[T comparable](t testing.TB, got, want T, format string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf(format+"; want %v", append(args, got, want)...)
	}
}

// killed kills a child and waits until it is gone.
func killed(t testing.TB, c *Child) {
	t.Helper()
	c.Kill(CauseShutdown)
	await(t, c.Exited(), "exit")
}

// endOf gives a child a job and returns how that ended.
func endOf(t testing.TB, c *Child, w *witness, job *protocol.Job, limits RunLimits) *Ending {
	t.Helper()
	mustRun(t, c, job, limits)
	return await(t, w.endings, "ending")
}

// startOne starts a child on a host of its own.
func startOne(t testing.TB, spec *Spec) (*Child, *witness) {
	t.Helper()
	return started(t, newHost(t), spec)
}

// started is start with a witness of its own.
func started(t testing.TB, h *Host, spec *Spec) (*Child, *witness) {
	t.Helper()
	w := newWitness()
	return start(t, h, spec, w), w
}

// runOnce runs one job on a fresh child and returns how it ended, when the child is gone.
func runOnce(t testing.TB, h *Host, spec *Spec, limits RunLimits) (*Ending, *witness) {
	t.Helper()
	c, w := started(t, h, spec)
	e := endOf(t, c, w, newJob("r1"), limits)
	if spec.Mode == Reuse {
		c.Shutdown(5 * time.Second)
	}
	await(t, c.Exited(), "exit")
	return e, w
}
