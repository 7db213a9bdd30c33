package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"oarlock/queue"
	"oarlock/queue/admin"
)

// Soaked is what became of the jobs of a soak, and what was done to those who worked
// them.
type Soaked struct {
	Name    string  `json:"name"`
	Jobs    int     `json:"jobs"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"jobs_per_s"`

	Lost   int `json:"lost"`   // jobs that are nowhere, or do not end
	Failed int `json:"failed"` // jobs that ended otherwise than complete
	Again  int `json:"again"`  // jobs that were begun more than once, because of what was done

	Children    int `json:"killed_children"`
	Supervisors int `json:"killed_supervisors"`
	Drops       int `json:"dropped_connections"` // times that all connections were cut
	Pauses      int `json:"pauses"`              // of Redis
	Restarts    int `json:"redis_restarts"`      // after it was killed
}

const (
	soakCrews  = 2                      // supervisors at work
	soakAhead  = 1000                   // jobs that wait, at most
	soakPause  = 300 * time.Millisecond // between two troubles, on average
	soakFreeze = 200 * time.Millisecond // how long Redis stands still
	soakOutage = 10 * time.Second       // between two restarts of Redis
	soakEnd    = 2 * time.Minute        // for the last jobs; locks of the dead run out in a minute
)

// Soak has jobs worked in shape for some time while children and supervisors are killed,
// connections cut, and Redis stopped for moments and, if there is a Restart, killed every
// ten seconds, and then looks what became of each.
// It is for a Redis of our own: others are cut off, too.
func (b *Bench) Soak(ctx context.Context, shape Shape, length time.Duration, report *Report) (Soaked, error) {
	if err := b.equip(&shape); err != nil {
		return Soaked{}, err
	}
	b.progress = report.putting
	report.begin("soak")
	defer report.bar.Finish()
	// All are looked at in the end: none may be pruned before.
	for name, value := range map[string]string{"jobs-history-count": "100000000", "heartbeat": "10", "grace-period": "1"} {
		if err := b.Client.Set(ctx, name, value); err != nil {
			return Soaked{}, err
		}
	}
	s := &soak{bench: b, order: order{Redis: b.Redis, Shape: shape, Queue: queueName, Starts: true}, starts: map[string]int{}, result: Soaked{Name: "soak"}}
	defer s.dismiss()
	for i := range soakCrews {
		s.order.State = filepath.Join(b.Scratch, fmt.Sprint("supervisor-", i))
		crew, err := s.hire(ctx, s.order)
		if err != nil {
			return s.result, err
		}
		s.crews = append(s.crews, crew)
	}
	began := time.Now()
	if err := s.trouble(ctx, length); err != nil {
		return s.result, err
	}
	if err := s.finish(ctx); err != nil {
		return s.result, err
	}
	s.result.Seconds = time.Since(began).Seconds()
	s.result.Rate = float64(s.result.Jobs) / s.result.Seconds
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.starts {
		if n > 1 {
			s.result.Again++
		}
	}
	return s.result, nil
}

// soak is a Soak under way.
type soak struct {
	bench  *Bench
	order  order
	crews  []*soaking
	jids   []string
	result Soaked

	mu     sync.Mutex
	starts map[string]int // how often a job was begun
}

// soaking is a crew that is listened to.
type soaking struct {
	*crew
	state string
	done  chan struct{} // closed when it said its last

	mu       sync.Mutex
	children map[int]bool // pids of those alive
}

