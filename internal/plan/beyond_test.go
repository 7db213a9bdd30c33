package plan

import (
	"strings"
	"testing"

	"oarlock/internal/config"
	"oarlock/queue"
)

// TestNamesThatNoPutTakesAreSaid: each place of a configuration that can hold a name too long for a put is named; at the bound it is not.
func TestNamesThatNoPutTakesAreSaid(t *testing.T) {
	with := func(name string, tags int) config.Config {
		return config.Config{
			Pools:  map[string]config.Pool{"p": {Queues: []string{name}, NextQueues: []string{name}}},
			Queues: map[string]config.Queue{name: {}}, Klass: map[string]config.Klass{name: {}},
			Recurring: map[string]config.Recurring{"a": {Queue: name, Klass: "K"}, "b": {Queue: "q", Klass: name}, "c": {Queue: "q", Klass: "K", Tags: make([]string, tags)}},
			Hooks:     config.Hooks{Queue: name, Events: []string{"dead"}},
		}
	}
	if told := beyond(with(strings.Repeat("x", queue.MaxName), queue.MaxTags)); len(told) > 0 {
		t.Errorf("at the bounds: %q", told)
	}
	told := beyond(with(strings.Repeat("x", queue.MaxName+1), queue.MaxTags+1))
	for i, key := range []string{"pools.p.queues: ", "pools.p.next_queues: ", "queues.xxx", "klass.xxx", "recurring.a: queue must have at most 1024 bytes: it has 1025", "recurring.b: klass", "recurring.c: a job has at most 256 tags", "hooks.queue: "} {
		if len(told) != 8 || !strings.HasPrefix(told[i], key) || len(told[i]) > 250 {
			t.Fatalf("said is %q, want %s in place %d", told, key, i)
		}
	}
	all := Warnings(with(strings.Repeat("x", queue.MaxName+1), queue.MaxTags+1))
	if len(all) < 8 {
		t.Errorf("warnings are %q", all)
	}
}
