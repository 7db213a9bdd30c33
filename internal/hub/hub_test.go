package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"oarlock/internal/must"
	"oarlock/internal/wallstep"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// started makes a hub and runs it until the test ends, in its bubble.
func started(t *testing.T, o Options) *Hub {
	if o.Snapshot == nil {
		o.Snapshot = func() supervisor.Snapshot { return supervisor.Snapshot{} }
	}
	h := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

// attempt is an event of an attempt that ended with an action.
func attempt(n int, action queue.Action) supervisor.Event {
	job := &protocol.Job{JID: fmt.Sprint("j", n), Klass: "K", Queue: "q", Attempt: 1, Remaining: 5, Run: "r", Data: []byte("secret")}
	return supervisor.Event{Kind: supervisor.AttemptEnded, Pool: "p", Slot: 1, PID: 7, Job: job, Action: action,
		Ending: &runner.Ending{Kind: runner.Said, Wall: 2 * time.Second}}
}

// What is told of an event has all that a reader needs, and nothing of the data.
func TestEventsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passed := 0
		h := started(t, Options{Events: []func(supervisor.Event){func(supervisor.Event) { passed++ }}})
		l := h.Listen()
		defer l.Close()
		percent := 40.0
		first := attempt(1, queue.Complete)
		first.Job.Trace = &protocol.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Producer: "1111111111111111"}
		h.Note(first)
		h.Note(supervisor.Event{Kind: supervisor.RoundTrip, Pool: "p"})
		e := attempt(2, "")
		e.Kind, e.Progress = supervisor.Progressed, &protocol.Progress{Percent: &percent, Message: strings.Repeat("ä", 1000)}
		h.Note(e)
		h.Note(supervisor.Event{Kind: supervisor.LockLost, Pool: "p", Slot: -1, Job: e.Job, Cause: runner.CauseCanceled})
		got, missed, err := l.Next(t.Context())
		if err != nil || missed || len(got) != 3 {
			t.Fatalf("%d events, missed %v, %v", len(got), missed, err)
		}
		if e := got[0]; e.Outcome != Done || e.Ending != "said" || e.Duration != 2 || *e.Slot != 1 || e.JID != "j1" || e.At != float64(time.Now().Unix()) {
			t.Errorf("an attempt is told as %+v", e)
		}
		if e := got[0]; e.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || e.SpanID != "00f067aa0ba902b7" || e.ProducerID != "1111111111111111" || !e.Sampled {
			t.Errorf("its trace is told as %+v", e)
		}
		if e := got[1]; *e.Percent != 40 || len(e.Progress) > mostText+3 || !strings.HasSuffix(e.Progress, "ä…") {
			t.Errorf("progress is told as %+v", e)
		}
		if e := got[2]; e.Slot != nil || e.Reason != "canceled" || e.ID != got[0].ID+2 {
			t.Errorf("a lost lock is told as %+v", e)
		}
		if passed != 4 {
			t.Errorf("%d of 4 events were passed on", passed)
		}
	})
}

// A listener that does not read makes nobody wait, and is told that it has missed something; what it gets then is what is left,
// in order.
func TestASlowListenerMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := started(t, Options{})
		slow, quick := h.Listen(), h.Listen()
		defer slow.Close()
		defer quick.Close()
		read := 0
		for n := range 30_000 {
			h.Note(attempt(n, queue.Complete))
			if n%100 == 99 {
				for read <= n {
					batch, missed, err := quick.Next(t.Context())
					if err != nil || missed {
						t.Fatalf("the quick one: missed %v, %v", missed, err)
					}
					for _, e := range batch {
						if e.JID != fmt.Sprint("j", read) {
							t.Fatalf("the quick one got %s as number %d", e.JID, read)
						}
						read++
					}
				}
			}
		}
		first, missed, err := slow.Next(t.Context())
		if err != nil || !missed || len(first) == 0 {
			t.Fatalf("the slow one: %d events, missed %v, %v", len(first), missed, err)
		}
		n := len(first)
		for last := first[0].ID; n < 10_000; {
			batch, missed, err := slow.Next(t.Context())
			if err != nil || missed || batch[0].ID <= last {
				t.Fatalf("then: missed %v, %v", missed, err)
			}
			last = batch[0].ID
			if n += len(batch); batch[len(batch)-1].JID == "j29999" {
				break
			}
		}
		if n < 10_000 || n > 10_000+chunkSize {
			t.Errorf("%d events were kept for it", n)
		}
	})
}

