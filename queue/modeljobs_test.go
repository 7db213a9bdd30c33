package queue

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The commands for single jobs; see PROTOCOL.md, Commands.

func (m *model) put(w words) recordedReply {
	queue := w.need(1, "Queue(): no queue name provided")
	jid := w.need(2, `Put(): Arg "jid"`)
	klass := w.need(3, `Put(): Arg "klass"`)
	w.decoded(4, `Put(): Arg "data"`)
	delay := w.number(5, `Put(): Arg "delay"`)
	options := optionPairs(w.from(6))
	old := m.exists(jid)
	retries := finiteOption(options, "retries", m.inherited(jid, "retries", 5), `Put(): Arg "retries"`)
	tags := tagList(optionOr(options, "tags", textOr(m.hashes[jobOf(jid)]["tags"], "[]")))
	priority := finiteOption(options, "priority", m.inherited(jid, "priority", 0), `Put(): Arg "priority"`)
	depends := jidList(optionOr(options, "depends", "[]"))
	throttles := jidList(optionOr(options, "throttles", "[]"))

	m.unindex(jid)
	if len(depends) > 0 {
		m.dissolve(jid, depends)
	}
	m.publish("ql:log", object("jid", jid, "event", "put", "queue", queue))
	m.note(jid, m.now, "put", m.inQueue(queue))
	if !m.reqless {
		throttles = m.throttlesOf(jid)
	}
	limited := m.reqless || m.hasThrottles(jid)
	throttles = movedThrottles(throttles, "ql:q:"+m.field(jid, "queue"), queue, old)
	if old {
		m.vacate(jid, w[0], queue)
	}
	m.index(jid, tags)

	state := "waiting"
	if delay > 0 {
		state = "scheduled"
	}
	m.change(jid, "jid", jid, "klass", klass, "data", w[4], "priority", argNumber(priority), "tags", encodeJSON(tags),
		"state", state, "worker", "", "expires", "0", "queue", queue, "retries", argNumber(retries),
		"remaining", argNumber(retries), "time", timeNumber(m.now))
	if limited {
		m.change(jid, "throttles", encodeJSON(anyList(throttles)))
	}
	m.await(jid, depends)
	switch {
	case len(m.set(dependenciesOf(jid))) > 0:
		m.add(queueOf(queue, "depends"), m.now, jid)
		m.change(jid, "state", "depends")
		if delay > 0 {
			m.change(jid, "scheduled", argNumber(m.now+delay))
		}
	case delay > 0:
		m.add(queueOf(queue, "scheduled"), m.now+delay, jid)
	case m.reqless && m.firstTaken(jid) != "":
		m.throttle(jid, queue)
	default:
		m.ready(jid, queue, m.now)
	}
	m.addNew("ql:queues", m.now, queue)
	m.tell("put", jid)
	return textReply(jid)
}

// vacate takes a job that is put again, by worker into queue, away from where it is.
func (m *model) vacate(jid, worker, queue string) {
	m.leave(jid, m.field(jid, "queue"), "work locks depends scheduled throttled")
	if owner := m.field(jid, "worker"); owner != "" {
		delete(m.zset(heldBy(owner)), jid)
		if owner != worker {
			m.loseLock(jid, owner)
		}
	}
	if m.field(jid, "state") == "complete" {
		delete(m.zset("ql:completed"), jid)
	}
	if m.field(jid, "state") == "failed" {
		m.unlistFailed(jid, queue)
	}
	if !m.reqless {
		m.releaseAll(jid)
	}
}

// inherited is a number of a job's former life.
func (m *model) inherited(jid, name string, other float64) float64 {
	if !m.exists(jid) {
		return other
	}
	return m.numeric(jid, name)
}

// optionOr is the value of an option, or other if it was not given.
func optionOr(options map[string]string, name, other string) string {
	if v, ok := options[name]; ok {
		return v
	}
	return other
}

// tagList reads the tags of a job: a list of text and numbers. An object passes, but
// names none.
func tagList(text string) any {
	v := decodeJSON(text)
	for _, tag := range container(v) {
		switch tag := tag.(type) {
		case string:
		case float64:
			if !finite(tag) {
				refuse("")
			}
		default:
			refuse("")
		}
	}
	return v
}

