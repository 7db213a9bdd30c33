package runner

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/protocol"
)

// batchOf gives a child n jobs r0, r1, … in one message, of which it does the steps, and returns their runs.
func batchOf(t *testing.T, c *Child, s steps, n int, limits RunLimits) []*Run {
	t.Helper()
	var jobs []*protocol.Job
	for i := range n {
		jobs = append(jobs, s.job(fmt.Sprint("r", i)))
	}
	runs, err := c.RunBatch(jobs, slices.Repeat([]RunLimits{limits}, n))
	must(t, err)
	return runs
}

// ended are the next n endings, by run.
func (w *witness) ended(t *testing.T, c *Child, runs []*Run) map[string]*Ending {
	t.Helper()
	byRun := map[string]*Ending{}
	for range runs {
		e := await(t, w.endings, "ending")
		for _, r := range runs {
			if &r.ending == e {
				byRun[r.Job.Run] = e
			}
		}
	}
	return byRun
}

// Each job of a batch may have its own verdict, and one word is enough for those that have none.
func TestABatchHasAVerdictForEachAndOneForTheRest(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse}, "batch")
	defer c.Kill(CauseShutdown)
	if !c.Batches() {
		t.Fatal("a child with the capability is not given batches")
	}
	runs := batchOf(t, c, steps{
		say("fail", "of", 2, "group", "bad"), say("checkpoint", "of", 1, "data", 7), say("put", "of", 0, "queue", "q"),
		say("progress", "pct", 50), say("tag", "tags", []string{"lost"}), say("ack"),
	}, 4, RunLimits{})
	for range 2 { // the same child is free for the next, and knows nothing of the last
		got := w.ended(t, c, runs)
		for run, want := range map[string]protocol.Kind{"r0": protocol.Ack, "r1": protocol.Ack, "r2": protocol.Fail, "r3": protocol.Ack} {
			if e := got[run]; e == nil || e.Kind != Said || e.Verdict.Kind != want || e.Batch != 4 || e.Whole != (want == protocol.Ack) {
				t.Errorf("%s ended as %+v, want %v of a batch of 4", run, e, want)
			}
		}
		if e := got["r1"]; string(e.Checkpoint) != "7" || len(got["r0"].Puts) != 1 || len(got["r3"].Puts) != 0 {
			t.Errorf("checkpoint %s, puts %v: want each with the job that was named", e.Checkpoint, got["r0"].Puts)
		}
		runs = batchOf(t, c, steps{
			say("fail", "of", 2, "group", "bad"), say("checkpoint", "of", 1, "data", 7), say("put", "of", 0, "queue", "q"), say("ack"),
		}, 4, RunLimits{})
	}
	w.ended(t, c, runs)
	refused := slices.ContainsFunc(w.lines(), func(l loggedLine) bool { return strings.Contains(l.refused, "names the batch") })
	if !refused {
		t.Error("a tag that names the batch was not refused")
	}
	if c.State() != Ready {
		t.Errorf("the child is %v", c.State())
	}
}

// What befalls the child befalls all that have no verdict, and its ending tells of how many they were.
func TestABatchEndsWithItsChild(t *testing.T) {
	h := newHost(t)
	for name, c := range map[string]struct {
		steps steps
		spec  Spec
		limit RunLimits
		kind  EndingKind
		group string
	}{
		"exit":     {steps{{"exit", 3}}, Spec{}, RunLimits{}, Exited, "exit-3"},
		"silence":  {steps{{"sleep", 60}}, Spec{StallTimeout: 100 * time.Millisecond}, RunLimits{}, TimedOut, "stalled"},
		"timeout":  {steps{{"sleep", 60}}, Spec{}, RunLimits{Timeout: 100 * time.Millisecond}, TimedOut, "timeout"},
		"nonsense": {steps{{"raw", `{"@":"ack","run":"r1","data":`}}, Spec{}, RunLimits{}, BrokeProtocol, "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Mode = Reuse
			child, w := obedient(t, h, c.spec, "batch")
			all := append(steps{say("ack", "of", 1)}, c.steps...)
			if name == "nonsense" {
				all = c.steps
			}
			runs := batchOf(t, child, all, 3, c.limit)
			got := w.ended(t, child, runs)
			await(t, w.exits, "exit")
			for run, e := range got {
				if run == "r1" && name != "nonsense" {
					if e.Kind != Said {
						t.Errorf("the one with a verdict ended as %v", e.Kind)
					}
					continue
				}
				if e.Kind != c.kind || e.Group != c.group || e.Batch != 3 || !e.Began {
					t.Errorf("%s ended as %v in %q of %d, began %t; want %v in %q of 3, begun", run, e.Kind, e.Group, e.Batch, e.Began, c.kind, c.group)
				}
			}
		})
	}
}