// Who comes back names the last event that it has seen, and gets what came after, if that is kept.
func TestEventsAreReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := started(t, Options{})
		var ids []uint64
		l := h.Listen()
		for n := range 3 {
			h.Note(attempt(n, queue.Complete))
			batch, _, _ := l.Next(t.Context())
			ids = append(ids, batch[0].ID)
			time.Sleep(2 * time.Minute)
		}
		l.Close()
		l.Close()
		for _, c := range []struct {
			after  uint64
			want   string
			missed bool
		}{
			{ids[1], "j2", false},     // at 4 minutes
			{ids[0], "j1", false},     // the next is at 2 minutes of the 6 that have passed
			{ids[0] - 1, "j1", true},  // j0 is too old
			{0, "j1", true},           // of a process before
			{ids[2] + 99, "j1", true}, // of none
		} {
			l := h.ListenAfter(c.after)
			batch, missed, err := l.Next(t.Context())
			if err != nil || missed != c.missed || batch[0].JID != c.want {
				t.Errorf("after %d: %v, missed %v, %v", c.after, batch, missed, err)
			}
			l.Close()
		}
		at := h.ListenAfter(ids[2])
		defer at.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if batch, _, err := at.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the last: %v, %v", batch, err)
		}
	})
}

// Which events are old does not follow steps of the wall clock.
func TestOldEventsAreToldWhereTheWallClockSteps(t *testing.T) {
	now := time.Now()
	for _, by := range []time.Duration{time.Hour, -time.Hour, 300_000 * time.Hour, -300_000 * time.Hour} {
		var s events
		s.begin(now)
		e := attempt(1, queue.Complete)
		for minute := range 6 {
			at := now.Add(time.Duration(minute) * time.Minute)
			if minute >= 3 {
				at = wallstep.Step(at, int64(by/time.Second))
			}
			s.add(&e, at)
		}
		since := wallstep.Step(now.Add(90*time.Second), int64(by/time.Second))
		if n := s.oldest(since) - s.first; n != 2 {
			t.Errorf("after a step of %v, %d events of 6 are older than a moment between the second and the third", by, n)
		}
	}
}

// What happens to jobs that go well is kept while somebody listens, and for five minutes after; all else always.
func TestWhatNobodyListensToIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := started(t, Options{})
		kept := func() (jids string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			for id := h.events.first; id < h.events.next; id++ {
				jids += h.events.from(id)[0].JID
			}
			return jids
		}
		h.Note(attempt(1, queue.Complete))
		h.Note(attempt(2, queue.Fail))
		h.Note(supervisor.Event{Kind: supervisor.Answered, JID: "early"})
		h.Note(supervisor.Event{Kind: supervisor.WindowShut, Name: "night", JID: "w"})
		l := h.Listen()
		h.Note(attempt(3, queue.Complete))
		l.Close()
		time.Sleep(4 * time.Minute)
		h.Note(attempt(4, queue.Complete))
		time.Sleep(2 * time.Minute)
		h.Note(attempt(5, queue.Complete))
		h.Note(attempt(6, queue.Retry))
		if got := kept(); got != "j2wj3j4j6" {
			t.Errorf("kept are %s", got)
		}
	})
}

