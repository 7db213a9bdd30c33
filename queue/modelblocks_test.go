package queue

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// The building blocks of the protocol; see PROTOCOL.md, Building blocks.

// note appends to the history of a job. Extra is nil, text of JSON, or jsonText.
func (m *model) note(jid string, when float64, what string, extra any) {
	m.convertHistory(jid)
	key := historyOf(jid)
	if n := m.setting("max-job-history", 100); n > 0 && len(m.lists[key]) > 0 {
		first, rest := m.lists[key][0], m.lists[key][1:]
		m.lists[key] = append([]any{first}, cut(rest, whole(2-n), -1)...)
	}
	m.lists[key] = append(m.lists[key], historyEntry(when, what, extra))
}

func historyEntry(when float64, what string, extra any) any {
	entry := "[" + shortNumber(math.Floor(when)) + "," + quoteJSON(what)
	switch extra := extra.(type) {
	case nil:
		return entry + "]"
	case string:
		return entry + "," + extra + "]"
	case jsonText:
		return jsonText{[]any{rounded(math.Floor(when)), what, plainJSON(extra.value)}}
	}
	panic("a history entry's extra is JSON")
}

// convertHistory turns a history of the old kind, a field of the job, into a list.
func (m *model) convertHistory(jid string) {
	old := m.field(jid, "history")
	if old == "" {
		return
	}
	for _, e := range decodeJSON(old).([]any) {
		event := e.(map[string]any)
		entries := []any{historyEntry(event["put"].(float64), "put", m.inQueue(textOr(event["q"], textOr(event["queue"], ""))))}
		if when, ok := event["popped"].(float64); ok {
			entries = append(entries, historyEntry(when, "popped", object("worker", event["worker"])))
		}
		for _, what := range []string{"failed", "done"} {
			if when, ok := event[what].(float64); ok {
				entries = append(entries, historyEntry(when, what, nil))
			}
		}
		m.lists[historyOf(jid)] = append(m.lists[historyOf(jid)], entries...)
	}
	delete(m.hash(jobOf(jid)), "history")
}

// measure adds a value to the statistics of the day.
func (m *model) measure(queue, kind string, v float64) {
	h := m.hash("ql:s:" + kind + ":" + day(m.now) + ":" + queue)
	read := func(name string) float64 {
		s, _ := h[name].(string)
		f, _ := luaNumber(s)
		return f
	}
	total, mean, vk := read("total")+1, v, 0.0
	if total > 1 {
		old := read("mean")
		mean = old + (v-old)/total
		vk = read("vk") + float64((v-mean)*(v-old))
	}
	h["total"], h["mean"], h["vk"] = argNumber(total), argNumber(mean), argNumber(vk)

	b := math.Floor(v)
	bucket := "d" + shortNumber(math.Floor(b/86400))
	switch {
	case b < 60:
		bucket = "s" + shortNumber(b)
	case b < 3600:
		bucket = "m" + shortNumber(math.Floor(b/60))
	case b < 86400:
		bucket = "h" + shortNumber(math.Floor(b/3600))
	}
	n, _ := strconv.Atoi(textOr(h[bucket], "0"))
	h[bucket] = strconv.Itoa(n + 1)
}

// textOr is a field as text, or other if it is not there.
func textOr(v any, other string) string {
	switch v := v.(type) {
	case string:
		return v
	case jsonText:
		return asText(v.value)
	}
	return other
}

