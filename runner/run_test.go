package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/protocol"
	"oarlock/runner/internal/proc"
)

// What the end of a process means, where nothing else was said.
func TestExitDecides(t *testing.T) {
	h := newHost(t)
	tests := []struct {
		name   string
		script string
		kind   EndingKind
		action protocol.ExitAction
		group  string
	}{
		{"done", "exit 0", Exited, protocol.ExitAck, ""},
		{"general error", "exit 1", Exited, protocol.ExitOnError, "exit-1"},
		{"bad data", "exit 65", Exited, protocol.ExitFail, "exit-65"},
		{"no input", "exit 66", Exited, protocol.ExitFail, "exit-66"},
		{"unavailable", "exit 69", Exited, protocol.ExitRetry, "exit-69"},
		{"try again", "exit 75", Exited, protocol.ExitRetry, "exit-75"},
		{"given back", "exit 99", Exited, protocol.ExitRelease, "exit-99"},
		{"permanent", "exit 100", Exited, protocol.ExitFail, "exit-100"},
		{"temporary", "exit 111", Exited, protocol.ExitRetry, "exit-111"},
		{"not executable", "exit 126", Exited, protocol.ExitMisconfigured, "exit-126"},
		{"not found", "exit 127", Exited, protocol.ExitMisconfigured, "exit-127"},
		{"not found, after some output", "echo begin; exit 127", Exited, protocol.ExitMisconfigured, "exit-127"},
		{"the largest code", "exit 255", Exited, protocol.ExitOnError, "exit-255"},
		{"as the pool says", "exit 3", Exited, protocol.ExitFail, "exit-3"},
		{"killed by somebody", "kill -KILL $$", Died, 0, "signal-KILL"},
		{"segmentation fault", "kill -SEGV $$", Died, 0, "signal-SEGV"},
		{"abort", "kill -ABRT $$", Died, 0, "signal-ABRT"},
		{"terminated by somebody", "kill -TERM $$", Died, 0, "signal-TERM"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := &Spec{Command: shell(tt.script), ExitCodes: protocol.ExitTable{3: protocol.ExitFail}}
			e, _ := runOnce(t, h, spec, RunLimits{})
			if e.Kind != tt.kind || e.Action != tt.action || e.Group != tt.group {
				t.Errorf("%s: %v, %v, group %q, %q; want %v, %v, group %q", tt.script, e.Kind, e.Action, e.Group, e.Message, tt.kind, tt.action, tt.group)
			}
		})
	}
}

// A reused child that leaves without a verdict crashed, whatever its code says;
// unless it left before it had read any of its job.
func TestReusedChildLeaves(t *testing.T) {
	h := newHost(t)
	tests := []struct {
		name   string
		script string
		kind   EndingKind
		group  string
	}{
		{"with code 0", "read -r job; echo at work; sleep 0.1; exit 0", Died, "exit-0"},
		{"with code 75", "read -r job; echo at work; exit 75", Exited, "exit-75"},
		{"with code 0, at once", "read -r job; exit 0", Died, "exit-0"},
		{"by a signal, at once", "read -r job; kill -SEGV $$", Died, "signal-SEGV"},
		{"having read a part", "dd bs=1 count=3 status=none; kill -SEGV $$", Died, "signal-SEGV"},
		{"silently, later", "read -r job; sleep 0.1; exit 1", Exited, "exit-1"},
		{"later, but without its job", "sleep 0.6; exit 1", LeftEarly, ""},
		{"by a signal, but without its job", "sleep 0.6; kill -KILL $$", LeftEarly, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, _ := runOnce(t, h, &Spec{Mode: Reuse, Command: shell(tt.script)}, RunLimits{})
			if e.Began != (tt.kind != LeftEarly) {
				t.Errorf("began is %v", e.Began)
			}
			if e.Kind != tt.kind || e.Group != tt.group {
				t.Errorf("%v, group %q, %q; want %v, group %q", e.Kind, e.Group, e.Message, tt.kind, tt.group)
			}
		})
	}
}

// A child that left before it read its job did not start, and says why on stderr, though it has a job by then.
func TestChildLeavesWithoutItsJobAndSaysWhy(t *testing.T) {
	e, w := runOnce(t, newHost(t), &Spec{Mode: Reuse, Command: shell("sleep 0.6; echo no such module >&2; exit 1")}, RunLimits{})
	if e.Kind != LeftEarly {
		t.Errorf("it ended as %v", e.Kind)
	}
	if exit := await(t, w.exits, "exit"); exit.Message != "no such module" {
		t.Errorf("its end says %q", exit.Message)
	}
}

