package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/proc"
	"oarlock/runner/internal/runnertest"
)

// interpreterOf returns the interpreter of a preloaded program's language; empty if it is not here.
func interpreterOf(language string) string {
	if language == "python" {
		return python()
	}
	path, _ := exec.LookPath(language)
	return path
}

// preloadable are the same program in the languages that have a helper.
func preloadable(t testing.TB) map[string][]string {
	t.Helper()
	programs := map[string][]string{}
	for language, file := range map[string]string{"python": "preloaded.py", "ruby": "preloaded.rb"} {
		path := interpreterOf(language)
		if path == "" {
			t.Logf("this machine cannot show preload in %s: there is none here", language)
			continue
		}
		programs[language] = []string{path, filepath.Join("testdata", file)}
	}
	return programs
}

// dataJob returns a job with that payload.
func dataJob(run, data string) *protocol.Job {
	j := newJob(run)
	j.Data = []byte(data)
	return j
}

// work starts a child and has it work one job.
func work(t testing.TB, h *Host, spec *Spec, data string) (*Ending, Exit, *witness) {
	t.Helper()
	c, w := started(t, h, spec)
	e := endOf(t, c, w, dataJob("r1", data), RunLimits{})
	await(t, c.Exited(), "exit")
	return e, c.Exit(), w
}

// TestForkEndsLikeAnyChild is row B21: of a fork as of a process of its own, the same is reported, and
// exactly what happened.
func TestForkEndsLikeAnyChild(t *testing.T) {
	type end struct {
		do      string
		kind    EndingKind
		group   string
		message string // part of it
		code    int    // of the process
		signal  syscall.Signal
	}
	ends := map[string][]end{
		"python": {
			{do: "nothing", kind: Said},
			{do: "raise", kind: Said, group: "ValueError", message: "ValueError: no good"},
			{do: "leave", kind: Exited, group: "exit-4", message: "code 4", code: 4},
			{do: "exit", kind: Exited, group: "exit-3", message: "code 3", code: 3},
			{do: "segfault", kind: Died, group: "signal-SEGV", message: "killed by SIGSEGV", code: -1, signal: syscall.SIGSEGV},
			{do: "kill", kind: Died, group: "signal-KILL", message: "killed by SIGKILL", code: -1, signal: syscall.SIGKILL},
			{do: "memory", kind: Said, group: "MemoryError", message: "MemoryError"},
		},
		"ruby": {
			{do: "nothing", kind: Said},
			{do: "raise", kind: Said, group: "ArgumentError", message: "no good"},
			{do: "leave", kind: Exited, group: "exit-4", message: "code 4", code: 4},
			{do: "exit", kind: Exited, group: "exit-3", message: "code 3", code: 3},
			// Ruby has a handler for it, which reports at length and then aborts.
			{do: "segfault", kind: Died, group: "signal-ABRT", message: "killed by SIGABRT", code: -1, signal: syscall.SIGABRT},
			{do: "kill", kind: Died, group: "signal-KILL", message: "killed by SIGKILL", code: -1, signal: syscall.SIGKILL},
			{do: "memory", kind: Said, group: "NoMemoryError", message: "failed to allocate memory"},
		},
	}
	for language, command := range preloadable(t) {
		for _, strength := range strengths(t) {
			for _, mode := range []Mode{Preload, Once} {
				if mode == Once && strength != KillGroup {
					continue // a process of its own is only there to be compared with
				}
				if testing.Short() && (mode == Once || strength == KillGroup) {
					continue // TestExitDecides has what ends of processes mean
				}
				t.Run(fmt.Sprintf("%s/%v/%v", language, strength, mode), func(t *testing.T) {
					h := newHost(t)
					spec := &Spec{Mode: mode, Command: command, Kill: strength, Sandbox: Sandbox{NoNewPrivs: true}}
					for _, want := range ends[language] {
						e, exit, _ := work(t, h, spec, fmt.Sprintf(`{"do":%q}`, want.do))
						t.Logf("B21 %s, %v, %v, %s: %v %s, %+v", language, strength, mode, want.do, e.Kind, e.Group, exit)
						got := end{want.do, e.Kind, e.Group, want.message, exit.Code, exit.Signal}
						if got != want || !strings.Contains(e.Message, want.message) {
							t.Errorf("%s ends as %+v, want %+v; it says %q", want.do, got, want, e.Message)
						}
						if e.SentByUs != CauseNone || e.OOM != "" || exit.Lost || !exit.Started {
							t.Errorf("%s: %+v, %+v", want.do, e, exit)
						}
						// The run has the end of its process, unless it was over before.
						if code, signal := e.ExitCode, e.Signal; e.Kind != Said && (code != want.code || signal != want.signal) {
							t.Errorf("%s: code %d, signal %v", want.do, code, signal)
						}
					}
				})
			}
		}
	}
}

