package runner

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"oarlock/protocol"
)

// allowance is what the runner may add to the round trip of a reused child.
const allowance = 0.6

// TestRoundTrip compares a job through the runner with what a bare program needs
// to write the same line to the same child and to read its answer.
func TestRoundTrip(t *testing.T) {
	rounds, trips := 9, 2000
	if raceEnabled {
		rounds, trips = 2, 100
	}
	bare, through := newBareTrip(t), newRunnerTrip(t)
	best := func(trip func(n int), soFar time.Duration) time.Duration {
		begin := time.Now()
		trip(trips)
		return min(soFar, time.Since(begin)/time.Duration(trips))
	}
	b, r := time.Hour, time.Hour
	for range rounds { // in turn, for the machine may have other work; the best round had the least of it
		b = best(bare.trips, b)
		r = best(through.trips, r)
	}
	added := float64(r)/float64(b) - 1
	t.Logf("bare %v, runner %v a job: %.0f %% added", b, r, 100*added)
	if added > allowance && !raceEnabled {
		t.Errorf("the runner adds %.0f %% to a round trip; it may add %.0f %%", 100*added, 100*allowance)
	}
}

// bareTrip is a child and nothing but reads and writes.
type bareTrip struct {
	t     testing.TB
	in    *os.File
	lines *bufio.Reader
	line  []byte
}

func newBareTrip(t testing.TB) *bareTrip {
	t.Helper()
	childIn, in, err := os.Pipe()
	must(t, err)
	out, childOut, err := os.Pipe()
	must(t, err)
	cmd := exec.Command(python(), "testdata/acks.py")
	cmd.Stdin, cmd.ExtraFiles = childIn, []*os.File{childOut}
	cmd.Env = []string{"OARLOCK_STATUS_FD=3"}
	must(t, cmd.Start())
	childIn.Close()
	childOut.Close()
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
		out.Close()
	})
	b := &bareTrip{t: t, in: in, lines: bufio.NewReader(out), line: protocol.AppendJob(nil, newJob("r1"))}
	b.trips(1) // which waits for the interpreter
	return b
}

func (b *bareTrip) trips(n int) {
	for range n {
		if _, err := b.in.Write(b.line); err != nil {
			b.t.Fatal(err)
		}
		if answer, err := b.lines.ReadSlice('\n'); err != nil || !bytes.Contains(answer, []byte("ack")) {
			b.t.Fatalf("answer %q, %v", answer, err)
		}
	}
}

// runnerTrip is a child of the runner, which is handed the next job as soon as one has ended.
type runnerTrip struct {
	*witness
	t     testing.TB
	child *Child
	left  int
	done  chan struct{}
}

func newRunnerTrip(t testing.TB) *runnerTrip {
	t.Helper()
	h := newHost(t)
	r := &runnerTrip{witness: newWitness(), t: t}
	var err error
	r.child, err = h.Start(t.Context(), &Spec{Pool: "bench", Mode: Reuse, Command: fixture("acks.py"), Kill: KillGroup}, 1, nil, r)
	must(t, err)
	await(t, r.ready, "ready child")
	r.trips(1)
	return r
}

func (r *runnerTrip) trips(n int) {
	r.left, r.done = n-1, make(chan struct{})
	if _, err := r.child.Run(newJob("r1"), RunLimits{Timeout: time.Hour}); err != nil {
		r.t.Fatal(err)
	}
	await(r.t, r.done, "end of all jobs")
	if r.left > 0 {
		r.t.Fatalf("%d jobs were not acknowledged", r.left)
	}
}

func (r *runnerTrip) RunEnded(c *Child, run *Run, e *Ending) {
	if e.Kind != Said || e.Verdict.Kind != protocol.Ack || r.left == 0 {
		close(r.done)
		return
	}
	r.left--
	c.Run(run.Job, run.limits)
}
