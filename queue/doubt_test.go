package queue_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestBadNetworkLosesNothing works jobs off while exchanges get lost, some before and some
// after they were executed: each job runs once, all are settled, and none stays locked.
func TestBadNetworkLosesNothing(t *testing.T) {
	const jobs = 2000
	for _, batch := range []int{1, 10} {
		t.Run(fmt.Sprintf("batches of %d", batch), func(t *testing.T) {
			server := redistest.Start(t)
			proxy := faultproxy.Start(t, "unix", server.Addr)
			c, ctx := openURL(t, proxy.URL), t.Context()
			puts := make([]queue.Put, jobs)
			for i := range puts {
				puts[i] = queue.Put{Queue: "q", JID: fmt.Sprintf("job-%d", i), Klass: "K"}
			}
			must(c.PutAll(ctx, puts))(t)
			proxy.Drop(0.05, "evalsha", 7)
			proxy.Lose(0.05, "evalsha", 3)
			w := &careful{t: t, ctx: ctx, session: session(t, c, "w1"), runs: make(map[string]int), batch: batch}
			w.work()
			proxy.Drop(0, "", 0)
			proxy.Lose(0, "", 0)
			t.Logf("%d requests were lost and %d replies dropped; %d takes adopted, %d settlements sent again",
				proxy.Lost(), proxy.Dropped(), w.adopted, w.again)
			never(t, w.adopted == 0 || w.again == 0, "no take or no settlement was in doubt: nothing was tested")

			for _, p := range puts {
				never(t, w.runs[p.JID] != 1, "%s ran %d times", p.JID, w.runs[p.JID])
			}
			raw := server.Client(t)
			if n := raw.ZCard(ctx, "ql:completed").Val(); n != jobs {
				t.Errorf("%d jobs are complete, want %d", n, jobs)
			}
			if n := raw.ZCard(ctx, "ql:q:q-locks").Val() + raw.ZCard(ctx, "ql:w:w1:jobs").Val(); n != 0 {
				t.Errorf("%d locks are left", n)
			}
		})
	}
}

// careful is a worker that does with doubt what the comment of Exchange asks for.
type careful struct {
	t       *testing.T
	ctx     context.Context
	session *queue.Session
	batch   int
	runs    map[string]int

	adopted, again int
}

func (w *careful) work() {
	w.t.Helper()
	take := queue.Take{Queues: []string{"q"}, Count: w.batch}
	var done []queue.Settlement
	for {
		reply, err := w.session.Exchange(w.ctx, done, take)
		if errors.Is(err, queue.ErrDoubt) {
			reply.Jobs, done = w.resolve(done)
		} else if err != nil {
			w.t.Fatal(err)
		} else {
			for i, r := range reply.Results {
				if r.Err != nil {
					w.t.Errorf("%s: %v", done[i].JID, r.Err)
				}
			}
			if len(done) == 0 && len(reply.Jobs) == 0 {
				return
			}
			done = nil
		}
		for _, job := range reply.Jobs {
			w.runs[job.JID]++
			done = append(done, queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete})
		}
	}
}

// resolve finds out which jobs a lost exchange has taken, and which settlements must be
// sent again. The questions may get lost, too, and are repeated.
func (w *careful) resolve(sent []queue.Settlement) (taken []queue.Taken, again []queue.Settlement) {
	w.t.Helper()
	resolutions := repeat(w, func() ([]queue.Resolution, error) { return w.session.Resolve(w.ctx, sent) })
	inFlight := make(map[string]bool)
	for i, r := range resolutions {
		if r == queue.NotRun {
			again = append(again, sent[i])
			inFlight[sent[i].JID] = true
			w.again++
		}
	}
	for _, job := range repeat(w, func() ([]queue.Taken, error) { return w.session.Held(w.ctx, []string{"q"}) }) {
		if !inFlight[job.JID] {
			taken = append(taken, job)
			w.adopted++
		}
	}
	return taken, again
}