func TestForksShareOneProgram(t *testing.T) {
	h := newHost(t)
	spec := &Spec{Mode: Preload, Command: fixture("preloaded.py"), Sandbox: Sandbox{NoNewPrivs: true}}
	_, _, first := work(t, h, spec, `{"do":"pid"}`)
	_, _, second := work(t, h, spec, `{"do":"pid"}`)
	pids := func(w *witness) []string { return strings.Fields(w.text("r1")) }
	one, two := pids(first), pids(second)
	if len(one) != 3 || len(two) != 3 || one[1] == two[1] || one[2] != two[2] {
		t.Errorf("the forks say %q and %q", one, two)
	}
	another := *spec // a new Spec is a new generation, with a program that is loaded again
	_, _, third := work(t, h, &another, `{"do":"pid"}`)
	if p := pids(third); len(p) != 3 || p[2] == one[2] {
		t.Errorf("the fork of a new Spec says %q, that of the old one %q", p, one)
	}
}

// TestForkLeavesNothing: what a fork leaves behind is killed at its end, and what others have started
// is not.
func TestForkLeavesNothing(t *testing.T) {
	for _, strength := range strengths(t) {
		if strength == KillGroup {
			continue
		}
		t.Run(strength.String(), func(t *testing.T) {
			h, dir := newHost(t), t.TempDir()
			spec := &Spec{Mode: Preload, Command: fixture("preloaded.py"), Kill: strength, Sandbox: Sandbox{NoNewPrivs: true}}
			goOn := filepath.Join(dir, "go on")
			w := newWitness()
			neighbour := start(t, h, spec, w)
			mustRun(t, neighbour, dataJob("r0", fmt.Sprintf(`{"do":"wait","file":%q}`, goOn)), RunLimits{})
			pids := filepath.Join(dir, "pids")
			e, _, _ := work(t, h, spec, fmt.Sprintf(`{"do":"escape","file":%q,"count":%d}`, pids, escapees))
			if e.Kind != Said {
				t.Fatalf("the job ends as %+v", e)
			}
			checkLeft(t, strength, pids)
			must(t, os.WriteFile(goOn, nil, 0o600))
			await(t, neighbour.Exited(), "end of the neighbour")
			if exit := neighbour.Exit(); exit.Signal != 0 || exit.Code != 0 {
				t.Errorf("the neighbour ended as %+v", exit)
			}
		})
	}
}

// doomedPreloadCommand makes the test binary a supervisor with a preloaded program, to be killed.
const doomedPreloadCommand = "doomed-supervisor-that-preloads"

// doomedPreload has a fork start processes that escape, and waits.
func doomedPreload(strength, file string) {
	h, err := NewHost(HostOptions{PrivateRoot: filepath.Join(filepath.Dir(file), "private")})
	if err != nil {
		panic(err)
	}
	w := newWitness()
	spec := &Spec{Pool: "test", Mode: Preload, Command: fixture("preloaded.py", file), Env: []string{"PATH=/usr/bin:/bin"}, Kill: strengthNames[strength]}
	c, err := h.Start(context.Background(), spec, 1, nil, w)
	if err != nil {
		panic(err)
	}
	<-c.Ready()
	if _, err := c.Run(dataJob("r1", fmt.Sprintf(`{"do":"escape","file":%q,"count":%d,"then":"wait"}`, file, escapees)), RunLimits{}); err != nil {
		panic(err)
	}
	<-c.Exited()
}