// view is a job as readers see it, nil if there is none.
func (m *model) view(jid string) any {
	if !m.exists(jid) {
		return nil
	}
	m.convertHistory(jid)
	h := m.hashes[jobOf(jid)]
	_, tracked := m.zset("ql:tracked")[jid]
	var history []any
	for _, e := range m.lists[historyOf(jid)] {
		history = append(history, m.inDialect(shownEntry(e)))
	}
	view := map[string]any{
		"jid": jid, "klass": h["klass"], "state": h["state"], "queue": h["queue"], "worker": textOr(h["worker"], ""),
		"data": orFalse(recordedText(h["data"])), "priority": rounded(m.numeric(jid, "priority")),
		"retries": rounded(m.numeric(jid, "retries")), "remaining": math.Floor(m.numeric(jid, "remaining")),
		"expires": rounded(m.numeric(jid, "expires")), "tracked": tracked,
		"tags": plainJSON(decodeJSON(textOr(h["tags"], "{}"))), "failure": plainJSON(decodeJSON(textOr(h["failure"], "{}"))),
		"history": jsonItems(history), "spawned_from_jid": orFalse(h["spawned_from_jid"]),
		"dependents":   jsonItems(slices.Sorted(maps.Keys(m.set(dependentsOf(jid))))),
		"dependencies": jsonItems(slices.Sorted(maps.Keys(m.set(dependenciesOf(jid))))),
	}
	if m.reqless {
		view["throttles"] = jsonItems(m.throttlesOf(jid))
	}
	if _, ok := h["priority"]; !ok {
		delete(view, "priority")
	}
	return view
}

// orFalse is how a reply shows a field that a job lacks.
func orFalse(v any) any {
	if v == nil {
		return false
	}
	return v
}

// shownEntry is an entry of a history as readers see it.
func shownEntry(entry any) any {
	var parts []any
	switch e := entry.(type) {
	case string:
		parts = plainJSON(decodeJSON(e)).([]any)
	case jsonText:
		parts = e.value.([]any)
	}
	out := map[string]any{}
	if len(parts) > 2 {
		switch extra := parts[2].(type) {
		case map[string]any:
			maps.Copy(out, extra)
		case []any:
			for i, v := range extra {
				out[strconv.Itoa(i+1)] = v
			}
		}
	}
	out["when"], out["what"] = parts[0], parts[1]
	return out
}

// inDialect names the queue in an entry of the history as the reader's dialect does.
func (m *model) inDialect(entry any) any {
	shown := entry.(map[string]any)
	if shown["what"] != "put" && shown["what"] != "throttled" {
		return shown
	}
	from, to := "queue", "q"
	if m.reqless {
		from, to = to, from
	}
	if queue, ok := shown[from]; ok && len(shown) == 3 {
		delete(shown, from)
		shown[to] = queue
	}
	return shown
}

// found returns the views of jobs, leaving out jids that have none.
func (m *model) found(jids []string) (views []any) {
	for _, jid := range jids {
		if v := m.view(jid); v != nil {
			views = append(views, v)
		}
	}
	return views
}

// views is the reply that lists jobs.
func (m *model) views(jids []string) any { return items(m, m.found(jids)) }

// promote makes due scheduled jobs ready.
func (m *model) promote(queue string, limit float64, everything bool) {
	whole(limit)
	if m.reqless && limit <= 0 && !everything {
		return
	}
	for _, jid := range m.between(queueOf(queue, "scheduled"), 0, m.now, limit) {
		m.leave(jid, queue, "scheduled")
		if m.exists(jid) {
			m.ready(jid, queue, m.now)
			m.change(jid, "state", "waiting")
		}
	}
}

// spawn makes the children of recurring jobs that are due.
func (m *model) spawn(queue string, limit float64) {
	whole(limit)
	spawned := 0.0
	for _, jid := range m.between(queueOf(queue, "recur"), 0, m.now, limit) {
		r := m.hash(recurringOf(jid))
		read := func(name string) float64 {
			f, _ := luaNumber(textOr(r[name], ""))
			return f
		}
		t := math.Floor(m.zset(queueOf(queue, "recur"))[jid])
		interval, backlog := read("interval"), read("backlog")
		if backlog != 0 {
			if n := (m.now - t) / interval; n > backlog {
				t += math.Ceil(n-backlog) * interval
			}
		}
		for ; t <= m.now && spawned < limit; spawned++ {
			m.count(recurringOf(jid), "count", 1)
			child := jid + "-" + textOr(r["count"], "")
			m.displace(child)
			m.index(child, decodeJSON(textOr(r["tags"], "{}")))
			m.change(child, "jid", child, "klass", r["klass"], "data", r["data"], "priority", r["priority"],
				"tags", r["tags"], "state", "waiting", "worker", "", "expires", "0", "queue", queue,
				"retries", r["retries"], "remaining", r["retries"], "time", timeNumber(t), "spawned_from_jid", jid)
			if throttles, ok := r["throttles"]; ok {
				m.change(child, "throttles", throttles)
			} else if m.reqless {
				m.change(child, "throttles", encodeJSON([]any{"ql:q:" + queue}))
			}
			m.note(child, t, "put", m.inQueue(queue))
			m.ready(child, queue, t)
			t += interval
			m.add(queueOf(queue, "recur"), t, jid)
		}
	}
}