// jidList reads a list of jids. An object passes, but names none.
func jidList(text string) []string {
	list := container(decodeJSON(text))
	jids := make([]string, len(list))
	for i, jid := range list {
		switch jid := jid.(type) {
		case string:
			jids[i] = jid
		case float64:
			jids[i] = shortNumber(jid)
		default:
			refuse("")
		}
	}
	return jids
}

// container returns the items of a list, none for an object, and refuses the rest.
func container(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		return nil
	}
	refuse("")
	return nil
}

// extended adds a tag to a list, or to an object as a Lua table would.
func extended(tags any, tag string) any {
	if members, ok := tags.(map[string]any); ok && len(members) > 0 {
		for _, name := range numbered(members) {
			if members[name] == tag {
				return members
			}
		}
		members[strconv.Itoa(1+len(numbered(members)))] = tag
		return members
	}
	return append(container(tags), tag)
}

// numbered are the names that stand for places in a list.
func numbered(members map[string]any) (names []string) {
	for name := range members {
		if _, err := strconv.Atoi(name); err == nil {
			names = append(names, name)
		}
	}
	return names
}

func (m *model) requeue(w words) recordedReply {
	jid := w.need(2, "Job(): no jid provided")
	if !m.exists(jid) {
		refuse("Requeue(): Job %s does not exist", jid)
	}
	return m.put(w)
}

func (m *model) pop(w words) recordedReply {
	queue := w.need(0, "Queue(): no queue name provided")
	worker := w.need(1, `Pop(): Arg "worker"`)
	count := w.number(2, `Pop(): Arg "count"`)
	expires := m.now + m.lockLength(queue)
	if m.set("ql:paused_queues")[queue] {
		return jsonReply(m.none())
	}
	m.add("ql:workers", m.now, worker)
	if most := m.setting(queue+"-max-concurrency", 0); most > 0 && !m.reqless {
		running := len(m.between(queueOf(queue, "locks"), m.now, math.Inf(1), -1))
		if count = min(max(0, most-float64(running)), count); count == 0 {
			return jsonReply(m.none())
		}
	}
	batch := m.reap(queue, count)
	missing := count - float64(len(batch))
	if m.reqless {
		m.handOver(batch, queue, worker, expires)
		admitted := m.admitted(queue, missing)
		m.handOver(admitted, queue, worker, expires)
		return jsonReply(m.views(append(batch, admitted...)))
	}
	m.spawn(queue, missing)
	m.promote(queue, missing, false)
	for _, jid := range m.best(queue, missing) {
		if m.hasThrottles(jid) && !m.admits(jid, queue) {
			m.leave(jid, queue, "work")
			continue
		}
		batch = append(batch, jid)
	}
	m.handOver(batch, queue, worker, expires)
	return jsonReply(m.views(batch))
}

// handOver makes jobs run.
func (m *model) handOver(batch []string, queue, worker string, expires float64) {
	for _, jid := range batch {
		m.note(jid, m.now, "popped", object("worker", worker))
		if m.field(jid, "time") == "" {
			m.change(jid, "time", timeNumber(m.now))
		}
		m.measure(queue, "wait", m.now-m.numeric(jid, "time"))
		m.change(jid, "time", timeNumber(m.now), "worker", worker, "expires", argNumber(expires), "state", "running")
		m.add(heldBy(worker), expires, jid)
		m.add(queueOf(queue, "locks"), expires, jid)
		m.tell("popped", jid)
		if !m.reqless {
			m.leave(jid, queue, "work")
		}
	}
}

// best returns the highest jids of the work set.
func (m *model) best(queue string, count float64) []string {
	stop := whole(count - 1)
	if count == 0 {
		return nil
	}
	jids := cut(reversed(m.ranked(queueOf(queue, "work"))), 0, stop)
	for _, jid := range jids {
		if !m.exists(jid) {
			m.leave(jid, queue, "work")
		}
	}
	return slices.DeleteFunc(jids, func(jid string) bool { return !m.exists(jid) })
}

