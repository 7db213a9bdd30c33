package supervisor

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/statedir"
	"oarlock/supervisor/outcome"
)

// listPool is a pool of reused children for the list hworker:mail.
func (w *world) listPool(children int) Pool {
	p := w.pool(runner.Reuse, "loop.py", children)
	p.Queues = nil
	p.List = &queue.List{Name: "hworker:mail", Timeout: 30 * time.Second, Heartbeat: true, Monitor: true, Failed: 1000}
	p.Policy = outcome.Policy{OnError: outcome.FailJob, MaxCrashes: 3}
	return p
}

// push pushes entries with these ids and data.
func (w *world) push(data string, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		entry := queue.Envelope(id, []byte(data))
		must(w.t, w.client.Redis().LPush(w.t.Context(), "hworker-jobs-mail", entry).Err())
	}
}

// counts are the numbers of entries of the list.
func (w *world) counts() queue.ListCounts {
	w.t.Helper()
	counts, err := w.client.CountLists(w.t.Context(), []string{"hworker:mail"})
	must(w.t, err)
	return counts[0]
}

// awaitCounts waits until the list is as it should be.
func (w *world) awaitCounts(want queue.ListCounts) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for got := w.counts(); got != want; got = w.counts() {
		if time.Now().After(deadline) {
			w.t.Fatalf("the list has %+v, want %+v", got, want)
		}
		time.Sleep(5 * time.Millisecond) // Redis tells nobody
	}
}

// beginnings lists what began, in order.
func (w *world) beginnings() (ids []string) {
	text, _ := os.ReadFile(w.ledger)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == "begin" {
			ids = append(ids, words[1]+"/"+words[2])
		}
	}
	return ids
}

func TestListPoolWorksItsList(t *testing.T) {
	w := newWorld(t)
	s := w.run(Config{Pools: []Pool{w.listPool(3)}})
	for i := range 100 {
		w.push(`{}`, fmt.Sprint("a", i))
	}
	w.awaitCounts(queue.ListCounts{})
	w.push(fmt.Sprintf(`{"ledger":%q,"do":"fail","with":{"group":"g","message":"m"}}`, w.ledger), "bad")
	w.push(fmt.Sprintf(`{"ledger":%q,"do":"kill"}`, w.ledger), "killer")
	w.push(`{"do":"exit"}`, "error")
	w.awaitCounts(queue.ListCounts{Failed: 3})
	if begun := w.beginnings(); fmt.Sprint(slices.Sorted(slices.Values(begun))) != "[bad/1 killer/1 killer/2 killer/3 killer/4]" {
		t.Errorf("begun are %v", begun)
	}
	shot := s.Snapshot().Pools[0]
	if shot.List == nil || shot.List.Name != "hworker:mail" || len(shot.Queues) != 0 || shot.Counters.Acked != 100 || shot.Counters.Crashed != 4 {
		t.Errorf("the pool says %+v of %+v", shot, shot.List)
	}
	if keys := w.client.Redis().Keys(t.Context(), "ql:*").Val(); len(keys) != 1 {
		t.Errorf("besides the reasons there are the keys %q", keys)
	}
}

// A job that takes longer than list_timeout runs once where signs are given, and beside itself where none are.
func TestListPoolGivesSigns(t *testing.T) {
	for _, heartbeat := range []bool{true, false} {
		t.Run(fmt.Sprint(heartbeat), func(t *testing.T) {
			if heartbeat && testing.Short() {
				t.Skip("long: waits for more than a timeout that no busy machine misses")
			}
			w := newWorld(t)
			p := w.listPool(2)
			p.List.Timeout, p.List.Heartbeat = time.Second, heartbeat
			if heartbeat {
				p.List.Timeout = 30 * time.Second
			}
			w.run(Config{Pools: []Pool{p}, PollInterval: 20 * time.Millisecond})
			w.push(fmt.Sprintf(`{"ledger":%q,"sleep":%f}`, w.ledger, p.List.Timeout.Seconds()+0.8), "long")
			until(t, "it ends", func() bool { return len(w.beginnings()) > 0 && w.counts() == (queue.ListCounts{}) })
			if begun := len(w.beginnings()); (begun == 1) != heartbeat {
				t.Errorf("it began %d times", begun)
			}
		})
	}
}

// A supervisor that leaves gives back what its children have, to the front.
func TestListPoolGivesBackWhenItLeaves(t *testing.T) {
	w := newWorld(t)
	s := w.run(Config{Pools: []Pool{w.listPool(2)}, DrainTimeout: time.Millisecond})
	w.push(fmt.Sprintf(`{"ledger":%q,"sleep":60}`, w.ledger), "1", "2", "3", "4")
	for len(w.beginnings()) < 2 {
		time.Sleep(time.Millisecond) // the ledger tells nobody
	}
	s.Stop()
	w.awaitCounts(queue.ListCounts{Waiting: 4})
	next, err := w.client.NextOfList(t.Context(), "hworker:mail", 4)
	must(t, err)
	slices.Sort(next[:2]) // they ended in any order
	for i, entry := range next {
		if !strings.HasPrefix(entry, fmt.Sprintf(`["%d"`, i+1)) {
			t.Errorf("entry %d is %.10s", i, entry)
		}
	}
	if kept := w.client.Redis().HVals(t.Context(), "ql:oarlock:tries:hworker:mail").Val(); len(kept) != 2 || !strings.Contains(kept[0], `"interruptions":1`) {
		t.Errorf("kept is %q", kept)
	}
}

