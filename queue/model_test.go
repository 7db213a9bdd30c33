package queue

import (
	"fmt"
	"maps"
	"math"
	"strings"
)

// model does what PROTOCOL.md says of one of the dialects, on maps in place of Redis.
// It was written from that text alone, so what it and the scripts agree on is not one
// mistake made twice.
type model struct {
	*keyspace
	reqless  bool // whether the call, or every call, is one of reqless
	both     bool // whether the name of the command says so
	commands map[string]func(m *model, w words) recordedReply
	now      float64
	messages [][2]any
}

// both is for a model that knows the names of both dialects, as the unified script
// does.
const both Dialect = "both"

func newModel(dialect Dialect) *model {
	m := &model{keyspace: newKeyspace(), commands: qlessCommands}
	switch dialect {
	case Reqless:
		m.reqless, m.commands = true, reqlessCommands
	case both:
		m.both, m.commands = true, maps.Clone(reqlessCommands)
		maps.Copy(m.commands, qlessCommands)
	}
	return m
}

// refused is what a command panics with to end the call; its text is part of what
// the error of the script says.
type refused string

func refuse(format string, args ...any) { panic(refused(fmt.Sprintf(format, args...))) }

// call runs the command of a step and returns the step with what it comes to.
func (m *model) call(s step) (played step) {
	m.messages = [][2]any{}
	defer func() {
		if r := recover(); r != nil {
			text, ok := r.(refused)
			if !ok {
				panic(r)
			}
			s.Reply, s.ErrorContains = recordedReply{Type: "error"}, string(text)
			if m.reqless {
				s.ErrorContains = reqlessWords.Replace(s.ErrorContains)
			}
		}
		s.Published = m.messages
		played = s
	}()
	s.Reply = m.dispatch(s)
	return s
}