func (m *model) peek(w words) recordedReply {
	queue := w.need(0, "Queue(): no queue name provided")
	count := w.number(1, `Peek(): Arg "count"`)
	whole(count)
	jids := m.between(queueOf(queue, "locks"), math.Inf(-1), m.now, count)
	missing := count - float64(len(jids))
	m.spawn(queue, missing)
	m.promote(queue, missing, false)
	if missing != 0 {
		jids = append(jids, cut(reversed(m.ranked(queueOf(queue, "work"))), 0, whole(missing-1))...)
	}
	return jsonReply(m.views(jids))
}

func (m *model) heartbeat(w words) recordedReply {
	jid := w.need(0, "Job(): no jid provided")
	worker := w.need(1, `Heatbeat(): Arg "worker"`)
	var data any
	if w.has(2) {
		data = decodeJSON(w[2])
	}
	state, owner := m.field(jid, "state"), m.field(jid, "worker")
	switch {
	case !m.exists(jid):
		refuse("Heartbeat(): %s does not exist", m.named(jid))
	case state != "running":
		refuse("Heartbeat(): %s not currently running: %s", m.named(jid), state)
	case owner != worker || owner == "":
		refuse("Heartbeat(): %s given out to another worker: %s", m.named(jid), owner)
	}
	queue := m.field(jid, "queue")
	expires := m.now + m.lockLength(queue)
	m.change(jid, "expires", argNumber(expires), "worker", worker)
	m.replaceData(jid, w, 2, data)
	m.add(heldBy(worker), expires, jid)
	if !m.reqless {
		m.add("ql:workers", m.now, worker)
	}
	m.add(queueOf(queue, "locks"), expires, jid)
	return integer(expires)
}

// replaceData stores optional data, encoded anew.
func (m *model) replaceData(jid string, w words, i int, data any) {
	if w.has(i) && data != false {
		m.change(jid, "data", encodeJSON(data))
	}
}

func (m *model) complete(w words) recordedReply {
	jid := w.need(0, "Job(): no jid provided")
	worker := w.need(1, `Complete(): Arg "worker"`)
	queue := w.need(2, `Complete(): Arg "queue"`)
	w.decoded(3, `Complete(): Arg "data"`)
	list := w.from(4)
	options := optionPairs(list[:len(list)/2*2])
	next, advance := options["next"]
	delay, ok := luaNumber(optionOr(options, "delay", "0"))
	if !ok {
		refuse("assertion failed!")
	}
	depends := jidList(optionOr(options, "depends", "[]"))
	for _, name := range []string{"delay", "depends"} {
		if _, given := options[name]; given && !advance {
			refuse(`Complete(): "%s" cannot be used without a "next".`, name)
		}
	}
	state, owner, in := m.field(jid, "state"), m.field(jid, "worker"), m.field(jid, "queue")
	switch {
	case !m.exists(jid):
		refuse("Complete(): %s does not exist", m.named(jid))
	case state != "running":
		refuse("Complete(): %s is not currently running: %s", m.named(jid), state)
	case owner != worker:
		refuse("Complete(): %s has been handed out to another worker: %s", m.named(jid), owner)
	case in != queue:
		refuse("Complete(): %s running in another queue: %s", m.named(jid), in)
	}

	m.note(jid, m.now, "done", nil)
	m.leaveRunning(jid, queue)
	m.releaseAll(jid)
	m.measure(queue, "run", m.now-m.numeric(jid, "time"))
	delete(m.zset(heldBy(worker)), jid)
	m.tell("completed", jid)
	m.change(jid, "data", w[3], "time", timeNumber(m.now), "worker", "", "failure", "{}", "expires", "0",
		"remaining", m.field(jid, "retries"))
	if !advance {
		m.publish("ql:log", object("jid", jid, "event", "completed", "queue", queue))
		m.change(jid, "state", "complete", "queue", "")
		m.add("ql:completed", m.now, jid)
		m.prune()
		m.unblock(jid)
		return textReply("complete")
	}
	m.publish("ql:log", object("jid", jid, "to", next, "event", "advanced", "queue", queue))
	m.note(jid, m.now, "put", m.inQueue(next))
	m.addNew("ql:queues", m.now, next)
	m.change(jid, "state", "waiting", "queue", next)
	if delay > 0 && len(depends) == 0 {
		m.add(queueOf(next, "scheduled"), m.now+delay, jid)
		return textReply("scheduled")
	}
	if m.await(jid, depends) == 0 {
		m.ready(jid, next, m.now)
		return textReply("waiting")
	}
	m.add(queueOf(next, "depends"), m.now, jid)
	m.change(jid, "state", "depends")
	if delay > 0 {
		m.change(jid, "scheduled", argNumber(m.now+delay))
	}
	return textReply("depends")
}

