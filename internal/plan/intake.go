package plan

import (
	"fmt"
	"maps"
	"slices"

	"oarlock/internal/config"
	"oarlock/internal/putline"
	"oarlock/queue"
	"oarlock/supervisor"
)

// Intakes are the lists of the configuration whose entries become jobs, by queue.
func Intakes(cfg config.Config) []supervisor.Intake {
	var all []supervisor.Intake
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		q := cfg.Queues[name]
		for _, list := range q.Intake {
			all = append(all, supervisor.Intake{Queue: name, List: list, As: q.IntakeAs + " " + q.KeyFrom, Window: q.IntakeWindow, Read: readerOf(name, list, q)})
		}
	}
	return all
}

// readerOf says which jobs of a queue the entries of a list are. What an hworker's list has is in its envelope, whatever else is said.
func readerOf(name, list string, q config.Queue) func(entry string) (queue.Put, error) {
	like := queue.Put{Queue: name, Klass: queue.ListKlass(list), KeyFrom: q.KeyFrom}
	switch as := q.IntakeAs; {
	case as == "hworker" || queue.ListKey(list) != list:
		return func(entry string) (queue.Put, error) {
			put := like
			var err error
			put.JID, put.Data, err = queue.ReadEnvelope(entry)
			put.IfExists = queue.Final // one that is alive is the same job
			return put, err
		}
	case as == "job":
		return func(entry string) (queue.Put, error) {
			put, err := putline.Read(like, []byte(entry))
			if err == nil && put.Queue != name {
				err = fmt.Errorf("it names queue %q, and this list is for %q", put.Queue, name)
			}
			return put, err
		}
	}
	return func(entry string) (queue.Put, error) {
		put := like
		put.Data = queue.PlainData(entry)
		return put, nil
	}
}

// Unserved are those queues of names that no pool of the configuration works, in their order.
func Unserved(cfg config.Config, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		for _, p := range cfg.Pools {
			if queue.MatchAny(p.Queues, name) {
				return true
			}
		}
		return false
	})
}

// Told reports whether a job is put, as of Hooks, where one of a pool fails for good in a queue. Nobody is told of the entries of lists.
func Told(cfg config.Config, pool, name string) bool {
	h := Hooks(cfg)
	return h != nil && cfg.Pools[pool].List == "" && h.Queue != name && queue.MatchAny(h.Queues, name)
}

// Hooks is what Redis is told of the hooks of a configuration; nil if nothing is wanted of it.
func Hooks(cfg config.Config) *queue.Hooks {
	if !slices.Contains(cfg.Hooks.Events, "dead") {
		return nil
	}
	return &queue.Hooks{Queue: cfg.Hooks.Queue, Queues: cfg.Hooks.Queues}
}

// Warnings tells of names that no put takes, and of what the configuration leaves to others and may have meant for itself, a sentence each.
func Warnings(cfg config.Config) []string {
	var into []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		if len(cfg.Queues[name].Intake) > 0 {
			into = append(into, name)
		}
	}
	warnings := beyond(cfg)
	for _, name := range Unserved(cfg, into) {
		warnings = append(warnings, fmt.Sprintf("queues.%s.intake: no pool of this configuration works the queue, so its jobs wait for one of another host.", name))
	}
	if len(cfg.Hooks.Events) > 0 && len(Unserved(cfg, []string{cfg.Hooks.Queue})) > 0 {
		warnings = append(warnings, fmt.Sprintf("hooks.queue: no pool of this configuration works the queue %s, so what it is told waits for one of another host.", cfg.Hooks.Queue))
	}
	return warnings
}
