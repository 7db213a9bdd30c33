package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

const (
	// mostDepths is of how many queues status tells the depth, and mostShown how many of a
	// pool's it shows to people.
	mostDepths = 200
	mostShown  = 20
	// depthsLast is how long an answer of Redis is good enough: it is asked when somebody asks
	// for the status, and no more often than that.
	depthsLast = time.Second
	// depthsWait is how long the status waits for it.
	depthsWait = time.Second
)

// queueReport is what there is in a queue, and how fast a pool of ours works it. The numbers
// are null while they are not known.
type queueReport struct {
	Pool            string   `json:"pool"`
	Queue           string   `json:"queue"`
	Ready           *int     `json:"ready"` // waiting, due, or with a lock that ran out
	Running         *int     `json:"running"`
	Scheduled       *int     `json:"scheduled"`
	Oldest          *float64 `json:"oldest"` // seconds that the next of those ready has been waiting
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
	ready, running, scheduled int
	oldest                    float64
	paused                    bool
	damage                    string
}

// askDepths asks by client; it changes nothing in Redis.
func askDepths(client *queue.Client) func(ctx context.Context, queues []string) (map[string]depth, error) {
	return func(ctx context.Context, queues []string) (map[string]depth, error) {
		outlook, now, err := client.Outlook(ctx, queues)
		if err != nil {
			return nil, err
		}
		counts, err := client.CountQueues(ctx, queues)
		if err != nil {
			return nil, err
		}
		out := make(map[string]depth, len(queues))
		for i, c := range counts {
			d := depth{ready: outlook[i].Ready, running: c.Running, scheduled: c.Scheduled, paused: c.Paused, damage: c.Damage}
			if head := outlook[i].Oldest(now); head > 0 && d.ready > 0 {
				d.oldest = max(now-head, 0)
			}
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
func (s *service) queueReports(shot supervisor.Snapshot) (reports []queueReport, leftOut int, known bool) {
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
	if known = shot.Redis == "ok" && len(names) > 0; known {
		told = s.depths.look(names)
		known = told != nil
	}
	lately := s.rates.lately()
	for _, p := range shot.Pools {
		for _, name := range p.Queues {
			if !seen[name] {
				continue
			}
			ended := lately[lane{p.Name, name}]
			r := queueReport{Pool: p.Name, Queue: name, DonePerSecond: ended.donePerSecond, FailedPerMinute: ended.failedPerMinute}
			if d, ok := told[name]; ok && d.damage == "" {
				r.Ready, r.Running, r.Scheduled, r.Oldest, r.Paused = &d.ready, &d.running, &d.scheduled, &d.oldest, d.paused
			}
			reports = append(reports, r)
		}
	}
	return reports, leftOut, known || len(names) == 0
}

// printQueues shows the queues of a pool: those with most to do, where there are many.
func printQueues(w io.Writer, reports []queueReport, pool string) {
	var ours []queueReport
	for _, r := range reports {
		if r.Pool == pool {
			ours = append(ours, r)
		}
	}
	if len(ours) > mostShown {
		slices.SortStableFunc(ours, func(a, b queueReport) int { return cmp.Compare(busyness(b), busyness(a)) })
	}
	var rows [][]string
	for _, r := range ours[:min(len(ours), mostShown)] {
		rows = append(rows, r.row())
	}
	if len(rows) > 0 {
		screen.Table(w, "", []string{"  QUEUE", "READY", "RUNNING", "SCHEDULED", "OLDEST", "DONE/S", "FAILED/MIN"}, rows)
	}
	if more := len(ours) - len(rows); more > 0 {
		screen.Printf(w, "  and %s with less to do\n", screen.Some(more, "queue"))
	}
}

// busyness orders queues by how much they have to do.
func busyness(r queueReport) float64 {
	if r.Ready == nil {
		return r.DonePerSecond
	}
	return float64(*r.Ready+*r.Running) + r.DonePerSecond
}

func (r *queueReport) row() []string {
	name := "  " + r.Queue
	if r.Paused {
		name += " (paused)"
	}
	row := []string{name, "?", "?", "?", "?", rateText(r.DonePerSecond), rateText(r.FailedPerMinute)}
	if r.Ready != nil {
		row[1], row[2], row[3], row[4] = screen.Count(*r.Ready), screen.Count(*r.Running), screen.Count(*r.Scheduled), "-"
		if *r.Ready > 0 {
			row[4] = screen.Seconds(*r.Oldest)
		}
	}
	return row
}

// rateText is a rate with as many digits as tell something.
func rateText(rate float64) string {
	switch {
	case rate == 0:
		return "0"
	case rate < 10:
		return fmt.Sprintf("%.2g", rate)
	}
	return screen.Count(int(rate + 0.5))
}
