package webbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"oarlock/queue"
)

// Watched is what many who watch cost those who work.
type Watched struct {
	Pairs []Pair  `json:"pairs"`
	Ratio float64 `json:"ratio"` // of the throughput with watchers to that without: the geometric mean of the pairs
	Low   float64 `json:"low"`   // and between what it lies, within two standard errors
	High  float64 `json:"high"`
	// Margin is the ratio of the lease margin with watchers to that without: of what was left of the locks of long jobs when they were renewed,
	// the least of each window, the mean of all.
	Margin float64 `json:"lease_margin_ratio"`

	Views  int     `json:"views"`       // that are watched
	Frames int     `json:"frames"`      // that all watchers were sent
	Few    float64 `json:"calls_few"`   // calls of Redis a second while nothing is worked, with one watcher a view
	Many   float64 `json:"calls_many"`  // and with all of them
	Memory float64 `json:"memory_mib"`  // that the supervisor had more with all of them, at most
	Left   float64 `json:"goroutines"`  // more than before when they had gone
	Open   float64 `json:"descriptors"` // likewise
}

// Pair is jobs a second without watchers and with them, in windows one after the other.
type Pair struct {
	Without float64 `json:"without"`
	With    float64 `json:"with"`

	MarginWithout float64 `json:"lease_margin_without_s"` // the least that was left of a lease when it was renewed, in each of them
	MarginWith    float64 `json:"lease_margin_with_s"`
}

// watchers read streams until they are told to leave.
type watchers struct {
	leave  context.CancelFunc
	gone   sync.WaitGroup
	frames atomic.Int64
	first  chan error // of each: nil with its first frame, or why it has none
	client *http.Client
}

// watched are the views that are watched, each by as many.
func watched(w *world) []string {
	return []string{
		"/", "/pools", "/pools/busy", "/pools/busy/0", "/queues", "/queues/" + busyQueue, "/queues/" + w.queues[0], "/failures", "/supervisors",
		"/jobs/" + w.jids["waiting"][0],
	}
}

// watch has a pool work, with watchers and without in turn, and measures what they cost.
func (b *Bench) watch(ctx context.Context, h *house, w *world, s Sizes) (f Watched, err error) {
	views := watched(w)
	f.Views = min(len(views), s.Watchers)
	if f.Few, err = b.callsOf(ctx, views, f.Views, s.Window); err != nil {
		return f, err
	}
	if f.Many, err = b.callsOf(ctx, views, s.Watchers, s.Window); err != nil {
		return f, err
	}
	release, err := b.hold(ctx, h)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, release(context.WithoutCancel(ctx))) }()
	before, err := h.use(ctx)
	if err != nil {
		return f, err
	}
	load := &load{bench: b, want: 20_000}
	if _, err := load.window(ctx, s.Window); err != nil { // to learn how much is worked, and for all to be warm
		return f, err
	}
	logs := make([]float64, 0, s.Pairs)
	for n := range s.Pairs {
		pair := Pair{}
		b.Say(fmt.Sprintf("pair %d of %d", n+1, s.Pairs))
		for _, with := range []bool{n%2 == 0, n%2 != 0} {
			if with {
				pair.With, pair.MarginWith, err = b.watchedWindow(ctx, h, load, views, s, before, &f)
			} else {
				pair.Without, pair.MarginWithout, err = h.window(ctx, load, s.Window)
			}
			if err != nil {
				return f, err
			}
		}
		f.Pairs, logs = append(f.Pairs, pair), append(logs, math.Log(pair.With/pair.Without))
	}
	f.Ratio, f.Low, f.High = interval(logs)
	with, without := 0.0, 0.0
	for _, pair := range f.Pairs {
		with, without = with+pair.MarginWith, without+pair.MarginWithout
	}
	f.Margin = with / without
	return f, h.settle(ctx, before, &f)
}

// window is how many jobs a second are worked in a window, and the least lease margin meanwhile.
func (h *house) window(ctx context.Context, load *load, d time.Duration) (rate, margin float64, err error) {
	margin, err = h.least(ctx, func(ctx context.Context) (err error) {
		rate, err = load.window(ctx, d)
		return err
	})
	return rate, margin, err
}

// watchedWindow is a window with all watchers.
func (b *Bench) watchedWindow(ctx context.Context, h *house, load *load, views []string, s Sizes, before use, f *Watched) (rate, margin float64, err error) {
	all, err := b.begin(ctx, views, s.Watchers)
	if err != nil {
		return 0, 0, err
	}
	defer all.end()
	rate, margin, err = h.window(ctx, load, s.Window)
	now, wrong := h.use(ctx)
	f.Memory = max(f.Memory, (now.memory-before.memory)/(1<<20))
	f.Frames += int(all.frames.Load())
	return rate, margin, errors.Join(err, wrong)
}

