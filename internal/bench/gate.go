package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/queue/admin"
)

// Crowd is how many jobs are in the way while calls are measured.
type Crowd struct {
	Blocked int // that wait for a place, in front of one that needs none
	Parked  int // that wait for an answer
}

// Calls is how long calls of one kind took, each beside one of a script that does nothing. Times are those of the caller, there and back.
type Calls struct {
	Name    string  `json:"name"`
	Beside  int     `json:"beside"`  // so many jobs wait for a place, or an answer
	Calls   int     `json:"calls"`   // that were measured
	Jobs    int     `json:"jobs"`    // that they handed out, or answered
	Seconds float64 `json:"seconds"` // of all calls together
	Call    *Spread `json:"call_ms"`
	Empty   *Spread `json:"empty_ms"`
}

const (
	gateRules  = `{"shape":"bench","klass":{"Blocked":{"weight":1,"throttles":["bench"]}}}`
	benchLimit = `{"limit":1,"patience":60}`
	gateCalls  = 1000 // of each kind, where they are no matter of the crowd
	parkChunk  = 100  // jobs that a call hands out and parks
	answerBy   = time.Hour
)

// gate is a measurement of calls.
type gate struct {
	*Bench
	session *queue.Session
	report  *Report
	took    []time.Duration
	empty   []time.Duration
	jobs    int
}

// MeasureGate measures how soon a job begins before which a crowd waits for places, and what takes and answers cost beside that and beside
// a crowd of parked jobs. Nothing of it stays in Redis, as far as that answers.
func (b *Bench) MeasureGate(ctx context.Context, crowd Crowd, report *Report) error {
	b.progress = report.putting
	g := &gate{Bench: b, session: b.Client.Session("bench-gate"), report: report}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearWithin)
		defer cancel()
		_ = errors.Join(g.session.Close(), b.clear(clean)) // an error was told already: Redis is away
	}()
	if crowd.Blocked > 0 {
		if err := g.behindBlocked(ctx, crowd.Blocked); err != nil {
			return err
		}
		if err := b.clear(ctx); err != nil {
			return err
		}
	}
	if crowd.Parked > 0 {
		g.session.Close()
		g.session = b.Client.Session("bench-gate") // of one that knew rules, Redis would have lost them
		if err := g.besideParked(ctx, crowd.Parked); err != nil {
			return err
		}
	}
	report.printCalls()
	return nil
}

// behindBlocked measures takes of a ruled queue, before many wait in it for a place, until the one behind them has begun, and then.
func (g *gate) behindBlocked(ctx context.Context, n int) error {
	if _, err := g.Client.NeedRules(ctx); err != nil {
		return err
	}
	known, err := g.Client.Rules(ctx)
	if err != nil {
		return err
	}
	rules := queue.NewRules{Doc: "{}", Queues: []queue.RuledQueue{{Queue: queueName, Rules: gateRules}},
		Throttles: []queue.RuledThrottle{{Name: "bench", Rules: benchLimit, Limit: 1}}}
	if _, err := g.Client.InstallRules(ctx, known.Version, rules); err != nil {
		return err
	}
	if err := g.takes(ctx, "take of a free job", 0); err != nil {
		return err
	}
	g.report.begin("blocked jobs")
	if err := g.fill(ctx, "Blocked", n+1); err != nil {
		return err
	}
	if err := g.fill(ctx, "Free", 1); err != nil {
		return err
	}
	for calls, klass := 0, ""; klass != "Free"; calls++ {
		if calls > n+gateCalls { // each looks at one of those before it, at least
			return fmt.Errorf("after %d takes the free job behind %d others has not begun", calls, n)
		}
		var jobs []queue.Taken
		if err := g.measure(ctx, func() (err error) { jobs, err = g.exchange(ctx, nil, 1); return err }); err != nil {
			return err
		}
		for _, job := range jobs { // the first has the only place, and keeps it
			klass = job.Klass
		}
	}
	g.tell("take, until a free job behind has begun", n)
	return g.takes(ctx, "take of a free job", n)
}

