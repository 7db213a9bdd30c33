package queue

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// many is more than Lua's stack holds.
const many = 9000

// longLab runs commands with long lists.
type longLab struct {
	*lab
	t     *testing.T
	names []string // so many
}

func newLongLab(t *testing.T) *longLab {
	l := &longLab{lab: newLab(t, "shared", DefaultNamespace), t: t}
	for i := range many {
		l.names = append(l.names, "n"+strconv.Itoa(i))
	}
	return l
}

// run runs the command that words are, with list behind it.
func (l *longLab) run(dialect Dialect, words string, list ...string) any {
	l.t.Helper()
	reply, err := callUnified(l.t.Context(), l.lab, dialect, step{Now: "1000", Cmd: append(strings.Fields(words), list...)})
	stop(l.t, err != nil, "%s: %v", words, err)
	return reply
}

func (l *longLab) wantSize(command, key string, want int64) {
	l.t.Helper()
	if got, err := l.do(l.t.Context(), command, key); got != want || err != nil {
		l.t.Errorf("%s %s is %v, %v, want %d", command, key, got, err, want)
	}
}

// TestLongLists gives every command that takes a list more than Lua's stack holds.
func TestLongLists(t *testing.T) {
	l := newLongLab(t)
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
			l := &longLab{lab: l.lab, t: t, names: l.names}
			c := labClient(t, l.lab)
			for some := range slices.Chunk(putsOf(many, func(i int) Put { return Put{JID: l.names[i], Queue: "q", Klass: "K"} }), 500) {
				must(c.PutAll(t.Context(), some))(t)
			}
			l.run(Qless, `put w q j K {} 0 depends ["n0"]`)
			l.run(Qless, "recur q r K {} interval 60 1000")

			l.run(dialect, commands["on"], l.names...)
			l.wantSize("SCARD", "ql:j:j-dependencies", many)
			l.run(dialect, commands["off"], l.names[1:]...)
			l.wantSize("SCARD", "ql:j:j-dependencies", 1)
			l.run(dialect, commands["tag"], l.names...)
			l.wantSize("ZCARD", "ql:t:n8999", 1)
			l.run(dialect, commands["untag"], l.names...)
			l.wantSize("ZCARD", "ql:t:n8999", 0)
			l.run(dialect, commands["recur tag"], l.names...)
			l.run(dialect, commands["recur untag"], l.names...)
			l.run(dialect, commands["pause"], l.names...)
			l.wantSize("SCARD", "ql:paused_queues", many)
			l.run(dialect, commands["unpause"], l.names...)
			l.wantSize("SCARD", "ql:paused_queues", 0)
			if text := l.run(dialect, commands["get"], l.names...).(string); strings.Count(text, `"jid":`) != many {
				t.Errorf("%s shows %d jobs", commands["get"], strings.Count(text, `"jid":`))
			}
			l.run(dialect, commands["pop"])
			l.wantSize("ZCARD", "ql:q:q-locks", many)
			l.run(dialect, commands["timeout"], l.names...)
			l.wantSize("ZCARD", "ql:q:q-work", many)
			l.run(dialect, commands["forget"], l.names...)
			l.run(dialect, commands["deregister"], l.names...)
			l.run(dialect, commands["cancel"], append([]string{"j"}, l.names...)...)
			l.wantSize("ZCARD", "ql:q:q-work", 0)
		})
	}
}

// TestManyArePrunedAtOnce completes a job after which as many are too old to be kept.
func TestManyArePrunedAtOnce(t *testing.T) {
	const complete = `for _, jid in ipairs(ARGV) do
  redis.call('HSET', 'ql:j:' .. jid, 'jid', jid)
  redis.call('ZADD', 'ql:completed', 999, jid)
end`
	l := newLongLab(t)
	for dialect, words := range map[Dialect]string{Qless: "complete last w q {}", Reqless: "job.complete last w q {}"} {
		must(l.eval(t.Context(), complete, nil, l.names))(t)
		l.run(Qless, "config.set jobs-history-count 1")
		l.run(Qless, "put w q last K {} 0")
		l.run(Qless, "pop q w 1")
		l.run(dialect, words)
		l.wantSize("ZCARD", "ql:completed", 1)
		l.wantSize("EXISTS", "ql:j:n8999", 0)
	}
}

// TestLongListsOfPatterns sets as many patterns of names and of priorities.
func TestLongListsOfPatterns(t *testing.T) {
	l := newLongLab(t)
	var patterns, identifiers []string
	for _, name := range l.names {
		patterns = append(patterns, `{"pattern":["`+name+`"]}`)
		identifiers = append(identifiers, name, `["x"]`)
	}
	l.run(Reqless, "queueIdentifierPatterns.setAll", identifiers...)
	l.wantSize("HLEN", "ql:qp:identifiers", many+1)
	l.run(Reqless, "queuePriorityPatterns.setAll", patterns...)
	l.wantSize("LLEN", "ql:qp:priorities", many+1)
}