func (m *model) fail(w words) recordedReply {
	jid := w.need(0, "Job(): no jid provided")
	worker := w.need(1, `Fail(): Arg "worker"`)
	group := w.need(2, `Fail(): Arg "group"`)
	message := w.need(3, `Fail(): Arg "message"`)
	var data any
	if w.has(4) {
		data = decodeJSON(w[4])
	}
	state, owner, queue := m.field(jid, "state"), m.field(jid, "worker"), m.field(jid, "queue")
	switch {
	case !m.exists(jid):
		refuse("Fail(): %sdoes not exist", m.blank(jid))
	case state != "running":
		refuse("Fail(): %snot currently running: %s", m.blank(jid), state)
	case owner != worker:
		refuse("Fail(): %s running with another worker: %s", m.named(jid), owner)
	}
	m.publish("ql:log", object("message", message, "jid", jid, "group", group, "event", "failed", "worker", worker))
	m.tell("failed", jid)
	delete(m.zset(heldBy(worker)), jid)
	m.note(jid, m.now, "failed", object("group", group, "worker", worker))
	m.leaveRunning(jid, queue)
	m.replaceData(jid, w, 4, data)
	m.change(jid, "state", "failed", "worker", "", "expires", "",
		"failure", failure(group, message, math.Floor(m.now), worker))
	m.listFailed(jid, group, queue)
	m.releaseAll(jid)
	return textReply(jid)
}

// blank is how a refusal of fail calls a job: the blank behind the jid is missing.
func (m *model) blank(jid string) string {
	if m.reqless {
		return "Job "
	}
	return "Job " + jid
}

// leaveRunning takes a job out of its queue at the end of a run.
func (m *model) leaveRunning(jid, queue string) {
	m.leave(jid, queue, "work locks scheduled")
	if m.reqless {
		m.leave(jid, queue, "depends throttled")
	}
}

func (m *model) retry(w words) recordedReply {
	jid := w.need(0, "Job(): no jid provided")
	queue := w.need(1, `Retry(): Arg "queue"`)
	worker := w.need(2, `Retry(): Arg "worker"`)
	delay := w.numberOr(3, 0, `Retry(): Arg "delay"`)
	state, owner, in := m.field(jid, "state"), m.field(jid, "worker"), m.field(jid, "queue")
	switch {
	case !m.exists(jid):
		refuse("Retry(): %s does not exist", m.named(jid))
	case state != "running":
		refuse("Retry(): %s is not currently running: %s", m.named(jid), state)
	case owner != worker:
		refuse("Retry(): %s has been given to another worker: %s", m.named(jid), owner)
	}
	left := m.countRetry(jid)
	delete(m.hash(jobOf(jid)), "grace")
	m.leave(jid, in, "locks")
	m.releaseAll(jid)
	delete(m.zset(heldBy(worker)), jid)
	cause := ""
	if w.has(5) {
		cause = failure(w[4], w[5], math.Floor(m.now), worker)
	}
	if left >= 0 {
		if delay > 0 {
			m.add(queueOf(queue, "scheduled"), m.now+delay, jid)
			m.change(jid, "state", "scheduled")
		} else {
			m.ready(jid, queue, m.now)
			m.change(jid, "state", "waiting")
		}
		if cause != "" {
			m.change(jid, "failure", cause)
		}
		return integer(left)
	}
	group := "failed-retries-" + queue
	if w.has(4) {
		group = w[4]
	}
	if cause == "" {
		cause = failure(group, `Job exhausted retries in queue "`+in+`"`, m.now, "")
	}
	what := "failed"
	if m.reqless {
		what = "failed-retries"
	} else {
		m.tell("failed", jid)
	}
	m.note(jid, m.now, what, object("group", group))
	m.change(jid, "state", "failed", "worker", "", "expires", "", "failure", cause)
	m.listFailed(jid, group, queue)
	return integer(left)
}

