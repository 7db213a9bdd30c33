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

// What cannot be a job by a setting that is wrong is kept, however much it is, those that are alike too, and put back in its order.
func TestIntakeLosesNothingByAWrongSetting(t *testing.T) {
	l := hworker()
	l.Name = "outbox"
	w := newListed(t, l)
	const all, copies = 2500, 40
	var pushed []string
	for i := range all {
		pushed = append(pushed, fmt.Sprintf(`{"n":%d,"times":7}`, i))
	}
	for range copies {
		pushed = append(pushed, "alike")
	}
	w.push(pushed...)
	for {
		next := must(w.c.NextOfList(t.Context(), "outbox", 100))(t)
		if len(next) == 0 {
			break
		}
		bad := make([]queue.Intake, len(next))
		for i := range next {
			bad[i] = queue.Intake{Entry: next[i], Trouble: `no "key",is there,"times":9}`}
		}
		if done, err := w.c.TakeIn(t.Context(), "outbox", "q", 0, bad); done.Broken != len(bad) || err != nil {
			t.Fatalf("it did %+v (%v)", done, err)
		}
	}
	shown, err := w.c.ListBroken(t.Context(), "outbox", 0, 3)
	if err != nil || len(shown) != 3 || shown[0].Times != 1 || !strings.Contains(shown[0].Reason, "no \"key\"") {
		t.Errorf("of what is broken %+v is shown (%v)", shown, err)
	}
	if alike := w.redis.HGet(t.Context(), "ql:oarlock:broken:outbox", "alike").Val(); !strings.HasSuffix(alike, `,"times":40}`) {
		t.Errorf("of those that are alike is kept %s", alike)
	}
	if n, err := w.c.RetryListBroken(t.Context(), "outbox"); n != all+copies || err != nil {
		t.Errorf("put back are %d (%v)", n, err)
	}
	if lies := w.lies(); !slices.Equal(lies, pushed) {
		t.Errorf("%d are in the list, and not in their order", len(lies))
	}
	if n := w.redis.Exists(t.Context(), "ql:oarlock:broken:outbox").Val(); n != 0 {
		t.Error("something is left of what was broken")
	}
}

// An hworker keeps a time of what is broken and nothing else: why an envelope could not be a job stands beside its list, and goes with the entry.
func TestWhyAnEntryOfAnHworkerIsBroken(t *testing.T) {
	l := hworker()
	w := newListed(t, l)
	odd, none := `["a",{"n":1}]`, "no envelope"
	take := func() {
		t.Helper()
		done, err := w.c.TakeIn(t.Context(), l.Name, "q", 0, []queue.Intake{{Entry: odd, Trouble: "its data has no /customer"}, {Entry: none, Trouble: "it is no envelope"}})
		if err != nil || done.Broken != 2 {
			t.Fatal(done, err)
		}
		found, err := w.c.ListBroken(t.Context(), l.Name, 0, 10)
		if err != nil || len(found) != 2 || found[0].Reason != "its data has no /customer" || found[1].Reason != "it is no envelope" {
			t.Fatalf("%+v: %v", found, err)
		}
	}
	why := func() int64 { return w.redis.Exists(t.Context(), "ql:oarlock:broken:"+l.Name).Val() }
	w.push(odd, none)
	take()
	if n, err := w.c.RetryListBroken(t.Context(), l.Name); n != 2 || err != nil || why() != 0 {
		t.Errorf("%d are back: %v; %d", n, err, why())
	}
	take()
	if n, err := w.c.DropListBroken(t.Context(), l.Name); n != 2 || err != nil || why() != 0 {
		t.Errorf("%d are dropped: %v; %d", n, err, why())
	}
}
