package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/supervisor"
)

const (
	// mostDepths is of how many queues status tells the depth.
	mostDepths = 200
	// depthsLast is how long an answer of Redis is good enough: it is asked when somebody asks
	// for the status, and no more often than that.
	depthsLast = time.Second
	// depthsWait is how long the status waits for it.
	depthsWait = time.Second
)

// QueueStatus is what there is in a queue, and how fast a pool of ours works it. The numbers
// are null while they are not known.
type QueueStatus struct {
	Pool            string   `json:"pool"`
	Queue           string   `json:"queue"`
	Ready           *int     `json:"ready"`   // that could be taken: waiting, due, or with a lock that ran out
	Waiting         *int     `json:"waiting"` // waiting or due, behind others of their key, or for a place in a throttle
	Running         *int     `json:"running"`
	Scheduled       *int     `json:"scheduled"`
	Behind          *int     `json:"behind"`    // of those waiting, behind others of their key
	Keys            *int     `json:"keys"`      // of which a job has the turn
	BusyKeys        *int     `json:"busy_keys"` // of those, for which other jobs stand behind
	Blocked         *float64 `json:"blocked"`   // seconds that one has been waiting for one and the same holder of its key's turn, at most; not for one that waits for an answer
	Oldest          *float64 `json:"oldest"`    // seconds that the next of those ready has been waiting
	Paused          bool     `json:"paused,omitempty"`
	DonePerSecond   float64  `json:"done_per_second"`   // here, over the last minute
	FailedPerMinute float64  `json:"failed_per_minute"` // likewise
}

// depths asks Redis what there is in queues.
type depths struct {
	ask func(ctx context.Context, queues []string) (map[string]depth, error)

	mu     sync.Mutex    // for memory only
	asking chan struct{} // closed when the question under way is answered; nil if none is
	at     time.Time     // of the last answer
	names  []string      // of which that was
	known  map[string]depth
}

// depth is what there is in a queue.
type depth struct {
	ready, waiting         int
	running, scheduled     int
	behind, keys, busyKeys int
	oldest, blocked        float64
	paused                 bool
	damage                 string
}

// askDepths asks by client; it changes nothing in Redis.
func askDepths(client *queue.Client) func(ctx context.Context, queues []string) (map[string]depth, error) {
	return func(ctx context.Context, queues []string) (map[string]depth, error) {
		outlook, now, err := client.Outlook(ctx, queues)
		if err != nil {
			return nil, err
		}
		census, _, err := client.Census(ctx, queues)
		if err != nil {
			return nil, err
		}
		out := make(map[string]depth, len(queues))
		for i, c := range census {
			o := &outlook[i]
			d := depth{
				ready: o.Ready, waiting: c.Waiting + c.Throttled,
				behind: c.Behind, keys: c.Keys.All, busyKeys: c.Keys.Blocked, blocked: c.Keys.BlockedFor(now),
				running: c.Running, scheduled: c.Scheduled, paused: c.Paused, damage: c.Damage,
			}
			d.oldest = o.Lag(now)
			out[c.Name] = d
		}
		return out, nil
	}
}

// look returns what there is in queues, as Redis told within the last second; nil if it does
// not tell in time.
func (d *depths) look(queues []string) map[string]depth {
	d.mu.Lock()
	if time.Since(d.at) < depthsLast && slices.Equal(queues, d.names) {
		defer d.mu.Unlock()
		return d.known
	}
	answered := d.asking
	if answered == nil {
		answered = make(chan struct{})
		d.asking = answered
		go d.question(queues, answered) // ends with its answer, or when the client is closed
	}
	d.mu.Unlock()
	select {
	case <-answered:
	case <-time.After(depthsWait):
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known
}

func (d *depths) question(queues []string, answered chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), depthsWait)
	defer cancel()
	known, err := d.ask(ctx, queues)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = known
	if err == nil {
		d.at, d.names = time.Now(), queues
	}
	d.asking = nil
	close(answered)
}

// queueReports joins what Redis says of the queues of all pools with how fast they are worked here. known
// is false if Redis does not tell.
func (s *Service) queueReports(shot supervisor.Snapshot) (reports []QueueStatus, leftOut int, known bool) {
	var names []string
	seen := map[string]bool{}
	for _, p := range shot.Pools {
		for _, name := range p.Queues {
			switch {
			case seen[name]:
			case len(names) < mostDepths:
				seen[name] = true
				names = append(names, name)
			default:
				leftOut++
			}
		}
	}
	var told map[string]depth
	if known = shot.RedisReads() && len(names) > 0; known {
		told = s.depths.look(names)
		known = told != nil
	}
	lately := s.rates.lately()
	reported := map[lane]bool{} // a pool that changes its mode is there twice
	for _, p := range shot.Pools {
		for _, name := range p.Queues {
			if !seen[name] || reported[lane{p.Name, name}] {
				continue
			}
			reported[lane{p.Name, name}] = true
			ended := lately[lane{p.Name, name}]
			r := QueueStatus{Pool: p.Name, Queue: name, DonePerSecond: ended.donePerSecond, FailedPerMinute: ended.failedPerMinute}
			if d, ok := told[name]; ok && d.damage == "" {
				r.Ready, r.Waiting, r.Running, r.Scheduled, r.Oldest, r.Paused = &d.ready, &d.waiting, &d.running, &d.scheduled, &d.oldest, d.paused
				r.Behind, r.Keys, r.BusyKeys, r.Blocked = &d.behind, &d.keys, &d.busyKeys, &d.blocked
			}
			reports = append(reports, r)
		}
	}
	return reports, leftOut, known || len(names) == 0
}