func (m *model) timeout(w words) recordedReply {
	for _, jid := range w {
		if !m.exists(jid) && !m.reqless {
			refuse("Timeout(): Job %s does not exist", jid)
		}
		if m.field(jid, "state") != "running" {
			refuse("Timeout(): Job %s not running", jid)
		}
		queue := m.field(jid, "queue")
		m.note(jid, m.now, "timed-out", nil)
		m.leave(jid, queue, "locks")
		m.releaseAll(jid)
		m.add(queueOf(queue, "work"), math.Inf(1), jid)
		m.change(jid, "state", "stalled", "expires", "0")
		m.loseLock(jid, m.field(jid, "worker"))
		if m.reqless {
			m.change(jid, "worker", "")
		}
	}
	return nothing()
}

func (m *model) cancel(w words) recordedReply {
	for _, jid := range w {
		for dependent := range m.set(dependentsOf(jid)) {
			if !slices.Contains(w, dependent) {
				refuse("Cancel(): %s is a dependency of ", jid)
			}
		}
	}
	for _, jid := range w {
		state := m.field(jid, "state")
		if state == "complete" {
			continue
		}
		h := m.hashes[jobOf(jid)]
		message := object("jid", jid, "queue", orFalse(h["queue"]), "event", "canceled", "worker", orFalse(h["worker"]))
		m.publish("ql:log", message)
		if worker := m.field(jid, "worker"); worker != "" {
			delete(m.zset(heldBy(worker)), jid)
			m.publish("ql:w:"+worker, message)
		}
		queue := m.field(jid, "queue")
		if m.exists(jid) {
			m.leave(jid, queue, "work locks depends scheduled throttled")
		}
		m.releaseAll(jid)
		m.dissolve(jid, nil)
		if state == "failed" {
			m.unlistFailed(jid, queue)
		}
		m.unindex(jid)
		m.tell("canceled", jid)
		delete(m.hashes, jobOf(jid))
		delete(m.lists, historyOf(jid))
	}
	return listReply(w)
}

func (m *model) depends(w words) recordedReply {
	jid := w.need(0, "Job(): no jid provided")
	word := w.need(1, `Depends(): Arg "command"`)
	if state := m.field(jid, "state"); !m.exists(jid) {
		refuse("Depends(): Job %s not in the depends state: false", jid)
	} else if state != "depends" {
		refuse("Depends(): Job %s not in the depends state: %s", jid, state)
	}
	others := w.from(2)
	switch word {
	case "on":
		m.await(jid, others)
	case "off":
		if len(others) > 0 && others[0] == "all" {
			m.dissolve(jid, nil)
			m.free(jid)
			break
		}
		for _, other := range others {
			delete(m.set(dependenciesOf(jid)), other)
			delete(m.set(dependentsOf(other)), jid)
			if len(m.set(dependenciesOf(jid))) == 0 {
				m.free(jid)
			}
		}
	default:
		refuse(`Depends(): Argument "command" must be "on" or "off"`)
	}
	return integer(1)
}

// free makes a job ready that waited for others.
func (m *model) free(jid string) {
	queue := m.field(jid, "queue")
	m.leave(jid, queue, "depends")
	m.ready(jid, queue, m.now)
	m.change(jid, "state", "waiting")
}

func (m *model) priority(w words) recordedReply {
	jid := w.need(0, "Job(): no jid provided")
	priority := w.number(1, `Priority(): Arg "priority"`)
	if !finite(priority) {
		refuse(`Priority(): Arg "priority"`)
	}
	if !m.exists(jid) && m.reqless {
		refuse("Queue(): no queue name provided")
	} else if !m.exists(jid) {
		refuse("Priority(): Job %s does not exist", jid)
	}
	work := m.zset(queueOf(m.field(jid, "queue"), "work"))
	if _, ok := work[jid]; ok {
		work[jid] = priority
	}
	m.change(jid, "priority", argNumber(priority))
	return integer(priority)
}