// interval is the geometric mean of numbers whose logarithms are given, and two standard errors around it.
func interval(logs []float64) (mean, low, high float64) {
	sum, squares, n := 0.0, 0.0, float64(len(logs))
	for _, x := range logs {
		sum += x
	}
	middle := sum / n
	for _, x := range logs {
		squares += (x - middle) * (x - middle)
	}
	off := 0.0
	if n > 1 {
		off = 2 * math.Sqrt(squares/(n-1)/n)
	}
	return math.Exp(middle), math.Exp(middle - off), math.Exp(middle + off)
}

// callsOf is how many calls of Redis a second are made for so many watchers while nothing is worked.
func (b *Bench) callsOf(ctx context.Context, views []string, n int, window time.Duration) (float64, error) {
	all, err := b.begin(ctx, views, n)
	if err != nil {
		return 0, err
	}
	defer all.end()
	began := time.Now()
	before, _, err := b.calls(ctx)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(max(window, 5*time.Second)): // in which there is one census, or two
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, _, err := b.calls(ctx)
	return float64(after-before) / time.Since(began).Seconds(), err
}

// begin has so many watch, in turn each of the views, and returns when each has had a frame.
func (b *Bench) begin(ctx context.Context, views []string, n int) (*watchers, error) {
	all := &watchers{first: make(chan error, n)}
	ctx, all.leave = context.WithCancel(ctx)
	all.client = &http.Client{Transport: transport(filepath.Join(b.Scratch, "web.sock"), 1)}
	for i := range n {
		all.gone.Go(func() { all.first <- all.read(ctx, views[i%len(views)]) })
	}
	var err error
	for range n {
		select {
		case err = <-all.first:
		case <-time.After(askLimit):
			err = errors.New("a watcher is sent nothing")
		}
		if err != nil {
			all.end()
			return nil, err
		}
	}
	return all, nil
}

// read opens a stream, waits for its first frame, and leaves the rest to a goroutine that ends with ctx.
func (all *watchers) read(ctx context.Context, view string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/live?view="+url.QueryEscape(view), nil)
	if err != nil {
		return err
	}
	answer, err := all.client.Do(r)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("watch %s: %s", view, answer.Status), answer.Body.Close())
	}
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return errors.Join(err, answer.Body.Close())
		}
		if strings.HasPrefix(line, "data:") {
			break
		}
	}
	all.frames.Add(1)
	all.gone.Go(func() {
		defer answer.Body.Close()
		for {
			line, err := lines.ReadSlice('\n')
			if strings.HasPrefix(string(line), "data:") {
				all.frames.Add(1)
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
		}
	})
	return nil
}

// end has all leave and waits for that.
func (all *watchers) end() {
	all.leave()
	all.gone.Wait()
	all.client.CloseIdleConnections()
}

// load is what the pool works.
type load struct {
	bench *Bench
	want  int // how many jobs there are to be when a window begins
}

// window is how many jobs a second are worked, for so long. There are more than can be worked in it.
func (l *load) window(ctx context.Context, d time.Duration) (float64, error) {
	for {
		had, err := l.fill(ctx)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		left, err := l.left(ctx)
		took := time.Since(began)
		if err != nil {
			return 0, err
		}
		done := had - left
		l.want = max(2*done, l.want)
		if left > done/4 {
			return float64(done) / took.Seconds(), nil
		}
		l.want *= 2 // it might have waited for jobs
	}
}

// fill puts jobs until there are enough, and says how many there are.
func (l *load) fill(ctx context.Context) (int, error) {
	for {
		left, err := l.left(ctx)
		if err != nil || left >= l.want {
			return left, err
		}
		puts := make([]queue.Put, queue.PutChunk)
		for i := range puts {
			puts[i] = queue.Put{Queue: busyQueue, Klass: "Noop", Data: []byte("{}")}
		}
		results, err := l.bench.Client.PutAll(ctx, puts)
		if err != nil {
			return 0, err
		}
		for _, result := range results {
			if result.Err != nil {
				return 0, result.Err
			}
		}
	}
}

// left is how many jobs are not done.
func (l *load) left(ctx context.Context) (int, error) {
	counts, _, err := l.bench.Client.Census(ctx, []string{busyQueue})
	if err != nil {
		return 0, err
	}
	return counts[0].Waiting + counts[0].Running, nil
}

// use is what the supervisor uses.
type use struct{ memory, goroutines, descriptors float64 }

func (h *house) use(ctx context.Context) (use, error) {
	found, err := h.metrics(ctx, "process_resident_memory_bytes", "go_goroutines", "process_open_fds")
	return use{found["process_resident_memory_bytes"], found["go_goroutines"], found["process_open_fds"]}, err
}

// settleLimit is how long the supervisor has to forget its watchers, and slack is what comes and goes in it anyhow.
const (
	settleLimit = 10 * time.Second
	slack       = 10
)

// settle waits until what the watchers used has been given back, and notes what is left.
func (h *house) settle(ctx context.Context, before use, f *Watched) error {
	deadline := time.Now().Add(settleLimit)
	for {
		now, err := h.use(ctx)
		if err != nil {
			return err
		}
		f.Left, f.Open = now.goroutines-before.goroutines, now.descriptors-before.descriptors
		if f.Left <= slack && f.Open <= slack || time.Now().After(deadline) {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