// dispatch looks at the envelope of a call and runs its command.
func (m *model) dispatch(s step) recordedReply {
	argv := s.Argv
	if s.Cmd != nil {
		argv = append([]string{s.Cmd[0], s.now()}, s.Cmd[1:]...)
	}
	if len(s.Keys) > 0 {
		refuse("No Keys should be provided")
	}
	if len(argv) == 0 {
		refuse("Must provide a command")
	}
	command, ok := m.commands[argv[0]]
	if m.both {
		_, qless := qlessCommands[argv[0]]
		m.reqless = !qless
	}
	if !ok {
		refuse("Unknown command %s", argv[0])
	}
	if len(argv) == 1 {
		refuse("bad argument #1 to 'tonumber'")
	}
	m.now, ok = luaNumber(argv[1])
	if !ok || !finite(m.now) {
		refuse(`Arg "now" missing or not a number: nil`)
	}
	return command(m, words(argv[2:]))
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

var qlessCommands map[string]func(m *model, w words) recordedReply

func init() { // because the commands refer to each other
	qlessCommands = map[string]func(m *model, w words) recordedReply{
		"put": (*model).put, "requeue": (*model).requeue, "pop": (*model).pop, "peek": (*model).peek,
		"heartbeat": (*model).heartbeat, "complete": (*model).complete, "fail": (*model).fail,
		"retry": (*model).retry, "timeout": (*model).timeout, "cancel": (*model).cancel,
		"depends": (*model).depends, "priority": (*model).priority, "log": (*model).log,
		"get": (*model).get, "multiget": (*model).multiget,
		"failed": (*model).failed, "unfail": (*model).unfail,
		"recur": (*model).recur, "recur.get": (*model).recurGet, "recur.update": (*model).recurUpdate,
		"recur.tag": (*model).recurTag, "recur.untag": (*model).recurUntag, "unrecur": (*model).unrecur,
		"queues": (*model).queues, "length": (*model).length, "jobs": (*model).jobs,
		"pause": (*model).pause, "unpause": (*model).unpause, "queue.forget": (*model).queueForget,
		"stats": (*model).stats, "tag": (*model).tag, "track": (*model).track,
		"workers": (*model).workers, "worker.deregister": (*model).workerDeregister,
		"config.get": (*model).configGet, "config.set": (*model).configSet, "config.unset": (*model).configUnset,
	}
}

// words are the arguments of a command behind now. One that is missing differs from
// one that is empty.
type words []string

func (w words) has(i int) bool { return i < len(w) }

// need returns an argument, or refuses without it.
func (w words) need(i int, refusal string) string {
	if !w.has(i) {
		refuse("%s", refusal)
	}
	return w[i]
}

// number returns an argument as a number, or refuses.
func (w words) number(i int, refusal string) float64 {
	f, ok := luaNumber(w.need(i, refusal))
	if !ok {
		refuse("%s", refusal)
	}
	return f
}

// numberOr returns an argument as a number, and other where it is missing.
func (w words) numberOr(i int, other float64, refusal string) float64 {
	if !w.has(i) {
		return other
	}
	return w.number(i, refusal)
}

// decoded returns an argument that has to be JSON and not false.
func (w words) decoded(i int, refusal string) any {
	v := decodeJSON(w.need(i, "bad argument #1 to 'decode'"))
	if v == false {
		refuse("%s", refusal)
	}
	return v
}

// from returns the arguments from the i-th on.
func (w words) from(i int) []string { return w[min(i, len(w)):] }

// optionPairs reads options; the last of like-named ones wins.
func optionPairs(list []string) map[string]string {
	if len(list)%2 == 1 {
		refuse("Odd number of additional args")
	}
	options := make(map[string]string)
	for i := 0; i < len(list); i += 2 {
		options[list[i]] = list[i+1]
	}
	return options
}

// finiteOption is an option that has to be a number JSON can show.
func finiteOption(options map[string]string, name string, other float64, refusal string) float64 {
	text, ok := options[name]
	if !ok {
		return other
	}
	f, ok := luaNumber(text)
	if !ok || !finite(f) {
		refuse("%s", refusal)
	}
	return f
}

func nothing() recordedReply           { return recordedReply{Type: "nil"} }
func textReply(s string) recordedReply { return recordedReply{Type: "bulk", Value: s} }
func integer(f float64) recordedReply  { return recordedReply{Type: "int", Value: math.Trunc(f)} }
func jsonReply(v any) recordedReply    { return recordedReply{Type: "json", Value: v} }
func listReply(l []string) recordedReply {
	return recordedReply{Type: "array", Value: anyList(l)}
}

func anyList[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// jsonItems is a list as it looks in a JSON reply: an empty one is an object.
func jsonItems[T any](list []T) any {
	if len(list) == 0 {
		return map[string]any{}
	}
	return anyList(list)
}

func (m *model) publish(channel, message string) {
	m.messages = append(m.messages, [2]any{channel, message})
}

// tell publishes a jid on a channel for followers of tracked jobs.
func (m *model) tell(channel, jid string) {
	if _, tracked := m.zset("ql:tracked")[jid]; tracked {
		m.publish("ql:"+channel, jid)
	}
}

// setting is a number of the configuration; what is none counts as not set.
func (m *model) setting(name string, other float64) float64 {
	if text, ok := m.hashes["ql:config"][name].(string); ok {
		if f, ok := luaNumber(text); ok {
			return f
		}
	}
	return other
}

func (m *model) lockLength(queue string) float64 {
	return m.setting(queue+"-heartbeat", m.setting("heartbeat", 60))
}

// day is the midnight before a moment, as in the names of statistics.
func day(when float64) string {
	return shortNumber(when - (when - math.Floor(when/86400)*86400))
}

func (m *model) countStat(queue, field string, n int64) {
	m.count("ql:s:stats:"+day(m.now)+":"+queue, field, n)
}

// none is what a command without anything to list replies.
func (m *model) none() any {
	if m.reqless {
		return []any{}
	}
	return map[string]any{}
}

// items is a list as it looks where an empty one is none.
func items[T any](m *model, list []T) any {
	if len(list) == 0 {
		return m.none()
	}
	return anyList(list)
}

// inQueue is what the history says of a queue.
func (m *model) inQueue(queue string) string {
	if m.reqless {
		return object("queue", queue)
	}
	return object("q", queue)
}

// named is how a refusal calls a job.
func (m *model) named(jid string) string {
	if m.reqless {
		return "Job"
	}
	return "Job " + jid
}

// Names of keys.

func jobOf(jid string) string           { return "ql:j:" + jid }
func historyOf(jid string) string       { return "ql:j:" + jid + "-history" }
func dependenciesOf(jid string) string  { return "ql:j:" + jid + "-dependencies" }
func dependentsOf(jid string) string    { return "ql:j:" + jid + "-dependents" }
func recurringOf(jid string) string     { return "ql:r:" + jid }
func queueOf(queue, part string) string { return "ql:q:" + queue + "-" + part }
func heldBy(worker string) string       { return "ql:w:" + worker + ":jobs" }

// field is a field of a job as text; it is empty for one that is not there.
func (m *model) field(jid, name string) string {
	s, _ := m.hashes[jobOf(jid)][name].(string)
	return s
}

func (m *model) numeric(jid, name string) float64 {
	f, _ := luaNumber(m.field(jid, name))
	return f
}

func (m *model) exists(jid string) bool {
	_, ok := m.hashes[jobOf(jid)]["jid"]
	return ok
}

// change writes fields of a job: name, value, name, value …
func (m *model) change(jid string, fields ...any) {
	for i := 0; i < len(fields); i += 2 {
		m.hash(jobOf(jid))[fields[i].(string)] = fields[i+1]
	}
}

// leave takes a job out of parts of a queue.
func (m *model) leave(jid, queue, parts string) {
	for _, part := range strings.Fields(parts) {
		delete(m.zset(queueOf(queue, part)), jid)
	}
}

// ready puts a job into the work set of a queue.
func (m *model) ready(jid, queue string, when float64) {
	m.add(queueOf(queue, "work"), m.numeric(jid, "priority")-when/10000000000, jid)
}
