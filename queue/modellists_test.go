package queue

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// The commands for failed and recurring jobs, queues, workers and settings; see
// PROTOCOL.md, Commands.

func (m *model) failed(w words) recordedReply {
	start := w.numberOr(1, 0, `Failed(): Arg "start"`)
	limit := w.numberOr(2, 25, `Failed(): Arg "limit"`)
	if !w.has(0) {
		groups := map[string]any{}
		for group := range m.set("ql:failures") {
			groups[group] = float64(len(m.lists["ql:f:"+group]))
		}
		return jsonReply(groups)
	}
	jids := m.lists["ql:f:"+w[0]]
	from, to := span(start, limit)
	return jsonReply(map[string]any{"total": float64(len(jids)), "jobs": jsonItems(cut(jids, from, to))})
}

func (m *model) unfail(w words) recordedReply {
	queue := w.need(0, "Queue(): no queue name provided")
	group := w.need(1, `Unfail(): Arg "group"`)
	count := w.numberOr(2, 25, `Unfail(): Arg "count"`)
	n := whole(count)
	if m.reqless && n <= 0 {
		refuse("must be greater than zero")
	} else if n == 0 {
		refuse("Unfail(): ")
	}
	key := "ql:f:" + group
	moved := 0.0
	for _, v := range cut(m.lists[key], -n, -1) {
		jid := v.(string)
		if !m.exists(jid) {
			continue
		}
		moved++
		m.note(jid, m.now, "put", m.inQueue(queue))
		m.change(jid, "state", "waiting", "worker", "", "expires", "0", "queue", queue, "remaining", m.field(jid, "retries"))
		m.ready(jid, queue, m.now)
	}
	m.lists[key] = cut(m.lists[key], 0, -n-1)
	if len(m.lists[key]) == 0 {
		delete(m.set("ql:failures"), group)
	}
	return integer(moved)
}

func (m *model) recur(w words) recordedReply {
	queue := w.need(0, "Queue(): no queue name provided")
	jid := w.need(1, `RecurringJob On(): Arg "jid"`)
	klass := w.need(2, `RecurringJob On(): Arg "klass"`)
	if m.reqless {
		w.need(3, "bad argument #1 to 'decode'") // where there is no spec to miss
	}
	spec := w.need(4, `RecurringJob On(): Arg "spec"`)
	w.decoded(3, `RecurringJob On(): Arg "data"`)
	if spec != "interval" {
		refuse(`Recur(): schedule type "%s" unknown`, spec)
	}
	interval := w.number(5, `Recur(): Arg "interval"`)
	offset := w.number(6, `Recur(): Arg "offset"`)
	if !finite(interval) || !finite(offset) {
		refuse("Recur(): ")
	}
	if interval <= 0 {
		refuse(`Recur(): Arg "interval" must be greater than 0`)
	}
	options := optionPairs(w.from(7))
	tags := decodeJSON(optionOr(options, "tags", "{}"))
	priority := finiteOption(options, "priority", 0, `Recur(): Arg "priority"`)
	retries := finiteOption(options, "retries", 0, `Recur(): Arg "retries"`)
	backlog := finiteOption(options, "backlog", 0, `Recur(): Arg "backlog"`)
	throttles := jidList(optionOr(options, "throttles", "[]"))

	count := "0"
	old := m.hashes[recurringOf(jid)]
	_, limited := old["throttles"]
	if len(old) > 0 {
		delete(m.zset(queueOf(old["queue"].(string), "recur")), jid)
		count = old["count"].(string)
		if m.reqless {
			throttles = slices.DeleteFunc(throttles, func(tid string) bool { return tid == old["queue"] })
		}
	}
	if !m.reqless && limited {
		throttles = jidList(textOr(old["throttles"], "[]"))
		throttles = slices.DeleteFunc(throttles, func(tid string) bool { return tid == "ql:q:"+textOr(old["queue"], "") })
	}
	m.hashes[recurringOf(jid)] = map[string]any{
		"jid": jid, "klass": klass, "data": w[3], "priority": argNumber(priority), "tags": encodeJSON(tags),
		"state": "recur", "queue": queue, "type": "interval", "count": count, "interval": argNumber(interval),
		"retries": argNumber(retries), "backlog": argNumber(backlog),
	}
	if m.reqless || limited {
		m.hash(recurringOf(jid))["throttles"] = encodeJSON(anyList(append(throttles, "ql:q:"+queue)))
	}
	m.add(queueOf(queue, "recur"), m.now+offset, jid)
	m.addNew("ql:queues", m.now, queue)
	return textReply(jid)
}