func TestVerdicts(t *testing.T) {
	h, w := newHost(t), newWitness()
	c := start(t, h, &Spec{Mode: Reuse, Status: StatusLines, Command: shell(`
		while read -r job; do
			case $job in
			*r1*) echo '{"@":"ack"}';;
			*r2*) echo '{"@":"retry","delay":1.5,"message":"later"}';;
			*r3*) echo '{"@":"fail","group":"bad","message":"never"}';;
			*r4*) echo '{"@":"release"}';;
			*r6*) echo '{"@":"unknown","klass":"K","message":"no K here"}';;
			*r5*) echo '{"@":"ack","next":"other","data":[9007199254740993]}';;
			esac
		done`)}, w)
	ask := func(run string) *protocol.Verdict {
		t.Helper()
		e := endOf(t, c, w, newJob(run), RunLimits{})
		if e.Kind != Said {
			t.Fatalf("%s: %v: %s", run, e.Kind, e.Message)
		}
		return e.Verdict
	}
	if v := ask("r1"); v.Kind != protocol.Ack || v.Data != nil {
		t.Errorf("ack: %+v", v)
	}
	if v := ask("r2"); v.Kind != protocol.Retry || *v.Delay != 1500*time.Millisecond || v.Message != "later" {
		t.Errorf("retry: %+v", v)
	}
	if v := ask("r3"); v.Kind != protocol.Fail || v.Group != "bad" || v.Message != "never" {
		t.Errorf("fail: %+v", v)
	}
	if v := ask("r4"); v.Kind != protocol.Release || v.Delay != nil {
		t.Errorf("release: %+v", v)
	}
	if v := ask("r5"); v.Next != "other" || string(v.Data) != "[9007199254740993]" {
		t.Errorf("ack with next: %+v, data %s", v, v.Data)
	}
	if v := ask("r6"); v.Kind != protocol.Unknown || v.Klass != "K" || v.Message != "no K here" {
		t.Errorf("unknown: %+v", v)
	}
	same(t, c.Jobs(), 6, "%d jobs")
	c.Shutdown(5 * time.Second)
	if exit := await(t, w.exits, "exit"); exit.Code != 0 || exit.Signal != 0 || exit.Cause != CauseShutdown {
		t.Errorf("exit after end of file: %+v", exit)
	}
	if _, err := c.Run(newJob("r6"), RunLimits{}); err != ErrLeaving {
		t.Errorf("Run on a child that is gone: %v", err)
	}
}

// Of several jobs, only the first can have been at work.
func TestPrefetchedJobsAreInnocent(t *testing.T) {
	c, w := startOne(t, &Spec{Mode: Reuse, Status: StatusLines, Command: shell(`read -r job; echo '{"@":"ack"}'; read -r job; sleep 0.2; kill -SEGV $$`)})
	for _, run := range []string{"r1", "r2", "r3", "r4"} {
		mustRun(t, c, newJob(run), RunLimits{})
	}
	want := []EndingKind{Said, Died, Innocent, Innocent}
	for i, kind := range want {
		if e := await(t, w.endings, "ending"); e.Kind != kind || e.Began != (i < 2) {
			t.Errorf("ending %d: %v, began %v, %s; want %v", i, e.Kind, e.Began, e.Message, kind)
		}
	}
}

func TestPayloadThatIsNotJSON(t *testing.T) {
	c, _ := startOne(t, &Spec{Mode: Reuse, Command: shell("cat >/dev/null")})
	job := newJob("r1")
	job.Data = []byte("{\"a\":\n")
	if _, err := c.Run(job, RunLimits{}); err != ErrPayload {
		t.Errorf("Run = %v; want ErrPayload", err)
	}
	if c.State() != Ready {
		t.Errorf("state %v; want ready", c.State())
	}
}

func TestStartErrors(t *testing.T) {
	h := newHost(t)
	for _, command := range [][]string{nil, {"/no/such/program"}, {"/etc/passwd"}} {
		_, err := h.Start(t.Context(), &Spec{Command: command, Kill: KillGroup}, 1, newJob("r1"), newWitness())
		if err == nil {
			t.Errorf("Start of %q succeeded", command)
		} else {
			t.Log(err)
		}
	}
}

