package webbench

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/queue/admin"
)

// View is what was measured of a kind of page, or of answer.
type View struct {
	Name string `json:"name"`
	Spread
	Count int     `json:"count"`
	Bytes int     `json:"bytes"`            // of the longest
	Calls int     `json:"redis_calls"`      // that one makes, without the census that all share
	Redis float64 `json:"redis_scripts_ms"` // its time in scripts for one
}

// Slowest is what Redis took longest for.
type Slowest struct {
	Longest float64 `json:"longest_ms"` // 0: nothing took SlowFrom
	What    string  `json:"what"`
	Over    int     `json:"over_2ms"` // how many calls did
}

// kindOf is a kind of view: its name, and a path of it.
type kindOf struct {
	name string
	path func(w *world, r *rand.Rand) string
}

// one picks something.
func one(of []string, r *rand.Rand) string { return url.PathEscape(of[r.IntN(len(of))]) }

// kindsOf are the pages, and the answers of the API.
var kindsOf = func() []kindOf {
	same := func(path string) kindOf {
		return kindOf{path, func(*world, *rand.Rand) string { return path }}
	}
	of := func(name string, path func(w *world, r *rand.Rand) string) kindOf { return kindOf{name, path} }
	job := func(state string) func(*world, *rand.Rand) string {
		return func(w *world, r *rand.Rand) string { return "/jobs/" + one(w.jids[state], r) }
	}
	group := func(w *world, r *rand.Rand) string { return "/failures/" + one(w.groups, r) }
	queueOf := func(rest string) func(*world, *rand.Rand) string {
		return func(w *world, r *rand.Rand) string { return "/queues/" + one(w.queues, r) + rest }
	}
	api := func(path func(*world, *rand.Rand) string) func(*world, *rand.Rand) string {
		return func(w *world, r *rand.Rand) string { return "/api/v1" + path(w, r) }
	}
	return []kindOf{
		same("/"), same("/queues"), same("/pools"), same("/pools/busy"), same("/supervisors"), same("/workers"), same("/failures"),
		same("/tags"), same("/tags/nightly"), same("/tracked"), same("/completed"), same("/recurring"), same("/throttles"), same("/settings"),
		of("/queues?at=", func(w *world, r *rand.Rand) string {
			return fmt.Sprintf("/queues?sort=name&at=%d", r.IntN(len(w.queues)))
		}),
		of("/queues/{queue}", queueOf("")), of("/queues/{queue}?state=scheduled", queueOf("?state=scheduled")), of("/queues/{queue}/stats", queueOf("/stats")),
		of("/failures/{group}", group), of("/jobs/{waiting}", job("waiting")), of("/jobs/{scheduled}", job("scheduled")), of("/jobs/{failed}", job("failed")),
		of("/search?q={jid}", func(w *world, r *rand.Rand) string { return "/search?q=" + one(w.jids["waiting"], r) }),
		same("/api/v1/status"), same("/api/v1/queues"), same("/api/v1/failures"), same("/api/v1/workers"), same("/api/v1/stats"),
		of("/api/v1/queues/{queue}", api(queueOf(""))), of("/api/v1/queues/{queue}/jobs", api(queueOf("/jobs?state=waiting"))),
		of("/api/v1/jobs/{waiting}", api(job("waiting"))), of("/api/v1/jobs/{failed}/why", func(w *world, r *rand.Rand) string { return "/api/v1" + job("failed")(w, r) + "/why" }),
		of("/api/v1/failures/{group}", api(group)),
	}
}()

// look asks for views, some at a time, and then what one of each kind costs Redis.
func (b *Bench) look(ctx context.Context, h *house, w *world, s Sizes, f *Figures) error {
	now, err := b.serverTime(ctx)
	if err != nil {
		return err
	}
	times, longest, err := h.views(ctx, w, s.Views, s.Abreast)
	if err != nil {
		return err
	}
	if b.Own {
		if f.Redis, err = b.slowest(ctx, now); err != nil {
			return err
		}
	}
	var all []time.Duration
	for i, kind := range kindsOf {
		v := View{Name: kind.name, Count: len(times[i]), Bytes: longest[i]}
		if all = append(all, times[i]...); v.Count > 0 {
			v.Spread = spread(times[i])
		}
		if v.Calls, v.Redis, err = b.costOf(ctx, h, w, kind); err != nil {
			return err
		}
		f.Views = append(f.Views, v)
	}
	f.All = spread(all)
	return nil
}

