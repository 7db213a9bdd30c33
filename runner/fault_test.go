package runner

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"oarlock/protocol"
	"oarlock/runner/internal/proc"
	"oarlock/runner/internal/runnertest"
)

// fault is one way in which a child goes wrong, shown by a program in sh and by
// one in Python.
type fault struct {
	row     string // of the fault matrix
	name    string
	fixture string   // in testdata, without .sh or .py
	args    []string // of the fixture
	size    int      // if not 0, its only argument
	short   int      // size in the gate
	alone   bool     // its check looks at the whole process
	spec    Spec     // Command is filled in
	limits  RunLimits
	check   func(t *testing.T, h *Host, f *fault) (numbers string)
}

const timeout = time.Second

var faults = []fault{
	{row: "B1", name: "killed in mid job", fixture: "dies-of", args: []string{"KILL"}, check: diesOf("signal-KILL")},
	{row: "B2", name: "segmentation fault", fixture: "dies-of", args: []string{"SEGV"}, check: diesOf("signal-SEGV")},
	{row: "B2", name: "abort", fixture: "dies-of", args: []string{"ABRT"}, check: diesOf("signal-ABRT")},
	{row: "B3", name: "silent exit 0", fixture: "says-nothing", check: exits(protocol.ExitAck, "")},
	{row: "B3", name: "exit 0 after hello", fixture: "says-only-hello", check: dies("exit-0")},
	{row: "B3", name: "exit 0 of a reused child", fixture: "says-only-hello", spec: Spec{Mode: Reuse, Hello: HelloRequired}, check: dies("exit-0")},
	{row: "B5", name: "grandchild keeps stdout open", fixture: "leaves-a-grandchild", alone: true, check: endsInSpiteOfGrandchild},
	{row: "B6", name: "hangs", fixture: "hangs", limits: RunLimits{Timeout: timeout}, check: isStopped("timeout", CauseTimeout, timeout)},
	{row: "B7", name: "ignores TERM", fixture: "ignores-term", limits: RunLimits{Timeout: timeout}, check: isStopped("timeout", CauseTimeout, timeout)},
	{row: "B8", name: "stopped", fixture: "stops-itself", spec: Spec{StallTimeout: timeout}, check: isStopped("stalled", CauseStall, timeout)},
	{row: "B9", name: "endless loop", fixture: "spins", spec: Spec{StallTimeout: timeout}, check: isStopped("stalled", CauseStall, timeout)},
	{row: "B17", name: "exits at once", fixture: "exits-at-once", spec: Spec{Mode: Reuse}, check: isNeverReady},
	{row: "B19", name: "never says hello", fixture: "never-says-hello", spec: Spec{Mode: Reuse, Hello: HelloRequired, StartTimeout: 300 * time.Millisecond}, check: isNeverReady},
	{row: "B23", name: "leaves after its ack", fixture: "leaves-after-ack", spec: Spec{Mode: Reuse}, check: leavesAfterAck},
	{row: "B24", name: "closes stdin", fixture: "closes-a-channel", args: []string{"0"}, alone: true, check: costsNothingWhileWaiting},
	{row: "B24", name: "closes stdout", fixture: "closes-a-channel", args: []string{"1"}, alone: true, check: costsNothingWhileWaiting},
	{row: "B24", name: "closes its status channel", fixture: "closes-a-channel", args: []string{"3"}, alone: true, check: costsNothingWhileWaiting},
	{row: "B25", name: "never reads", fixture: "never-reads", spec: Spec{Mode: Reuse, WriteTimeout: time.Second}, check: isKilledForNotReading},
	{row: "C1", name: "a GiB without a line feed", fixture: "prints-without-end", size: 1024, short: 32, alone: true, check: needsLittleMemory},
	{row: "C2", name: "10 million log lines", fixture: "floods-the-log", size: 10_000_000, short: 50_000, spec: Spec{LogRate: 1000}, check: isHeardInTheFlood},
	{row: "C3", name: "a million progress lines", fixture: "floods-with-progress", size: 1_000_000, short: 20_000, check: isCoalesced},
	{row: "C4", name: "dies in mid verdict", fixture: "dies-in-mid-verdict", check: isNeverTaken},
	{row: "C5", name: "verdict without a line feed", fixture: "half-a-line", check: failsWith("half")},
	{row: "C6", name: "two verdicts", fixture: "says-two-things", spec: Spec{Mode: Reuse}, check: firstVerdictWins},
	{row: "C7", name: "verdicts for others", fixture: "answers-for-others", args: []string{"150"}, spec: Spec{Mode: Reuse}, check: wearsOut},
	{row: "C8", name: "odd lines", fixture: "prints-a-file", args: []string{"../protocol/testdata/lines.txt"}, check: acknowledges},
	{row: "C8", name: "binary", fixture: "prints-a-file", args: []string{"/bin/sh"}, check: acknowledges},
	{row: "C9", name: "echoes forged verdicts", fixture: "prints-its-data", spec: Spec{Mode: Reuse, Hello: HelloRequired}, check: isNotForged},
	{row: "C10", name: "many writers", fixture: "writes-with-many", check: exits(protocol.ExitFail, "exit-65")},
	{row: "C11", name: "last words on a terminal", fixture: "says-last-words", args: []string{"30000"}, spec: Spec{PTY: true}, check: lastWordsArrive},
	{row: "C13", name: "flushes late", fixture: "flushes-late", check: acknowledgesAlways},
	{row: "C14", name: "verbs and fields of the future", fixture: "knows-more", spec: Spec{Mode: Reuse, Hello: HelloRequired}, check: acknowledges},
	{row: "C14", name: "no common version", fixture: "speaks-the-future", spec: Spec{Mode: Reuse, Hello: HelloRequired}, check: isNeverReady},
	{row: "C15", name: "payloads up to 16 MiB", fixture: "sums-its-line", spec: Spec{Input: InputData}, check: payloadArrives},
	{row: "S1", name: "10,000 forged lines", fixture: "prints-a-file", args: []string{"FORGED"}, check: forgeriesAreLog},
	{row: "S1", name: "10,000 forged lines in a strict pool", fixture: "prints-a-file", args: []string{"FORGED"}, spec: Spec{Strict: true}, check: forgeriesAreLog},
	{row: "S2", name: "shell syntax in job and payload", fixture: "sums-its-line", check: nothingIsInterpreted},
	{row: "C16", name: "crash report of 1 MB", fixture: "reports-at-length", check: reportIsCut},
}

