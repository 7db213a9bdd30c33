package queue

import (
	"maps"
	"math"
	"strings"
)

// The commands of reqless, most of them those of qless under other names; see
// PROTOCOL.md, Annex A.

var reqlessCommands map[string]func(m *model, w words) recordedReply

func init() { // because the commands refer to each other
	sub := func(run func(*model, words) recordedReply, first ...string) func(*model, words) recordedReply {
		return func(m *model, w words) recordedReply { return run(m, append(words(first), w...)) }
	}
	reqlessCommands = map[string]func(m *model, w words) recordedReply{
		"queue.put": (*model).put, "job.requeue": (*model).requeue, "queue.pop": (*model).pop,
		"queue.peek": (*model).peekPage, "job.heartbeat": (*model).heartbeat, "job.complete": (*model).completeOnly,
		"job.completeAndRequeue": (*model).completeAndRequeue, "job.fail": (*model).fail, "job.retry": (*model).retry,
		"job.timeout": (*model).timeout, "job.cancel": (*model).cancel,
		"job.addDependency": between(1, "on", (*model).depends), "job.removeDependency": between(1, "off", (*model).depends),
		"job.setPriority": (*model).priority, "job.log": (*model).log, "job.get": (*model).get,
		"job.getMulti": (*model).multiget, "failureGroups.counts": (*model).failureGroups, "jobs.failedByGroup": (*model).failed,
		"queue.unfail": (*model).queueUnfail, "queue.recurAtInterval": between(4, "interval", (*model).recur),
		"recurringJob.get": (*model).recurGet, "recurringJob.update": (*model).recurUpdate,
		"recurringJob.addTag": (*model).recurringAddTag, "recurringJob.removeTag": (*model).recurUntag,
		"recurringJob.cancel": (*model).unrecur, "queues.counts": sub((*model).allCounts), "queues.names": (*model).queueNames,
		"queue.counts": (*model).queueCounts, "queue.length": (*model).length,
		"jobs.completed": asJSON(sub((*model).jobs, "complete")), "queue.jobsByState": asJSON((*model).jobs),
		"queue.pause": (*model).pause, "queue.unpause": (*model).unpause, "queue.forget": (*model).queueForget,
		"queue.stats": (*model).stats, "job.addTag": sub((*model).tag, "add"), "job.removeTag": sub((*model).tag, "remove"),
		"jobs.tagged": sub((*model).tag, "get"), "tags.top": sub((*model).tag, "top"),
		"job.track": sub((*model).track, "track"), "job.untrack": sub((*model).track, "untrack"),
		"jobs.tracked":   func(m *model, _ words) recordedReply { return m.track(nil) },
		"workers.counts": func(m *model, _ words) recordedReply { return m.workers(nil) },
		"worker.jobs":    (*model).workers, "worker.forget": (*model).workerDeregister,
		"config.get": (*model).configGetOne, "config.getAll": (*model).configGetAll,
		"config.set": (*model).configSet, "config.unset": (*model).configUnset,
		"throttle.set": (*model).throttleSet, "throttle.get": (*model).throttleGet, "throttle.delete": (*model).throttleDelete,
		"throttle.locks": (*model).throttleLocks, "throttle.pending": (*model).throttlePending,
		"throttle.release": (*model).throttleRelease, "queue.throttle.set": (*model).queueThrottleSet,
		"queue.throttle.get":             (*model).queueThrottleGet,
		"queueIdentifierPatterns.getAll": (*model).identifierPatterns,
		"queueIdentifierPatterns.setAll": (*model).setIdentifierPatterns,
		"queuePriorityPatterns.getAll":   (*model).priorityPatterns,
		"queuePriorityPatterns.setAll":   (*model).setPriorityPatterns,
	}
}

// reqlessWords turns what qless says of arguments into the words of reqless.
var reqlessWords = strings.NewReplacer(`Pop(): Arg "count"`, `Pop(): Arg "limit"`,
	`Tag(): Arg "count"`, `Tag(): Arg "limit"`, `Jobs(): Arg "count"`, `Jobs(): Arg "limit"`,
	`Complete(): Arg "queue"`, `Complete(): Arg "queue_name"`, `Retry(): Arg "queue"`, `Retry(): Arg "queue_name"`)

// between runs a command with a word put in as its i-th.
func between(i int, word string, run func(*model, words) recordedReply) func(*model, words) recordedReply {
	return func(m *model, w words) recordedReply {
		if len(w) < i {
			return run(m, w)
		}
		return run(m, append(append(append(words{}, w[:i]...), word), w[i:]...))
	}
}

// asJSON replies with JSON text where qless replies with an array.
func asJSON(run func(*model, words) recordedReply) func(*model, words) recordedReply {
	return func(m *model, w words) recordedReply {
		return jsonReply(run(m, w).Value)
	}
}

func (m *model) peekPage(w words) recordedReply {
	queue := w.need(0, "Queue(): no queue name provided")
	offset, limit := w.number(1, `Peek(): Arg "offset"`), w.number(2, `Peek(): Arg "limit"`)
	if limit <= 0 {
		return jsonReply(m.none())
	}
	from, most := whole(offset), whole(offset+limit)
	jids := m.between(queueOf(queue, "locks"), math.Inf(-1), m.now, float64(most))
	missing := float64(most - len(jids))
	m.spawn(queue, missing)
	m.promote(queue, missing, false)
	all := append(jids, reversed(m.ranked(queueOf(queue, "work")))...)
	return jsonReply(m.views(page(all, float64(from), limit)))
}

func (m *model) completeOnly(w words) recordedReply { return m.complete(w[:min(4, len(w))]) }

func (m *model) completeAndRequeue(w words) recordedReply {
	return between(4, "next", (*model).complete)(m, w)
}

func (m *model) failureGroups(w words) recordedReply {
	w.numberOr(0, 0, `Failed(): Arg "start"`)
	w.numberOr(1, 25, `Failed(): Arg "limit"`)
	return m.failed(nil)
}

func (m *model) queueUnfail(w words) recordedReply {
	w.need(0, `Arg "queue"`)
	return m.unfail(w)
}

func (m *model) recurringAddTag(w words) recordedReply {
	reply := m.recurTag(w)
	if list, ok := reply.Value.(map[string]any); ok && len(list) == 0 {
		m.hashes[recurringOf(w[0])]["tags"] = "[]"
		reply.Value = m.none()
	}
	return reply
}

func (m *model) allCounts(words) recordedReply { return m.queues(nil) }

func (m *model) queueCounts(w words) recordedReply {
	reply := m.queues(w)
	if list, ok := reply.Value.([]any); ok && len(list) == 0 {
		reply.Value = map[string]any{}
	}
	return reply
}

func (m *model) queueNames(words) recordedReply { return jsonReply(items(m, m.ranked("ql:queues"))) }

// reqlessSettings are the defaults of reqless.
var reqlessSettings = map[string]any{
	"application": "reqless", "grace-period": "10", "heartbeat": "60", "jobs-history": "604800",
	"jobs-history-count": "50000", "max-job-history": "100", "max-pop-retry": "1", "max-worker-age": "86400",
}

func (m *model) settings() map[string]any {
	all := maps.Clone(reqlessSettings)
	maps.Copy(all, m.hash("ql:config"))
	return all
}

func (m *model) configGetAll(words) recordedReply { return jsonReply(m.settings()) }

func (m *model) configGetOne(w words) recordedReply {
	if v, ok := m.settings()[w.need(0, "config.get(): Argument 'key'")]; ok {
		return textReply(v.(string))
	}
	return nothing()
}