// besideParked measures takes of an ordinary queue, and answers, beside many that wait for theirs.
func (g *gate) besideParked(ctx context.Context, n int) error {
	if err := g.takes(ctx, "take of a job", 0); err != nil {
		return err
	}
	g.report.begin("parked jobs")
	var running []queue.Taken
	for parked := 0; parked < n || len(running) > 0; {
		if more := min(parkChunk, n-parked-len(running)); more > 0 {
			if err := g.fill(ctx, "Asks", more); err != nil {
				return err
			}
		}
		settlements := make([]queue.Settlement, len(running))
		for i, job := range running {
			settlements[i] = queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Park, Correlation: fmt.Sprint(parked + i), Delay: answerBy}
		}
		parked += len(running)
		var err error
		if running, err = g.exchange(ctx, settlements, min(parkChunk, n-parked)); err != nil {
			return err
		}
	}
	g.jobs = 0 // those that have parked are not measured
	if err := g.takes(ctx, "take of a job", n); err != nil {
		return err
	}
	for i := range min(gateCalls, n) {
		response := queue.Response{Klass: "Asks", Correlation: fmt.Sprint(i * (n / min(gateCalls, n))), Data: []byte(`{"paid":true}`)}
		err := g.measure(ctx, func() error {
			result, err := g.Client.Respond(ctx, response)
			if err == nil && result.Word != queue.Resumed {
				err = fmt.Errorf("the answer to %s is %s", response.Correlation, result.Word)
			}
			g.jobs++
			return err
		})
		if err != nil {
			return err
		}
	}
	g.tell("answer", n)
	return nil
}

// takes measures calls that settle a job and take another.
func (g *gate) takes(ctx context.Context, name string, beside int) error {
	g.report.begin(name)
	if err := g.fill(ctx, "Free", gateCalls); err != nil {
		return err
	}
	var settlements []queue.Settlement
	for range gateCalls {
		var jobs []queue.Taken
		if err := g.measure(ctx, func() (err error) { jobs, err = g.exchange(ctx, settlements, 1); return err }); err != nil {
			return err
		}
		settlements = settlements[:0]
		for _, job := range jobs {
			settlements = append(settlements, queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete})
		}
	}
	if _, err := g.exchange(ctx, settlements, 0); err != nil {
		return err
	}
	g.tell(name, beside)
	return nil
}

// exchange settles jobs and takes others.
func (g *gate) exchange(ctx context.Context, settlements []queue.Settlement, count int) ([]queue.Taken, error) {
	reply, err := g.session.Exchange(ctx, settlements, queue.Take{Queues: []string{queueName}, Count: count})
	for _, result := range reply.Results {
		err = cmp.Or(err, result.Err)
	}
	g.jobs += len(reply.Jobs)
	return reply.Jobs, err
}

// fill puts n jobs of a class.
func (g *gate) fill(ctx context.Context, klass string, n int) error {
	for done := 0; done < n; {
		chunk := make([]queue.Put, min(queue.PutChunk, n-done))
		for i := range chunk {
			chunk[i] = queue.Put{Queue: queueName, Klass: klass, Data: []byte("{}")}
		}
		results, err := g.Client.PutAll(ctx, chunk)
		for _, result := range results {
			err = cmp.Or(err, result.Err)
		}
		if err != nil {
			return err
		}
		if done += len(chunk); n >= gateCalls {
			g.progress(done, n)
		}
	}
	return nil
}

// measure takes the time of one call, and of one that does nothing.
func (g *gate) measure(ctx context.Context, call func() error) error {
	began := time.Now()
	if err := call(); err != nil {
		return err
	}
	took := time.Since(began)
	empty, err := admin.EmptyCall(ctx, g.Client)
	g.took, g.empty = append(g.took, took), append(g.empty, empty)
	return err
}

// tell reports what was measured since the last time.
func (g *gate) tell(name string, beside int) {
	c := Calls{Name: name, Beside: beside, Calls: len(g.took), Jobs: g.jobs}
	for _, took := range g.took {
		c.Seconds += took.Seconds()
	}
	c.Call, c.Empty = spread(g.took), spread(g.empty)
	g.took, g.empty, g.jobs = g.took[:0], g.empty[:0], 0
	g.report.addCalls(c)
}

// addCalls adds what was measured of calls.
func (r *Report) addCalls(c Calls) {
	_ = r.bar.Finish()
	if r.json {
		r.encode(c)
		return
	}
	r.rows = append(r.rows, []string{
		c.Name, screen.Count(c.Beside), screen.Count(c.Calls), screen.Count(c.Jobs), fmt.Sprintf("%.2f", c.Seconds),
		fmt.Sprintf("%.3f / %.3f", c.Call.P50, c.Call.P99), fmt.Sprintf("%.3f / %.3f", c.Empty.P50, c.Empty.P99), fmt.Sprintf("%.1f", c.Call.P50/max(c.Empty.P50, 0.001)),
	})
}

// printCalls prints them as one table.
func (r *Report) printCalls() {
	if r.json {
		return
	}
	screen.Table(r.out, "nothing was measured", []string{"WHAT", "BESIDE", "CALLS", "JOBS", "SECONDS", "CALL ms", "EMPTY CALL ms", "RATIO"}, r.rows)
	screen.Printf(r.out, "\nTimes are of calls there and back, p50 / p99, each beside one of a script that does nothing. Beside: so many jobs wait for a place, or for an answer.\n")
}