// hire starts a crew and listens to it.
func (s *soak) hire(ctx context.Context, o order) (*soaking, error) {
	hired, err := s.bench.hire(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &soaking{crew: hired, state: o.State, done: make(chan struct{}), children: map[int]bool{}}
	go func() { // ends with the crew; dismiss and replace wait for it
		defer close(c.done)
		for {
			var w word
			if c.words.Decode(&w) != nil {
				return
			}
			s.hear(c, w)
		}
	}()
	return c, nil
}

func (s *soak) hear(c *soaking, w word) {
	if w.Started != nil {
		s.mu.Lock()
		s.starts[w.Started.JID]++
		s.mu.Unlock()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Child > 0 {
		c.children[w.Child] = true
	}
	delete(c.children, w.Gone)
}

// trouble puts jobs and makes trouble until length is over.
func (s *soak) trouble(ctx context.Context, length time.Duration) error {
	end := time.Now().Add(length)
	next, outage := time.Now().Add(soakPause), time.Now().Add(soakOutage)
	ticker := time.NewTicker(soakPause / 10)
	defer ticker.Stop()
	for time.Now().Before(end) {
		if err := s.feed(ctx); err != nil {
			return err
		}
		if time.Now().After(next) {
			next = time.Now().Add(rand.N(2 * soakPause))
			if err := s.strike(ctx); err != nil {
				return err
			}
		}
		if s.bench.Restart != nil && time.Now().After(outage) {
			if err := s.bench.Restart(ctx); err != nil {
				return err
			}
			s.result.Restarts++
			outage = time.Now().Add(soakOutage)
		}
		if s.bench.progress != nil {
			s.bench.progress(int(length-time.Until(end))/int(time.Second), int(length/time.Second))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// feed puts jobs if few are waiting. What we do to Redis hits us, too: then later.
func (s *soak) feed(ctx context.Context) error {
	counts, err := s.bench.Client.Queue(ctx, queueName)
	if err != nil || counts.Waiting > soakAhead/2 {
		return ctx.Err()
	}
	puts := make([]queue.Put, soakAhead/2)
	for i := range puts {
		// With names of our own, a put in doubt is put once more.
		puts[i] = queue.Put{Queue: queueName, JID: queue.NewJID(), Klass: "Noop", IfExists: queue.Never}
		s.jids = append(s.jids, puts[i].JID)
	}
	s.result.Jobs += len(puts)
	for {
		_, err := s.bench.Client.PutAll(ctx, puts)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, queue.ErrAway) && !errors.Is(err, queue.ErrDoubt) {
			return err
		}
		select {
		case <-time.After(soakPause / 10):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// strike does one bad thing.
func (s *soak) strike(ctx context.Context) error {
	switch n := rand.IntN(20); {
	case n < 12:
		s.killChild()
	case n < 16:
		s.result.Drops++
		_ = admin.CutConnections(ctx, s.bench.Client) // ours, too, so there is an error
	case n < 19:
		s.result.Pauses++
		_ = admin.Freeze(ctx, s.bench.Client, soakFreeze) // one less, if it fails
	default:
		return s.replace(ctx, rand.IntN(len(s.crews)))
	}
	return nil
}

// killChild kills one of the children, whatever it is at.
func (s *soak) killChild() {
	c := s.crews[rand.IntN(len(s.crews))]
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid := range c.children { // in random order
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			s.result.Children++
		}
		return
	}
}

// replace kills a supervisor and starts another in its place.
func (s *soak) replace(ctx context.Context, i int) error {
	old := s.crews[i]
	if err := old.cmd.Process.Kill(); err != nil {
		return err
	}
	<-old.done
	_ = old.cmd.Wait() // it was killed
	s.result.Supervisors++
	o := s.order
	o.State = old.state
	crew, err := s.hire(ctx, o)
	if err == nil {
		s.crews[i] = crew
	}
	return err
}

// finish waits until all jobs have ended, and counts how.
func (s *soak) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, soakEnd)
	defer cancel()
	ticker := time.NewTicker(soakPause)
	defer ticker.Stop()
	for {
		counts, err := s.bench.Client.Queue(ctx, queueName)
		if err == nil && counts.Waiting+counts.Running+counts.Stalled+counts.Scheduled == 0 {
			break
		}
		select {
		case <-ticker.C:
			continue
		case <-ctx.Done():
		}
		break // what has not ended by now counts as lost
	}
	ctx = context.WithoutCancel(ctx)
	for at := 0; at < len(s.jids); at += queue.PutChunk {
		some := s.jids[at:min(at+queue.PutChunk, len(s.jids))]
		jobs, err := s.bench.Client.GetMany(ctx, some...)
		if err != nil {
			return err
		}
		s.result.Lost += len(some) - len(jobs)
		for _, job := range jobs {
			switch job.State {
			case "complete":
			case "failed":
				s.result.Failed++
			default:
				s.result.Lost++
			}
		}
	}
	return nil
}

// dismiss ends all crews and waits until they are gone.
func (s *soak) dismiss() {
	for _, c := range s.crews {
		c.stdin.Close()
	}
	for _, c := range s.crews {
		<-c.done
		_ = c.cmd.Wait() // what it says was heard
	}
}
