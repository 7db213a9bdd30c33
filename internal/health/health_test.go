package health

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/supervisor"
)

// asked is what a handler answers.
func asked(handle http.HandlerFunc, path string) (code int, text string) {
	w := httptest.NewRecorder()
	handle(w, httptest.NewRequest("GET", path, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// A process lives as long as its loops answer, whatever Redis does, and is asked once a second, by however many.
func TestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asks atomic.Int64
		var stuck atomic.Bool
		h := New(func() bool {
			asks.Add(1)
			time.Sleep(10 * time.Millisecond)
			return !stuck.Load()
		}, nil)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if code, word := asked(h.Alive, "/healthz"); code != 200 || word != "alive" {
					t.Errorf("%d %s", code, word)
				}
			})
		}
		all.Wait()
		if n := asks.Load(); n != 1 {
			t.Errorf("the loops were asked %d times", n)
		}
		stuck.Store(true)
		time.Sleep(time.Second)
		if code, word := asked(h.Alive, "/healthz"); code != 503 || word != "stuck" {
			t.Errorf("of a loop that does not answer: %d %s", code, word)
		}
		stuck.Store(false)
		time.Sleep(time.Second)
		if code, _ := asked(h.Alive, "/healthz"); code != 200 {
			t.Errorf("when it answers again: %d", code)
		}
	})
}

// From its start to its drain a supervisor says in a word how it is, and each pool how that is.
func TestReady(t *testing.T) {
	child := []supervisor.SlotSnapshot{{State: "busy"}}
	working := supervisor.PoolSnapshot{Name: "p", Children: 1, Slots: child}
	with := func(change func(*supervisor.PoolSnapshot)) supervisor.Snapshot {
		p := working
		change(&p)
		return supervisor.Snapshot{Ready: true, Redis: "ok", Pools: []supervisor.PoolSnapshot{p}}
	}
	same := func(*supervisor.PoolSnapshot) {}
	for _, c := range []struct {
		name string
		shot supervisor.Snapshot
		err  error
		path string
		code int
		word string
	}{
		{"at the start", supervisor.Snapshot{}, nil, "/readyz", 503, "redis"},
		{"at work", with(same), nil, "/readyz", 200, "ready"},
		{"Redis is away", supervisor.Snapshot{Redis: "refused"}, nil, "/readyz", 503, "redis"},
		{"Redis is away, of a pool", supervisor.Snapshot{Redis: "refused", Pools: []supervisor.PoolSnapshot{working}}, nil, "/readyz?pool=p", 503, "redis"},
		{"draining", supervisor.Snapshot{Ready: true, Draining: true}, nil, "/readyz", 503, "draining"},
		{"it abstains", supervisor.Snapshot{Redis: "ok", Abstains: "why"}, nil, "/readyz", 503, "abstains"},
		{"it abstains, of a pool", supervisor.Snapshot{Redis: "ok", Abstains: "why", Pools: []supervisor.PoolSnapshot{{Name: "p", Children: 1, Slots: child, Abstains: "why"}}}, nil, "/readyz?pool=p", 503, "abstains"},
		{"it abstains, of a pool of a list", supervisor.Snapshot{Redis: "ok", Abstains: "why", Pools: []supervisor.PoolSnapshot{working}}, nil, "/readyz?pool=p", 200, "ready"},
		{"no snapshot", supervisor.Snapshot{}, errors.New("no"), "/readyz", 503, "stuck"},
		{"a pool at work", with(same), nil, "/readyz?pool=p", 200, "ready"},
		{"no such pool", with(same), nil, "/readyz?pool=q", 404, "no_pool"},
		{"a pool without a name", with(same), nil, "/readyz?pool=", 404, "no_pool"},
		{"breaker", with(func(p *supervisor.PoolSnapshot) { p.Breaker = "why" }), nil, "/readyz?pool=p", 503, "breaker"},
		{"breaker, of all", with(func(p *supervisor.PoolSnapshot) { p.Breaker = "why" }), nil, "/readyz", 200, "ready"},
		{"quiet", with(func(p *supervisor.PoolSnapshot) { p.Quiet = true }), nil, "/readyz?pool=p", 503, "quiet"},
		{"its children start", with(func(p *supervisor.PoolSnapshot) { p.Slots = []supervisor.SlotSnapshot{{State: "starting"}} }), nil, "/readyz?pool=p", 503, "no_child"},
		{"its children do not", with(func(p *supervisor.PoolSnapshot) { p.Barren = "why" }), nil, "/readyz?pool=p", 503, "no_child"},
		{"once", with(func(p *supervisor.PoolSnapshot) {
			p.Mode, p.Slots = "once", []supervisor.SlotSnapshot{{State: "empty"}}
		}), nil, "/readyz?pool=p", 200, "ready"},
		{"it wants no children", with(func(p *supervisor.PoolSnapshot) { p.Children, p.Slots = 0, nil }), nil, "/readyz?pool=p", 200, "ready"},
		{"its loop stands still", supervisor.Snapshot{Ready: true, Redis: "ok", Stuck: []string{"p"}}, nil, "/readyz?pool=p", 503, "stuck"},
		{"that of another does", supervisor.Snapshot{Ready: true, Redis: "ok", Stuck: []string{"q"}, Pools: []supervisor.PoolSnapshot{working}}, nil, "/readyz?pool=p", 200, "ready"},
		{"it leaves", with(func(p *supervisor.PoolSnapshot) { p.Draining = true }), nil, "/readyz?pool=p", 404, "no_pool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := New(nil, func(context.Context) (supervisor.Snapshot, error) { return c.shot, c.err })
			code, word := asked(func(w http.ResponseWriter, r *http.Request) { h.Ready(w, r, false) }, c.path)
			if code != c.code || word != c.word {
				t.Errorf("%d %s, want %d %s", code, word, c.code, c.word)
			}
			var told Readiness
			code, text := asked(func(w http.ResponseWriter, r *http.Request) { h.Ready(w, r, true) }, c.path)
			if err := json.Unmarshal([]byte(text), &told); code != c.code || code != 404 && (err != nil || told.Word != c.word || told.Ready != (code == 200)) {
				t.Errorf("verbose: %d %s, %v", code, text, err)
			}
		})
	}
}
