package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/outcome"
)

// world is a real Redis, the host of all tests and a client for a test to look with. The test runs beside others.
type world struct {
	t      *testing.T
	server *redistest.Server
	client *queue.Client
	host   *runner.Host
	ledger string
}

func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, server: redistest.Start(t, args...), ledger: filepath.Join(t.TempDir(), "ledger")}
	var err error
	w.client, err = queue.Open(t.Context(), queue.Options{URL: w.server.URL, ReadTimeout: time.Minute})
	must(t, err)
	t.Cleanup(func() { w.client.Close() })
	w.host, err = openHost()
	must(t, err)
	return w
}

// pool is a pool of Python children for the queue q.
func (w *world) pool(mode runner.Mode, script string, children int) Pool {
	return Pool{
		Name:     "p",
		Queues:   []string{"q"},
		Children: children,
		Policy:   outcome.Policy{MaxCrashes: 3},
		Child: runner.Spec{
			Pool:      "p",
			Mode:      mode,
			Command:   []string{"python3", "-u", filepath.Join("testdata", script)},
			Env:       os.Environ(),
			KillGrace: 2 * time.Second,
		},
	}
}

// run starts a supervisor, which the end of the test stops.
func (w *world) run(cfg Config) *Supervisor {
	w.t.Helper()
	if testing.Verbose() && cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	}
	cfg.Logger = strictly(w.t, cfg.Logger)
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = 10 * time.Second
	}
	s := New(cfg, w.client, w.host)
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { done <- s.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		select {
		case err := <-done:
			if err != nil {
				w.t.Errorf("Run() = %v", err)
			}
		case <-time.After(time.Minute):
			w.t.Error("the supervisor does not end")
		}
	})
	return s
}

// put puts n jobs with this data, as a template in which %d is the number.
func (w *world) put(n int, data string) {
	w.t.Helper()
	puts := make([]queue.Put, n)
	for i := range puts {
		text := data
		if strings.Contains(data, "%d") {
			text = fmt.Sprintf(data, i)
		}
		puts[i] = queue.Put{Queue: "q", JID: fmt.Sprintf("j%d", i), Klass: "K", Data: []byte(text)}
	}
	results, err := w.client.PutAll(w.t.Context(), puts)
	must(w.t, err)
	for _, r := range results {
		if r.Err != nil {
			w.t.Fatal(r.Err)
		}
	}
}

// heard waits until the supervisor hears what is put.
func (w *world) heard() {
	w.t.Helper()
	channel := w.client.WakeChannel()
	for w.client.Redis().PubSubNumSub(w.t.Context(), channel).Val()[channel] == 0 {
		time.Sleep(time.Millisecond) // Redis tells nobody who listens
	}
}

// states counts the jobs j0 … by the state Redis has them in.
func (w *world) states(n int) map[string]int {
	w.t.Helper()
	states := map[string]int{}
	for i := range n {
		state, err := w.client.Redis().HGet(w.t.Context(), fmt.Sprintf("ql:j:j%d", i), "state").Result()
		must(w.t, err)
		states[state]++
	}
	return states
}

// await waits until n jobs are in a state.
func (w *world) await(n int, state string) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); w.states(n)[state] < n; time.Sleep(10 * time.Millisecond) { // Redis tells nobody what became of a job
		if time.Now().After(end) {
			w.t.Fatalf("jobs are %v, want %d %s", w.states(n), n, state)
		}
	}
}

// TestDependenciesAcrossPoolsWaitForNoPoll works off a chain of jobs that alternates between two
// pools, which look by themselves once an hour.
func TestDependenciesAcrossPoolsWaitForNoPoll(t *testing.T) {
	w := newWorld(t)
	odd, even := w.pool(runner.Reuse, "loop.py", 1), w.pool(runner.Reuse, "loop.py", 1)
	odd.Name, odd.Queues = "odd", []string{"odd"}
	even.Name, even.Queues = "even", []string{"even"}
	w.run(Config{Pools: []Pool{odd, even}, PollInterval: time.Hour})
	w.heard()
	const links = 40
	puts := make([]queue.Put, links)
	for i := range puts {
		puts[i] = queue.Put{Queue: []string{"even", "odd"}[i%2], JID: fmt.Sprintf("j%d", i), Klass: "K"}
		if i > 0 {
			puts[i].Depends = []string{puts[i-1].JID}
		}
	}
	began := time.Now()
	must(t, errOf(w.client.PutAll(t.Context(), puts)))
	w.await(links, "complete")
	t.Logf("%d links took %v", links, time.Since(began))
}

