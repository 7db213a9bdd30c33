// Package bench measures this machine: how many jobs a second go through Redis, the
// supervisor and its children, what each of the three spends on one, and how long an
// idle supervisor takes to notice a job.
package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"oarlock/internal/config"
	"oarlock/queue"
	"oarlock/queue/admin"
)

// Shape is how the jobs of a series are worked.
type Shape struct {
	Mode     string // once, reuse or preload
	Children int
	Prefetch int // config.AutoPrefetch: as many as pay
	Batch    int // jobs in a message; 0 and 1: one
	Command  []string
	List     string // whose entries are the jobs; "": they are those of a queue
	Keys     int    // so many keys the jobs have, in turn; 0: they have none
	Fed      bool   // they come while others are worked; else all are there before
	By       string // path of another build of this program that works them; "": this one
}

// Result is one series. Times of processors are seconds; what was not measured is zero
// or null.
type Result struct {
	Name     string  `json:"name"`
	Mode     string  `json:"mode"`
	Children int     `json:"children"`
	Prefetch int     `json:"prefetch"` // -1: auto
	Batch    int     `json:"batch,omitempty"`
	List     bool    `json:"list,omitempty"` // the jobs were entries of a list
	Jobs     int     `json:"jobs"`
	Seconds  float64 `json:"seconds"` // from the first job's start to the last one's settlement
	Rate     float64 `json:"jobs_per_s"`

	RedisTime  float64 `json:"redis_us_per_job"`    // in scripts, to take and settle
	RedisCalls float64 `json:"redis_calls_per_job"` // that the supervisor made
	Ceiling    float64 `json:"ceiling_share"`       // Rate by what Redis could do at most: 1 / RedisTime

	SupervisorCPU float64 `json:"supervisor_cpu_s"`
	ChildrenCPU   float64 `json:"children_cpu_s"` // their start included
	RedisCPU      float64 `json:"redis_cpu_s"`
	SupervisorRSS int64   `json:"supervisor_rss_kb"` // the most it was

	Busiest string  `json:"busiest,omitempty"` // redis, supervisor or children: who was nearest to what it can do, see busiest
	Busy    float64 `json:"busy_share"`        // how near: the part of that which it used

	Against *Against `json:"against,omitempty"` // a plain loop

	PutToStart *Spread `json:"put_to_start_ms"` // from before the put until a child has the job, all being idle
	Wakeup     *Spread `json:"wakeup_ms"`       // a bare PUBLISH until its subscriber has it, of a list an LPUSH until a BLPOP has it; measured in between
}

// Spread sums up some durations, in milliseconds.
type Spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Bench is where and how series are measured.
type Bench struct {
	Redis  config.Redis  // the server; its namespace should be one of our own
	Client *queue.Client // of the same
	Self   []string      // the command that becomes a crew; see Crew
	Log    io.Writer     // hears what a crew has to complain of

	// Restart, if not nil, kills the server and starts it again, with what it has on disk.
	Restart func(context.Context) error

	Scratch string // directory for the programs that are measured, and for what outlives a supervisor
	Helper  string // the text of the Python helper, which mode preload needs

	progress func(done, all int) // told how many of the jobs of a series were put; nil: nobody is
}

// queueName is the queue that is used, within the namespace.
const queueName = "bench"

// puts measures how fast n jobs are put, which nobody takes.
func (b *Bench) puts(ctx context.Context, n int) (Result, error) {
	before, err := askRedis(ctx, b.Client)
	if err != nil {
		return Result{}, err
	}
	began := time.Now()
	if _, err := b.put(ctx, Shape{}, 0, n); err != nil {
		return Result{}, err
	}
	took := time.Since(began)
	after, err := askRedis(ctx, b.Client)
	r := Result{Name: "put", Jobs: n}
	r.spent(took, after.minus(before))
	return r, err
}

