package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"oarlock/internal/plan"
	"oarlock/queue"
	"oarlock/supervisor"
)

const (
	// hooksEvery is how often Redis is told again what becomes a job: it may have lost its keys.
	hooksEvery = 10 * time.Second
	// hookRetries is how often a job that tells of an event may be tried again.
	hookRetries = 25
)

// keepHooks tells Redis what [hooks] says, when it is there, when that changes, and now and then.
func (s *Service) keepHooks(ctx context.Context, client *queue.Client) error {
	said := false // that it cannot be told
	for {
		s.sup.AwaitRedis(ctx)
		if ctx.Err() != nil {
			return nil
		}
		cfg := s.config()
		hooks := plan.Hooks(cfg)
		err := client.SetHooks(ctx, plan.Fleet(cfg), hooks)
		var again <-chan time.Time
		switch {
		case err != nil:
			again = time.After(time.Second)
			if !said && (!errors.Is(err, queue.ErrAway) || queue.Class(err) == queue.Denied) {
				s.log.Error("Redis is not told of the hooks: what fails becomes no job", "err", err)
				said = true
			}
		case hooks != nil:
			again, said = time.After(hooksEvery), false
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.hooked:
		case <-again:
		}
	}
}

// died is the data of a job that tells that a supervisor died.
type died struct {
	Event      string  `json:"event"` // died
	At         float64 `json:"at"`    // when that was found, in seconds since the epoch
	Supervisor string  `json:"supervisor"`
	PID        int     `json:"pid"`
	Reason     string  `json:"reason"`
	Jobs       int     `json:"jobs"` // that were given back for it
}

// tellDeath puts a job that tells that a supervisor died, once, if [hooks] says so.
func (s *Service) tellDeath(client *queue.Client) func(context.Context, supervisor.Death) error {
	return func(ctx context.Context, d supervisor.Death) error {
		cfg := s.config()
		if !slices.Contains(cfg.Hooks.Events, "died") {
			return nil
		}
		name, retries := cfg.Supervisor.HostName(), hookRetries
		told := died{Event: "died", At: client.Now(), Supervisor: name, PID: d.PID, Jobs: d.Jobs, Reason: "unknown: it was killed, or its host stopped"}
		if d.Left {
			told.Reason = "it left in a hurry, and could not tell Redis of its jobs"
		}
		data, err := json.Marshal(told)
		if err != nil {
			return err
		}
		results, err := client.PutAll(ctx, []queue.Put{{
			Queue: cfg.Hooks.Queue, Klass: "oarlock.died", Data: data, Retries: &retries, IfExists: queue.Never,
			JID: fmt.Sprintf("died-%s-%d-%d-%.8s", name, d.PID, d.Start, d.Boot),
		}})
		if err == nil {
			err = results[0].Err
		}
		if err == nil && !results[0].Existed {
			s.metrics.HookJob("died")
		}
		return err
	}
}