// A child that ends before it is given its job is asked for its word all the same.
func TestOnceChildThatIsFaster(t *testing.T) {
	c, w := startOne(t, &Spec{Command: shell(`echo early; echo "{\"@\":\"ack\",\"run\":\"$OARLOCK_RUN\"}"`)})
	for {
		if !proc.Alive(c.PID()) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if e := endOf(t, c, w, newJob("r1"), RunLimits{}); e.Kind != Said || e.Verdict.Kind != protocol.Ack {
		t.Errorf("%v %s; want an ack", e.Kind, e.Message)
	}
	await(t, c.Exited(), "exit")
	if got := w.text("r1"); got != "early\n" {
		t.Errorf("log %q; want the early line", got)
	}
	if syscall.Kill(c.PID(), 0) != syscall.ESRCH {
		t.Error("the process was not reaped")
	}
}

func TestInput(t *testing.T) {
	h := newHost(t)
	for _, tt := range []struct {
		input Input
		want  string
	}{
		{InputJob, `{"@":"job","run":"r1","jid":"j-r1","klass":"Test","queue":"q","data":{"n":1},"tags":[],"priority":0,"attempt":1,"retries":5,"remaining":5}` + "\n"},
		{InputData, `{"n":1}` + "\n"},
		{InputNone, ""},
	} {
		e, w := runOnce(t, h, &Spec{Input: tt.input, Command: shell("cat")}, RunLimits{})
		if got := w.text("r1"); e.Kind != Exited || got != tt.want {
			t.Errorf("input %d: %v, read %q; want %q", tt.input, e.Kind, got, tt.want)
		}
	}
}

// A pseudo-terminal is stdout alone, and passes on bytes as they are.
func TestTerminal(t *testing.T) {
	e, w := runOnce(t, newHost(t), &Spec{PTY: true, Command: shell(`test -t 1 && ! test -t 0 && ! test -t 2 || exit 1; read -r job; printf 'a\nb\n'; exec 4>&1; echo "$TERM $NO_COLOR $(stty size <&4)"`)}, RunLimits{})
	if got, want := w.text("r1"), "a\nb\ndumb 1 24 200\n"; e.Kind != Exited || e.Action != protocol.ExitAck || got != want {
		t.Errorf("%v %v, log %q; want %q", e.Kind, e.Action, got, want)
	}
}

// TestChildAtWorkIsNotReady: a child without hello that is still busy with its own start is given no job.
func TestChildAtWorkIsNotReady(t *testing.T) {
	h := newHost(t)
	for _, tt := range []struct {
		name  string
		busy  float64 // seconds of its own
		least time.Duration
	}{
		{"idle at once", 0, probation},
		{"busy for a while", 0.8, 800 * time.Millisecond},
		{"busy for ever", 600, probationLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWitness()
			spec := &Spec{Pool: "test", Mode: Reuse, Kill: KillGroup, Env: []string{"PATH=/usr/bin:/bin"},
				Command: []string{python(), "-I", "-S", "-c", fmt.Sprintf("import time\nend = time.monotonic() + %g\nwhile time.monotonic() < end: pass\ninput()", tt.busy)}}
			begin := time.Now()
			c, err := h.Start(t.Context(), spec, 1, nil, w)
			must(t, err)
			await(t, w.ready, "ready child")
			if took := time.Since(begin); took < tt.least {
				t.Errorf("ready after %v, want %v at least", took, tt.least)
			}
			killed(t, c)
		})
	}
}

// The message of a bad exit is the line that says what went wrong, not the place that a language prints last.
func TestWhatAnExceptionSaid(t *testing.T) {
	e, _ := runOnce(t, newHost(t), &Spec{Mode: Once, Command: shell(`printf 'Error: boom\n    at f (/x.js:1:20)\n\nNode.js v20.20.2\n' >&2; exit 1`)}, RunLimits{})
	if e.Message != "Error: boom" {
		t.Errorf("the message is %q", e.Message)
	}
}