// Whoever waits hears of the end, and what begins then ends at once.
func TestTheEndIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{Snapshot: func() supervisor.Snapshot { return supervisor.Snapshot{} }})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		l, w := h.Listen(), h.Watch("v", func(context.Context) View { return View{} })
		waits := make(chan error, 3)
		go func() { _, _, err := l.Next(t.Context()); waits <- err }()
		go func() { _, err := h.Follow(t.Context(), "p", 1, 0); waits <- err }()
		go func() {
			_, err := w.Next(t.Context())
			if err == nil {
				_, err = w.Next(t.Context())
			}
			waits <- err
		}()
		synctest.Wait()
		cancel()
		<-ended
		for range 3 {
			if err := <-waits; !errors.Is(err, ErrOver) {
				t.Errorf("a wait ended by %v", err)
			}
		}
		late := h.Watch("late", func(context.Context) View { t.Error("it is computed after the end"); return View{} })
		if _, err := late.Next(t.Context()); !errors.Is(err, ErrOver) {
			t.Error(err)
		}
		late.Close()
		w.Close()
		h.Note(attempt(1, queue.Complete)) // the last words of a supervisor
	})
}

func line(pool string, slot int, text string) supervisor.Line {
	return supervisor.Line{Pool: pool, Slot: slot, JID: "j", LogLine: runner.LogLine{Stream: runner.Stdout, Text: []byte(text)}}
}

// What children print is kept by slot, up to its share; a text is a copy; a progress bar is one line.
func TestLinesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := started(t, Options{})
		text := []byte("first")
		l := line("p", 1, "")
		l.Text = text
		h.Line(l)
		copy(text, "wrong")
		for n := range 50 {
			bar := line("p", 1, fmt.Sprint(n, "%"))
			bar.Overwritten = true
			h.Line(bar)
		}
		h.Line(line("p", 1, "last \x1b[2J"))
		h.Line(supervisor.Line{Pool: "p", Slot: 1, LogLine: runner.LogLine{Stream: runner.StatusStream, Record: &protocol.LogRecord{
			Level: "warn", Message: "too\nmany", Fields: []protocol.Field{{Name: "n", Value: []byte("5")}}}}})
		h.Line(supervisor.Line{Pool: "p", Slot: 1, LogLine: runner.LogLine{Dropped: 7}})
		var got []string
		for _, l := range h.Lines("p", 1, 0, 0) {
			got = append(got, l.Level+l.Text)
		}
		want := []string{"first", `last \x1b[2J`, `warntoo\nmany n=5`, "warn" + runner.TooManyLines(7)}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("kept are %q, want %q", got, want)
		}
		if last := h.Lines("p", 1, 0, 1); len(last) != 1 || last[0].N != 54 {
			t.Errorf("the last is %+v", last)
		}
		for range 1000 {
			h.Line(line("p", 2, strings.Repeat("x", 10_000)))
		}
		bytes := 0
		for _, l := range h.Lines("p", 2, 0, 0) {
			bytes += l.cost()
		}
		if bytes > ringBytes || bytes < ringBytes/2 {
			t.Errorf("%d bytes are kept of a slot", bytes)
		}
	})
}

// However many slots there are, all together have their bound, and each its share.
func TestLinesOfAllSlotsHaveABound(t *testing.T) {
	h := New(Options{})
	for slot := range 600 {
		for range 40 {
			h.Line(line("p", slot, strings.Repeat("x", 2000)))
		}
	}
	all := 0
	for _, r := range h.logs.rings {
		if len(r.lines) < 3 {
			t.Fatalf("a slot has %d lines", len(r.lines))
		}
		all += r.bytes
	}
	if all > allBytes || all < allBytes/2 {
		t.Errorf("%d bytes are kept", all)
	}
	h.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"})
	h.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"}) // of another mode
	h.Note(supervisor.Event{Kind: supervisor.PoolEnded, Pool: "p"})
	if len(h.Lines("p", 7, 0, 0)) == 0 {
		t.Error("the lines of a pool are gone that has another of its name")
	}
	h.Note(supervisor.Event{Kind: supervisor.PoolEnded, Pool: "p"})
	if len(h.logs.rings) != 0 {
		t.Error("the lines of a pool are kept that is gone")
	}
}