// TestNothingIsLeftOfForks: neither forks, nor what they started, nor the program outlive the supervisor.
func TestNothingIsLeftOfForks(t *testing.T) {
	for _, strength := range strengths(t) {
		if strength == KillGroup {
			continue // it ends no more than what reads the end of its input
		}
		t.Run(strength.String(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pids")
			cmd := exec.Command(os.Args[0], doomedPreloadCommand, strength.String(), file)
			cmd.Stderr = t.Output()
			must(t, cmd.Start())
			until(t, "escape", func() bool {
				text, _ := os.ReadFile(file)
				return strings.Count(string(text), "\n") == escapees
			})
			must(t, cmd.Process.Kill())
			cmd.Wait()
			checkLeft(t, strength, file)
			until(t, "end of the program and of the forks", func() bool { return len(running(file)) == 0 })
		})
	}
}

// TestForksOutliveTheirProgram is row B20.
func TestForksOutliveTheirProgram(t *testing.T) {
	for _, strength := range strengths(t) {
		t.Run(strength.String(), func(t *testing.T) {
			h, dir := newHost(t), t.TempDir()
			spec := &Spec{Mode: Preload, Command: fixture("preloaded.py"), Kill: strength, Sandbox: Sandbox{NoNewPrivs: true}}
			const forks = 4
			w := newWitness()
			began := time.Now()
			_, _, _ = work(t, h, spec, `{}`)
			first := time.Since(began) // as much as loading takes on a machine that may have much else to do
			var children []*Child
			for i := range forks {
				c := start(t, h, spec, w)
				data := fmt.Sprintf(`{"do":"wait","file":%q,"code":%d}`, filepath.Join(dir, strconv.Itoa(i)), 10+i)
				mustRun(t, c, dataJob("r"+strconv.Itoa(i), data), RunLimits{})
				children = append(children, c)
			}
			s, ok := proc.Read(children[0].PID())
			if !ok {
				t.Fatal("the fork is not there")
			}
			syscall.Kill(s.Parent, syscall.SIGKILL)
			began = time.Now()
			until(t, "a fork of a new program", func() bool { // one that was asked of the old program while it died is none
				c, err := h.Start(t.Context(), spec, 1, nil, newWitness())
				if err == nil {
					killed(t, c)
				}
				return err == nil
			})
			_, _, _ = work(t, h, spec, `{}`)
			took := time.Since(began)
			t.Logf("B20 %v: a new program and its first job %v after the old one was killed; the first took %v", strength, took.Round(time.Millisecond), first.Round(time.Millisecond))
			if !testing.Short() && took > max(2*time.Second, 5*first) {
				t.Error("that is too late")
			}
			for i, c := range children {
				must(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600))
				await(t, c.Exited(), "end of a fork")
				if exit := c.Exit(); exit.Code != 10+i || exit.Signal != 0 || exit.Lost {
					t.Errorf("fork %d ended as %+v", i, exit)
				}
			}
		})
	}
}