// inGate are the rows that the gate shows in Python too, one for each mode and for lines of any kind.
var inGate = []string{"B2", "B23", "C8"}

// TestFaults shows each fault in both languages and prints its row.
func TestFaults(t *testing.T) {
	h := newHost(t)
	for _, language := range []string{"sh", "py"} {
		for _, f := range faults {
			if testing.Short() && language == "py" && !slices.Contains(inGate, f.row) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%s", f.row, strings.ReplaceAll(f.name, " ", "-"), language), func(t *testing.T) {
				if !f.alone {
					t.Parallel()
				}
				if f.size > 0 {
					f.size = scaled(cmp.Or(f.short, f.size), f.size)
					f.args = []string{fmt.Sprint(f.size)}
				}
				f.spec.Command = fixture(f.fixture+"."+language, f.args...)
				f.spec.KillGrace = time.Second
				f.spec.Env = []string{"PATH=/usr/bin:/bin"}
				noCore := uint64(0)
				f.spec.Sandbox.Limits.Core = &noCore
				started := time.Now()
				numbers := f.check(t, h, &f)
				result := "ok"
				if t.Failed() {
					result = "FAILED"
				}
				fmt.Printf("row %s seed 0 %s %s, %s: %s (%.1f s)\n", f.row, result, f.name, language, numbers, time.Since(started).Seconds())
			})
		}
	}
}