// Whoever has no time to wait for a child that reads nothing, because new code is to have its place, kills it, and that is said.
func TestAChildThatIsKilledForNotReading(t *testing.T) {
	c, w := startOne(t, &Spec{Mode: Reuse, Command: shell(`exec sleep 600`)})
	mustRun(t, c, dataJob("r1", "1"), RunLimits{})
	c.Kill(CauseProtocol)
	e, exit := await(t, w.endings, "ending"), await(t, w.exits, "exit")
	if want := "it did not read its job in time"; e.Kind != BrokeProtocol || e.Began || e.Message != want || exit.Message != want {
		t.Errorf("the run ended with %+v, the child with %+v; want %q", e, exit, want)
	}
}

// The time of a job begins when its child begins to read of it: one that is still busy with its own start has not begun it.
func TestTheTimeOfAJobBeginsWhenItIsRead(t *testing.T) {
	dir := t.TempDir()
	begin, began := filepath.Join(dir, "begin"), filepath.Join(dir, "began")
	must(t, unix.Mkfifo(begin, 0o600))
	must(t, unix.Mkfifo(began, 0o600))
	w := newWitness()
	c := start(t, newHost(t), &Spec{Mode: Reuse, WriteTimeout: 100 * time.Hour, StallTimeout: time.Hour,
		Command: shell(`read -r go <` + begin + `; read -r job; echo >` + began + `; exec sleep 600`)}, w)
	r := mustRun(t, c, dataJob("r1", "1"), RunLimits{Timeout: time.Hour})
	now := time.Now()
	stopped := func(after time.Duration) bool {
		c.look(now.Add(after))
		return r.Stopping() != CauseNone
	}
	if stopped(2*time.Hour) || stopped(150*time.Minute) {
		t.Error("the time of a job was over that its child had not read")
	}
	must(t, os.WriteFile(begin, []byte("go\n"), 0))
	_, err := os.ReadFile(began) // as soon as the child writes it
	must(t, err)
	if stopped(3 * time.Hour) {
		t.Error("the time of a job was over within an hour of its beginning")
	}
	if !stopped(4 * time.Hour) {
		t.Error("the time of a job is never over")
	}
	c.Kill(CauseShutdown)
	await(t, w.exits, "exit")
}

// What waits behind another run is unknown to the child, however it reads, and can be taken back until it has
// come to the front.
func TestWithdraw(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	buffered := `import sys
for line in sys.stdin:
    if '"wait"' in line: open(sys.argv[1]).read()
    print('{"@":"ack"}', flush=True)
`
	for name, command := range map[string][]string{
		"line by line":        shell(`while read -r job; do case $job in *'"wait"'*) read -r go <` + fifo + `;; esac; echo '{"@":"ack"}'; done`),
		"as much as there is": {python(), "-c", buffered, fifo},
		"a single line":       shell(`read -r job; read -r go <` + fifo + `; echo '{"@":"ack"}'; exec sleep 60`),
	} {
		t.Run(name, func(t *testing.T) {
			c, w := startOne(t, &Spec{Mode: Reuse, Status: StatusLines, Command: command})
			give := func(run, data string) *Run {
				r := mustRun(t, c, dataJob(run, data), RunLimits{})
				return r
			}
			first := give("r1", `"wait"`)
			behind := []*Run{give("r2", `1`), give("r3", `2`), give("r4", `3`)}
			if first.Withdraw() {
				t.Error("the run at work was taken back")
			}
			if !behind[0].Withdraw() || !behind[2].Withdraw() {
				t.Error("a run that waits was not taken back")
			}
			if behind[0].Withdraw() {
				t.Error("a run was taken back twice")
			}
			must(t, os.WriteFile(fifo, []byte("go\n"), 0)) // as soon as the child reads it
			if e := await(t, w.endings, "ending"); e.Kind != Said || !e.Began {
				t.Errorf("the first: %v %s", e.Kind, e.Message)
			}
			if behind[1].Withdraw() {
				t.Error("a run at the front was taken back")
			}
			if name == "a single line" {
				c.Kill(CauseShutdown)
			}
			e := await(t, w.endings, "ending")
			if want := map[bool]EndingKind{true: Interrupted, false: Said}[name == "a single line"]; e.Kind != want {
				t.Errorf("the third: %v %s, want %v", e.Kind, e.Message, want)
			}
			c.Shutdown(5 * time.Second)
			await(t, w.exits, "exit")
			if first.Withdraw() || behind[1].Withdraw() {
				t.Error("a run that has ended was taken back")
			}
		})
	}
}
