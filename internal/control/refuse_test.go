package control

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/internal/must"
)

// Who may ask nothing is told why by every path, and nothing is done.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	var asked []int
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	const refused = "jobs may not"
	var mayAsk atomic.Bool
	var mu sync.Mutex
	go func() {
		done <- Serve(ctx, dir, &fake{}, Options{
			Beside: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
			Ready:  func(path string) { ready <- path },
			Refuse: func(p Peer) string {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, p.PID)
				if mayAsk.Load() {
					return ""
				}
				return refused
			},
		})
	}()
	path := <-ready
	ask := func(method, url string) (int, string) {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
		r := must.Get(http.NewRequestWithContext(t.Context(), method, "http://oarlock"+url, strings.NewReader("{}")))(t)
		w := must.Get(client.Do(r))(t)
		defer w.Body.Close()
		text, _ := io.ReadAll(w.Body)
		return w.StatusCode, string(text)
	}
	for method, urls := range map[string][]string{"GET": {"/status", "/output", "/api/v1/status", "/"}, "POST": {"/quiet", "/resume", "/drain", "/stop", "/reload", "/scale", "/recycle", "/api/v1/bulk"}} {
		for _, url := range urls {
			if code, text := ask(method, url); code != http.StatusForbidden || !strings.Contains(text, refused) {
				t.Errorf("%s %s: %d %s", method, url, code, text)
			}
		}
	}
	mayAsk.Store(true)
	if code, _ := ask("GET", "/api/v1/status"); code != http.StatusTeapot {
		t.Errorf("who may ask is answered %d", code)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, pid := range asked {
		if pid != os.Getpid() {
			t.Errorf("process %d was asked about", pid)
		}
	}
}

// While it is found out whether one process may ask, others are answered.
func TestRefusingHoldsUpNobodyElse(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	asked, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	go func() {
		done <- Serve(ctx, dir, &fake{}, Options{
			Beside: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
			Ready:  func(path string) { ready <- path },
			Refuse: func(Peer) string {
				if !first.Swap(true) {
					asked <- struct{}{}
					<-release
				}
				return ""
			},
		})
	}()
	path := <-ready
	ask := func() error {
		client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
		answer, err := client.Get("http://unix/beside")
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	slow := make(chan error, 1)
	go func() { slow <- ask() }()
	<-asked
	if err := ask(); err != nil {
		t.Error(err)
	}
	close(release)
	must.Do(t, <-slow)
	stop()
	must.Do(t, <-done)
}