// displace takes a job out of the way of a recurring job's child of the same jid.
func (m *model) displace(jid string) {
	if !m.exists(jid) {
		return
	}
	m.unindex(jid)
	queue := m.field(jid, "queue")
	m.leave(jid, queue, "work locks depends scheduled")
	if worker := m.field(jid, "worker"); worker != "" {
		delete(m.zset(heldBy(worker)), jid)
	}
	if m.field(jid, "state") == "complete" {
		delete(m.zset("ql:completed"), jid)
	}
	m.dissolve(jid, nil)
	if m.field(jid, "state") == "failed" {
		m.unlistFailed(jid, queue)
	}
	m.leave(jid, queue, "throttled")
	m.releaseAll(jid)
}

// index registers the tags of a job.
func (m *model) index(jid string, tags any) {
	list, _ := tags.([]any)
	for _, tag := range list {
		inKey, member := tagTexts(tag)
		m.add("ql:t:"+inKey, m.now, jid)
		m.zset("ql:tags")[member]++
	}
}

// unindex takes a job off the lists of its tags.
func (m *model) unindex(jid string) {
	list, _ := decodeJSON(textOr(m.hashes[jobOf(jid)]["tags"], "{}")).([]any)
	for _, tag := range list {
		m.untag(jid, tag)
	}
}

// untag takes a job off the list of a tag.
func (m *model) untag(jid string, tag any) {
	inKey, member := tagTexts(tag)
	delete(m.zset("ql:t:"+inKey), jid)
	if m.reqless && len(m.zset("ql:t:"+inKey)) == 0 {
		delete(m.zset("ql:tags"), member)
	} else {
		m.zset("ql:tags")[member]--
	}
}

// tagTexts is a tag as part of a key, and as a member.
func tagTexts(tag any) (inKey, member string) {
	if f, ok := tag.(float64); ok {
		return shortNumber(f), argNumber(f)
	}
	return tag.(string), tag.(string)
}

// dissolve ends the dependencies of a job except on those in keep.
func (m *model) dissolve(jid string, keep []string) {
	for _, other := range slices.Collect(maps.Keys(m.set(dependenciesOf(jid)))) {
		if !slices.Contains(keep, other) {
			delete(m.set(dependenciesOf(jid)), other)
			delete(m.set(dependentsOf(other)), jid)
		}
	}
}

// await makes a job wait for those of others that are still to be completed, and
// returns how many they are.
func (m *model) await(jid string, others []string) int {
	open := 0
	for _, other := range others {
		if m.exists(other) && m.field(other, "state") != "complete" && other != jid {
			m.set(dependenciesOf(jid))[other] = true
			m.set(dependentsOf(other))[jid] = true
			open++
		}
	}
	return open
}

// failure is the text of that field of a job.
func failure(group, message string, when float64, worker string) string {
	return object("group", group, "message", message, "when", when, "worker", worker)
}

// listFailed puts a job on the list of its group and counts it.
func (m *model) listFailed(jid, group, queue string) {
	m.set("ql:failures")[group] = true
	m.lists["ql:f:"+group] = append([]any{jid}, m.lists["ql:f:"+group]...)
	m.countStat(queue, "failures", 1)
	m.countStat(queue, "failed", 1)
}

