package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

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
				if _, err := w.c.TakeIn(t.Context(), "outbox", "q", 0, intakes(next)); err != nil {
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

// What somebody else took meanwhile is not taken in, nor anything behind it; what is refused stays in its place, and what is behind it.
func TestIntakeTouchesOnlyWhatItRead(t *testing.T) {
	l := hworker()
	l.Name = "outbox"
	w := newListed(t, l)
	w.push("1", "2", "bad", "3", "4")
	next, err := w.c.NextOfList(t.Context(), "outbox", 3)
	if err != nil || fmt.Sprint(next) != "[1 2 bad]" {
		t.Fatal(next, err)
	}
	w.redis.RPop(t.Context(), "outbox")
	if done, err := w.c.TakeIn(t.Context(), "outbox", "q", 0, intakes(next)); done != (queue.TakenIn{}) || err != nil {
		t.Errorf("it did %+v (%v)", done, err)
	}
	next, _ = w.c.NextOfList(t.Context(), "outbox", 4)
	odd := intakes(next)
	odd[2].Put.JID = "j"
	w.redis.Set(t.Context(), "ql:j:j", "x", 0)
	done, err := w.c.TakeIn(t.Context(), "outbox", "q", 0, odd)
	var refused *queue.ScriptError
	if done.Moved != 2 || done.Jobs != 1 || done.Broken != 1 || done.Why != "it is bad" || err != nil || !errors.As(done.Refused, &refused) {
		t.Errorf("it did %+v (%v)", done, err)
	}
	if got := fmt.Sprint(w.lies()); got != "[3 4]" {
		t.Errorf("in the list are %s", got)
	}
}

// No more jobs wait in the queue than the window says, for whatever it is that they wait, but their time.
func TestIntakeKeepsToItsWindow(t *testing.T) {
	l := hworker()
	l.Name = "outbox"
	w := newListed(t, l)
	for i := range 20 {
		w.push(fmt.Sprint(i))
	}
	w.redis.ZAdd(t.Context(), "ql:q:q-throttled", redis.Z{Member: "a"}, redis.Z{Member: "b"})
	w.redis.HSet(t.Context(), "ql:oarlock:behind", "q", 3)
	next, _ := w.c.NextOfList(t.Context(), "outbox", 6)
	for i, want := range []queue.TakenIn{{Moved: 6, Jobs: 6}, {Moved: 1, Jobs: 1, Full: true}, {Full: true}} {
		if done, err := w.c.TakeIn(t.Context(), "outbox", "q", 12, intakes(next)); done != want || err != nil {
			t.Errorf("time %d it did %+v (%v), want %+v", i, done, err, want)
		}
		next, _ = w.c.NextOfList(t.Context(), "outbox", 6)
	}
}

// Of what cannot be a job a thousand entries are kept; how many went for those that came is told.
func TestIntakeTellsWhatIsGone(t *testing.T) {
	l := hworker()
	l.Name = "outbox"
	w := newListed(t, l)
	gone, all := 0, 0
	for all < 1020 {
		var bad []queue.Intake
		for range 60 {
			w.push(fmt.Sprint("bad ", all))
			bad = append(bad, queue.Intake{Entry: fmt.Sprint("bad ", all), Trouble: "it is bad"})
			all++
		}
		done, err := w.c.TakeIn(t.Context(), "outbox", "q", 0, bad)
		if done.Moved != 60 || done.Broken != 60 || err != nil {
			t.Fatalf("it did %+v (%v)", done, err)
		}
		gone += done.Gone
	}
	if kept := int(w.redis.HLen(t.Context(), "ql:oarlock:broken:outbox").Val()); gone != all-1000 || kept != 1000 {
		t.Errorf("of %d entries %d are kept, and %d are told as gone", all, kept, gone)
	}
}