func repeat[T any](w *careful, ask func() (T, error)) T {
	w.t.Helper()
	for {
		answer, err := ask()
		if err == nil {
			return answer
		}
		if !errors.Is(err, queue.ErrDoubt) && !errors.Is(err, queue.ErrAway) {
			w.t.Fatal(err)
		}
	}
}

// TestFenceStopsWhatIsUnderWay leaves an exchange with a server that is frozen, gives up on
// it, and asks once the server goes on: what is found then must be final.
func TestFenceStopsWhatIsUnderWay(t *testing.T) {
	server := redistest.Start(t)
	c := must(queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: 50 * time.Millisecond}))(t)
	t.Cleanup(func() { c.Close() })
	patient := open(t, server) // for what is to be done on a machine that is busy, too
	ctx, s, settles := t.Context(), session(t, c, "w1"), session(t, patient, "w1")
	for round := range 20 {
		jid := fmt.Sprintf("job-%d", round)
		must(patient.Put(ctx, queue.Put{Queue: "q", JID: jid, Klass: "K"}))(t)
		w := &careful{t: t}
		repeat(w, func() (queue.Reply, error) {
			return s.Exchange(ctx, nil, queue.Take{Queues: []string{"other"}, Count: 1})
		}) // it knows the time then
		server.Pause()
		_, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1})
		stop(t, !errors.Is(err, queue.ErrDoubt), "an exchange with a frozen server: %v", err)
		server.Resume()
		var held []queue.Taken
		reply := repeat(w, func() (queue.Reply, error) { // of each that is in doubt is asked first
			held = repeat(w, func() ([]queue.Taken, error) { return s.Held(ctx, []string{"q"}) })
			return s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1})
		})
		if len(held)+len(reply.Jobs) != 1 {
			t.Fatalf("round %d: held %v, then took %v; want the job in one of them", round, held, reply.Jobs)
		}
		for _, job := range append(held, reply.Jobs...) {
			done := []queue.Settlement{{JID: job.JID, Queue: "q", Popped: job.Popped, Action: queue.Complete}}
			if reply, err := settles.Exchange(ctx, done, queue.Take{}); err != nil || reply.Results[0].Err != nil {
				t.Fatal(reply, err)
			}
		}
	}
}

// TestDoubtWithoutClientKill works behind a server that knows CLIENT INFO and neither CLIENT LIST nor KILL, as
// services do that are like Redis: what was in doubt is resolved all the same.
func TestDoubtWithoutClientKill(t *testing.T) {
	const jobs = 200
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, "unix", server.Addr)
	refused := new(atomic.Int64)
	subcommand := regexp.MustCompile(`client\r\n\$4\r\n(list|kill)`)
	proxy.Intercept(func(d faultproxy.Direction, data []byte) []byte {
		if d == faultproxy.Requests && subcommand.Match(data) {
			refused.Add(1)
			return subcommand.ReplaceAll(data, []byte("client\r\n$$4\r\nnone"))
		}
		return data
	})
	c, ctx := openURL(t, proxy.URL), t.Context()
	puts := make([]queue.Put, jobs)
	for i := range puts {
		puts[i] = queue.Put{Queue: "q", JID: fmt.Sprintf("job-%d", i), Klass: "K"}
	}
	must(c.PutAll(ctx, puts))(t)
	proxy.Drop(0.1, "evalsha", 7)
	w := &careful{t: t, ctx: ctx, session: session(t, c, "w1"), runs: make(map[string]int), batch: 5}
	w.work()
	proxy.Drop(0, "", 0)
	if refused.Load() == 0 || w.adopted == 0 {
		t.Errorf("%d times refused, %d adopted: nothing was tested", refused.Load(), w.adopted)
	}
	if n := server.Client(t).ZCard(ctx, "ql:completed").Val(); n != jobs {
		t.Errorf("%d jobs are complete, want %d", n, jobs)
	}
}
