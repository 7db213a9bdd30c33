package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"oarlock/protocol"
)

// steps is a job for does-as-told.py.
type steps [][]any

func (s steps) job(run string) *protocol.Job {
	j := newJob(run)
	j.Data, _ = json.Marshal(s)
	return j
}

// say is a step that sends a status line of the run at hand.
func say(verb string, fields ...any) []any {
	line := map[string]any{"@": verb}
	for i := 0; i < len(fields); i += 2 {
		line[fields[i].(string)] = fields[i+1]
	}
	return []any{"say", line}
}

// obedient starts a child that does as it is told.
func obedient(t *testing.T, h *Host, spec Spec, caps ...string) (*Child, *witness) {
	t.Helper()
	spec.Command = fixture("does-as-told.py", caps...)
	if spec.Mode == Reuse {
		spec.Hello = HelloRequired
	}
	spec.Worker = "w1"
	w := newWitness()
	return start(t, h, &spec, w), w
}

func (w *witness) awaitLine(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, line := range w.lines() {
			if strings.Contains(line.text, text) {
				return
			}
		}
	}
	t.Fatalf("no line %q within %v", text, patience)
}

func mustRun(t testing.TB, c *Child, job *protocol.Job, limits RunLimits) *Run {
	t.Helper()
	r, err := c.Run(job, limits)
	must(t, err)
	return r
}

var listenThenRetry = steps{{"print", "at work"}, {"listen"}, say("retry", "delay", 0)}

// A child that reads cancel lines ends its run, and lives on.
func TestCancelByLine(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse, KillGrace: 5 * time.Second}, protocol.CapCancel)
	w.awaitLine(t, `{"@":"hello","v":1,"worker":"w1","max_line":1048576}`)
	for i, tt := range []struct {
		cause  Cause
		reason string
		kind   EndingKind
	}{
		{CauseCanceled, "canceled", Canceled},
		{CauseLockLost, "lock_lost", LockLost},
		{CauseTimeout, "timeout", Said},
		{CauseShutdown, "shutdown", Said},
	} {
		run := fmt.Sprint("r", i)
		r := mustRun(t, c, listenThenRetry.job(run), RunLimits{})
		r.Cancel(tt.cause, 5*time.Second)
		if got := r.Stopping(); got != tt.cause && len(w.endings) == 0 {
			t.Errorf("stopping because of %v; want %v", got, tt.cause)
		}
		e := await(t, w.endings, "ending")
		if e.Kind != tt.kind || e.SentByUs != tt.cause || e.Verdict == nil || e.Verdict.Kind != protocol.Retry {
			t.Errorf("%v: %v by %v, verdict %+v; want %v", tt.cause, e.Kind, e.SentByUs, e.Verdict, tt.kind)
		}
		w.awaitLine(t, fmt.Sprintf(`{"@":"cancel","run":"%s","reason":"%s","grace":5}`, run, tt.reason))
	}
	if c.State() != Ready {
		t.Errorf("the child is %v; want ready", c.State())
	}
}

// The time a run may take is a cancel line first, and what is said in time counts.
func TestTimeoutThatIsHeard(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse, KillGrace: 5 * time.Second}, protocol.CapCancel)
	e := endOf(t, c, w, steps{{"listen"}, say("ack")}.job("r1"), RunLimits{Timeout: 50 * time.Millisecond})
	if e.Kind != Said || e.Verdict.Kind != protocol.Ack || e.SentByUs != CauseTimeout {
		t.Errorf("%v by %v; want an ack", e.Kind, e.SentByUs)
	}
	if got := await(t, w.stopping, "word that it is stopping"); got != CauseTimeout || len(w.stopping) > 0 {
		t.Errorf("told to be stopping because of %v, and %d times more", got, len(w.stopping))
	}
}