func (m *model) recurGet(w words) recordedReply {
	jid := w.need(0, "Recurring(): no jid provided")
	r := m.hashes[recurringOf(jid)]
	if len(r) == 0 {
		return nothing()
	}
	view := map[string]any{"jid": jid, "tags": plainJSON(decodeJSON(textOr(r["tags"], "{}")))}
	for _, name := range []string{"klass", "data", "state", "queue"} {
		view[name] = r[name]
	}
	for _, name := range []string{"priority", "retries", "count", "interval", "backlog"} {
		f, _ := luaNumber(r[name].(string))
		view[name] = rounded(f)
	}
	if m.reqless {
		view["throttles"] = plainJSON(decodeJSON(textOr(r["throttles"], "{}")))
	}
	return jsonReply(view)
}

func (m *model) recurUpdate(w words) recordedReply {
	jid := w.need(0, "Recurring(): no jid provided")
	r := m.hashes[recurringOf(jid)]
	if len(r) == 0 {
		refuse("Recur(): No recurring job %s", jid)
	}
	for i := 1; i < len(w); i += 2 {
		name := w[i]
		value := w.need(i+1, "No value provided for "+name)
		area := `Recur(): Arg "` + name + `"`
		switch name {
		case "priority", "retries", "backlog", "interval":
			f := w.number(i+1, area)
			if !finite(f) {
				refuse("%s", area)
			}
			if name == "interval" {
				old, _ := luaNumber(r["interval"].(string))
				if next := m.zset(queueOf(r["queue"].(string), "recur")); len(next) > 0 {
					next[jid] += f - old
				}
			}
			r[name] = argNumber(f)
		case "data":
			w.decoded(i+1, area)
			r[name] = value
		case "klass":
			r[name] = value
		case "throttles":
			if !m.reqless {
				refuse(`Recur(): Unrecognized option "%s"`, name)
			}
			jidList(value) // refuses what is no list
			r[name] = value
		case "queue":
			if _, limited := r["throttles"]; m.reqless || limited {
				list := movedThrottles(jidList(textOr(r["throttles"], "[]")), "ql:q:"+textOr(r[name], ""), value, true)
				r["throttles"] = encodeJSON(anyList(list))
			}
			from := m.zset(queueOf(r[name].(string), "recur"))
			when := from[jid]
			delete(from, jid)
			m.add(queueOf(value, "recur"), when, jid)
			r[name] = value
			m.addNew("ql:queues", m.now, value)
		default:
			refuse(`Recur(): Unrecognized option "%s"`, name)
		}
	}
	return integer(1)
}

func (m *model) recurTag(w words) recordedReply {
	return m.retag(w, "Tag()", func(tags any, old []any, tag string) any {
		if slices.Contains(old, any(tag)) {
			return tags
		}
		return extended(tags, tag)
	})
}

func (m *model) recurUntag(w words) recordedReply {
	return m.retag(w, "Untag()", func(tags any, _ []any, tag string) any {
		return slices.DeleteFunc(container(tags), func(t any) bool { return t == tag })
	})
}

// retag changes the tags of a recurring job, one word at a time.
func (m *model) retag(w words, area string, change func(tags any, old []any, tag string) any) recordedReply {
	jid := w.need(0, "Recurring(): no jid provided")
	r := m.hashes[recurringOf(jid)]
	if len(r) == 0 {
		refuse("%s: Job %s does not exist", area, jid)
	}
	tags := decodeJSON(textOr(r["tags"], "{}"))
	old := slices.Clone(container(tags))
	for _, tag := range w.from(1) {
		tags = change(tags, old, tag)
	}
	r["tags"] = encodeJSON(tags)
	return jsonReply(plainJSON(tags))
}

func (m *model) unrecur(w words) recordedReply {
	jid := w.need(0, "Recurring(): no jid provided")
	if r := m.hashes[recurringOf(jid)]; len(r) > 0 {
		delete(m.zset(queueOf(r["queue"].(string), "recur")), jid)
		delete(m.hashes, recurringOf(jid))
	}
	return integer(1)
}

func (m *model) queues(w words) recordedReply {
	if w.has(0) {
		return jsonReply(m.counts(w[0]))
	}
	var all []any
	for _, queue := range m.ranked("ql:queues") {
		all = append(all, m.counts(queue))
	}
	return jsonReply(items(m, all))
}

