package preload

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"oarlock/runner/internal/runnertest"
	"oarlock/runner/internal/tree"
)

// TestMain lets the test binary stand for the program, as the shim and as the guard of what it starts.
func TestMain(m *testing.M) {
	tree.Hidden(os.Args)
	os.Exit(m.Run())
}

// TestProgramIsLeftWhenIdle: it ends by itself when it is needed no more, which Close does not wait for, and
// another one is started when there is work again.
func TestProgramIsLeftWhenIdle(t *testing.T) {
	starter, err := tree.Open()
	runnertest.Must(t, err)
	defer starter.Close()
	s := New(starter, slog.New(slog.NewTextHandler(t.Output(), nil)))
	defer s.Close()
	over := make(chan struct{}, 2)
	order := func() (*Order, error) {
		return &Order{Argv: []string{runnertest.Python(), "../../testdata/preloaded.py"}, Strength: tree.Group,
			Env:          []string{"PATH=/usr/bin:/bin", "OARLOCK_PROTOCOL=1", "OARLOCK_MODE=preload", "OARLOCK_STATUS=auto"},
			StartTimeout: time.Minute, Wrote: func([]byte) {}, Over: func() { over <- struct{}{} }}, nil
	}
	for range 2 {
		p, err := s.Fork(t.Context(), "key", order, Request{}) // without a job, it ends at the end of its input
		runnertest.Must(t, err)
		p.Wait()
		p.Release()
		s.mu.Lock()
		f := s.all["key"]
		s.mu.Unlock()
		f.leave()
		<-f.gone
		if f.end.Code != 0 || f.end.Signal != 0 {
			t.Errorf("it ended as %+v", f.end)
		}
		<-over
	}
}

// TestAProgramThatCannotForkIsReplaced: whose forks fail while other processes start ends, and another is started; while nothing else starts, it stays.
func TestAProgramThatCannotForkIsReplaced(t *testing.T) {
	starter, err := tree.Open()
	runnertest.Must(t, err)
	defer starter.Close()
	s := New(starter, slog.New(slog.NewTextHandler(t.Output(), nil)))
	defer s.Close()
	starts := filepath.Join(t.TempDir(), "starts")
	order := func() (*Order, error) {
		const program = `echo >>"$0"; echo '{"@":"hello","v":[1],"caps":["fork"]}' >&3
			while read -r line <&3; do echo '{"@":"forkfail","message":"Resource temporarily unavailable"}' >&3; done`
		return &Order{Argv: []string{"sh", "-c", program, starts}, Strength: tree.Group, Env: []string{"PATH=/usr/bin:/bin"},
			StartTimeout: time.Minute, Wrote: func([]byte) {}, Over: func() {}}, nil
	}
	fails := func(times, programs int) {
		t.Helper()
		for range times {
			if _, err := s.Fork(t.Context(), "key", order, Request{}); err == nil {
				t.Fatal("it forked")
			}
		}
		told, err := os.ReadFile(starts)
		runnertest.Must(t, err)
		if n := bytes.Count(told, []byte("\n")); n != programs {
			t.Errorf("%d programs were started, want %d", n, programs)
		}
	}
	fails(3*failedForks, 1)
	for range failedForks {
		other, err := starter.Start(tree.Command([]string{"true"}), tree.Group, tree.Settings{})
		runnertest.Must(t, err)
		other.Wait()
		other.Release()
	}
	fails(1, 1) // which is the last word of the first
	fails(2, 2)
}
