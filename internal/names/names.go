// Package names finds what a word of the command line may be: the queues, failed jobs, their groups, the
// pools, and what rules name, for a shell that completes it. It owns how long that may take, reads only, and
// must not know commands or options.
package names

import (
	"context"
	"maps"
	"slices"
	"time"

	"oarlock/internal/accord"
	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/control"
	"oarlock/internal/rules"
	"oarlock/queue"
	"oarlock/supervisor"
)

// within bounds the search for names to complete: a shell stands still meanwhile.
const within = 200 * time.Millisecond

// Names beyond these numbers are not offered.
const (
	mostQueues = 1000
	mostGroups = 20
	mostJobs   = 200 // of a group
	mostKeys   = 200
	mostParked = 200
)

// Find gives the names that exist for a word of the usage: QUEUE, GROUP, JID (of jobs that failed), LIST, KEY (of the queue that before
// ends with), CORRELATION (likewise of a class, of jobs that wait for an answer), THROTTLE, WINDOW, KLASS, KIND and RULE (of the rules that count),
// or POOL, in the Redis or of the supervisor of the configuration that load reads; before are the words in front of it. It only reads, and gives none
// where they are not found in time.
//
// What the search waits for (a file, a resolver, Redis) may ignore its context; then it is
// left behind, to end with the process.
func Find(ctx context.Context, word string, before []string, load func() (config.Config, error)) []string {
	find := map[string]func(context.Context, config.Config) []string{
		"QUEUE":       queueNames,
		"GROUP":       groupNames,
		"JID":         failedNames,
		"ON":          failedNames,
		"POOL":        runningPools,
		"LIST":        listNames,
		"KEY":         of(before, keyNames),
		"CORRELATION": of(before, correlationNames),
		"THROTTLE":    ruled(func(set rules.Set, _ rules.Document) []string { return namesOf(set.Throttles) }),
		"WINDOW":      ruled(func(set rules.Set, _ rules.Document) []string { return namesOf(set.Windows) }),
		"KLASS":       ruled(klassNames),
		"KIND":        ruled(klassNames),
		"RULE":        ruled(func(_ rules.Set, doc rules.Document) []string { return namesOf(doc.Entries) }),
	}[word]
	if find == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	found := make(chan []string, 1)
	go func() {
		cfg, err := load()
		if err != nil {
			found <- nil
			return
		}
		found <- find(ctx, cfg)
	}()
	select {
	case names := <-found:
		return names
	case <-ctx.Done():
		return nil
	}
}

// reading calls read with a client of the configured Redis.
func reading(ctx context.Context, cfg config.Config, read func(q *queue.Client) ([]string, error)) []string {
	cfg, _, err := connect.FindOwn(ctx, cfg)
	if err != nil || cfg.Redis.URL == "embedded" {
		return nil
	}
	client, err := connect.Open(ctx, cfg.Redis, nil)
	if err != nil {
		return nil
	}
	defer client.Close()
	names, err := read(client)
	if err != nil {
		return nil
	}
	return names
}

func queueNames(ctx context.Context, cfg config.Config) []string {
	return reading(ctx, cfg, func(q *queue.Client) ([]string, error) {
		return q.SomeQueueNames(ctx, mostQueues)
	})
}

func groupNames(ctx context.Context, cfg config.Config) []string {
	return reading(ctx, cfg, func(q *queue.Client) ([]string, error) { return q.SomeFailedGroups(ctx, mostGroups) })
}

func failedNames(ctx context.Context, cfg config.Config) []string {
	return reading(ctx, cfg, func(q *queue.Client) ([]string, error) {
		groups, err := q.SomeFailedGroups(ctx, mostGroups)
		if err != nil {
			return nil, err
		}
		return q.SomeFailed(ctx, groups, mostJobs)
	})
}

// of finds the names that belong to the last of the words before.
func of(before []string, find func(ctx context.Context, q *queue.Client, whose string) ([]string, error)) func(context.Context, config.Config) []string {
	return func(ctx context.Context, cfg config.Config) []string {
		if len(before) == 0 {
			return nil
		}
		return reading(ctx, cfg, func(q *queue.Client) ([]string, error) { return find(ctx, q, before[len(before)-1]) })
	}
}

// keyNames are keys of a queue, those for which jobs wait behind others first.
func keyNames(ctx context.Context, q *queue.Client, name string) ([]string, error) {
	blocked, _, err := q.BlockedKeys(ctx, name, 0, mostKeys)
	var keys []string
	for _, line := range blocked {
		keys = append(keys, line.Key)
	}
	if err != nil || len(keys) == mostKeys {
		return keys, err
	}
	err = q.EachKey(ctx, name, func(some []string) bool {
		keys = append(keys, some...)
		return len(keys) < mostKeys
	})
	return keys, err
}

// correlationNames are those of jobs of a class that wait for their answer.
func correlationNames(ctx context.Context, q *queue.Client, klass string) ([]string, error) {
	queues, err := q.SomeQueueNames(ctx, mostQueues)
	var found []string
	for _, name := range queues {
		shelf := queue.Shelf{Kind: queue.ShelfScheduled, Name: name}
		l, refused := q.List(ctx, shelf, "", mostParked, queue.Brief, queue.Words{})
		if refused != nil {
			return found, refused
		}
		for _, job := range l.Jobs {
			if job.Row == "parked" && job.Klass == klass {
				found = append(found, job.Kept.Correlation)
			}
		}
		if len(found) >= mostParked {
			break
		}
	}
	return found, err
}

// listNames are the lists of the configuration, and those that Redis shows to be worked, as far as a moment allows.
func listNames(ctx context.Context, cfg config.Config) []string {
	names := reading(ctx, cfg, func(q *queue.Client) ([]string, error) {
		names, _, err := q.KnownListsFrom(ctx, "")
		return names, err
	})
	for _, q := range cfg.Queues {
		names = append(names, q.Intake...)
	}
	for _, p := range cfg.Pools {
		if p.List != "" {
			names = append(names, p.List)
		}
	}
	return names
}

// ruled finds what rules name.
func ruled(of func(rules.Set, rules.Document) []string) func(context.Context, config.Config) []string {
	return func(ctx context.Context, cfg config.Config) []string {
		return reading(ctx, cfg, func(q *queue.Client) ([]string, error) {
			set, doc, err := accord.ReadSet(ctx, q)
			return of(set, doc), err
		})
	}
}

func klassNames(set rules.Set, _ rules.Document) []string { return namesOf(set.Klass) }

func namesOf[T any](table map[string]T) []string { return slices.Collect(maps.Keys(table)) }

// runningPools asks the running supervisor.
func runningPools(ctx context.Context, cfg config.Config) []string {
	s, err := control.Find(ctx, cfg.Supervisor.StatePath(), "")
	if err != nil {
		return nil
	}
	var shot supervisor.Snapshot
	if s.Status(ctx, &shot) != nil {
		return nil
	}
	var names []string
	for _, pool := range shot.Pools {
		names = append(names, pool.Name)
	}
	return names
}