func TestPreloadThatCannotBe(t *testing.T) {
	soon, late := time.Second, patience
	tests := []struct {
		name    string
		command []string
		timeout time.Duration
		says    string
	}{
		{"fails to load", []string{python(), "-c", "import no_such_module"}, late, "No module named 'no_such_module'"},
		{"is not there", []string{"no-such-program"}, late, `there is no program "no-such-program"`},
		{"has no helper", shell("sleep 600"), soon, "(mode preload is for programs with the helper"},
		{"closes the socket", shell("exec 3>&-; sleep 600"), late, "closed its socket"},
		{"speaks the future", shell(`echo '{"@":"hello","v":[2],"caps":["fork"]}' >&3; sleep 600`), late, "speaks version [2]"},
		{"does not fork", shell(`echo '{"@":"hello","v":[1],"caps":[]}' >&3; sleep 600`), late, "cannot fork"},
		{"talks nonsense", shell(`echo hello >&3; sleep 600`), late, "no JSON"},
		{"claims another's process", shell(`echo '{"@":"hello","v":[1],"caps":["fork"]}' >&3; read line <&3; echo '{"@":"forked","pid":1}' >&3; sleep 600`), late, "says that it forked process 1"},
		{"fails to fork", shell(`echo '{"@":"hello","v":[1],"caps":["fork"]}' >&3; read line <&3; echo '{"@":"forkfail","message":"no memory"}' >&3; sleep 600`), late, "cannot fork: no memory"},
		{"dies of it", shell(`echo '{"@":"hello","v":[1],"caps":["fork"]}' >&3; read line <&3`), late, "ended as it was to fork"},
		{"never forks", shell(`echo '{"@":"hello","v":[1],"caps":["fork"]}' >&3; sleep 600`), 10 * time.Second, "did not fork within"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.timeout == 10*time.Second && testing.Short() {
				t.Skip("long: waits for as long as a busy machine may take to say hello")
			}
			t.Parallel() // they wait, most of the time
			h := newHost(t)
			spec := &Spec{Pool: "test", Mode: Preload, Command: tt.command, Env: []string{"PATH=/usr/bin:/bin"}, StartTimeout: tt.timeout, Kill: KillGroup, Sandbox: Sandbox{NoNewPrivs: true}}
			_, err := h.Start(context.Background(), spec, 1, nil, newWitness())
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("start says %v, want %q", err, tt.says)
			}
		})
	}
}

// TestCloseWaitsForNoPreload: a host that is closed ends the start that waits for a preloaded program.
func TestCloseWaitsForNoPreload(t *testing.T) {
	h, err := NewHost(HostOptions{Logger: logTo(t.Output()), PrivateRoot: t.TempDir()})
	must(t, err)
	started := make(chan error)
	here := filepath.Join(t.TempDir(), "here")
	spec := &Spec{Pool: "test", Mode: Preload, Command: shell("echo > " + here + "; sleep 600"), Env: []string{"PATH=/usr/bin:/bin"}, Kill: KillGroup}
	go func() {
		_, err := h.Start(context.Background(), spec, 1, nil, newWitness())
		started <- err
	}()
	until(t, "preloaded program", func() bool {
		_, err := os.Stat(here)
		return err == nil
	})
	begin := time.Now()
	must(t, h.Close())
	if err := await(t, started, "end of the start"); !errors.Is(err, ErrClosed) || time.Since(begin) > defaultStartTimeout/2 {
		t.Errorf("start says %v after %v", err, time.Since(begin))
	}
}

// TestForkFailsWithoutMeans is row B22: the program may start no process more.
func TestForkFailsWithoutMeans(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("B22 takes a user of its own, and so root")
		return
	}
	h := newHost(t)
	// The limit counts all processes of the user, whom nobody else here is.
	script := "import resource, runpy, sys\nresource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\nsys.argv = ['preloaded.py']\nrunpy.run_path(%q)"
	dir := runnertest.Readable(t, "runner", "testdata/preloaded.py", "../examples/python/oarlock.py")
	spec := &Spec{Pool: "test", Mode: Preload, Env: []string{"PATH=/usr/bin:/bin"},
		Command: []string{runnertest.ReadablePython(t), "-c", fmt.Sprintf(script, filepath.Join(dir, "runner", "testdata", "preloaded.py"))},
		Sandbox: Sandbox{User: "nobody", NoNewPrivs: true}}
	_, err := h.Start(context.Background(), spec, 1, nil, newWitness())
	if err == nil || !strings.Contains(err.Error(), "cannot fork: BlockingIOError") {
		t.Errorf("start says %v", err)
	}
}

// What mode Preload must give where a program takes 200 ms of processor time to load: so many times the jobs of mode
// Once, and an answer within such a part of the time that a job takes there. A quiet machine has 30 times the jobs; one that is busy,
// or on which a fork costs 36 ms, has 8.
const (
	preloadGain   = 5
	preloadAnswer = 20
)

