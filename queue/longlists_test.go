package queue

import (
	"strconv"
	"strings"
	"testing"
)

// TestLongLists gives every command that takes a list more than Lua's stack holds, and
// one that prunes as many jobs.
func TestLongLists(t *testing.T) {
	const many = 9000
	l := newLab(t, "redis", DefaultNamespace)
	names := make([]string, many)
	patterns, identifiers := make([]string, many), make([]string, 0, 2*many)
	for i := range names {
		names[i] = "n" + strconv.Itoa(i)
		patterns[i] = `{"pattern":["` + names[i] + `"]}`
		identifiers = append(identifiers, names[i], `["x"]`)
	}
	run := func(dialect Dialect, words string, list ...string) any {
		t.Helper()
		reply, err := callUnified(t.Context(), l, dialect, step{Now: "1000", Cmd: append(strings.Fields(words), list...)})
		if err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		return reply
	}
	wantSize := func(command, key string, want int64) {
		t.Helper()
		if got, err := l.do(t.Context(), command, key); got != want || err != nil {
			t.Errorf("%s %s is %v, %v, want %d", command, key, got, err, want)
		}
	}
	for dialect, commands := range map[Dialect]map[string]string{
		Qless: {"on": "depends j on", "off": "depends j off", "tag": "tag add j", "untag": "tag remove j",
			"recur tag": "recur.tag r", "recur untag": "recur.untag r", "pause": "pause", "unpause": "unpause",
			"get": "multiget", "pop": "pop q w 9001", "timeout": "timeout", "cancel": "cancel", "forget": "queue.forget",
			"deregister": "worker.deregister"},
		Reqless: {"on": "job.addDependency j", "off": "job.removeDependency j", "tag": "job.addTag j", "untag": "job.removeTag j",
			"recur tag": "recurringJob.addTag r", "recur untag": "recurringJob.removeTag r", "pause": "queue.pause",
			"unpause": "queue.unpause", "get": "job.getMulti", "pop": "queue.pop q w 9001", "timeout": "job.timeout",
			"cancel": "job.cancel", "forget": "queue.forget", "deregister": "worker.forget"},
	} {
		t.Run(string(dialect), func(t *testing.T) {
			for _, name := range names {
				run(Qless, "put w q "+name+" K {} 0")
			}
			run(Qless, `put w q j K {} 0 depends ["n0"]`)
			run(Qless, "recur q r K {} interval 60 1000")

			run(dialect, commands["on"], names...)
			wantSize("SCARD", "ql:j:j-dependencies", many)
			run(dialect, commands["off"], names[1:]...)
			wantSize("SCARD", "ql:j:j-dependencies", 1)
			run(dialect, commands["tag"], names...)
			wantSize("ZCARD", "ql:t:n8999", 1)
			run(dialect, commands["untag"], names...)
			wantSize("ZCARD", "ql:t:n8999", 0)
			run(dialect, commands["recur tag"], names...)
			run(dialect, commands["recur untag"], names...)
			run(dialect, commands["pause"], names...)
			wantSize("SCARD", "ql:paused_queues", many)
			run(dialect, commands["unpause"], names...)
			wantSize("SCARD", "ql:paused_queues", 0)
			if text := run(dialect, commands["get"], names...).(string); strings.Count(text, `"jid":`) != many {
				t.Errorf("%s shows %d jobs", commands["get"], strings.Count(text, `"jid":`))
			}
			run(dialect, commands["pop"])
			wantSize("ZCARD", "ql:q:q-locks", many)
			run(dialect, commands["timeout"], names...)
			wantSize("ZCARD", "ql:q:q-work", many)
			run(dialect, commands["forget"], names...)
			run(dialect, commands["deregister"], names...)
			run(dialect, commands["cancel"], append([]string{"j"}, names...)...)
			wantSize("ZCARD", "ql:q:q-work", 0)
		})
	}

	const complete = `for _, jid in ipairs(ARGV) do
  redis.call('HSET', 'ql:j:' .. jid, 'jid', jid)
  redis.call('ZADD', 'ql:completed', 999, jid)
end`
	for dialect, words := range map[Dialect]string{Qless: "complete last w q {}", Reqless: "job.complete last w q {}"} {
		if _, err := l.eval(t.Context(), complete, nil, names); err != nil {
			t.Fatal(err)
		}
		run(Qless, "config.set jobs-history-count 1")
		run(Qless, "put w q last K {} 0")
		run(Qless, "pop q w 1")
		run(dialect, words)
		wantSize("ZCARD", "ql:completed", 1)
		wantSize("EXISTS", "ql:j:n8999", 0)
	}

	run(Reqless, "queueIdentifierPatterns.setAll", identifiers...)
	wantSize("HLEN", "ql:qp:identifiers", many+1)
	run(Reqless, "queuePriorityPatterns.setAll", patterns...)
	wantSize("LLEN", "ql:qp:priorities", many+1)
}
