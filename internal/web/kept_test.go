package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// What costs much is found out once for all who want it meanwhile, and again when it is old or could not be found out.
func TestWhatCostsMuchIsFoundOutOnce(t *testing.T) {
	k := newKept[int]()
	found, begun, end := 0, make(chan struct{}), make(chan struct{})
	find := func(context.Context) (int, error) {
		close(begun)
		<-end
		found++
		return found, nil
	}
	var all sync.WaitGroup
	want := func() {
		if n, err := k.get(t.Context(), time.Hour, find); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	all.Go(want)
	<-begun
	for range 8 { // while it is being found out
		all.Go(want)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := k.get(left, time.Hour, find); !errors.Is(err, context.Canceled) {
		t.Errorf("who has left is told %v", err)
	}
	close(end)
	all.Wait()
	other := func(context.Context) (int, error) { return 7, nil }
	if n, err := k.get(t.Context(), time.Hour, other); n != 1 || err != nil {
		t.Errorf("while it is fresh: %d, %v", n, err)
	}
	if n, err := k.get(t.Context(), 0, other); n != 7 || err != nil {
		t.Errorf("when it is old: %d, %v", n, err)
	}
	away := errors.New("away")
	if _, err := k.get(t.Context(), 0, func(context.Context) (int, error) { return 0, away }); !errors.Is(err, away) {
		t.Errorf("when it cannot be found out: %v", err)
	}
	if n, err := k.get(t.Context(), time.Hour, other); n != 7 || err != nil {
		t.Errorf("after that: %d, %v", n, err)
	}
}

// Many queues are listed whole, in order, each once, page by page, and added up, without a count of all for each who asks.
func TestManyQueues(t *testing.T) {
	a, q := apart(t)
	const queues = fewQueues + 10
	var puts []queue.Put
	for i := range queues {
		for range i%3 + 1 {
			puts = append(puts, queue.Put{Queue: fmt.Sprintf("q-%03d", i), Klass: "K"})
		}
	}
	must.Get(q.PutAll(t.Context(), puts))(t)
	g := as(t, "read")
	for _, order := range []string{"name", "waiting", "lag"} {
		seen, before, cursor := map[string]bool{}, ops.Queue{Waiting: 3}, ""
		for page := 0; page == 0 || cursor != ""; page++ {
			var part ops.Part[ops.Queue]
			must.Do(t, json.Unmarshal([]byte(wants(t, 200, g.ask(a, "GET", "/api/v1/queues?limit=7&sort="+order+"&cursor="+cursor, ""))), &part))
			if part.Total != queues {
				t.Fatalf("there are %d queues", part.Total)
			}
			for _, one := range part.Items {
				if seen[one.Name] || order == "waiting" && one.Waiting > before.Waiting || order == "name" && one.Name <= before.Name {
					t.Errorf("by %s %s comes after %s", order, one.Name, before.Name)
				}
				seen[one.Name], before = true, one
			}
			cursor = part.Next
		}
		if len(seen) != queues {
			t.Errorf("by %s %d queues are listed", order, len(seen))
		}
	}
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/queues?match=q-00*", "")); field(t, text, "total") != 10.0 {
		t.Errorf("of those that begin so: %.200s", text)
	}
	if total := field(t, wants(t, 200, g.ask(a, "GET", "/api/v1/stats", "")), "total").(map[string]any); total["length"] != float64(len(puts)) {
		t.Errorf("in all there are %v, of %d", total, len(puts))
	}
	must.Get(q.Put(t.Context(), queue.Put{Queue: "q-new", Klass: "K"}))(t)
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/queues?match=q-n*", "")); field(t, text, "total") != 1.0 {
		t.Errorf("one that is new: %.200s", text)
	}
}

// A door that strangers on the network could listen at is told of on the pages, until it is one no more.
func TestADoorWithoutTLSIsToldOf(t *testing.T) {
	const risk = "web.listen: tokens and data go over the network as they are to [::]:7733."
	_, q := apart(t)
	for _, says := range []string{"", risk} {
		a := New(Options{Redis: q, Supervisor: aSupervisor(), Log: slog.New(slog.DiscardHandler), Census: counting(t, q), Risk: says})
		if text := as(t, "read").ask(a, "GET", "/", "").Body.String(); strings.Contains(text, risk) != (says != "") {
			t.Errorf("with %q the overview says so: %t", says, says == "")
		}
		w := &worry{hosts: 1}
		a.warn(w)
		if h := w.headline(); strings.Contains(h.Says, "something to know") != (says != "") {
			t.Errorf("with %q the headline is %q", says, h.Says)
		}
	}
}

// Profiles of the process are for a door that has them, and there for whoever may everything; what stands in the command line is not told.
func TestProfiles(t *testing.T) {
	a, _ := quietly(aSupervisor())
	for _, test := range []struct {
		rights, path string
		door         bool
		want         int
	}{
		{"write", "goroutine?debug=1", true, 200}, {"write", "", true, 200}, {"write", "symbol", true, 200}, {"write", "cmdline", true, 404}, {"write", "nosuch", true, 404},
		{"write", "goroutine", false, 404}, {"read", "goroutine", true, 403}, {"put", "heap", true, 403}, {"none", "heap", true, 401},
	} {
		g := as(t, test.rights)
		g.door.Profiles = test.door
		if w := g.ask(a, "GET", "/debug/pprof/"+test.path, ""); w.Code != test.want {
			t.Errorf("%s of %s by a door that has them (%t): %d, want %d", test.path, test.rights, test.door, w.Code, test.want)
		}
	}
}