// unlistFailed takes a failed job off the list of its group and uncounts it.
func (m *model) unlistFailed(jid, queue string) {
	f := decodeJSON(m.field(jid, "failure")).(map[string]any)
	group := f["group"].(string)
	m.lists["ql:f:"+group] = slices.DeleteFunc(m.lists["ql:f:"+group], func(v any) bool { return v == jid })
	if len(m.lists["ql:f:"+group]) == 0 {
		delete(m.set("ql:failures"), group)
	}
	m.count("ql:s:stats:"+day(f["when"].(float64))+":"+queue, "failed", -1)
}

// loseLock tells a worker, and the log, that a job is no longer its own.
func (m *model) loseLock(jid, worker string) {
	message := object("jid", jid, "event", "lock_lost", "worker", worker)
	m.publish("ql:w:"+worker, message)
	m.publish("ql:log", message)
}

// countRetry takes one off the retries that a job has left.
func (m *model) countRetry(jid string) float64 {
	left := math.Floor(m.numeric(jid, "remaining")) - 1
	m.change(jid, "remaining", argNumber(left))
	return left
}

// reap deals with expired locks and returns the jobs that were taken away.
func (m *model) reap(queue string, limit float64) []string {
	whole(limit)
	grace := m.setting("grace-period", 10)
	var taken []string
	for _, jid := range m.between(queueOf(queue, "locks"), math.Inf(-1), m.now, limit) {
		if !m.exists(jid) {
			m.leave(jid, queue, "locks")
			continue
		}
		worker := m.field(jid, "worker")
		delete(m.zset(heldBy(worker)), jid)
		noticed := m.field(jid, "grace") == "1"
		if !noticed || grace <= 0 {
			m.tell("stalled", jid)
			m.note(jid, m.now, "timed-out", nil)
			m.change(jid, "grace", "1")
			m.loseLock(jid, worker)
			m.add(queueOf(queue, "locks"), m.now+grace, jid)
			m.countStat(queue, "retries", 1)
		}
		if noticed || grace <= 0 {
			delete(m.hash(jobOf(jid)), "grace")
			if m.countRetry(jid) >= 0 {
				taken = append(taken, jid)
				continue
			}
			m.leave(jid, queue, "work locks scheduled")
			group := "failed-retries-" + m.field(jid, "queue")
			message := `Job exhausted retries in queue "` + queue + `"`
			m.note(jid, m.now, "failed", object("group", group))
			m.change(jid, "state", "failed", "worker", "", "expires", "", "failure", failure(group, message, m.now, ""))
			m.listFailed(jid, group, queue)
			m.tell("failed", jid)
			m.publish("ql:log", object("message", message, "jid", jid, "group", group, "event", "failed", "worker", worker))
			m.releaseAll(jid)
		}
	}
	return taken
}

// prune drops old completed jobs.
func (m *model) prune() {
	drop := func(jids []string) {
		for _, jid := range jids {
			m.unindex(jid)
			delete(m.hashes, jobOf(jid))
			delete(m.lists, historyOf(jid))
			if m.reqless {
				delete(m.sets, dependenciesOf(jid))
			}
			delete(m.zset("ql:completed"), jid)
		}
	}
	drop(m.between("ql:completed", 0, m.now-m.setting("jobs-history", 604800), -1))
	drop(cut(m.ranked("ql:completed"), 0, whole(-1-m.setting("jobs-history-count", 50000))))
}

// unblock frees the dependents of a completed job that waited for nothing else.
func (m *model) unblock(jid string) {
	for d := range m.set(dependentsOf(jid)) {
		delete(m.set(dependenciesOf(d)), jid)
		queue, ok := m.hashes[jobOf(d)]["queue"].(string)
		if len(m.set(dependenciesOf(d))) > 0 || !ok {
			continue
		}
		m.leave(d, queue, "depends")
		if due, ok := m.hashes[jobOf(d)]["scheduled"].(string); ok {
			when, _ := luaNumber(due)
			m.add(queueOf(queue, "scheduled"), when, d)
			m.change(d, "state", "scheduled")
			delete(m.hash(jobOf(d)), "scheduled")
		} else {
			m.ready(d, queue, m.now)
			m.change(d, "state", "waiting")
		}
	}
	delete(m.sets, dependentsOf(jid))
}