// A cancel line that is not obeyed is followed by SIGTERM at half of the grace.
func TestCancelThatIsNotHeard(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse}, protocol.CapCancel)
	r := mustRun(t, c, steps{{"print", "at work"}, {"sleep", 100}}.job("r1"), RunLimits{})
	w.awaitLine(t, "at work")
	begin := time.Now()
	r.Cancel(CauseCanceled, time.Minute)
	r.Cancel(CauseCanceled, time.Second) // a second call shortens the time left
	e := await(t, w.endings, "ending")
	took := time.Since(begin)
	if e.Kind != Canceled || e.Signal.String() != "terminated" || took < 500*time.Millisecond {
		t.Errorf("%v, %v, after %v; want canceled by SIGTERM after half a second", e.Kind, e.Signal, took)
	}
	if r.Stopping() != CauseCanceled {
		t.Error("it forgot why")
	}
	r.Cancel(CauseLockLost, 0) // too late for anything
	await(t, c.Exited(), "exit")
}

// A child without the capability gets SIGTERM at once; with no grace, SIGKILL.
func TestCancelBySignal(t *testing.T) {
	h := newHost(t)
	for _, tt := range []struct {
		grace  time.Duration
		signal string
	}{{5 * time.Second, "terminated"}, {0, "killed"}} {
		c, w := obedient(t, h, Spec{Mode: Reuse})
		r := mustRun(t, c, steps{{"print", "at work"}, {"sleep", 100}}.job("r1"), RunLimits{})
		ahead := mustRun(t, c, steps{}.job("r2"), RunLimits{})
		w.awaitLine(t, "at work")
		r.Cancel(CauseLockLost, tt.grace)
		if e := await(t, w.endings, "ending"); e.Kind != LockLost || e.Signal.String() != tt.signal {
			t.Errorf("%v by %v; want lock-lost by %s", e.Kind, e.Signal, tt.signal)
		}
		if e := await(t, w.endings, "ending of "+ahead.Job.Run); e.Kind != Innocent {
			t.Errorf("the job behind it: %v; want innocent", e.Kind)
		}
		if wanted := tt.grace > 0; (len(w.byes) == 1) != wanted {
			t.Errorf("byes %q", w.byes)
		}
	}
}

// Stopping a job that was written ahead may cost the child; the job at work is
// interrupted by that, and has not crashed.
func TestCancelOfAJobAhead(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse})
	mustRun(t, c, steps{{"print", "at work"}, {"sleep", 100}}.job("r1"), RunLimits{})
	ahead := mustRun(t, c, steps{}.job("r2"), RunLimits{})
	w.awaitLine(t, "at work")
	ahead.Cancel(CauseCanceled, 5*time.Second)
	if e := await(t, w.endings, "ending"); e.Kind != Interrupted || e.SentByUs != CauseShutdown {
		t.Errorf("the job at work: %v by %v; want interrupted", e.Kind, e.SentByUs)
	}
	if e := await(t, w.endings, "ending of "+ahead.Job.Run); e.Kind != Canceled || e.Began {
		t.Errorf("the job ahead: %v, began %v; want canceled", e.Kind, e.Began)
	}
	if exit := await(t, w.exits, "exit"); exit.Cause != CauseCanceled {
		t.Errorf("%+v", exit)
	}
}