// series has n jobs, all put before, worked in shape, and then puts as many as latency
// says one by one, each when everything has become idle. A file named by profile gets a
// profile of the supervisor's processor time during the first part.
func (b *Bench) series(ctx context.Context, shape Shape, n, latency int, profile string) (Result, error) {
	r := Result{Name: name(shape), Mode: shape.Mode, Children: shape.Children, Prefetch: shape.Prefetch, Batch: shape.Batch, List: shape.List != "", Jobs: n}
	if n > 0 {
		if err := b.work(ctx, &r, shape, n, profile); err != nil {
			return r, err
		}
	}
	if latency > 0 {
		if err := b.wait(ctx, &r, shape, latency); err != nil {
			return r, err
		}
	}
	return r, nil
}

func name(s Shape) string {
	text := fmt.Sprintf("%s-%d", s.Mode, s.Children)
	if s.List != "" {
		text = "list-" + text
	}
	switch {
	case s.Prefetch == int(config.AutoPrefetch):
		text += "+auto"
	case s.Prefetch > 0:
		text += fmt.Sprintf("+%d", s.Prefetch)
	}
	if s.Batch > 1 {
		text += fmt.Sprintf("×%d", s.Batch)
	}
	return text
}

// work measures how n jobs, put before, are worked.
func (b *Bench) work(ctx context.Context, r *Result, shape Shape, n int, profile string) error {
	first, tell := n, 0
	if shape.Fed {
		first, tell = min(n, waiting), refill
	}
	if _, err := b.give(ctx, shape, 0, first); err != nil {
		return err
	}
	before, err := askRedis(ctx, b.Client)
	if err != nil {
		return err
	}
	crew, err := b.hire(ctx, order{Redis: b.Redis, Shape: shape, Queue: queueName, Jobs: n, Tell: tell, Profile: profile})
	if err != nil {
		return err
	}
	said, err := b.feed(ctx, crew, shape, first, n)
	if err != nil {
		return err
	}
	after, err := askRedis(ctx, b.Client)
	if err != nil {
		return errors.Join(err, crew.dismiss(nil))
	}
	r.spent(said.Worked.Last.Sub(said.Worked.First), after.minus(before))
	r.SupervisorCPU = said.Worked.CPU.Seconds()
	r.SupervisorRSS = said.Worked.Memory >> 10
	var gone left
	err = crew.dismiss(&gone)
	r.ChildrenCPU = gone.Children.Seconds()
	r.Busiest, r.Busy = r.busiest(runtime.NumCPU())
	return err
}

// busiest is who used most of the processors' time that it can use: Redis one, the supervisor one for what it does in turn, each child
// one, as far as the machine has so many. Whoever is near 1 is what others wait for; if nobody is, they wait for each other.
func (r *Result) busiest(processors int) (who string, share float64) {
	for _, party := range []struct {
		name string
		used float64
		most int
	}{{"redis", r.RedisCPU, 1}, {"supervisor", r.SupervisorCPU, 1}, {"children", r.ChildrenCPU, min(r.Children, processors)}} {
		if part := party.used / r.Seconds / float64(party.most); part > share {
			who, share = party.name, part
		}
	}
	return who, share
}

// spent fills in what the jobs of r took.
func (r *Result) spent(took time.Duration, use redisUse) {
	n := float64(r.Jobs)
	r.Seconds = took.Seconds()
	r.Rate = n / took.Seconds()
	r.RedisTime = use.scripts.Seconds() * 1e6 / n
	r.RedisCalls = float64(use.calls) / n
	r.RedisCPU = use.cpu.Seconds()
	r.Ceiling = r.Rate * r.RedisTime / 1e6
}

// put puts n jobs, the first of which has that number, and tells their jids.
func (b *Bench) put(ctx context.Context, shape Shape, from, n int) ([]string, error) {
	var jids []string
	for len(jids) < n {
		chunk := make([]queue.Put, min(queue.PutChunk, n-len(jids)))
		for i := range chunk {
			chunk[i] = queue.Put{Queue: queueName, Klass: "Noop", Data: []byte("{}"), Key: shape.keyOf(from + len(jids) + i)}
		}
		results, err := b.Client.PutAll(ctx, chunk)
		if err != nil {
			return nil, err
		}
		for _, result := range results {
			if result.Err != nil {
				return nil, result.Err
			}
			jids = append(jids, result.JID)
		}
		if b.progress != nil && !shape.Fed {
			b.progress(len(jids), n)
		}
	}
	return jids, nil
}

