package rollcall

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/supervisor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, server *redistest.Server) *queue.Client {
	t.Helper()
	client := must.Get(queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: 30 * time.Second}))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

// shot is how a supervisor of the tests is.
func shot(name string, slots int) supervisor.Snapshot {
	pool := supervisor.PoolSnapshot{Name: "mail", Breaker: "exit-1", Rolling: true, Waiting: 2, Slots: make([]supervisor.SlotSnapshot, slots)}
	for i := range pool.Slots {
		run := supervisor.RunSnapshot{Run: "SECRET", JID: fmt.Sprint(rand.Uint64()), Klass: fmt.Sprint(rand.Uint64())} // which do not pack well
		pool.Slots[i] = supervisor.SlotSnapshot{Slot: i, PID: 100 + i, Runs: []supervisor.RunSnapshot{run}}
	}
	return supervisor.Snapshot{Name: name, PID: 7, Pools: []supervisor.PoolSnapshot{pool}}
}

// speak lets a supervisor answer until the test ends, or the function that is returned was called.
func speak(t *testing.T, client *queue.Client, v *Voice) (stop func()) {
	t.Helper()
	v.Client, v.Log = client, slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// awaitHearers returns when so many hear questions.
func awaitHearers(t *testing.T, client *queue.Client, n int) {
	t.Helper()
	for tick := time.Tick(time.Millisecond); ; <-tick {
		counts := must.Get(client.Redis().PubSubNumSub(t.Context(), "ql:oarlock:ask").Result())(t)
		if counts["ql:oarlock:ask"] == int64(n) {
			return
		}
	}
}

// mute hears questions by a client of its own and answers none, or with what answer makes.
func mute(t *testing.T, client *queue.Client, answer func(id string)) {
	ctx, cancel := context.WithCancel(t.Context())
	asked, done := client.Questions(ctx), make(chan struct{})
	go func() {
		defer close(done)
		for text := range asked {
			if _, id, found := strings.Cut(string(text), `"id":"`); found && answer != nil {
				answer(id[:32])
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// called calls the roll until it is as it is to be, for a minute: on a machine that is busy, somebody may not answer in time. It returns the last.
func called(t *testing.T, c *Caller, is func(Roll) bool) Roll {
	t.Helper()
	for ends := time.Now().Add(time.Minute); ; c.began(-kept) {
		roll := must.Get(c.Call(t.Context()))(t)
		if is(roll) || time.Now().After(ends) {
			return roll
		}
	}
}

// began makes the last roll one of another time, from now.
func (c *Caller) began(at time.Duration) {
	c.mu.Lock()
	c.call.began = time.Now().Add(at)
	c.mu.Unlock()
}

func TestEverySupervisorAnswersOnce(t *testing.T) {
	server := redistest.Start(t)
	asking := open(t, server)
	var stops []func()
	for i := range 3 {
		s := shot(fmt.Sprintf("web%d", i), 2)
		stops = append(stops, speak(t, open(t, server), &Voice{Snapshot: func() supervisor.Snapshot { return s }, Host: s.Name, Version: "1", URL: "http://" + s.Name}))
	}
	awaitHearers(t, asking, 3)
	c := New(asking)
	roll := called(t, c, func(r Roll) bool { return r.Answered == 3 })
	if roll.Asked != 3 || roll.Answered != 3 || roll.Missing != 0 || roll.Pending || len(roll.Items) != 3 {
		t.Fatalf("%+v", roll)
	}
	for i, a := range roll.Items {
		if name := fmt.Sprintf("web%d", i); a.Host != name || a.Status.Name != name || a.Version != "1" || a.URL != "http://"+name || len(a.Status.Pools[0].Slots) != 2 {
			t.Errorf("answer %d is %+v", i, a)
		}
		if text := fmt.Sprintf("%+v", a); strings.Contains(text, "SECRET") {
			t.Errorf("it tells the secret of a run: %s", text)
		}
		if want := (Sums{Pools: 1, Children: 2, Busy: 2, Waiting: 2, Breakers: 1, Rolling: 1}); a.Sums != want {
			t.Errorf("sums are %+v, want %+v", a.Sums, want)
		}
	}
	c.began(kept) // for the machine may be busy for longer than it is kept
	again, err := c.Call(t.Context())
	if err != nil || again.At != roll.At {
		t.Errorf("the roll was called again at once: %+v, %v", again, err)
	}
	// One leaves, and one is there and silent.
	stops[2]()
	mute(t, open(t, server), nil)
	awaitHearers(t, asking, 3)
	c.began(-kept)
	roll = called(t, c, func(r Roll) bool { return r.Answered == 2 })
	if roll.Asked != 3 || roll.Answered != 2 || roll.Missing != 1 || fmt.Sprint(roll.Silent) != "[web2]" {
		t.Errorf("with one silent: %+v", roll)
	}
}

// Of twenty, of which two stand still, eighteen answer, and two are counted missing.
func TestTwentyOfWhichTwoAreSilent(t *testing.T) {
	server := redistest.Start(t)
	asking := open(t, server)
	for i := range 18 {
		s := shot(fmt.Sprintf("web%d", i), 10)
		speak(t, open(t, server), &Voice{Snapshot: func() supervisor.Snapshot { return s }})
	}
	for range 2 {
		mute(t, open(t, server), nil)
	}
	awaitHearers(t, asking, 20)
	began := time.Now()
	roll := called(t, New(asking), func(r Roll) bool { return r.Answered == 18 })
	if roll.Asked != 20 || roll.Answered != 18 || roll.Missing != 2 {
		t.Errorf("%d asked, %d answered, %d missing", roll.Asked, roll.Answered, roll.Missing)
	}
	t.Logf("the roll took %v", time.Since(began))
}

// Who does not wait for all sees who has answered, and is told that others may.
func TestACallCanBeLeftEarly(t *testing.T) {
	server := redistest.Start(t)
	asking := open(t, server)
	s := shot("web", 1)
	speak(t, open(t, server), &Voice{Snapshot: func() supervisor.Snapshot { return s }})
	mute(t, open(t, server), nil)
	awaitHearers(t, asking, 2)
	c := New(asking)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	atOnce, err := c.Call(gone)
	for n := 0; n < 20 && err == nil && !atOnce.Pending; n++ { // somebody was not given the processor until it was over
		c.began(-kept)
		atOnce, err = c.Call(gone)
	}
	if err != nil || !atOnce.Pending {
		t.Errorf("at once: %+v, %v", atOnce, err)
	}
	c.began(0)
	if roll := called(t, c, func(r Roll) bool { return r.Answered == 1 }); roll.Pending || roll.Answered != 1 || roll.Missing != 1 {
		t.Errorf("at the end: %+v", roll)
	}
}

func TestHostileAnswersAreCountedAndBounded(t *testing.T) {
	server := redistest.Start(t)
	asking := open(t, server)
	bomb := func(n int) []byte {
		var b bytes.Buffer
		to := gzip.NewWriter(&b)
		to.Write(bytes.Repeat([]byte(" "), n))
		to.Close()
		return b.Bytes()
	}
	good := must.Get(pack(Answer{Host: "h", Status: supervisor.Snapshot{Name: "v\n\x1b[31m\u202e", PID: -1}}))(t)
	answers := [][]byte{nil, []byte("{}"), good[:len(good)-9], bomb(10), bomb(maxUnpacked + 1), good, good}
	forger := open(t, server)
	mute(t, forger, func(id string) {
		for _, a := range answers {
			if err := forger.Answer(t.Context(), id, a); err != nil {
				t.Error(err)
			}
		}
	})
	for range 9 {
		mute(t, open(t, server), nil)
	}
	awaitHearers(t, asking, 10)
	roll := called(t, New(asking), func(r Roll) bool { return r.Unread == 5 && r.Answered == 1 })
	if roll.Answered != 1 || roll.Unread != 5 || roll.Missing != 4 || len(roll.Items) != 1 || roll.Items[0].Status.PID != -1 {
		t.Errorf("%+v", roll)
	}
}

func TestALongAnswerIsCutToSums(t *testing.T) {
	for slots, left := range map[int]int{10: 10, 20_000: 0} {
		s := shot("web", slots)
		v := &Voice{Snapshot: func() supervisor.Snapshot { return s }}
		packed, err := v.pack()
		if err != nil || len(packed) > maxAnswer {
			t.Fatalf("%d slots: %d bytes, %v", slots, len(packed), err)
		}
		var a Answer
		if _, err := unpack(packed, maxUnpacked, &a); err != nil || a.Cut != (left == 0) || a.Sums.Busy != slots || len(a.Status.Pools) != 1 || len(a.Status.Pools[0].Slots) != left {
			t.Errorf("%d slots: cut %v, %+v, %v", slots, a.Cut, a.Sums, err)
		}
	}
	many := supervisor.Snapshot{Pools: make([]supervisor.PoolSnapshot, 5000)}
	for i := range many.Pools {
		many.Pools[i].Worker = fmt.Sprint(rand.Uint64(), rand.Uint64())
	}
	v := &Voice{Snapshot: func() supervisor.Snapshot { return many }}
	packed, err := v.pack()
	if err != nil || len(packed) > maxAnswer {
		t.Errorf("of many pools: %d bytes, %v", len(packed), err)
	}
}

// However often it is asked, a supervisor looks at itself five times a second at most, and a flood is not answered.
func TestAFloodOfQuestions(t *testing.T) {
	looks, began := 0, time.Now()
	v := &Voice{Snapshot: func() supervisor.Snapshot { looks++; return supervisor.Snapshot{} }}
	for range 100 {
		must.Get(v.answer(question{Ask: askStatus}))(t)
	}
	if most := 1 + int(5*time.Since(began).Seconds()) + 1; looks > most {
		t.Errorf("looked %d times, want %d at most", looks, most)
	}
	now, replied := time.Now(), 0
	for range 1000 {
		if v.mayReply(now) {
			replied++
		}
	}
	if replied != mostReplies || !v.mayReply(now.Add(time.Second)) {
		t.Errorf("answers %d a second", replied)
	}
	for _, q := range []question{{}, {Ask: "stop"}, {Ask: askTail}, {Ask: askTail, To: &Who{"other", 1}}} {
		if answer, err := v.answer(q); answer != nil || err != nil {
			t.Errorf("%+v is answered: %q, %v", q, answer, err)
		}
	}
}

func TestTail(t *testing.T) {
	server := redistest.Start(t)
	asking := open(t, server)
	who := Who{"web", 7}
	tail := func(pool string, slot, lines int) ([]Line, error) {
		if pool != "mail" {
			return nil, errors.New("there is no pool " + pool)
		}
		all := make([]Line, lines)
		for i := range all {
			all[i] = Line{At: float64(i), Text: strings.Repeat("x", 1000)}
		}
		return all, nil
	}
	speak(t, open(t, server), &Voice{Who: who, Tail: tail, Snapshot: func() supervisor.Snapshot { return supervisor.Snapshot{} }})
	silent := Who{"web", 8}
	speak(t, open(t, server), &Voice{Who: silent, Snapshot: func() supervisor.Snapshot { return supervisor.Snapshot{} }})
	awaitHearers(t, asking, 2)
	c := New(asking)
	for _, tt := range []struct {
		of      Who
		pool    string
		lines   int
		got     int
		last    float64
		refused string
	}{
		{who, "mail", 3, 3, 2, ""},
		{who, "mail", 1 << 30, 65, 999, ""},
		{who, "mail", -1, 1, 0, ""},
		{who, "post", 3, 0, 0, "there is no pool post"},
		{silent, "mail", 3, 0, 0, "no lines of children are kept here"},
	} {
		got, err := c.Tail(t.Context(), tt.of, tt.pool, 1, tt.lines)
		for n := 0; n < 20 && errors.Is(err, ErrSilent); n++ { // who is there may not be given the processor in time
			got, err = c.Tail(t.Context(), tt.of, tt.pool, 1, tt.lines)
		}
		if err != nil || len(got.Lines) != tt.got || got.Refused != tt.refused || tt.got > 0 && got.Lines[tt.got-1].At != tt.last {
			t.Errorf("%+v: %d lines, %q, %v", tt, len(got.Lines), got.Refused, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Tail(ctx, Who{"gone", 1}, "mail", 1, 3); !errors.Is(err, ErrSilent) {
		t.Errorf("of one that is not there: %v", err)
	}
}

func FuzzAnswersAndQuestions(f *testing.F) {
	good := must.Get(pack(Answer{Status: shot("web", 2)}))(f)
	f.Add(good)
	f.Add([]byte(`{"v":1,"id":"a","ask":"status"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var a Answer
		if n, err := unpack(text, 1<<16, &a); n > 1<<16+1 || err == nil && n > 1<<16 {
			t.Errorf("unpacked %d bytes", n)
		}
	})
}