// TestPreloadPays measures what the mode is for. Both modes work on one child at a time, in short blocks that alternate,
// because others use this machine as well: one quiet block in twenty is enough, and without the mode there is none.
func TestPreloadPays(t *testing.T) {
	if testing.Short() {
		t.Skip("long: compares speeds")
	}
	for language, command := range preloadable(t) {
		t.Run(language, func(t *testing.T) {
			h := newHost(t)
			env := []string{"PATH=/usr/bin:/bin", "LOAD_SECONDS=0.2"}
			kill, _ := h.KillStrength() // as pools have it that do not say
			once := &Spec{Mode: Once, Command: command, Env: env, Kill: kill}
			preload := &Spec{Mode: Preload, Command: command, Env: env, Kill: kill}
			work(t, h, preload, `{}`) // the program is loaded by now
			for range 20 {
				onceRate := rateOnce(t, h, once, 3)
				rate, took := rateForks(t, h, preload, 100)
				gain, answer := rate/onceRate, median(took).Seconds()*onceRate
				t.Logf("once %.1f jobs/s, preload %.0f jobs/s, %.0f times as many; answered in %v, 1/%.0f of that", onceRate, rate, gain, median(took), 1/answer)
				if gain >= preloadGain && answer <= 1.0/preloadAnswer {
					return
				}
			}
			t.Errorf("want at least %d times as many, answered in 1/%d of the time", preloadGain, preloadAnswer)
		})
	}
}

// onlyEndings is a witness of any number of children, whose channels it does not fill.
type onlyEndings struct{ *witness }

func (onlyEndings) ChildReady(*Child)        {}
func (onlyEndings) ChildExited(*Child, Exit) {}

// median returns the middle one of values, which it sorts.
func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// rateOnce works jobs in a process each and returns how many that were in a second.
func rateOnce(t testing.TB, h *Host, spec *Spec, jobs int) float64 {
	t.Helper()
	begin := time.Now()
	for range jobs {
		if e, _ := runOnce(t, h, spec, RunLimits{}); e.Kind != Said {
			t.Fatalf("a job ends as %+v", e)
		}
	}
	return float64(jobs) / time.Since(begin).Seconds()
}

// rateForks works jobs as a pool of one child does, whose next fork is on its way while a job is at work.
// It returns how many that were in a second, and how long each took from its handover to its verdict.
func rateForks(t testing.TB, h *Host, spec *Spec, jobs int) (rate float64, answers []time.Duration) {
	t.Helper()
	ready := make(chan *Child)
	w := newWitness()
	begin := time.Now()
	go func() {
		defer close(ready)
		for range jobs {
			c, err := h.Start(context.Background(), spec, 1, nil, onlyEndings{w})
			if err != nil {
				t.Error(err)
				return
			}
			<-c.Ready()
			ready <- c
		}
	}()
	for c := range ready {
		began := time.Now()
		if e := endOf(t, c, w, newJob("r1"), RunLimits{}); e.Kind != Said {
			t.Fatalf("a job ends as %+v", e)
		}
		answers = append(answers, time.Since(began))
	}
	if len(answers) != jobs {
		t.Fatalf("%d of %d jobs were worked", len(answers), jobs)
	}
	return float64(jobs) / time.Since(begin).Seconds(), answers
}

// TestForkSharesMemory: what a fork has of its own, after its job, is a small part of the program.
func TestForkSharesMemory(t *testing.T) {
	for language, command := range preloadable(t) {
		t.Run(language, func(t *testing.T) {
			c, w := startOne(t, &Spec{Mode: Preload, Command: command})
			mustRun(t, c, dataJob("r1", `{"do":"pause"}`), RunLimits{})
			until(t, "pause", func() bool { return strings.Contains(w.text("r1"), "pausing") })
			m, ok := proc.ReadMemory(c.PID())
			if !ok {
				t.Fatal("its memory cannot be read")
			}
			t.Logf("%s: %.1f MiB resident, its fair share %.1f MiB, its own %.1f MiB", language, mib(m.Resident), mib(m.Share), mib(m.Private))
			if m.Private >= 4<<20 || m.Private <= 0 || m.Private > m.Share || m.Share > m.Resident {
				t.Errorf("memory is %+v", m)
			}
			if got := c.Memory(); got <= 0 || got >= m.Resident {
				t.Errorf("its memory counts %d bytes", got)
			}
			killed(t, c)
		})
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
