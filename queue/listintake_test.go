package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"oarlock/queue"
)

// intakes are the next entries of a list as jobs of q; what begins with "bad" is none.
func intakes(entries []string) (all []queue.Intake) {
	for _, entry := range entries {
		in := queue.Intake{Entry: entry, Put: queue.Put{Queue: "q", Klass: "K", Data: []byte(entry)}}
		if strings.HasPrefix(entry, "bad") {
			in.Trouble = "it is bad"
		}
		all = append(all, in)
	}
	return all
}

// Each entry becomes one job, in order, however many take it in at a time; what is none is kept with its reason.
func TestIntakeMakesEachEntryOneJob(t *testing.T) {
	l := hworker()
	l.Name = "outbox"
	w := newListed(t, l)
	const n = 400
	for i := range n {
		w.push(fmt.Sprint(i))
	}
	w.push("bad", "bad", `{"no json`)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				next, err := w.c.NextOfList(t.Context(), "outbox", 30)
				if err != nil || len(next) == 0 {
					return
				}
				if _, _, err := w.c.TakeIn(t.Context(), "outbox", intakes(next)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	jobs := w.redis.ZRange(t.Context(), "ql:q:q-work", 0, -1).Val()
	slices.Reverse(jobs) // the first is the last of its set
	if len(jobs) != n || len(w.lies()) != 0 {
		t.Fatalf("%d jobs, and %d entries are left", len(jobs), len(w.lies()))
	}
	for i, jid := range jobs {
		if got := w.redis.HGet(t.Context(), "ql:j:"+jid, "data").Val(); got != fmt.Sprint(i) {
			t.Fatalf("job %d has the data %s", i, got)
		}
	}
	broken := w.redis.HGetAll(t.Context(), "ql:oarlock:broken:outbox").Val()
	if len(broken) != 2 || !strings.Contains(broken["bad"], "it is bad") || !strings.Contains(broken[`{"no json`], "not JSON") {
		t.Errorf("broken are %q", broken)
	}
}

// What somebody else took meanwhile is not taken in, nor anything behind it; what is refused stays in its place.
func TestIntakeTouchesOnlyWhatItRead(t *testing.T) {
	l := hworker()
	l.Name = "outbox"
	w := newListed(t, l)
	w.push("1", "2", "3", "4")
	next, err := w.c.NextOfList(t.Context(), "outbox", 3)
	if err != nil || fmt.Sprint(next) != "[1 2 3]" {
		t.Fatal(next, err)
	}
	w.redis.RPop(t.Context(), "outbox")
	if moved, _, err := w.c.TakeIn(t.Context(), "outbox", intakes(next)); moved != 0 || err != nil {
		t.Errorf("moved %d (%v)", moved, err)
	}
	next, _ = w.c.NextOfList(t.Context(), "outbox", 2)
	bad := intakes(next)
	bad[0].Put.JID, bad[0].Put.Queue = "j", "q"
	w.redis.Set(t.Context(), "ql:j:j", "x", 0)
	moved, results, err := w.c.TakeIn(t.Context(), "outbox", bad)
	var refused *queue.ScriptError
	if moved != 1 || err != nil || len(results) != 2 || !errors.As(results[0].Err, &refused) || results[1].Err != nil {
		t.Errorf("moved %d, %+v (%v)", moved, results, err)
	}
	if got := fmt.Sprint(w.lies()); got != "[2 4]" {
		t.Errorf("in the list are %s", got)
	}
}