// give gives those who work a shape n jobs, unlike those with a number below from, and tells their jids.
func (b *Bench) give(ctx context.Context, shape Shape, from, n int) ([]string, error) {
	if shape.List != "" {
		return b.push(ctx, shape.List, from, n)
	}
	return b.put(ctx, shape, from, n)
}

// bare is the least that waits for a job of a shape.
func (b *Bench) bare(ctx context.Context, shape Shape) (*admin.Wakeup, error) {
	if shape.List != "" {
		return admin.NewPop(ctx, b.Client), nil
	}
	return admin.NewWakeup(ctx, b.Client)
}

// Before each put of wait everything is left alone for so long, and up to twice that.
const idle = 20 * time.Millisecond

// wait measures how long an idle supervisor takes from put to start, and beside it how
// long Redis takes to wake somebody who does nothing but wait.
func (b *Bench) wait(ctx context.Context, r *Result, shape Shape, n int) error {
	crew, err := b.hire(ctx, order{Redis: b.Redis, Shape: shape, Queue: queueName, Starts: true})
	if err != nil {
		return err
	}
	var starts, wakeups []time.Duration
	bare, err := b.bare(ctx, shape)
	if err != nil {
		return errors.Join(err, crew.dismiss(nil))
	}
	defer bare.Close()
	// The first shows that all is there; it does not count.
	for i := 0; i <= n; i++ {
		pause := idle + rand.N(idle)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), crew.dismiss(nil))
		}
		woken, err := bare.Measure(ctx)
		if err != nil {
			return errors.Join(err, crew.dismiss(nil))
		}
		began := time.Now()
		jids, err := b.give(ctx, shape, i, 1)
		if err != nil {
			return errors.Join(err, crew.dismiss(nil))
		}
		said, err := crew.await(func(w word) bool { return w.Started != nil && w.Started.JID == jids[0] })
		if err != nil {
			return err
		}
		if i > 0 {
			starts = append(starts, said.Started.At.Sub(began))
			wakeups = append(wakeups, woken)
		}
	}
	r.PutToStart, r.Wakeup = spread(starts), spread(wakeups)
	return crew.dismiss(nil)
}

// spread sums up durations; it sorts them.
func spread(all []time.Duration) *Spread {
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return &Spread{P50: ms(all[len(all)/2]), P99: ms(all[len(all)*99/100])}
}

// crew is a Crew at work.
type crew struct {
	cmd   *exec.Cmd
	stdin io.Closer
	words *json.Decoder
}

// hire starts a crew.
func (b *Bench) hire(ctx context.Context, o order) (*crew, error) {
	cmd := exec.CommandContext(ctx, cmp.Or(o.Shape.By, b.Self[0]), b.Self[1:]...)
	cmd.Stderr = b.Log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &crew{cmd, stdin, json.NewDecoder(stdout)}
	if err := json.NewEncoder(stdin).Encode(o); err != nil {
		return nil, errors.Join(err, c.dismiss(nil))
	}
	return c, nil
}

// await reads on to the word that is wanted. After an error the crew is gone.
func (c *crew) await(wanted func(word) bool) (word, error) {
	for {
		var w word
		if err := c.words.Decode(&w); err != nil {
			return w, errors.Join(errors.New("the measured supervisor left early"), c.cmd.Wait())
		}
		if wanted(w) {
			return w, nil
		}
	}
}

// dismiss ends the crew and waits until it is gone; last, if not nil, is what it says
// then.
func (c *crew) dismiss(last *left) error {
	c.stdin.Close()
	w, err := c.await(func(w word) bool { return w.Left != nil })
	if err != nil {
		return err
	}
	if last != nil {
		*last = *w.Left
	}
	return c.cmd.Wait()
}

// clear removes every key below the namespace.
func (b *Bench) clear(ctx context.Context) error {
	return admin.Erase(ctx, b.Client)
}

// starts reports why a command cannot even be started, where that can be told beforehand.
func starts(command []string) error {
	_, err := exec.LookPath(command[0])
	return err
}

// Self is the command that becomes a crew, given the words that make it one.
func Self(words ...string) ([]string, error) {
	path, err := os.Executable()
	return append([]string{path}, words...), err
}