func (m *model) log(w words) recordedReply {
	jid := w.need(0, "Log(): Argument 'jid'")
	message := w.need(1, "Log(): Argument 'message'")
	var extra any
	if w.has(2) {
		data := decodeJSON(w[2])
		switch data.(type) {
		case map[string]any, []any:
			extra = encodeJSON(data)
		default:
			refuse("Log(): Argument 'data'")
		}
	}
	if !m.exists(jid) {
		refuse("Log(): Job %s does not exist", jid)
	}
	m.note(jid, m.now, message, extra)
	return nothing()
}

func (m *model) get(w words) recordedReply {
	if v := m.view(w.need(0, "Job(): no jid provided")); v != nil {
		return jsonReply(v)
	}
	return nothing()
}

func (m *model) multiget(w words) recordedReply { return jsonReply(m.views(w)) }

func (m *model) track(w words) recordedReply {
	if !w.has(0) {
		tracked := m.ranked("ql:tracked")
		gone := slices.DeleteFunc(slices.Clone(tracked), m.exists)
		return jsonReply(map[string]any{"expired": jsonItems(gone), "jobs": jsonItems(m.found(tracked))})
	}
	jid := w.need(1, `Track(): Arg "jid"`)
	if !m.exists(jid) {
		refuse("Track(): Job does not exist")
	}
	_, tracked := m.zset("ql:tracked")[jid]
	changes := map[bool]string{true: "1", false: "0"}
	switch strings.ToLower(w[0]) {
	case "track":
		m.publish("ql:track", jid)
		m.add("ql:tracked", m.now, jid)
		return textReply(changes[!tracked])
	case "untrack":
		m.publish("ql:untrack", jid)
		delete(m.zset("ql:tracked"), jid)
		return textReply(changes[tracked])
	}
	refuse(`Unknown action "%s"`, w[0])
	return nothing()
}

func (m *model) tag(w words) recordedReply {
	switch command := w.need(0, `Tag(): Arg "command"`); command {
	case "add", "remove":
		jid := w.need(1, `Tag(): Arg "jid"`)
		if !m.exists(jid) {
			refuse("Tag(): Job %s does not exist", jid)
		}
		tags := decodeJSON(textOr(m.hashes[jobOf(jid)]["tags"], "{}"))
		if members, ok := tags.(map[string]any); ok && len(members) == 0 {
			tags = []any{}
		}
		for _, tag := range w.from(2) {
			if command == "add" {
				if !slices.Contains(container(tags), any(tag)) {
					tags = extended(tags, tag)
				}
				m.index(jid, []any{tag})
			} else {
				tags = slices.DeleteFunc(container(tags), func(t any) bool { return t == tag })
				m.untag(jid, tag)
			}
		}
		m.change(jid, "tags", encodeJSON(tags))
		if list, ok := tags.([]any); ok && len(list) == 0 {
			return jsonReply(m.none())
		}
		return jsonReply(plainJSON(tags))
	case "get":
		tag := w.need(1, `Tag(): Arg "tag"`)
		start, stop := span(w.numberOr(2, 0, `Tag(): Arg "offset"`), w.numberOr(3, 25, `Tag(): Arg "count"`))
		jids := m.ranked("ql:t:" + tag)
		return jsonReply(map[string]any{"total": float64(len(jids)), "jobs": jsonItems(cut(jids, start, stop))})
	case "top":
		offset, count := w.numberOr(1, 0, `Tag(): Arg "offset"`), w.numberOr(2, 25, `Tag(): Arg "count"`)
		return jsonReply(items(m, page(reversed(m.between("ql:tags", 2, math.Inf(1), -1)), offset, count)))
	}
	refuse("Tag(): First argument must be")
	return nothing()
}

// page is what LIMIT leaves of a list.
func page(list []string, offset, count float64) []string {
	from, n := whole(offset), whole(count)
	if from < 0 || from > len(list) {
		return nil
	}
	list = list[from:]
	if n >= 0 && n < len(list) {
		list = list[:n]
	}
	return list
}