func (m *model) counts(queue string) any {
	m.promote(queue, -1, true)
	size := func(part string) float64 { return float64(len(m.zset(queueOf(queue, part)))) }
	stalled := float64(len(m.between(queueOf(queue, "locks"), 0, m.now, -1)))
	counts := map[string]any{
		"name": queue, "waiting": size("work"), "scheduled": size("scheduled"), "depends": size("depends"),
		"recurring": size("recur"), "stalled": stalled, "running": size("locks") - stalled,
		"paused": m.set("ql:paused_queues")[queue],
	}
	if m.reqless {
		counts["throttled"] = size("throttled")
	}
	return counts
}

func (m *model) length(w words) recordedReply {
	queue := w.need(0, "Queue(): no queue name provided")
	n := 0
	for _, part := range []string{"locks", "work", "scheduled"} {
		n += len(m.zset(queueOf(queue, part)))
	}
	return integer(float64(n))
}

func (m *model) jobs(w words) recordedReply {
	state := w.need(0, `Jobs(): Arg "state"`)
	if state == "complete" {
		start, stop := span(w.numberOr(1, 0, `Jobs(): Arg "offset"`), w.numberOr(2, 25, `Jobs(): Arg "count"`))
		return listReply(cut(reversed(m.ranked("ql:completed")), start, stop))
	}
	queue := w.need(1, `Jobs(): Arg "queue"`)
	offset := w.numberOr(2, 0, `Jobs(): Arg "offset"`)
	count := w.numberOr(3, 25, `Jobs(): Arg "count"`)
	locks := queueOf(queue, "locks")
	switch state {
	case "running":
		return listReply(page(m.between(locks, m.now, math.Inf(1), -1), offset, count))
	case "stalled":
		return listReply(page(m.between(locks, math.Inf(-1), m.now, -1), offset, count))
	case "recurring":
		return listReply(page(m.between(queueOf(queue, "recur"), 0, math.Inf(1), -1), offset, count))
	case "scheduled":
		m.promote(queue, -1, true)
	case "depends":
	case "throttled":
		if !m.reqless {
			refuse(`Jobs(): Unknown type "%s"`, state)
		}
	default:
		refuse(`Jobs(): Unknown type "%s"`, state)
	}
	start, stop := span(offset, count)
	return listReply(cut(m.ranked(queueOf(queue, state)), start, stop))
}

func (m *model) stats(w words) recordedReply {
	queue := w.need(0, "Queue(): no queue name provided")
	date := day(w.number(1, `Stats(): Arg "date"`))
	read := func(key, field string) float64 {
		f, _ := luaNumber(textOr(m.hashes["ql:s:"+key+":"+date+":"+queue][field], ""))
		return f
	}
	durations := func(kind string) any {
		count, vk := read(kind, "total"), read(kind, "vk")
		deviation := 0.0
		if count > 1 && vk > 0 {
			deviation = math.Sqrt(vk / (count - 1))
		}
		var histogram []any
		for _, unit := range []struct {
			name     string
			from, to int
		}{{"s", 0, 59}, {"m", 1, 59}, {"h", 1, 23}, {"d", 1, 6}} {
			for i := unit.from; i <= unit.to; i++ {
				histogram = append(histogram, read(kind, unit.name+strconv.Itoa(i)))
			}
		}
		return map[string]any{"std": rounded(deviation), "mean": rounded(read(kind, "mean")), "count": count, "histogram": histogram}
	}
	return jsonReply(map[string]any{
		"wait": durations("wait"), "run": durations("run"),
		"failures": read("stats", "failures"), "failed": read("stats", "failed"), "retries": read("stats", "retries"),
	})
}

// each runs a command of Redis that refuses to be called without members.
func (m *model) each(w words, do func(name string)) recordedReply {
	if len(w) == 0 {
		refuse("Wrong number of args")
	}
	for _, name := range w {
		do(name)
	}
	return nothing()
}

func (m *model) pause(w words) recordedReply {
	return m.each(w, func(queue string) { m.set("ql:paused_queues")[queue] = true })
}

func (m *model) unpause(w words) recordedReply {
	return m.each(w, func(queue string) { delete(m.set("ql:paused_queues"), queue) })
}

func (m *model) queueForget(w words) recordedReply {
	return m.each(w, func(queue string) { delete(m.zset("ql:queues"), queue) })
}

func (m *model) workerDeregister(w words) recordedReply {
	return m.each(w, func(worker string) { delete(m.zset("ql:workers"), worker) })
}

