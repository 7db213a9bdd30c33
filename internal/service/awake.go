package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"oarlock/internal/rollcall"
	"oarlock/supervisor"
)

const (
	// awakeWithin is how long a supervisor has to say what its pools are.
	awakeWithin = time.Second
	// awakeFor is how long a pool counts as awake after its supervisor answered: a busy host may be late once.
	awakeFor = 30 * time.Second
)

// awake knows the pools that take jobs, of all supervisors that answer. It is safe for concurrent use.
type awake struct {
	caller *rollcall.Caller

	mu    sync.Mutex           // for memory only
	known map[string]awakePool // by worker name
	now   func() time.Time
}

// awakePool is a pool, and when its supervisor last told of it.
type awakePool struct {
	supervisor.WorkingPool
	at time.Time
}

func newAwake(client rollcall.Asker) *awake {
	return &awake{caller: rollcall.Patient(client, awakeWithin), known: map[string]awakePool{}, now: time.Now}
}

// pools lists them.
func (a *awake) pools(ctx context.Context) []supervisor.WorkingPool {
	roll, err := a.caller.Call(ctx)
	if err != nil {
		roll.Items = nil
	}
	return a.heard(roll.Items)
}

// heard notes what supervisors said, and lists the pools that are awake.
func (a *awake) heard(answers []rollcall.Answer) (all []supervisor.WorkingPool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for _, answer := range answers {
		for _, p := range answer.Status.Pools {
			if p.Quiet || p.Draining || p.Abstains != "" || p.Barren != "" || p.Children == 0 || len(p.Queues) == 0 {
				delete(a.known, p.Worker)
				continue
			}
			w := supervisor.WorkingPool{Worker: p.Worker, Queues: p.Queues}
			for _, slot := range p.Slots {
				if !slices.Contains(w.Generations, slot.Generation) {
					w.Generations = append(w.Generations, slot.Generation)
				}
			}
			if len(w.Generations) == 0 {
				w.Generations = []int{p.Generation}
			}
			a.known[p.Worker] = awakePool{w, now}
		}
	}
	for worker, p := range a.known {
		if now.Sub(p.at) > awakeFor {
			delete(a.known, worker)
			continue
		}
		all = append(all, p.WorkingPool)
	}
	return all
}
