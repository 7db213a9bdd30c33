package runner

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"oarlock/protocol"
)

// TestDrainByLine: a child with the capability hears of it by a line, for each of its runs, also a second time.
func TestDrainByLine(t *testing.T) {
	// It would die of the signal that others are sent.
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse, DrainSignal: syscall.SIGUSR1}, protocol.CapDraining)
	r := mustRun(t, c, steps{{"print", "at work"}, {"listen"}, {"listen"}, say("release")}.job("r1"), RunLimits{})
	w.awaitLine(t, "at work")
	r.Drain(30 * time.Second)
	w.awaitLine(t, `{"@":"draining","run":"r1","left":30}`)
	r.Drain(0)
	e := await(t, w.endings, "ending")
	w.awaitLine(t, `{"@":"draining","run":"r1"}`)
	if e.Kind != Said || !e.Drained || e.SentByUs != CauseNone || e.Verdict.Kind != protocol.Release {
		t.Errorf("the run ends as %v by %v, drained %v, verdict %+v", e.Kind, e.SentByUs, e.Drained, e.Verdict)
	}
	r.Drain(time.Second) // of a run that has ended nobody hears
	if e := endOf(t, c, w, steps{say("ack")}.job("r2"), RunLimits{}); e.Drained || c.State() != Ready {
		t.Errorf("the next run: drained %v; the child is %v", e.Drained, c.State())
	}
}

// TestDrainOfARunThatWaits: the child hears of it when it has heard of the run.
func TestDrainOfARunThatWaits(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse}, protocol.CapDraining)
	mustRun(t, c, steps{{"print", "at work"}, {"sleep", 0.1}, say("ack")}.job("r1"), RunLimits{})
	r := mustRun(t, c, steps{{"listen"}, say("release")}.job("r2"), RunLimits{})
	w.awaitLine(t, "at work")
	r.Drain(0)
	if e := await(t, w.endings, "ending"); e.Drained {
		t.Error("the run at work is said to have been told")
	}
	if e := await(t, w.endings, "ending"); !e.Drained || e.Verdict.Kind != protocol.Release {
		t.Errorf("the run that waited: drained %v, verdict %+v", e.Drained, e.Verdict)
	}
	w.awaitLine(t, `{"@":"draining","run":"r2"}`)
}

// TestDrainWithoutAWord: a child that has not the capability, in a pool without a signal, hears nothing.
func TestDrainWithoutAWord(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse}, protocol.CapCancel)
	r := mustRun(t, c, steps{{"print", "at work"}, {"sleep", 0.1}, say("ack")}.job("r1"), RunLimits{})
	w.awaitLine(t, "at work")
	r.Drain(30 * time.Second)
	if e := await(t, w.endings, "ending"); e.Drained {
		t.Error("the run is said to have been told")
	}
}

// TestDrainBySignal: of a script, only the script hears it, and gives its job back when what it runs has ended.
func TestDrainBySignal(t *testing.T) {
	for _, strength := range strengths(t) {
		t.Run(strength.String(), func(t *testing.T) {
			h, w := newHost(t), newWitness()
			script := `trap 'told=1' $OARLOCK_DRAIN_SIGNAL; echo at work; sh -c 'sleep 0.2; echo unharmed'; test "$told" && exit 99; exit 3`
			c := start(t, h, &Spec{Command: shell(script), Kill: strength, DrainSignal: syscall.SIGUSR1}, w)
			r := mustRun(t, c, newJob("r1"), RunLimits{})
			w.awaitLine(t, "at work")
			r.Drain(30 * time.Second)
			r.Drain(20 * time.Second)
			e := await(t, w.endings, "ending")
			w.awaitLine(t, "unharmed")
			if e.Kind != Exited || !e.Drained || e.Action != protocol.ExitRelease {
				t.Errorf("the run ends as %v, drained %v, code %d", e.Kind, e.Drained, e.ExitCode)
			}
		})
	}
}

// TestDrainSignalIsNoCrash: who has no handler dies of the signal, and was interrupted.
func TestDrainSignalIsNoCrash(t *testing.T) {
	for _, mode := range []Mode{Once, Reuse} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			c, w := startOne(t, &Spec{Mode: mode, Command: shell("read -r job; echo at work; exec sleep 600"), DrainSignal: syscall.SIGUSR2})
			r := mustRun(t, c, newJob("r1"), RunLimits{})
			w.awaitLine(t, "at work")
			r.Drain(0)
			if e := await(t, w.endings, "ending"); e.Kind != Interrupted || e.SentByUs != CauseShutdown || e.Signal != syscall.SIGUSR2 {
				t.Errorf("the run ends as %v by %v, signal %v", e.Kind, e.SentByUs, e.Signal)
			}
		})
	}
}
