package service

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"oarlock/internal/health"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// TestMain lets the test binary stand for the program, parts of which run children.
func TestMain(m *testing.M) {
	runner.Hidden(os.Args)
	os.Exit(m.Run())
}

// supervised is a service whose supervisor runs, with a pool for the queue q, and tells onEvent what happens.
func supervised(t *testing.T, onEvent func(supervisor.Event)) (*Service, *queue.Client) {
	t.Helper()
	client := must.Get(queue.Open(t.Context(), queue.Options{URL: redistest.Start(t).URL}))(t)
	t.Cleanup(func() { client.Close() })
	dir := t.TempDir()
	host := must.Get(runner.NewHost(runner.HostOptions{PrivateRoot: filepath.Join(dir, "private")}))(t)
	t.Cleanup(func() { host.Close() })
	s := watched(t)
	s.sup = supervisor.New(supervisor.Config{
		StateDir: filepath.Join(dir, "state"), DrainTimeout: 10 * time.Second, OnEvent: onEvent,
		Pools: []supervisor.Pool{{Name: "p", Queues: []string{"q"}, Children: 1, Child: runner.Spec{Pool: "p", Mode: runner.Once, Command: []string{"true"}, KillGrace: time.Second}}},
	}, client, host)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.sup.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, client
}

// The loop of a pool that stands still is found out by who asks whether the supervisor lives, or that pool works, and so is that it goes on.
func TestHealthOfALoopThatStandsStill(t *testing.T) {
	stands, goesOn := make(chan struct{}), make(chan struct{})
	s, client := supervised(t, func(e supervisor.Event) {
		if e.Kind == supervisor.AttemptStarted { // from the pool's loop, which must not wait
			close(stands)
			<-goesOn
		}
	})
	release := sync.OnceFunc(func() { close(goesOn) })
	t.Cleanup(release) // before the supervisor is to leave
	h := health.New(s.alive, s.hub.Snapshot)
	until := func(code int, word string, handle http.HandlerFunc) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			w := httptest.NewRecorder()
			handle(w, httptest.NewRequest("GET", "/?pool=p", nil))
			if w.Code == code && w.Body.String() == word+"\n" {
				return
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("it says %d %s, want %d %s", w.Code, w.Body, code, word)
			}
		}
	}
	says := func(code int, lives, ready string) {
		t.Helper()
		until(code, lives, h.Alive)
		until(code, ready, func(w http.ResponseWriter, r *http.Request) { h.Ready(w, r, false) })
	}
	says(http.StatusOK, "alive", "ready")
	must.Get(client.Put(t.Context(), queue.Put{Queue: "q", Klass: "K"}))(t)
	<-stands
	says(http.StatusServiceUnavailable, "stuck", "stuck")
	if shot := s.sup.Snapshot(); len(shot.Pools) != 0 || len(shot.Stuck) != 1 || shot.Stuck[0] != "p" || !shot.Ready {
		t.Errorf("the supervisor says %+v", shot)
	}
	release()
	says(http.StatusOK, "alive", "ready")
}