// views asks for so many views, all kinds in turn, and gives the times and the longest answer of each kind.
func (h *house) views(ctx context.Context, w *world, n, abreast int) (times [][]time.Duration, longest []int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	times, longest = make([][]time.Duration, len(kindsOf)), make([]int, len(kindsOf))
	next := make(chan int)
	var mu sync.Mutex
	var group sync.WaitGroup
	for range abreast {
		group.Go(func() {
			for i := range next {
				kind := i % len(kindsOf)
				path := kindsOf[kind].path(w, rand.New(rand.NewPCG(uint64(i), 1)))
				began := time.Now()
				text, wrong := h.get(ctx, path, nil)
				took := time.Since(began)
				mu.Lock()
				if wrong != nil {
					err = errors.Join(err, wrong)
					stop()
				}
				times[kind], longest[kind] = append(times[kind], took), max(longest[kind], len(text))
				mu.Unlock()
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return times, longest, errors.Join(err, context.Cause(ctx))
}

// costTries is how often the cost of a view is measured: what else asks Redis meanwhile, it does not ask each time.
const costTries = 5

// costOf is how many calls a view makes, and how long Redis is busy with them.
func (b *Bench) costOf(ctx context.Context, h *house, w *world, kind kindOf) (calls int, busy float64, err error) {
	for try := range costTries {
		before, spent, err := b.calls(ctx)
		if err != nil {
			return 0, 0, err
		}
		if _, err := h.get(ctx, kind.path(w, rand.New(rand.NewPCG(uint64(try), 2))), nil); err != nil {
			return 0, 0, err
		}
		after, spentAfter, err := b.calls(ctx)
		if err != nil {
			return 0, 0, err
		}
		n, ms := after-before-reads, (spentAfter-spent)*1e3
		if try == 0 || n < calls {
			calls = n
		}
		if try == 0 || ms < busy {
			busy = ms
		}
	}
	return calls, busy, nil
}

// calls is how many there were to Redis, as whoever waits for them counts: what is sent together is one. busy is for how many
// seconds it ran scripts. The asking for it is one of them.
func (b *Bench) calls(ctx context.Context) (n int, busy float64, err error) {
	facts, err := admin.Facts(ctx, b.Client, "stats", "commandstats")
	if err != nil {
		return 0, 0, err
	}
	if n, err = strconv.Atoi(facts["total_reads_processed"]); err != nil {
		return 0, 0, fmt.Errorf("INFO stats: %w", err)
	}
	for _, command := range []string{"evalsha", "evalsha_ro"} {
		_, rest, known := strings.Cut(facts["cmdstat_"+command], "usec=")
		if !known {
			continue // it was never called
		}
		text, _, _ := strings.Cut(rest, ",")
		µs, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("INFO commandstats: %w", err)
		}
		busy += µs / 1e6
	}
	return n, busy, nil
}

// reads is how many calls it takes to ask for calls: one for each section of INFO.
const reads = 2

// slowEntries is how many of the commands are read that Redis remembers: as many as it does, unless it is told otherwise.
const slowEntries = 128

// serverTime is the time of Redis, in the whole seconds of its slow log.
func (b *Bench) serverTime(ctx context.Context) (time.Time, error) {
	if err := b.Client.Ping(ctx); err != nil {
		return time.Time{}, err
	}
	return time.Unix(int64(b.Client.Now())+1, 0), nil // what took long in this second was the filling
}

// slowest reads what took long since then.
func (b *Bench) slowest(ctx context.Context, since time.Time) (*Slowest, error) {
	entries, err := admin.SlowLog(ctx, b.Client, slowEntries)
	if err != nil {
		return nil, err
	}
	s := &Slowest{}
	for _, entry := range entries {
		if entry.At.Before(since) {
			continue
		}
		if ms := milliseconds(entry.Took); ms > s.Longest {
			s.Longest, s.What = ms, b.scriptOf(entry.Words)
		}
		if entry.Took > 2*time.Millisecond {
			s.Over++
		}
	}
	return s, nil
}

// scriptOf is a call by the name of its script.
func (b *Bench) scriptOf(words []string) string {
	if len(words) < 2 || !strings.HasPrefix(strings.ToLower(words[0]), "evalsha") {
		return strings.Join(words, " ")
	}
	for _, dialect := range []queue.Dialect{queue.Batch, queue.Qless, queue.Reqless} {
		for _, command := range queue.Commands(dialect) {
			text, _ := queue.Script(dialect, command, b.Namespace)
			if sum := sha1.Sum([]byte(text)); hex.EncodeToString(sum[:]) == words[1] {
				return command
			}
		}
	}
	return words[0]
}

// spread sums up durations; it sorts them.
func spread(all []time.Duration) Spread {
	slices.Sort(all)
	return Spread{milliseconds(all[len(all)/2]), milliseconds(all[len(all)*99/100]), milliseconds(all[len(all)-1])}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
