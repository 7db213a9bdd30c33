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
		Intake:       Intakes(cfg),
		Logger:       logger,
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		table := cfg.Pools[name]
		table.Classes = cfg.Klass
		pool, err := Pool(name, table)
		if err != nil {
			return supervisor.Config{}, config.Problems{{File: cfg.Path, Key: "pools." + name, Why: err.Error(), Passing: config.Passes(err)}}
		}
		pool.TraceBegin = cfg.Tracing.Begin
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
		Prefetch:    prefetch(p),
		Batch:       p.Batch,
		BatchWait:   time.Duration(p.BatchWait),
		MaxJob:      int64(p.MaxJob),
		Timeout:     time.Duration(p.Timeout),
		TracePath:   p.TraceMembers(),
		Policy:      Policy(p),
		MaxJobs:     p.MaxJobs,
		MaxAge:      time.Duration(p.MaxAge),
		MaxMemory:   int64(p.MaxMemory),
		IdleTimeout: time.Duration(p.IdleTimeout),
		Jitter:      p.Jitter,
	}, err
}

// prefetch is how many jobs are kept ready for a child of p at work.
func prefetch(p config.Pool) int {
	if p.Prefetch == config.AutoPrefetch {
		return supervisor.AutoPrefetch
	}
	return int(p.Prefetch)
}

// Lists are the lists that a configuration works, with the time after which their entries count as abandoned; 0 of those whose entries
// become jobs.
func Lists(cfg config.Config) map[string]time.Duration {
	lists := map[string]time.Duration{}
	for _, q := range cfg.Queues {
		for _, list := range q.Intake {
			lists[list] = 0
		}
	}
	for _, p := range cfg.Pools {
		if p.List != "" {
			lists[p.List] = time.Duration(p.ListTimeout)
		}
	}
	return lists
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
		Ask:        p.RetryCommand,
		Classes:    classesOf(p.Classes),
	}
}

// classesOf are the tables of classes, the most literal first, as far as they are for whoever works their jobs.
func classesOf(tables map[string]config.Klass) (classes []supervisor.Class) {
	for _, name := range config.MostLiteral(tables) {
		k := tables[name]
		class := supervisor.Class{Name: name, Timeout: time.Duration(k.Timeout), ParkTimeout: time.Duration(k.ParkTimeout), Ask: k.RetryCommand}
		if k.OwnRetry {
			own := retryOf(k.Retry)
			class.Retry = &own
		}
		classes = append(classes, class)
	}
	return classes
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