// Who follows a slot hears of a line soon, of a slot that never printed before too, and again after the pool came anew.
func TestLinesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := started(t, Options{})
		got := make(chan string, 10)
		go func() {
			after := uint64(0)
			for {
				lines, err := h.Follow(t.Context(), "p", 3, after)
				if err != nil {
					close(got)
					return
				}
				for _, l := range lines {
					after = l.N
					got <- l.Text
				}
			}
		}()
		time.Sleep(3 * time.Second)
		for _, text := range []string{"one", "two"} {
			began := time.Now()
			h.Line(line("p", 3, text))
			if l := <-got; l != text || time.Since(began) > time.Second {
				t.Errorf("%q came after %v", l, time.Since(began))
			}
		}
		synctest.Wait()
	})
}

// A view is computed once a second for all who watch it, whom the same bytes are sent; nobody watching, it is not
// computed.
func TestAViewIsComputedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := started(t, Options{})
		var computed atomic.Int64
		compute := func(context.Context) View {
			n := computed.Add(1)
			return View{Set: map[string]string{"n": fmt.Sprint(n), "same": "x"}, Stale: []string{"rows"}}
		}
		a, b := h.Watch("v", compute), h.Watch("v", compute)
		first, err := a.Next(t.Context())
		if err != nil || string(first) != `{"set":{"n":"1","same":"x"},"stale":["rows"]}` {
			t.Fatalf("first comes %s, %v", first, err)
		}
		if whole, _ := b.Next(t.Context()); string(whole) != string(first) {
			t.Errorf("another gets %s", whole)
		}
		x, _ := a.Next(t.Context())
		y, _ := b.Next(t.Context())
		if string(x) != `{"set":{"n":"2"}}` || &x[0] != &y[0] {
			t.Errorf("then come %s and %s", x, y)
		}
		time.Sleep(100 * time.Second) // b is slow
		synctest.Wait()               // for what is computed at this very moment
		late, _ := b.Next(t.Context())
		if want := `{"set":{"n":"102","same":"x"},"stale":["rows"],"resync":true}`; string(late) != want {
			t.Errorf("the slow one gets %s, want %s", late, want)
		}
		if views, watchers := h.Watched(); views != 1 || watchers != 2 {
			t.Errorf("%d views with %d watchers", views, watchers)
		}
		a.Close()
		b.Close()
		b.Close()
		synctest.Wait()
		n := computed.Load()
		time.Sleep(10 * time.Second)
		if computed.Load() != n {
			t.Error("it is computed though nobody watches")
		}
	})
}

// A view that takes long is left alone for two hundred times as long, five seconds at most.
func TestAViewThatTakesLongIsComputedMoreSeldom(t *testing.T) {
	for _, c := range []struct {
		views int
		took  time.Duration
		want  int64
	}{{1, 20 * time.Millisecond, 61}, {1, 40 * time.Millisecond, 31}, {1, 2 * time.Second, 13}, {10, 2 * time.Millisecond, 61}, {10, 8 * time.Millisecond, 16}} {
		synctest.Test(t, func(t *testing.T) {
			h := started(t, Options{})
			var computed atomic.Int64
			for i := range c.views - 1 {
				defer h.Watch(fmt.Sprint(i), func(context.Context) View { return View{} }).Close()
			}
			w := h.Watch("v", func(context.Context) View {
				time.Sleep(c.took)
				return View{Set: map[string]string{"n": fmt.Sprint(computed.Add(1))}}
			})
			defer w.Close()
			time.Sleep(time.Minute + c.took)
			synctest.Wait()
			if n := computed.Load(); n != c.want {
				t.Errorf("of %d views one that takes %v is computed %d times in a minute, want %d", c.views, c.took, n, c.want)
			}
		})
	}
}