// A retry waits for its delay, where the pool has one.
func TestListPoolDelaysRetries(t *testing.T) {
	w := newWorld(t)
	p := w.listPool(1)
	p.List.Retries = 2
	p.Policy.Retry = outcome.Retry{Delay: 30 * time.Millisecond}
	w.run(Config{Pools: []Pool{p}})
	w.push(fmt.Sprintf(`{"ledger":%q,"do":"retry"}`, w.ledger), "again")
	w.awaitCounts(queue.ListCounts{Failed: 1})
	if begun := w.beginnings(); fmt.Sprint(begun) != "[again/1 again/2 again/3]" {
		t.Errorf("begun are %v", begun)
	}
}

// What a killed supervisor had is given back by the next one on its state directory, at once.
func TestListOfADeadSupervisorIsTakenOver(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.push(`{}`, "1", "2")
	l := *w.listPool(1).List
	dead := w.client.ListSession("dead", l)
	t.Cleanup(func() { dead.Close() })
	if reply, err := dead.Exchange(t.Context(), nil, queue.Take{Count: 2}); err != nil || len(reply.Jobs) != 2 {
		t.Fatal(reply, err)
	}
	life, err := statedir.Begin(dir)
	must(t, err)
	must(t, life.Write([]statedir.Workers{{Name: "dead", List: &l, MaxCrashes: 3}}))
	life.Close()
	w.run(Config{Pools: []Pool{w.listPool(1)}, StateDir: dir})
	w.awaitCounts(queue.ListCounts{})
}

// Of a spike as many entries are in work as there are children; the others stay in the list.
func TestListPoolHoldsNoMoreThanItsChildren(t *testing.T) {
	w := newWorld(t)
	n, children := scaled(500, 3000), 4
	pipe := w.client.Redis().Pipeline()
	for i := range n {
		pipe.LPush(t.Context(), "hworker-jobs-mail", queue.Envelope(fmt.Sprint(i), []byte(`{}`)))
	}
	must(t, errOf(pipe.Exec(t.Context())))
	w.run(Config{Pools: []Pool{w.listPool(children)}})
	for counts := w.counts(); counts != (queue.ListCounts{}); counts = w.counts() {
		if counts.Progress > children {
			t.Fatalf("%d entries are in work for %d children", counts.Progress, children)
		}
		time.Sleep(time.Millisecond) // Redis tells nobody
	}
}

// A verdict on an entry that another has by now changes nothing, and is counted; so is what goes back into the list, by why.
func TestListPoolCountsWhatComesBackAndTooLate(t *testing.T) {
	w := newWorld(t)
	p := w.listPool(1)
	p.List.Retries = 2
	p.Policy.MaxCrashes = 1
	log := new(lockedBuffer)
	s := w.run(Config{Pools: []Pool{p}, PollInterval: 20 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil))})
	late := queue.Envelope("late", fmt.Appendf(nil, `{"ledger":%q,"until":%q}`, w.ledger, w.ledger+".go"))
	db := w.client.Redis()
	must(t, db.LPush(t.Context(), "hworker-jobs-mail", late).Err())
	w.until("it has begun", func() bool { return len(w.beginnings()) == 1 })
	others := time.Now().UTC().Format(`"2006-01-02T15:04:05.000"`)
	others = others[:len(others)-1] + `123456789Z"` // of another worker
	must(t, db.HSet(t.Context(), "hworker-progress-mail", late, others).Err())
	must(t, os.WriteFile(w.ledger+".go", nil, 0o600))
	w.push(fmt.Sprintf(`{"ledger":%q,"do":"retry"}`, w.ledger), "again")
	w.push(fmt.Sprintf(`{"ledger":%q,"do":"kill"}`, w.ledger), "killer")
	w.awaitCounts(queue.ListCounts{Progress: 1, Failed: 2})
	if left := db.HGetAll(t.Context(), "hworker-progress-mail").Val(); left[late] != others {
		t.Errorf("in work are %q", left)
	}
	w.until("it is told", func() bool { l := s.Snapshot().Pools[0].List; return l.Failed == 2 && !l.Unseen })
	shot := s.Snapshot().Pools[0]
	if l := shot.List; shot.Counters.Late != 1 || l.Retried != 2 || l.Crashed != 1 || l.PutBack != 0 {
		t.Errorf("it counts %d too late, and %+v", shot.Counters.Late, l)
	}
	if said := log.String(); !regexp.MustCompile(`level=WARN msg="verdict dropped: the lock is lost" .*jid=late`).MatchString(said) {
		t.Errorf("it says\n%s", said)
	}
}
