package webbench

import (
	"context"
	"fmt"
	"time"

	"oarlock/queue"
)

// world is what there is to be looked at.
type world struct {
	queues []string
	groups []string            // of the jobs that have failed
	jids   map[string][]string // some of each state: waiting, scheduled, failed
}

const (
	// busyQueue is the queue of the pool that works.
	busyQueue = "busy"
	// sampled is how many jobs of a state are known by name.
	sampled = 2000
)

// The jobs of a queue by their turn, of ten: the first has failed, two come later, the others wait.
const (
	turns     = 10
	failed    = 1
	scheduled = 3
)

// data is what a job carries: 165 bytes.
const data = `{"order":"2026-11-%07d","customer":{"name":"Ada Lovelace","mail":"ada@example.org"},"lines":[{"sku":"A-1","n":2},{"sku":"B-7","n":1}],"note":"as ever"}`

// fill puts the jobs. Those that fail are put first, taken by a worker of ours, and failed: they are all there is by then.
func (b *Bench) fill(ctx context.Context, jobs, queues int) (*world, error) {
	w := &world{jids: map[string][]string{}, groups: []string{"exit-1", "timeout", "oom", "bad-arguments", "crash"}}
	for i := range queues {
		w.queues = append(w.queues, fmt.Sprintf("orders-%04d", i))
	}
	if err := b.putJobs(ctx, w, jobs, "failed"); err != nil {
		return nil, err
	}
	if err := b.failAll(ctx, w); err != nil {
		return nil, err
	}
	for _, state := range []string{"scheduled", "waiting"} {
		if err := b.putJobs(ctx, w, jobs, state); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// putJobs puts those of the jobs that are to be in a state.
func (b *Bench) putJobs(ctx context.Context, w *world, jobs int, state string) error {
	var puts []queue.Put
	flush := func() error {
		results, err := b.Client.PutAll(ctx, puts)
		puts = puts[:0]
		for _, result := range results {
			if err == nil {
				err = result.Err
			}
			if len(w.jids[state]) < sampled {
				w.jids[state] = append(w.jids[state], result.JID)
			}
		}
		return err
	}
	for i := range jobs {
		if w.state(i) != state {
			continue
		}
		if puts = append(puts, w.put(i)); len(puts) == queue.PutChunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(puts) == 0 {
		return nil
	}
	return flush()
}

// state is in which the job of that number is to be.
func (w *world) state(i int) string {
	switch turn := i / len(w.queues) % turns; {
	case turn < failed:
		return "failed"
	case turn < scheduled:
		return "scheduled"
	}
	return "waiting"
}

// put is the job of that number.
func (w *world) put(i int) queue.Put {
	retries := 0
	p := queue.Put{
		Queue: w.queues[i%len(w.queues)], Klass: []string{"Send", "Resize", "Bill", "Index"}[i%4], Data: fmt.Appendf(nil, data, i), Retries: &retries,
	}
	if w.state(i) == "scheduled" {
		p.Delay = 24*time.Hour + time.Duration(i)*time.Second
	}
	if i%10 == 3 {
		p.Tags = []string{"nightly"}
	}
	return p
}

// failAll takes what there is in the queues and fails it.
func (b *Bench) failAll(ctx context.Context, w *world) error {
	session := b.Client.Session("bench-web")
	defer session.Close()
	var ended []queue.Settlement
	for i, name := range w.queues {
		for more := true; more; {
			reply, err := session.Exchange(ctx, ended, queue.Take{Queues: []string{name}, Count: queue.PutChunk})
			if err != nil {
				return err
			}
			ended = ended[:0]
			for j, job := range reply.Jobs {
				ended = append(ended, queue.Settlement{
					JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Fail,
					Group: w.groups[(i+j)%len(w.groups)], Message: "cannot open cat.jpg: no such file or directory",
				})
			}
			more = len(reply.Jobs) > 0
		}
	}
	return session.Deregister(ctx)
}