// TestJobsThatWaitForAThrottleLeaveTheOthersTheirTurn puts jobs that wait for one that runs long in
// front of others, which are to be over before it is, though nobody polls.
func TestJobsThatWaitForAThrottleLeaveTheOthersTheirTurn(t *testing.T) {
	w := newWorld(t)
	must(t, w.client.SetThrottle(t.Context(), queue.Throttle{ID: "big", Maximum: 1}))
	w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "loop.py", 3)}, PollInterval: time.Hour})
	w.heard()
	const others = 20
	over := filepath.Join(t.TempDir(), "over")
	var puts []queue.Put
	for i := range 400 {
		jid := fmt.Sprintf("big%d", i)
		puts = append(puts, queue.Put{Queue: "q", JID: jid, Klass: "K", Data: fmt.Appendf(nil, `{"until":%q}`, over), Throttles: []string{"big"}, Priority: new(float64(1))})
	}
	for i := range others {
		puts = append(puts, queue.Put{Queue: "q", JID: fmt.Sprintf("j%d", i), Klass: "K"})
	}
	must(t, errOf(w.client.PutAll(t.Context(), puts)))
	w.await(others, "complete")
	waiting, err := w.client.Queue(t.Context(), "q")
	if err != nil || waiting.Running != 1 || waiting.Throttled != 399 {
		t.Errorf("when the others were over, the queue was %+v, %v; want the first of 400 still running", waiting, err)
	}
	must(t, w.client.DeleteThrottle(t.Context(), "big"))
	must(t, w.client.Redis().Del(t.Context(), "ql:th:big-pending").Err()) // the test need not work them
	must(t, os.WriteFile(over, nil, 0o600))
}

// TestManyDependentsAreFreedWithoutAPoll completes a job for which more wait than one call frees.
func TestManyDependentsAreFreedWithoutAPoll(t *testing.T) {
	w := newWorld(t)
	w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "loop.py", 1)}, PollInterval: time.Hour})
	w.heard()
	puts := []queue.Put{{Queue: "later", JID: "j0", Klass: "K"}}
	for range 2000 {
		puts = append(puts, queue.Put{Queue: "r", Klass: "K", Depends: []string{"j0"}})
	}
	puts = append(puts, queue.Put{Queue: "q", JID: "j0", Klass: "K"}) // now all wait for it
	must(t, errOf(w.client.PutAll(t.Context(), puts)))
	w.await(1, "complete")
	until(t, "all that waited for it wait no more", func() bool {
		counts, err := w.client.Queue(t.Context(), "r")
		must(t, err)
		return counts.Depends == 0 && counts.Waiting == 2000
	})
}

// TestAJobWithABrokenKeyIsWorkedOnce breaks a key of a running job, so that Redis accepts
// no settlement of it: it is not run again, others go on, and once the key is mended the
// job fails with the reason.
func TestAJobWithABrokenKeyIsWorkedOnce(t *testing.T) {
	w := newWorld(t)
	ctx, redis := t.Context(), w.client.Redis()
	broken := filepath.Join(t.TempDir(), "broken")
	w.put(1, fmt.Sprintf(`{"ledger": %q, "until": %q}`, w.ledger, broken))
	log := new(lockedBuffer)
	w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "loop.py", 2)}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	until(t, "the job begins", func() bool { return w.begun() > 0 })
	const key = "ql:j:j0"
	must(t, redis.Rename(ctx, key, "aside").Err())
	redis.Set(ctx, key, "not a hash", 0)
	must(t, os.WriteFile(broken, nil, 0o600))
	refusals := scaled("times=3", "times=7") // between seven there are audits
	until(t, refusals, func() bool { return strings.Contains(log.String(), refusals) })
	if n := w.begun(); n != 1 {
		t.Errorf("it was begun %d times:\n%s", n, log.String())
	}
	must(t, errOf(w.client.Put(ctx, queue.Put{Queue: "q", JID: "j1", Klass: "K", Data: []byte("{}")})))
	until(t, "another job is done", func() bool { return redis.HGet(ctx, "ql:j:j1", "state").Val() == "complete" })
	must(t, redis.Rename(ctx, "aside", key).Err())
	until(t, "the job fails", func() bool { return w.states(1)["failed"] == 1 })
}

// begun counts the runs that the ledger tells of.
func (w *world) begun() int {
	text, _ := os.ReadFile(w.ledger) // there is none before the first
	return strings.Count(string(text), "begin ")
}

// until waits for what nobody tells of.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("in vain: ", what)
		}
	}
}

// lockedBuffer is a log to look into while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestAGlobMatchesNamesThatAreNotUTF8 puts into such a queue before and while a pool works it by a glob.
func TestAGlobMatchesNamesThatAreNotUTF8(t *testing.T) {
	w := newWorld(t)
	pool := w.pool(runner.Reuse, "loop.py", 1)
	pool.Queues = []string{"mail-*"}
	put := func(jid string) {
		must(t, errOf(w.client.Put(t.Context(), queue.Put{Queue: "mail-\xff/eu", JID: jid, Klass: "K"})))
	}
	put("j0")
	w.run(Config{Pools: []Pool{pool}})
	w.await(1, "complete")
	put("j1")
	w.await(2, "complete")
}
