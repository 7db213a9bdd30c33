// Package plan turns a configuration into what others are told: a supervisor of its pools, a keeper of its
// recurring jobs; and compares that with what this host carries. It owns nothing and starts nothing. It must
// not know Redis' connection, the process that the supervisor runs in, or who asks.
package plan

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"oarlock/internal/config"
	"oarlock/queue"
	"oarlock/supervisor"
)

// Supervisor turns a configuration into what a supervisor is told, which
// logs to logger. cfg was validated; the error is about files that have changed since.
func Supervisor(cfg config.Config, logger *slog.Logger) (supervisor.Config, error) {
	out := supervisor.Config{
		Name:         cfg.Supervisor.Name,
		StateDir:     cfg.Supervisor.StatePath(),
		DrainTimeout: time.Duration(cfg.Supervisor.DrainTimeout),
		PollInterval: time.Duration(cfg.Supervisor.PollInterval),
		Logger:       logger,
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		pool, err := Pool(name, cfg.Pools[name])
		if err != nil {
			return supervisor.Config{}, config.Problems{{File: cfg.Path, Key: "pools." + name, Why: err.Error(), Passing: config.Passes(err)}}
		}
		out.Pools = append(out.Pools, pool)
	}
	return out, nil
}

// Pool turns the table of that name into one pool. p was validated; the error is about files that have
// changed since.
func Pool(name string, p config.Pool) (supervisor.Pool, error) {
	child, err := Spec(name, p)
	return supervisor.Pool{
		Name:        name,
		Queues:      p.Queues,
		List:        listOf(p),
		Order:       queue.Order(p.Order),
		Child:       child,
		Children:    p.Children,
		MinChildren: p.MinChildren,
		MaxChildren: p.MaxChildren,
		Exclusive:   p.Replace == "after",
		Prefetch:    p.Prefetch,
		MaxJob:      int64(p.MaxJob),
		Timeout:     time.Duration(p.Timeout),
		Policy:      Policy(p),
		MaxJobs:     p.MaxJobs,
		MaxAge:      time.Duration(p.MaxAge),
		MaxMemory:   int64(p.MaxMemory),
		IdleTimeout: time.Duration(p.IdleTimeout),
		Jitter:      p.Jitter,
	}, err
}

// listOf is the list that a pool works; nil if it works queues.
func listOf(p config.Pool) *queue.List {
	if p.List == "" {
		return nil
	}
	return &queue.List{
		Name: p.List, Timeout: time.Duration(p.ListTimeout), Heartbeat: p.ListHeartbeat, Monitor: p.ListMonitor,
		Failed: p.ListFailed, Retries: p.ListRetries,
	}
}

// Policy is what the table of a pool makes of endings.
func Policy(p config.Pool) supervisor.Policy {
	return supervisor.Policy{
		NextQueues: p.NextQueues,
		Allow:      p.Allow,
		OnError:    supervisor.Remedy(p.OnError),
		OnCrash:    supervisor.Remedy(p.OnCrash),
		MaxCrashes: p.MaxCrashes,
		UnknownFor: time.Duration(p.UnknownFor),
		Retry:      retryOf(p.Retry),
	}
}

func retryOf(r config.Retry) supervisor.Retry {
	out := supervisor.Retry{
		Backoff:  supervisor.Backoff(r.Backoff.Curve),
		Delay:    time.Duration(r.Delay),
		MaxDelay: time.Duration(r.MaxDelay),
		Jitter:   r.Jitter,
	}
	if r.Backoff.Curve == "" {
		out.Backoff = supervisor.List
		for _, wait := range r.Backoff.List {
			out.Delays = append(out.Delays, time.Duration(wait))
		}
	}
	return out
}
