package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// asks makes the pool of the world have a retry_command, which answers so, and lets j0 fail, with an exit code, as often as it is begun.
func (w *fakeWorld) asks(answer func(ctx context.Context, input string) (string, error)) *atomic.Int64 {
	n := new(atomic.Int64)
	w.cfg.Pools[0].Ask = []string{"again"}
	w.cfg.Ask = func(ctx context.Context, pool string, command []string, input []byte) ([]byte, error) {
		n.Add(1)
		if pool != "p" || len(command) != 1 || command[0] != "again" {
			w.t.Errorf("%q of pool %s is asked", command, pool)
		}
		out, err := answer(ctx, string(input))
		return []byte(out), err
	}
	w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
		e := byItself(1, protocol.ExitOnError)
		return &e
	}
	return n
}

// hangs is a command that never answers: whoever runs it gives up.
func hangs(ctx context.Context, _ string) (string, error) {
	select {
	case <-time.After(AskTime):
		return "", errors.New("again did not answer within 5s")
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func TestARetryCommandDecides(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		state        string // a minute later; alive is any that is not over
		begun, most  int    // how often it was begun
		spent        int    // of its retries
		group        string
	}{
		{name: "ack", answer: `{"do":"ack"}`, state: "complete", begun: 1, most: 1},
		{name: "fail", answer: `{"do":"fail","group":"no-stock"}`, state: "failed", begun: 1, most: 1, group: "no-stock"},
		{name: "retry much later", answer: `{"do":"retry","delay":3600}`, state: "alive", begun: 1, most: 1, spent: 1, group: "exit-1"},
		{name: "retry soon, until none is left", answer: `{"do":"retry","delay":1}`, state: "failed", begun: 6, most: 6, spent: 6, group: "exit-1"},
		{name: "release, as often as it likes", answer: `{"do":"release","delay":5}`, state: "alive", begun: 6, most: 12, group: "exit-1"},
	} {
		runFaked(t, tt.name, func(t *testing.T, w *fakeWorld) {
			w.asks(func(context.Context, string) (string, error) { return tt.answer, nil })
			w.runFor(59*time.Second, 1)
			j := w.redis.job("j0")
			state := j.state
			if state != "complete" && state != "failed" {
				state = "alive"
			}
			if n := w.host.begun("j0"); state != tt.state || n < tt.begun || n > tt.most || j.Retries-j.Remaining != tt.spent || j.settlement.Group != tt.group {
				t.Errorf("it is %s in group %q after %d attempts and %d retries; want %s, %q, %d, %d", j.state, j.settlement.Group, w.host.begun("j0"), j.Retries-j.Remaining,
					tt.state, tt.group, tt.begun, tt.spent)
			}
		})
	}
}

// Whatever is wrong with the command, the rules of the pool decide, and a lock is kept until then.
func TestARetryCommandThatDoesNotAnswer(t *testing.T) {
	for name, answer := range map[string]func(context.Context, string) (string, error){
		"hangs":    hangs,
		"dies":     func(context.Context, string) (string, error) { return "", errors.New("again killed by SIGKILL") },
		"nonsense": func(context.Context, string) (string, error) { return "42 is the answer", nil },
		"nothing":  func(context.Context, string) (string, error) { return "", nil },
	} {
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			w.redis.lock = 3 * time.Second // less than the command has
			asked := w.asks(answer)
			w.runFor(5*time.Minute, 1)
			w.want("failed", 1)
			if begun := w.host.begun("j0"); begun != 6 || asked.Load() != 6 {
				t.Errorf("begun %d times, asked %d times; want 6 and 6", begun, asked.Load())
			}
			if n := w.s.Snapshot().Pools[0].Counters; n.Unanswered != 6 || n.Lost != 0 || n.Late != 0 {
				t.Errorf("counted are %+v", n)
			}
		})
	}
}

