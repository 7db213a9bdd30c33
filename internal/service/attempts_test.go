package service

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/logging"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// heard is an attempt log whose lines can be read.
type heard struct {
	*attemptLog
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(line []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(line)
}

func newHeard(which string) *heard {
	h := &heard{}
	h.attemptLog = newAttemptLog(slog.New(logging.Lines(h, slog.LevelInfo, false)), which, func() []any { return []any{"at_work", 2} })
	return h
}

// ends makes an attempt end as e says.
func (h *heard) ends(e supervisor.Event) { h.note(&e, hub.OutcomeOf(&e)) }

// lines are those written since it was last asked, without their times.
func (h *heard) lines() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.text.Reset()
	var lines []string
	for line := range strings.Lines(h.text.String()) {
		_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		lines = append(lines, line)
	}
	return lines
}

func attemptEnded(jid string, action queue.Action, e runner.Ending) supervisor.Event {
	return supervisor.Event{
		Kind: supervisor.AttemptEnded, Pool: "p", PID: 7, Ending: &e, Action: action, Group: e.Group, Message: e.Message,
		Job: &protocol.Job{JID: jid, Klass: "Send", Queue: "mail", Attempt: 2, Remaining: 3, Run: "r1"},
	}
}

func endedWell(jid string) supervisor.Event {
	return attemptEnded(jid, queue.Complete, runner.Ending{Kind: runner.Said, Wall: 30 * time.Millisecond})
}