// A job of a batch that is cancelled takes the others with it if the child does not let go of it, and these were
// only interrupted; a child that lets go of it keeps the others.
func TestOneOfABatchIsCancelled(t *testing.T) {
	h := newHost(t)
	t.Run("it does not hear", func(t *testing.T) {
		c, w := obedient(t, h, Spec{Mode: Reuse}, "batch")
		runs := batchOf(t, c, steps{{"print", "at it"}, {"sleep", 60}}, 3, RunLimits{})
		w.awaitLine(t, "at it")
		runs[1].Cancel(CauseCanceled, 100*time.Millisecond)
		for run, e := range w.ended(t, c, runs) {
			if want := map[bool]EndingKind{true: Canceled, false: Interrupted}[run == "r1"]; e.Kind != want {
				t.Errorf("%s ended as %v, want %v", run, e.Kind, want)
			}
		}
	})
	t.Run("it hears", func(t *testing.T) {
		c, w := obedient(t, h, Spec{Mode: Reuse}, "batch", "cancel")
		defer c.Kill(CauseShutdown)
		runs := batchOf(t, c, steps{{"print", "at it"}, {"listen"}, say("release", "of", 1), say("ack")}, 3, RunLimits{})
		w.awaitLine(t, "at it")
		runs[1].Cancel(CauseCanceled, time.Minute)
		for run, e := range w.ended(t, c, runs) {
			if want := map[bool]EndingKind{true: Canceled, false: Said}[run == "r1"]; e.Kind != want {
				t.Errorf("%s ended as %v, want %v", run, e.Kind, want)
			}
		}
	})
}

// A batch is told once that it drains, and once that it has to stop.
func TestABatchIsToldAsOne(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse}, "batch", "cancel", "draining")
	defer c.Kill(CauseShutdown)
	runs := batchOf(t, c, steps{{"print", "at it"}, {"listen"}, {"listen"}, say("release")}, 3, RunLimits{})
	w.awaitLine(t, "at it")
	for _, r := range runs {
		r.Drain(time.Minute)
	}
	for _, r := range runs {
		r.Cancel(CauseShutdown, time.Minute)
	}
	for run, e := range w.ended(t, c, runs) {
		if e.Kind != Said || !e.Drained || e.SentByUs != CauseShutdown {
			t.Errorf("%s ended as %v, drained %t, sent by us for %v", run, e.Kind, e.Drained, e.SentByUs)
		}
	}
	told := 0
	for _, line := range w.lines() {
		if strings.Contains(line.text, `"draining","run":`) || strings.Contains(line.text, `"cancel","run":`) {
			told++
		}
	}
	if told != 2 {
		t.Errorf("it was told %d lines, want 2", told)
	}
}

// A batch lives no longer than the first of its leases.
func TestABatchEndsWithItsFirstLease(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse, Kill: KillGuard}, "batch")
	now := sinceBoot()
	jobs := []*protocol.Job{steps{{"sleep", 60}}.job("r0"), steps{}.job("r1")}
	runs, err := c.RunBatch(jobs, []RunLimits{{Lease: now + time.Hour}, {Lease: now + 300*time.Millisecond}})
	must(t, err)
	got := w.ended(t, c, runs)
	if exit := await(t, w.exits, "exit"); exit.Signal != syscall.SIGKILL {
		t.Errorf("the child ended by %v", exit.Signal)
	}
	if got["r1"].Kind != LockLost || got["r0"].Kind != Interrupted {
		t.Errorf("the one without a lease ended as %v, the other as %v", got["r1"].Kind, got["r0"].Kind)
	}
}

// A child that does not read batch lines is given none.
func TestNoBatchForWhoReadsNone(t *testing.T) {
	c, _ := obedient(t, newHost(t), Spec{Mode: Reuse})
	defer c.Kill(CauseShutdown)
	if c.Batches() {
		t.Error("a child without the capability is given batches")
	}
	if _, err := c.RunBatch([]*protocol.Job{newJob("r0")}, make([]RunLimits, 1)); err != ErrLeaving {
		t.Errorf("a batch for a child that reads none: %v", err)
	}
}