// A view that panics shows what it showed, and harms no other.
func TestAViewThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := started(t, Options{})
		var n atomic.Int64
		bad := h.Watch("bad", func(context.Context) View {
			if n.Add(1)%2 == 1 {
				panic("no")
			}
			return View{Set: map[string]string{"n": fmt.Sprint(n.Load())}}
		})
		defer bad.Close()
		good := h.Watch("good", func(context.Context) View { return View{Set: map[string]string{"at": time.Now().String()}} })
		defer good.Close()
		for range 5 {
			must.Get(good.Next(t.Context()))(t)
		}
		if text, err := bad.Next(t.Context()); err != nil || !strings.HasPrefix(string(text), `{"set":{"n":"`) {
			t.Errorf("%s, %v", text, err)
		}
	})
}

// Samples are taken each ten seconds and summed up in five minutes; of a pool that left there are none.
func TestHowItWentIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shot atomic.Pointer[supervisor.Snapshot]
		shot.Store(&supervisor.Snapshot{Pools: []supervisor.PoolSnapshot{{
			Name: "p", Ready: 7, Oldest: 3, Slots: []supervisor.SlotSnapshot{{Runs: make([]supervisor.RunSnapshot, 1)}, {}},
		}}})
		h := started(t, Options{Snapshot: func() supervisor.Snapshot { return *shot.Load() }})
		time.Sleep(time.Second) // between two samples
		h.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"})
		for n := range 700 {
			time.Sleep(10 * time.Second)
			h.Note(attempt(n, queue.Complete))
			if n%10 == 0 {
				h.Note(attempt(n, queue.Fail))
				h.Note(attempt(n, queue.Retry))
			}
			h.NoteQueues([]QueuePoint{{Queue: "q", Waiting: n, Done: n % 500, At: time.Now()}})
		}
		p, all := h.PoolHistory("p"), h.PoolHistory("")
		if len(p.Fine) != finePoints || len(p.Coarse) != 23 || len(all.Fine) != finePoints {
			t.Fatalf("there are %d, %d and %d points", len(p.Fine), len(p.Coarse), len(all.Fine))
		}
		c := p.Coarse[5]
		if c.Done != 30 || c.Failed != 3 || c.Bad != 6 || c.Waiting != 7 || c.Oldest != 3 || c.Busy != 1 || c.Children != 2 || all.Coarse[5] != c {
			t.Errorf("five minutes were %+v", c)
		}
		done := 0
		for _, point := range h.QueueHistory("q").Fine {
			done += point.Done
			if point.Done < 0 || point.Done > 1 {
				t.Errorf("a queue did %d", point.Done)
			}
		}
		if done < finePoints-2 {
			t.Errorf("of a queue %d are told done", done)
		}
		time.Sleep(time.Hour)
		if len(h.QueueHistory("q").Fine) != 0 {
			t.Error("nobody looked at a queue for an hour, and its history goes on")
		}
		h.Note(supervisor.Event{Kind: supervisor.PoolEnded, Pool: "p"})
		shot.Store(&supervisor.Snapshot{})
		time.Sleep(time.Minute)
		if len(h.PoolHistory("p").Fine) != 0 {
			t.Error("a pool that left has a history")
		}
	})
}

// The snapshot is asked for once a second, however many want it.
func TestTheSnapshotIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := New(Options{Snapshot: func() supervisor.Snapshot {
			time.Sleep(100 * time.Millisecond)
			return supervisor.Snapshot{PID: int(asked.Add(1))}
		}})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if shot, err := h.Snapshot(t.Context()); err != nil || shot.PID != 1 {
					t.Errorf("%d, %v", shot.PID, err)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		if shot, _ := h.Snapshot(t.Context()); shot.PID != 2 {
			t.Errorf("a second later it is the %d.", shot.PID)
		}
	})
}

// Hearing an event costs no memory of its own.
func TestAnEventCostsNoAllocation(t *testing.T) {
	h := New(Options{Events: []func(supervisor.Event){func(supervisor.Event) {}}})
	h.Listen().Close()
	e := attempt(1, queue.Complete)
	for range 2 * chunkSize * mostChunks {
		h.Note(e)
	}
	if n := testing.AllocsPerRun(10_000, func() { h.Note(e) }); n >= 0.01 {
		t.Errorf("%v allocations an event", n)
	}
}