// run runs one job and returns its ending and how long it took from its handover.
func (f *fault) run(t *testing.T, h *Host) (*Ending, *witness, time.Duration) {
	t.Helper()
	c, w := started(t, h, &f.spec)
	begin := time.Now()
	e := endOf(t, c, w, newJob("r1"), f.limits)
	took := time.Since(begin)
	if f.spec.Mode == Reuse {
		c.Shutdown(time.Second)
	}
	await(t, c.Exited(), "exit")
	return e, w, took
}

// within calls try until it takes at most bound, twenty times at most, beside what the machine is late itself: it may be busy with something else. It
// returns the shortest time. The gate, which may run on any machine, tries once and bounds nothing.
func within(t *testing.T, bound time.Duration, what string, try func() time.Duration) time.Duration {
	t.Helper()
	if testing.Short() {
		return try()
	}
	best, beyond := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for n := 0; n < 20 && beyond > 0; n++ {
		lateness := watchLateness()
		took := try()
		best, beyond = min(best, took), min(beyond, took-bound-3*lateness())
	}
	if beyond > 0 {
		t.Errorf("%s after %v; want at most %v", what, best, bound)
	}
	return best
}

// watchLateness begins to look how late the machine wakes who sleeps; what it returns ends that, and tells of the latest.
func watchLateness() func() time.Duration {
	stop, told := make(chan struct{}), make(chan time.Duration)
	go func() {
		latest := time.Duration(0)
		for {
			began := time.Now()
			select {
			case <-stop:
				told <- latest
				return
			case <-time.After(time.Millisecond):
				latest = max(latest, time.Since(began)-time.Millisecond)
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-told
	}
}

// awaitDeath returns the moment at which the process of c ended, as the kernel has it.
func awaitDeath(c *Child) time.Time {
	for {
		if !proc.Alive(c.PID()) {
			return time.Now()
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func expectEnding(t *testing.T, e *Ending, kind EndingKind, group string) {
	t.Helper()
	if e.Kind != kind || e.Group != group {
		t.Errorf("%v, group %q, %q; want %v, group %q", e.Kind, e.Group, e.Message, kind, group)
	}
}

func dies(group string) func(*testing.T, *Host, *fault) string {
	return func(t *testing.T, h *Host, f *fault) string {
		e, _, took := f.run(t, h)
		expectEnding(t, e, Died, group)
		return took.String()
	}
}

func diesOf(group string) func(*testing.T, *Host, *fault) string {
	return func(t *testing.T, h *Host, f *fault) string {
		noticed := within(t, 100*time.Millisecond, "noticed", func() time.Duration {
			c, w := started(t, h, &f.spec)
			mustRun(t, c, newJob("r1"), f.limits)
			died := awaitDeath(c)
			e := await(t, w.endings, "ending")
			took := time.Since(died)
			expectEnding(t, e, Died, group)
			if exit := await(t, w.exits, "exit"); exit.CoreDump {
				t.Error("it left a core file")
			}
			return took
		})
		return fmt.Sprintf("noticed after %v", noticed)
	}
}

func exits(action protocol.ExitAction, group string) func(*testing.T, *Host, *fault) string {
	return func(t *testing.T, h *Host, f *fault) string {
		e, _, took := f.run(t, h)
		expectEnding(t, e, Exited, group)
		if e.Action != action {
			t.Errorf("action %v; want %v", e.Action, action)
		}
		return took.String()
	}
}

func acknowledges(t *testing.T, h *Host, f *fault) string {
	e, w, took := f.run(t, h)
	expectEnding(t, e, Said, "")
	if e.Verdict != nil && e.Verdict.Kind != protocol.Ack {
		t.Errorf("verdict %v; want ack", e.Verdict.Kind)
	}
	return fmt.Sprintf("%v, %d log lines", took, len(w.lines()))
}

func acknowledgesAlways(t *testing.T, h *Host, f *fault) (numbers string) {
	times := scaled(3, 100)
	for range times {
		numbers = acknowledges(t, h, f)
	}
	return fmt.Sprintf("times=%d the last: %s", times, numbers)
}

func failsWith(group string) func(*testing.T, *Host, *fault) string {
	return func(t *testing.T, h *Host, f *fault) string {
		times := scaled(3, 100)
		for range times {
			e, _, _ := f.run(t, h)
			expectEnding(t, e, Said, group)
		}
		return fmt.Sprintf("times=%d", times)
	}
}

func endsInSpiteOfGrandchild(t *testing.T, h *Host, f *fault) string {
	end := func() time.Duration {
		c, w := started(t, h, &f.spec)
		mustRun(t, c, newJob("r1"), f.limits)
		died := awaitDeath(c)
		expectEnding(t, await(t, w.endings, "ending"), Exited, "")
		took := time.Since(died)
		await(t, c.Exited(), "exit")
		return took
	}
	group := within(t, 500*time.Millisecond, "ended", end)
	runnertest.KillAll(livingChildren()) // what left the process group was inherited by us
	f.spec.Kill = KillGuard
	guard := end()
	if left := livingChildren(); len(left) > 0 {
		t.Errorf("below a guard, %v are left", left)
	}
	return fmt.Sprintf("ended after %v, below a guard after %v", group, guard)
}

// livingChildren returns the processes that are ours, started or inherited, and
// have not ended; but for the guards that serve all children of h.
func livingChildren() (living []int) {
	for _, pid := range proc.Children(nil, os.Getpid()) {
		if proc.Alive(pid) && !runnertest.IsWarden(pid) {
			living = append(living, pid)
		}
	}
	return living
}

// isStopped: asked to stop after so long, and gone within the grace.
func isStopped(group string, cause Cause, after time.Duration) func(*testing.T, *Host, *fault) string {
	return func(t *testing.T, h *Host, f *fault) string {
		gone := within(t, after+f.spec.KillGrace+500*time.Millisecond, "gone", func() time.Duration {
			e, w, took := f.run(t, h)
			expectEnding(t, e, TimedOut, group)
			if e.SentByUs != cause {
				t.Errorf("cause %v; want %v", e.SentByUs, cause)
			}
			if got := await(t, w.stopping, "word that it is stopping"); got != cause || len(w.stopping) > 0 {
				t.Errorf("told to be stopping because of %v, and %d times more", got, len(w.stopping))
			}
			if took < after {
				t.Errorf("gone after %v already", took)
			}
			return took
		})
		return fmt.Sprintf("gone after %v", gone)
	}
}

// isNeverReady tries again where a child that fails at once was not noticed before one that says nothing is trusted.
func isNeverReady(t *testing.T, h *Host, f *fault) string {
	f.spec.Pool = "test"
	f.spec.Kill = KillGroup
	var exit Exit
	var took time.Duration
	for range 20 {
		w := newWitness()
		begin := time.Now()
		c, err := h.Start(t.Context(), &f.spec, 1, nil, w)
		must(t, err)
		exit = await(t, w.exits, "exit")
		took = time.Since(begin)
		if exit.Message == "" {
			t.Errorf("exit %+v; want a reason", exit)
		}
		if _, err := c.Run(newJob("r1"), RunLimits{}); err != ErrLeaving {
			t.Errorf("Run = %v; want ErrLeaving", err)
		}
		if len(w.ready) == 0 {
			return fmt.Sprintf("%v: %s", took, exit.Message)
		}
		if took < probation || f.spec.Hello == HelloRequired {
			break
		}
	}
	t.Errorf("it was ready, and left after %v: %+v", took, exit)
	return "ready"
}

// leavesAfterAck: the next job, written as the child leaves, is not blamed.
func leavesAfterAck(t *testing.T, h *Host, f *fault) string {
	times := scaled(4, 1000)
	left, refused, blamed := 0, 0, 0
	f.spec.Pool, f.spec.Kill = "test", KillGroup
	for done := 0; done < times; {
		// Each takes its time until it is believed to be ready, so some start together.
		children := make([]*Child, min(8, times-done))
		witnesses := make([]*witness, len(children))
		for i := range children {
			witnesses[i] = newWitness()
			c, err := h.Start(t.Context(), &f.spec, i, nil, witnesses[i])
			must(t, err)
			children[i] = c
		}
		for i, c := range children {
			w := witnesses[i]
			await(t, w.ready, "ready child")
			mustRun(t, c, newJob("r1"), RunLimits{})
			expectEnding(t, await(t, w.endings, "ending"), Said, "")
			if _, err := c.Run(newJob("r2"), RunLimits{}); err == nil {
				if e := await(t, w.endings, "second ending"); e.Kind == LeftEarly || e.Kind == Innocent {
					left++
				} else {
					t.Logf("second job: %v, %s", e.Kind, e.Message)
					blamed++
				}
			} else {
				refused++
			}
			await(t, c.Exited(), "exit")
			done++
		}
	}
	if blamed > times/100 {
		t.Errorf("%d of %d jobs are blamed for the child that left them", blamed, times)
	}
	return fmt.Sprintf("given_back=%d not_accepted=%d blamed=%d", left, refused, blamed)
}

func costsNothingWhileWaiting(t *testing.T, h *Host, f *fault) string {
	before := ownCPU(t)
	e, _, took := f.run(t, h)
	used := ownCPU(t) - before
	expectEnding(t, e, Exited, "")
	if used > took/20 {
		t.Errorf("we used %v of processor time in %v", used, took)
	}
	return fmt.Sprintf("%v of processor time in %v", used, took)
}

func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	return cpuTime(os.Getpid())
}

func isKilledForNotReading(t *testing.T, h *Host, f *fault) string {
	return isKilledWith(t, h, f, newJob("r1")) + "; " + isKilledWith(t, h, f, largeJob("r2"))
}

// largeJob is one for which a pipe has no room.
func largeJob(run string) *protocol.Job {
	job := newJob(run)
	job.Data = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	return job
}

// isKilledWith wants a job handed over at once: before its child is killed for what it does not read.
func isKilledWith(t *testing.T, h *Host, f *fault, job *protocol.Job) string {
	c, w := started(t, h, &f.spec)
	begin := time.Now()
	mustRun(t, c, job, RunLimits{})
	if handed := time.Since(begin); len(w.endings) > 0 {
		t.Errorf("handed over after %v, when the child was killed", handed)
	}
	e := await(t, w.endings, "ending")
	took := time.Since(begin)
	expectEnding(t, e, BrokeProtocol, "protocol")
	if e.Began {
		t.Error("the job is said to have begun")
	}
	await(t, c.Exited(), "exit")
	return fmt.Sprintf("child killed after %v", took)
}

func needsLittleMemory(t *testing.T, h *Host, f *fault) string {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	e, w, took := f.run(t, h)
	runtime.ReadMemStats(&after)
	expectEnding(t, e, Said, "")
	grown := int64(after.Sys) - int64(before.Sys)
	if grown > 16<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	cut := int64(0)
	for _, line := range w.lines() {
		cut += line.cut + int64(len(line.text))
	}
	if want := int64(f.size) << 20; cut != want {
		t.Errorf("%d bytes accounted for; want %d", cut, want)
	}
	return fmt.Sprintf("mib=%d memory_grew_kib=%d %v", f.size, grown>>10, took)
}

func isHeardInTheFlood(t *testing.T, h *Host, f *fault) string {
	e, w, took := f.run(t, h)
	expectEnding(t, e, Said, "")
	kept, dropped := 0, 0
	for _, line := range w.lines() {
		dropped += line.dropped
		if line.text != "" {
			kept++
		}
	}
	if kept+dropped != f.size {
		t.Errorf("%d lines kept and %d dropped; want %d in all", kept, dropped, f.size)
	}
	if most := f.spec.LogRate * (int(took/time.Second) + 2); kept > most {
		t.Errorf("%d lines kept in %v; want at most %d", kept, took, most)
	}
	return fmt.Sprintf("lines_kept=%d lines_dropped=%d %v", kept, dropped, took)
}

func isCoalesced(t *testing.T, h *Host, f *fault) string {
	e, w, took := f.run(t, h)
	expectEnding(t, e, Said, "")
	if most := int(took/time.Second) + 1; w.progress > most {
		t.Errorf("%d times told in %v", w.progress, took)
	}
	if e.LastProgress == nil || *e.LastProgress.Percent != 100 {
		t.Errorf("last progress %+v; want 100", e.LastProgress)
	}
	return fmt.Sprintf("statuses=%d passed_on=%d %v", f.size, w.progress, took)
}

// isNeverTaken: a verdict that is cut off anywhere is none.
func isNeverTaken(t *testing.T, h *Host, f *fault) string {
	verdict := `{"@":"ack","run":"r1","data":{"to":"` + strings.Repeat("someone", scaled(1, 24)) + `","n":12345}}`
	cuts, step := 0, 1
	if f.spec.Command[0] == python() {
		step = scaled(12, 1) // for it starts slowly
	}
	for cut := 0; cut < len(verdict); cut += step {
		f.spec.Command = append(f.spec.Command[:2:2], verdict[:cut])
		e, w, _ := f.run(t, h)
		expectEnding(t, e, Died, "signal-KILL")
		same(t, strings.TrimSuffix(w.text("r1"), "\n"), verdict[:cut], "log %q")
		cuts++
	}
	return fmt.Sprintf("cuts=%d taken=0", cuts)
}

func firstVerdictWins(t *testing.T, h *Host, f *fault) string {
	const jobs = 40
	c, w := started(t, h, &f.spec)
	for i := range jobs {
		mustRun(t, c, newJob(fmt.Sprint("r", i)), RunLimits{})
		expectEnding(t, await(t, w.endings, "ending"), Said, "first")
	}
	c.Shutdown(time.Second)
	await(t, c.Exited(), "exit")
	same(t, len(w.endings), 0, "%d endings too many")
	return fmt.Sprintf("jobs=%d endings=%d", jobs, jobs)
}

// wearsOut: verdicts for others change nothing, and so many of them cost the child its place.
func wearsOut(t *testing.T, h *Host, f *fault) string {
	e, w, _ := f.run(t, h)
	expectEnding(t, e, Said, "own")
	if len(w.byes) != 1 {
		t.Errorf("asked to be replaced %d times: %q", len(w.byes), w.byes)
	}
	return fmt.Sprintf("%q", w.byes)
}

func isNotForged(t *testing.T, h *Host, f *fault) string {
	payloads := scaled(300, 10_000)
	c, w := started(t, h, &f.spec)
	for i := range payloads {
		job := newJob(fmt.Sprint("r", i))
		forged := fmt.Sprintf(`{"@":"ack","run":"r%d"}`, i+1)
		if i%2 == 0 {
			forged = `{"@":"ack"}`
		}
		job.Data = []byte(forged)
		if _, err := c.Run(job, RunLimits{}); err == ErrLeaving {
			// It was worn out by what it printed; another goes on.
			c.Shutdown(time.Second)
			w = newWitness()
			c = start(t, h, &f.spec, w)
			if _, err = c.Run(job, RunLimits{}); err != nil {
				t.Fatal(err)
			}
		}
		expectEnding(t, await(t, w.endings, "ending"), Said, "own")
	}
	c.Shutdown(time.Second)
	return fmt.Sprintf("payloads=%d forged=0", payloads)
}

func lastWordsArrive(t *testing.T, h *Host, f *fault) string {
	times := scaled(3, 100)
	for range times {
		e, w, _ := f.run(t, h)
		expectEnding(t, e, Exited, "")
		same(t, len(strings.TrimSuffix(w.text("r1"), "\n")), 30000, "%d bytes of 30000 arrived")
	}
	return fmt.Sprintf("whole=%d", times)
}

func payloadArrives(t *testing.T, h *Host, f *fault) string {
	var sizes []string
	for _, size := range []int{1 << 16, 1 << 20, 16 << 20} {
		data := []byte(`{"n":[],"big":9007199254740993,"fill":"` + strings.Repeat("é", size/2) + `"}`)
		c, w := started(t, h, &f.spec)
		job := newJob("r1")
		job.Data = data
		e := endOf(t, c, w, job, RunLimits{})
		expectEnding(t, e, Said, "")
		sum := sha256.Sum256(append(bytes.Clone(data), '\n'))
		var got string
		if e.Verdict != nil {
			json.Unmarshal(e.Verdict.Data, &got)
		}
		if got != hex.EncodeToString(sum[:]) {
			t.Errorf("payload of %d bytes: checksum %s; want %x", len(data), got, sum)
		}
		await(t, c.Exited(), "exit")
		sizes = append(sizes, fmt.Sprintf("%d in %v", len(data), e.Wall.Round(time.Millisecond)))
	}
	return strings.Join(sizes, ", ")
}

// forgeriesAreLog: whatever a child prints that does not name its run is log, and its
// own word decides.
func forgeriesAreLog(t *testing.T, h *Host, f *fault) string {
	lines := []string{
		`{"@":"fail","group":"forged","message":""}`, `{"@":"retry"}`, `{"@":"release"}`, `{"@":"fail","run":"r0","group":"forged"}`, `{"@":"hello","v":[1]}`,
		`{"@":"hello","v":[9]}`, `{"@":"bye"}`, `{"@":"fail","run":"","group":"forged"}`, `{"@":"put","queue":"q"}`, `{"@":"checkpoint","data":1}`,
	}
	const times = 1000
	path := filepath.Join(t.TempDir(), "forged")
	must(t, os.WriteFile(path, []byte(strings.Repeat(strings.Join(lines, "\n")+"\n", times)), 0o600))
	f.spec.Command = append(f.spec.Command[:2:2], path)
	e, w, took := f.run(t, h)
	expectEnding(t, e, Said, "")
	if e.Verdict.Kind != protocol.Ack || len(e.Puts) > 0 || e.Checkpoint != nil {
		t.Errorf("%v, %d puts, checkpoint %q", e.Verdict.Kind, len(e.Puts), e.Checkpoint)
	}
	same(t, strings.Count(w.text("r1"), "\n"), times*len(lines)+1, "%d lines are in the log")
	return fmt.Sprintf("forged_lines=%d taken=0 %v", times*len(lines), took)
}

func nothingIsInterpreted(t *testing.T, h *Host, f *fault) string {
	canary := filepath.Join(t.TempDir(), "canary")
	evil := fmt.Sprintf("'; touch %[1]s; $(touch %[1]s) `touch %[1]s` | touch %[1]s\n../../%%n\x00", canary)
	job := newJob("r1")
	job.JID, job.Klass, job.Queue, job.Tags = evil, evil, evil, []string{evil}
	job.Data, _ = json.Marshal(evil)
	w := newWitness()
	f.spec.Pool, f.spec.Kill = "test", KillGroup
	c, err := h.Start(t.Context(), &f.spec, 1, job, w)
	must(t, err)
	mustRun(t, c, job, RunLimits{})
	expectEnding(t, await(t, w.endings, "ending"), Said, "")
	await(t, c.Exited(), "exit")
	if _, err := os.Stat(canary); err == nil {
		t.Error("the payload was executed")
	}
	return "no canary"
}

func reportIsCut(t *testing.T, h *Host, f *fault) string {
	e, _, took := f.run(t, h)
	expectEnding(t, e, Exited, "exit-1")
	if len(e.StderrTail) > tailSize || !utf8.Valid(e.StderrTail) || len(e.Message) > tailSize || !utf8.ValidString(e.Message) {
		t.Errorf("tail of %d bytes, message of %d; want at most %d of valid text", len(e.StderrTail), len(e.Message), tailSize)
	}
	if !strings.Contains(e.Message, "cause: no such table") {
		t.Errorf("message %q", e.Message)
	}
	return fmt.Sprintf("%d bytes of tail, %v", len(e.StderrTail), took)
}

// No directory, process or descriptor is left behind by children that are gone.
func TestNothingIsLeftOpen(t *testing.T) {
	root := t.TempDir()
	h := newHostAt(t, root)
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(entries)
	}
	spec := Spec{Command: shell("echo hello"), PTY: true, Sandbox: Sandbox{PrivateDir: true}}
	runOnce(t, h, &spec, RunLimits{})
	files, processes := open(), len(livingChildren())
	for range 20 {
		runOnce(t, h, &spec, RunLimits{})
	}
	// Directories are removed in the background, which takes a descriptor at times.
	for end := time.Now().Add(patience); open() > files; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors are open; before, %d", open(), files)
		}
	}
	if now := livingChildren(); len(now) > processes {
		t.Errorf("processes %v are left; before, there were %d", now, processes)
	}
	if dirs, _ := filepath.Glob(filepath.Join(root, "l-*", "d-*")); len(dirs) > 0 {
		t.Errorf("directories %v are left", dirs)
	}
}

// listening returns a stream that somebody listens to until it ends, which is told.
func listening(t *testing.T, ours *os.File, terminal bool) (*stream, *witness, <-chan struct{}) {
	t.Helper()
	w := newWitness()
	s, err := newStream(&Child{spec: &Spec{}, events: w}, Stdout, ours, terminal)
	must(t, err)
	ended := make(chan struct{})
	go func() {
		s.listen()
		close(ended)
	}()
	return s, w, ended
}

// C12: a reader of a terminal obeys its deadline.
func TestTerminalDeadline(t *testing.T) {
	late := within(t, 100*time.Millisecond, "the reader returned", func() time.Duration {
		ours, theirs, err := openTerminal()
		must(t, err)
		defer theirs.Close()
		_, w, ended := listening(t, ours, true)
		if _, err := theirs.WriteString("half a line"); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(50 * time.Millisecond)
		ours.SetReadDeadline(deadline)
		await(t, ended, "end of the reader")
		same(t, w.text(""), "half a line\n", "log %q")
		return time.Since(deadline)
	})
	t.Logf("C12  pass  deadline of a terminal: %v late", late)
}

// The end of a pipe that comes together with the last words is no event of its own: it is
// found when the child is gone, and nobody waits for more.
func TestEndThatComesWithTheLastWords(t *testing.T) {
	ours, theirs, err := os.Pipe()
	must(t, err)
	if _, err := theirs.WriteString("last words"); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	s, w, ended := listening(t, ours, false)
	s.hurry(time.Hour)
	await(t, ended, "end of the reader")
	same(t, w.text(""), "last words\n", "log %q")
}

// What a program prints before its verdict belongs to its run, even though it
// comes by other pipes.
func TestLogBelongsToItsRun(t *testing.T) {
	c, w := startOne(t, &Spec{Mode: Reuse, Command: fixture("prints-on-all.py")})
	for i := range 300 {
		run := fmt.Sprint("r", i)
		mustRun(t, c, newJob(run), RunLimits{})
		await(t, w.endings, "ending")
		got := w.text(run)
		if !strings.Contains(got, "out of "+run) || !strings.Contains(got, "err of "+run) || strings.Count(got, "\n") != 2 {
			t.Fatalf("%s has the lines %q", run, got)
		}
	}
}
