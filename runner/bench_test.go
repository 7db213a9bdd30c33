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

// BenchmarkRoundTrip compares a job through the runner with what a bare program
// needs to write the same line to the same child over the same pipes and to read
// its answer.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("bare", func(b *testing.B) { bareRoundTrips(b, b.N, b.ResetTimer) })
	b.Run("runner", func(b *testing.B) { b.ReportAllocs(); runnerRoundTrips(b, b.N, b.ResetTimer) })
}

// bareRoundTrips makes n round trips, after calling begin, with nothing but reads and writes.
func bareRoundTrips(t testing.TB, n int, begin func()) {
	childIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(), "testdata/acks.py")
	cmd.Stdin, cmd.ExtraFiles = childIn, []*os.File{childOut}
	cmd.Env = []string{"OARLOCK_STATUS_FD=3"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	childIn.Close()
	childOut.Close()
	line := protocol.AppendJob(nil, newJob("r1"))
	lines := bufio.NewReader(out)
	trip := func() {
		if _, err := in.Write(line); err != nil {
			t.Fatal(err)
		}
		if answer, err := lines.ReadSlice('\n'); err != nil || !bytes.Contains(answer, []byte("ack")) {
			t.Fatal(string(answer), err)
		}
	}
	trip() // the first one waits for the interpreter
	begin()
	for range n {
		trip()
	}
	in.Close()
	cmd.Wait()
	out.Close()
}

// chain hands over the next job as soon as one has ended.
type chain struct {
	*witness
	left int
	done chan struct{}
}

func (w *chain) RunEnded(c *Child, r *Run, e *Ending) {
	if e.Kind != Said || e.Verdict.Kind != protocol.Ack || w.left == 0 {
		close(w.done)
		return
	}
	w.left--
	c.Run(r.Job, r.limits)
}

func runnerRoundTrips(t testing.TB, n int, begin func()) {
	h := newHost(t)
	w := &chain{witness: newWitness(), done: make(chan struct{})}
	c, err := h.Start(t.Context(), &Spec{Pool: "bench", Mode: Reuse, Command: []string{python(), "testdata/acks.py"}, Kill: KillGroup}, 1, nil, w)
	if err != nil {
		t.Fatal(err)
	}
	await(t, w.ready, "ready child")
	trips := func(n int) {
		w.left, w.done = n-1, make(chan struct{})
		if _, err := c.Run(newJob("r1"), RunLimits{Timeout: time.Hour}); err != nil {
			t.Fatal(err)
		}
		await(t, w.done, "end of all jobs")
		if w.left > 0 {
			t.Fatalf("%d jobs were not acknowledged", w.left)
		}
	}
	trips(1)
	begin()
	trips(n)
}