func TestALineForEachAttempt(t *testing.T) {
	tooLarge := attemptEnded("big", queue.Fail, runner.Ending{Group: "payload-too-large", Message: "the job's data is larger than max_job"})
	tooLarge.Kind, tooLarge.Ending, tooLarge.PID = supervisor.SetAside, nil, 0
	redo := attemptEnded("j", "", runner.Ending{Kind: runner.LeftEarly})
	redo.Redo = true
	hostile := endedWell("../../etc\x00" + strings.Repeat("é", 5000))
	hostile.Job.Klass, hostile.Job.Queue = "\n<2>FORGED", "\x1b[2J"
	died := runner.Ending{Kind: runner.Died, Group: "signal-SEGV", Message: "killed by SIGSEGV\nlast words", Wall: 1500 * time.Millisecond}
	exhausted := attemptEnded("j", queue.Retry, runner.Ending{Kind: runner.Exited, Group: "exit-1"})
	exhausted.Fails = true
	tooOften := attemptEnded("j", queue.Release, died)
	tooOften.Fails = true
	traced := endedWell("j")
	traced.Job.Trace = &protocol.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	const ids = "attempt=2 run=r1 pid=7"
	for _, tt := range []struct {
		name  string
		event supervisor.Event
		want  string
	}{
		{"well", endedWell("j"), `INFO  attempt ended jid=j klass=Send queue=mail pool=p outcome=done kind=said duration=30ms ` + ids},
		{"traced", traced, `INFO  attempt ended jid=j klass=Send queue=mail pool=p outcome=done kind=said duration=30ms attempt=2 run=r1 trace_id=4bf92f3577b34da6a3ce929d0e0e4736 pid=7`},
		{"crashed", attemptEnded("j", queue.Release, died), `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=released kind=died duration=1.5s ` + ids + ` group=signal-SEGV err="killed by SIGSEGV last words"`},
		{"crashed too often", tooOften, `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=failed kind=died duration=1.5s ` + ids + ` group=signal-SEGV err="killed by SIGSEGV last words"`},
		{"failed", attemptEnded("j", queue.Fail, runner.Ending{Kind: runner.Exited, Group: "exit-65"}), `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=failed kind=exited duration=0s ` + ids + ` group=exit-65`},
		{"retried", attemptEnded("j", queue.Retry, runner.Ending{Kind: runner.TimedOut, Group: "timeout"}), `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=retried kind=timed-out duration=0s ` + ids + ` group=timeout`},
		{"no retry left", exhausted, `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=failed kind=exited duration=0s ` + ids + ` group=exit-1`},
		{"canceled", attemptEnded("j", "", runner.Ending{Kind: runner.Canceled}), `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=canceled kind=canceled duration=0s ` + ids},
		{"canceled by its child", attemptEnded("j", queue.Cancel, runner.Ending{Kind: runner.Said}), `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=canceled kind=said duration=0s ` + ids},
		{"put again by its child", attemptEnded("j", queue.Requeue, runner.Ending{Kind: runner.Said}), `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=requeued kind=said duration=0s ` + ids},
		{"lost", attemptEnded("j", "", runner.Ending{Kind: runner.Said}), `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=lost kind=said duration=0s ` + ids},
		{"not begun", redo, `WARN  attempt ended jid=j klass=Send queue=mail pool=p outcome=handed-on kind=left-early duration=0s ` + ids},
		{"no child was given it", tooLarge, `WARN  attempt ended jid=big klass=Send queue=mail pool=p outcome=failed attempt=2 run=r1 group=payload-too-large err="the job's data is larger than max_job"`},
		{"hostile names", hostile, `INFO  attempt ended jid="../../etc\x00` + strings.Repeat("é", 123) + `…" klass="\n<2>FORGED" queue="\x1b[2J" pool=p outcome=done kind=said duration=30ms ` + ids},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHeard("all")
			h.ends(tt.event)
			if got := h.lines(); len(got) != 1 || got[0] != tt.want {
				t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

// A child that dies had up to sixteen jobs kept ready for it, of which it knew nothing: that another has them is no news.
func TestWhatWasKeptReadyForAChildThatDiedIsNoNews(t *testing.T) {
	innocent := attemptEnded("j", "", runner.Ending{Kind: runner.Innocent})
	innocent.Redo = true
	h := newHeard("all")
	h.ends(innocent)
	if got := h.lines(); len(got) != 0 {
		t.Errorf("it says %q", got)
	}
}

func TestWhichAttemptsAreTold(t *testing.T) {
	for which, want := range map[string]int{"all": 2, "bad": 1, "none": 0} {
		h := newHeard(which)
		h.ends(endedWell("good"))
		h.ends(attemptEnded("bad", queue.Fail, runner.Ending{Kind: runner.Exited}))
		if got := h.lines(); len(got) != want {
			t.Errorf("%s: %d lines, want %d: %q", which, len(got), want, got)
		}
		h.tell("all") // by a reload
		h.ends(endedWell("later"))
		if got := h.lines(); len(got) != 1 {
			t.Errorf("%s, then all: %q", which, got)
		}
	}
}

func TestManyThatEndWellAreSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeard("all")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.run(ctx) }()
		bad := attemptEnded("bad", queue.Fail, runner.Ending{Kind: runner.Exited})
		other := endedWell("other")
		other.Pool = "q"
		for second := range 3 {
			for i := range 1000 {
				h.ends(endedWell(fmt.Sprint(i)))
			}
			h.ends(bad)
			h.ends(other)
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			told, sums := 0, 0
			for _, line := range h.lines() {
				switch {
				case strings.HasPrefix(line, "INFO  more attempts ended well pool=p attempts=900 mean=30ms longest=30ms"):
					sums++
				case strings.HasPrefix(line, "INFO  attempt ended jid=") && strings.Contains(line, "pool=p outcome=done"):
					told++
				case strings.Contains(line, "jid=bad"), strings.Contains(line, "jid=other"):
					told += 1000
				default:
					t.Errorf("it says %q", line)
				}
			}
			if told != 2100 || sums != 1 {
				t.Errorf("second %d: told %d, and %d sums; want 100 with the bad one and the other pool's, and one sum", second, told, sums)
			}
		}
		for range 150 {
			h.ends(endedWell("last"))
		}
		h.flush() // the supervisor has left
		if lines := h.lines(); len(lines) != 101 || !strings.Contains(lines[100], "attempts=50") {
			t.Errorf("at the end it says %d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		stop()
		<-done
	})
}

func TestWhatWasDoneInAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeard("none")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.run(ctx) }()
		time.Sleep(59 * time.Minute)
		for range 3 {
			h.ends(endedWell("good"))
		}
		h.ends(attemptEnded("bad", queue.Fail, runner.Ending{Kind: runner.Exited}))
		h.ends(attemptEnded("gone", "", runner.Ending{Kind: runner.Canceled}))
		if lines := h.lines(); len(lines) != 0 {
			t.Errorf("before the hour is over: %q", lines)
		}
		for _, want := range []string{
			"INFO  done in the last hour done=3 failed=1 retried=0 canceled=1 at_work=2",
			"INFO  done in the last hour: nothing at_work=2",
		} {
			time.Sleep(time.Hour)
			synctest.Wait()
			if lines := h.lines(); len(lines) != 1 || lines[0] != want {
				t.Errorf("it says %q, want %q", lines, want)
			}
		}
		stop()
		<-done
	})
}