// Who is slow holds up the failed jobs, not the others; and so many failures at a time are not asked about that they fill the host.
func TestASlowRetryCommandIsAskedSoOftenAtATime(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		var now, most atomic.Int64
		asked := w.asks(func(ctx context.Context, input string) (string, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			time.Sleep(4 * time.Second)
			return `{"do":"ack"}`, nil
		})
		w.cfg.Pools[0].Children = 20
		w.redis.put(200)
		w.run()
		for asked.Load() < 30 {
			time.Sleep(time.Second)
			if n := w.s.Snapshot().Pools[0].Unsettled; n > 60 {
				t.Fatalf("%d attempts wait for an answer", n)
			}
		}
		time.Sleep(5 * time.Minute)
		if w.want("complete", 200); most.Load() > 8 {
			t.Errorf("%d were asked at a time", most.Load())
		}
	})
}

// A lock that is lost meanwhile makes the answer void.
func TestAnAnswerWithoutALockIsVoid(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.asks(func(ctx context.Context, _ string) (string, error) {
			time.Sleep(4 * time.Second)
			return `{"do":"fail"}`, ctx.Err()
		})
		w.redis.put(1)
		w.run()
		for w.host.begun("j0") == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		w.redis.steal("j0", "another")
		time.Sleep(time.Minute)
		if j := w.redis.job("j0"); j.state == "failed" || j.worker != "another" {
			t.Errorf("it is %s, of %s", j.state, j.worker)
		}
	})
}

// A drain waits for answers; at its end the rules decide, and a signal that ended all interrupts as ever.
func TestARetryCommandAndADrain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		drain time.Duration
		end   func(*fakeWorld)
		log   string
	}{
		{"in time", time.Minute, (*fakeWorld).end, "fail j0"},
		{"too late", time.Second, (*fakeWorld).end, "retry j0"},
		{"killed", time.Minute, func(w *fakeWorld) { w.s.StopNow(); w.wait(); w.stop() }, "retry j0"},
	} {
		runFaked(t, tt.name, func(t *testing.T, w *fakeWorld) {
			w.cfg.DrainTimeout = tt.drain
			w.asks(func(ctx context.Context, _ string) (string, error) {
				select {
				case <-time.After(4 * time.Second):
					return `{"do":"fail"}`, nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			})
			w.redis.put(1)
			w.run()
			for w.host.begun("j0") == 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(500 * time.Millisecond)
			tt.end(w)
			if log := w.redis.lines(); log[len(log)-1] != tt.log {
				t.Errorf("%q; want %s in the end", log, tt.log)
			}
		})
	}
}

func TestASignalInterruptsWhatIsAskedAbout(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.asks(hangs)
		e := bySignalOf(syscall.SIGSEGV)
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending { return &e }
		w.redis.put(1)
		w.run()
		for w.host.begun("j0") == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(600 * time.Millisecond)
		w.s.Signaled()
		w.end()
		if j := w.redis.job("j0"); j.Interruptions != 1 || j.Crashes != 0 {
			t.Errorf("%d interruptions and %d crashes", j.Interruptions, j.Crashes)
		}
	})
}

// What waited for an answer in vain is asked about, too.
func TestARetryCommandIsAskedAboutParkTimeouts(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.asks(func(_ context.Context, input string) (string, error) {
			if !strings.Contains(input, `"kind":"park-timeout"`) {
				return "", fmt.Errorf("asked %s", input)
			}
			return `{"do":"fail","group":"nobody-answered"}`, nil
		})
		w.redis.put(1)
		locked(&w.redis.mu, func() { w.redis.jobs["j0"].Expired, w.redis.jobs["j0"].Correlation = true, "c" })
		w.runFor(30*time.Second, 0)
		if j := w.redis.job("j0"); j.state != "failed" || j.settlement.Group != "nobody-answered" || w.host.begun("j0") != 0 {
			t.Errorf("it is %s in group %q, and was begun %d times", j.state, j.settlement.Group, w.host.begun("j0"))
		}
	})
}