func TestShutdown(t *testing.T) {
	h := newHost(t)
	t.Run("idle, by line", func(t *testing.T) {
		c, w := obedient(t, h, Spec{Mode: Reuse}, protocol.CapShutdown)
		c.Shutdown(5 * time.Second)
		if exit := await(t, w.exits, "exit"); exit.Code != 0 || exit.Cause != CauseShutdown {
			t.Errorf("%+v", exit)
		}
		w.awaitLine(t, `{"@":"shutdown","grace":5}`)
	})
	t.Run("idle, by end of file", func(t *testing.T) {
		c, w := obedient(t, h, Spec{Mode: Reuse})
		c.Shutdown(5 * time.Second)
		if exit := await(t, w.exits, "exit"); exit.Code != 0 || exit.Cause != CauseShutdown {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("idle, deaf", func(t *testing.T) {
		c, w := started(t, h, &Spec{Mode: Reuse, Command: shell("exec sleep 100")})
		c.Shutdown(400 * time.Millisecond)
		if exit := await(t, w.exits, "exit"); exit.Signal.String() != "terminated" || exit.Cause != CauseShutdown {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("at work, in time", func(t *testing.T) {
		c, w := obedient(t, h, Spec{Mode: Reuse})
		mustRun(t, c, steps{{"print", "at work"}, {"sleep", 0.3}, say("ack")}.job("r1"), RunLimits{})
		w.awaitLine(t, "at work")
		c.Shutdown(10 * time.Second)
		if _, err := c.Run(newJob("r2"), RunLimits{}); !errors.Is(err, ErrLeaving) {
			t.Errorf("a further job: %v", err)
		}
		if e := await(t, w.endings, "ending"); e.Kind != Said {
			t.Errorf("%v; want an ack", e.Kind)
		}
		if exit := await(t, w.exits, "exit"); exit.Code != 0 {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("at work, too long", func(t *testing.T) {
		c, w := obedient(t, h, Spec{Mode: Reuse})
		mustRun(t, c, steps{{"print", "at work"}, {"sleep", 100}}.job("r1"), RunLimits{})
		w.awaitLine(t, "at work")
		c.Shutdown(300 * time.Millisecond)
		if e := await(t, w.endings, "ending"); e.Kind != Interrupted || e.SentByUs != CauseShutdown {
			t.Errorf("%v by %v; want interrupted", e.Kind, e.SentByUs)
		}
	})
	t.Run("at work, and it crashes by itself", func(t *testing.T) {
		c, w := obedient(t, h, Spec{Mode: Reuse})
		mustRun(t, c, steps{{"print", "at work"}, {"sleep", 0.2}, {"exit", 1}}.job("r1"), RunLimits{})
		w.awaitLine(t, "at work")
		c.Shutdown(10 * time.Second)
		if e := await(t, w.endings, "ending"); e.Kind != Exited || e.SentByUs != CauseNone {
			t.Errorf("%v by %v; want exited", e.Kind, e.SentByUs)
		}
	})
	t.Run("once, in time", func(t *testing.T) {
		c, w := started(t, h, &Spec{Command: shell("read -r job; echo at work; sleep 0.2; exit 0")})
		mustRun(t, c, newJob("r1"), RunLimits{})
		w.awaitLine(t, "at work")
		c.Shutdown(10 * time.Second)
		if e := await(t, w.endings, "ending"); e.Kind != Exited || e.Action != protocol.ExitAck {
			t.Errorf("%v; want exited, ack", e.Kind)
		}
	})
}

func TestKilledBecauseOfMemory(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse})
	mustRun(t, c, steps{{"print", "at work"}, {"sleep", 100}}.job("r1"), RunLimits{})
	w.awaitLine(t, "at work")
	c.Kill(CauseMemory)
	if e := await(t, w.endings, "ending"); e.Kind != Died || e.Group != "memory" {
		t.Errorf("%v, group %q", e.Kind, e.Group)
	}
}

// A child of mode Once that does not leave after its verdict is made to.
func TestLingering(t *testing.T) {
	c, w := startOne(t, &Spec{Command: shell(`trap '' TERM; echo "{\"@\":\"ack\",\"run\":\"$OARLOCK_RUN\"}"; while :; do sleep 1; done`), ExitTimeout: 200 * time.Millisecond})
	if e := endOf(t, c, w, newJob("r1"), RunLimits{}); e.Kind != Said || e.Verdict.Kind != protocol.Ack {
		t.Errorf("%v; want an ack", e.Kind)
	}
	if exit := await(t, w.exits, "exit"); exit.Signal.String() != "killed" || exit.Cause != CauseLinger {
		t.Errorf("%+v", exit)
	}
}

// bye and a malformed verdict: two ways to need a replacement.
func TestReplacement(t *testing.T) {
	h := newHost(t)
	t.Run("asked for", func(t *testing.T) {
		c, w := obedient(t, h, Spec{Mode: Reuse})
		if e := endOf(t, c, w, steps{say("bye", "reason", "fat"), say("ack")}.job("r1"), RunLimits{}); e.Kind != Said {
			t.Errorf("%v; want an ack", e.Kind)
		}
		if len(w.byes) != 1 || w.byes[0] != "fat" {
			t.Errorf("byes %q", w.byes)
		}
		if _, err := c.Run(newJob("r2"), RunLimits{}); !errors.Is(err, ErrLeaving) {
			t.Errorf("a further job: %v", err)
		}
	})
	for name, step := range map[string][]any{
		"a verdict that cannot be understood": say("retry", "delay", "soon"),
		"a put that cannot be understood":     say("put", "data", 1),
	} {
		t.Run(name, func(t *testing.T) {
			c, w := obedient(t, h, Spec{Mode: Reuse})
			if e := endOf(t, c, w, steps{step, say("ack")}.job("r1"), RunLimits{}); e.Kind != BrokeProtocol || e.Verdict != nil || !e.Began {
				t.Errorf("%v, %+v, %s; want broke-protocol", e.Kind, e.Verdict, e.Message)
			} else {
				t.Log(e.Message)
			}
			if exit := await(t, w.exits, "exit"); exit.Cause != CauseProtocol {
				t.Errorf("%+v", exit)
			}
		})
	}
}

func TestPuts(t *testing.T) {
	h := newHost(t)
	c, w := obedient(t, h, Spec{Mode: Reuse})
	put := say("put", "queue", "q2", "klass", "K", "data", map[string]int{"n": 1})
	e := endOf(t, c, w, steps{put, put, say("ack")}.job("r1"), RunLimits{})
	if e.Kind != Said || len(e.Puts) != 2 || e.Puts[1].Queue != "q2" {
		t.Errorf("%v with puts %+v", e.Kind, e.Puts)
	}
	many := steps{}
	for range protocol.MaxPuts + 1 {
		many = append(many, put)
	}
	if e := endOf(t, c, w, append(many, say("ack")).job("r2"), RunLimits{}); e.Kind != BrokeProtocol {
		t.Errorf("too many puts: %v; want broke-protocol", e.Kind)
	}
	c, w = obedient(t, h, Spec{Mode: Reuse})
	big := say("put", "queue", "q2", "data", strings.Repeat("x", 600<<10))
	if e := endOf(t, c, w, steps{big, big, say("ack")}.job("r3"), RunLimits{}); e.Kind != BrokeProtocol {
		t.Errorf("puts too large: %v; want broke-protocol", e.Kind)
	}
}

func TestProgressAndCheckpoints(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse})
	mustRun(t, c, steps{
		say("checkpoint", "data", 1),
		say("progress", "pct", 1),
		say("progress", "pct", 2),
		say("checkpoint", "data", 2),
		say("checkpoint", "data", strings.Repeat("x", protocol.MaxCheckpoint)),
		{"sleep", 1.2},
		say("fail", "group", "g", "message", "m"),
	}.job("r1"), RunLimits{})
	e := await(t, w.endings, "ending")
	if string(e.Checkpoint) != "2" || *e.LastProgress.Percent != 2 {
		t.Errorf("checkpoint %s, progress %+v", e.Checkpoint, e.LastProgress)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.progress != 2 || len(w.checkpoints) != 2 || w.checkpoints[1] != "2" {
		t.Errorf("passed on: %d times progress, checkpoints %q; want the first at once and the latest a second later", w.progress, w.checkpoints)
	}
	if e.Group != "g" || e.Message != "m" || e.Wall < time.Second || e.CPU <= 0 || e.PeakMemory <= 0 {
		t.Errorf("ending %+v", e)
	}
}

// In a strict pool, and from a child that said hello, only what names the run counts.
func TestStrict(t *testing.T) {
	h := newHost(t)
	c, w := obedient(t, h, Spec{Mode: Reuse})
	forged := steps{{"raw", `{"@":"ack"}`}, {"raw", `{"@":"ack","run":""}`}, {"raw", `{"@":"ack","run":"r0"}`}, say("fail", "group", "own")}
	if e := endOf(t, c, w, forged.job("r1"), RunLimits{}); e.Verdict.Kind != protocol.Fail {
		t.Errorf("verdict %v; want fail", e.Verdict.Kind)
	}
	e, w := runOnce(t, h, &Spec{Strict: true, Command: shell(`echo '{"@":"ack"}'; exit 65`)}, RunLimits{})
	if e.Kind != Exited || e.Action != protocol.ExitFail || !strings.Contains(w.text("r1"), `{"@":"ack"}`) {
		t.Errorf("%v, %v, log %q; want a failure by the exit code", e.Kind, e.Action, w.text("r1"))
	}
	e, _ = runOnce(t, h, &Spec{Strict: true, Command: shell(`printf '{"@":"ack","run":"%s"}\n' "$OARLOCK_RUN"; exit 65`)}, RunLimits{})
	if e.Kind != Said {
		t.Errorf("%v; want an ack", e.Kind)
	}
	e, _ = runOnce(t, h, &Spec{Status: StatusExit, Command: shell(`echo '{"@":"fail"}'; exit 0`)}, RunLimits{})
	if e.Kind != Exited || e.Action != protocol.ExitAck {
		t.Errorf("status by exit code alone: %v, %v; want an ack", e.Kind, e.Action)
	}
}

func TestLogRecords(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse})
	mustRun(t, c, steps{say("log", "level", "warn", "message", "hot", "degrees", 95), say("ack")}.job("r1"), RunLimits{})
	await(t, w.endings, "ending")
	for _, line := range w.lines() {
		if r := line.record; r != nil && line.run == "r1" && r.Level == "warn" && r.Message == "hot" && string(r.Fields[0].Value) == "95" {
			return
		}
	}
	t.Errorf("no record in %+v", w.lines())
}

// The private directory of a run that failed is kept, of others it is not.
func TestKeptDirectory(t *testing.T) {
	h := newHost(t)
	sandbox := Sandbox{PrivateDir: true, KeepFailed: 2}
	for _, tt := range []struct {
		last []any
		kept bool
	}{
		{say("fail", "group", "g"), true},
		{[]any{"exit", 1}, true},
		{say("ack"), false},
		{say("release"), false},
	} {
		c, w := obedient(t, h, Spec{Sandbox: sandbox})
		e := endOf(t, c, w, steps{{"write", "evidence"}, tt.last}.job("r1"), RunLimits{})
		await(t, c.Exited(), "exit")
		_, err := os.Stat(filepath.Join(e.Dir, "evidence"))
		if (e.Dir != "" && err == nil) != tt.kept {
			t.Errorf("%v: directory %q, %v; want kept %v", tt.last, e.Dir, err, tt.kept)
		}
		if _, err := os.Stat(c.Dir()); err == nil {
			t.Errorf("%s is still there", c.Dir())
		}
	}
}

func TestEnvironment(t *testing.T) {
	h, w := newHost(t), newWitness()
	spec := &Spec{Pool: "mail", Command: shell("env | sort; pwd"), Dir: "private", Env: []string{"PATH=/usr/bin:/bin", "OARLOCK_RUN=forged", "A=b", "TRACEPARENT=another"}, Sandbox: Sandbox{PrivateDir: true}, Kill: KillGroup}
	job := newJob("r1")
	job.Trace = &protocol.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", State: "v=1"}
	job.JID, job.Klass, job.Queue, job.Timeout = "../\n"+strings.Repeat("x", 5000), "K", "q", 90*time.Second
	c, err := h.Start(t.Context(), spec, 3, job, w)
	must(t, err)
	mustRun(t, c, job, RunLimits{})
	await(t, w.endings, "ending")
	await(t, c.Exited(), "exit")
	want := strings.Join([]string{
		"A=b", "OARLOCK_ATTEMPT=1", "OARLOCK_DIR=" + c.Dir(), `OARLOCK_JID=../\n` + strings.Repeat("x", envLimit-4), "OARLOCK_KLASS=K",
		"OARLOCK_MAX_LINE=1048576", "OARLOCK_MODE=once", "OARLOCK_POOL=mail", "OARLOCK_PROTOCOL=1", "OARLOCK_QUEUE=q", "OARLOCK_RUN=r1", "OARLOCK_SLOT=3", "OARLOCK_STATUS=auto", "OARLOCK_STATUS_FD=3", "OARLOCK_SUPERVISOR=" + ownMark(), "OARLOCK_TIMEOUT=90",
		"PATH=/usr/bin:/bin", "PWD=" + c.Dir(), "PYTHONUNBUFFERED=1", "TMPDIR=" + c.Dir(), "TRACEPARENT=" + job.Trace.Parent, "TRACESTATE=v=1", c.Dir(),
	}, "\n") + "\n"
	if got := w.text("r1"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Closing a host ends what is left of its children, and no goroutine stays.
func TestCloseHost(t *testing.T) {
	before := goleak.IgnoreCurrent()
	h, err := NewHost(HostOptions{PrivateRoot: t.TempDir()})
	must(t, err)
	idle, w1 := obedient(t, h, Spec{Mode: Reuse})
	busy, w2 := obedient(t, h, Spec{Mode: Reuse})
	mustRun(t, busy, steps{{"print", "at work"}, {"sleep", 100}}.job("r1"), RunLimits{Timeout: time.Hour})
	unasked, w3 := obedient(t, h, Spec{Mode: Once})
	w2.awaitLine(t, "at work")
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if e := await(t, w2.endings, "ending"); e.Kind != Interrupted {
		t.Errorf("%v; want interrupted", e.Kind)
	}
	for i, w := range []*witness{w1, w2, w3} {
		if exit := await(t, w.exits, "exit"); exit.Cause != CauseShutdown {
			t.Errorf("child %d: %+v", i, exit)
		}
	}
	for _, c := range []*Child{idle, busy, unasked} {
		await(t, c.Exited(), "exit")
		if c.State() != Gone {
			t.Errorf("the child is %v", c.State())
		}
	}
	if _, err := h.Start(t.Context(), &Spec{Command: shell("true")}, 1, newJob("r1"), w1); !errors.Is(err, ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
	goleak.VerifyNone(t, before)
}

// Every move between states is either in the table or an error that is told.
func TestStates(t *testing.T) {
	var told []string
	for from := Starting; from <= Gone; from++ {
		for to := Starting; to <= Gone; to++ {
			var log strings.Builder
			c := &Child{host: &Host{log: logTo(&log)}, spec: &Spec{}, state: from}
			c.move(to)
			legal := from == to
			for _, may := range moves[from] {
				legal = legal || may == to
			}
			if moved := c.state == to; moved != legal || (log.Len() > 0) == legal {
				t.Errorf("%v to %v: moved %v, told %q", from, to, moved, log.String())
			}
			if !legal {
				told = append(told, from.String()+"-"+to.String())
			}
		}
		if from.String() == "" || strings.Contains(from.String(), "State(") {
			t.Errorf("state %d has no name", from)
		}
	}
	if len(told) == 0 {
		t.Error("every move is legal")
	}
}