func (m *model) workers(w words) recordedReply {
	for _, worker := range m.between("ql:workers", 0, m.now-m.setting("max-worker-age", 86400), -1) {
		delete(m.zset("ql:workers"), worker)
		delete(m.zsets, heldBy(worker))
	}
	held := func(worker string) (running, stalled []string) {
		key := heldBy(worker)
		return reversed(m.between(key, m.now, m.now+8640000, -1)), reversed(m.between(key, 0, m.now, -1))
	}
	if w.has(0) {
		running, stalled := held(w[0])
		return jsonReply(map[string]any{"jobs": jsonItems(running), "stalled": jsonItems(stalled)})
	}
	var all []any
	for _, worker := range reversed(m.ranked("ql:workers")) {
		running, stalled := held(worker)
		all = append(all, map[string]any{"name": worker, "jobs": float64(len(running)), "stalled": float64(len(stalled))})
	}
	return jsonReply(items(m, all))
}

// defaultSettings are those that config.get knows.
var defaultSettings = map[string]any{
	"application": "qless", "heartbeat": 60.0, "grace-period": 10.0, "stats-history": 30.0,
	"histogram-history": 7.0, "jobs-history": 604800.0, "jobs-history-count": 50000.0,
}

func (m *model) configGet(w words) recordedReply {
	all := maps.Clone(defaultSettings)
	maps.Copy(all, m.hash("ql:config"))
	if !w.has(0) {
		return jsonReply(all)
	}
	switch v := all[w[0]].(type) {
	case string:
		return textReply(v)
	case float64:
		return integer(v)
	}
	return nothing()
}

func (m *model) configSet(w words) recordedReply {
	option := w.need(0, `config.set(): Arg "option"`)
	value := w.need(1, `config.set(): Arg "value"`)
	m.publish("ql:log", object("option", option, "event", "config_set", "value", value))
	m.hash("ql:config")[option] = value
	return nothing()
}

func (m *model) configUnset(w words) recordedReply {
	option := w.need(0, `config.unset(): Arg "option"`)
	m.publish("ql:log", object("event", "config_unset", "option", option))
	delete(m.hash("ql:config"), option)
	return nothing()
}

// The patterns of queues; see PROTOCOL.md, Annex A.

const (
	identifierKey, legacyIdentifierKey = "ql:qp:identifiers", "qmore:dynamic"
	priorityKey, legacyPriorityKey     = "ql:qp:priorities", "qmore:priority"

	anyQueue        = `["*"]`
	defaultPriority = `{"fairly": false, "pattern": ["default"]}`
)

func (m *model) identifierPatterns(words) recordedReply {
	stored := m.hash(identifierKey)
	if len(stored) == 0 {
		stored = m.hash(legacyIdentifierKey)
	}
	shown := map[string]any{"default": anyQueue}
	for name, list := range stored {
		shown[name] = list
	}
	return jsonReply(shown)
}

func (m *model) setIdentifierPatterns(w words) recordedReply {
	if len(w)%2 == 1 {
		refuse("Odd number")
	}
	patterns := map[string]any{"default": anyQueue}
	for i := 0; i < len(w); i += 2 {
		if luaLength(decodeJSON(w[i+1])) > 0 {
			patterns[w[i]] = w[i+1]
		}
	}
	m.hashes[identifierKey] = patterns
	delete(m.hashes, legacyIdentifierKey)
	return nothing()
}

// luaLength is what # says of a decoded value.
func luaLength(v any) int {
	if text, ok := v.(string); ok {
		return len(text)
	}
	return len(container(v))
}

func (m *model) priorityPatterns(words) recordedReply {
	for _, key := range []string{priorityKey, legacyPriorityKey} {
		if len(m.lists[key]) > 0 {
			return jsonReply(slices.Clone(m.lists[key]))
		}
	}
	return jsonReply([]any{defaultPriority})
}

func (m *model) setPriorityPatterns(w words) recordedReply {
	delete(m.lists, priorityKey)
	delete(m.lists, legacyPriorityKey)
	hasDefault := false
	for _, text := range w {
		members, ok := decodeJSON(text).(map[string]any)
		if !ok {
			refuse("")
		}
		luaLength(members["pattern"]) // refuses what has none
		list, _ := members["pattern"].([]any)
		hasDefault = hasDefault || len(list) == 1 && list[0] == "default"
	}
	list := anyList(w)
	if len(w) > 0 && !hasDefault {
		list = append(list, defaultPriority)
	}
	m.lists[priorityKey] = list
	return nothing()
}
