package queue

import (
	"math"
	"slices"
)

// What reqless has of its own; see PROTOCOL.md, Annex A.

func throttleOf(tid string) string { return "ql:th:" + tid }

// throttlesOf lists the throttles of a job; those of qless have none.
func (m *model) throttlesOf(jid string) []string {
	return jidList(textOr(m.hashes[jobOf(jid)]["throttles"], "[]"))
}

func (m *model) hasThrottles(jid string) bool {
	_, has := m.hashes[jobOf(jid)]["throttles"]
	return has
}

// movedThrottles is a list without the throttle of the queue a job leaves, if it
// leaves one, and with that of the queue it enters.
func movedThrottles(list []string, from, to string, leaves bool) []string {
	list = slices.DeleteFunc(list, func(tid string) bool { return leaves && tid == from })
	return append(list, "ql:q:"+to)
}

// maximum is how many jobs may hold a throttle; 0 means any number.
func (m *model) maximum(tid string) float64 {
	f, _ := luaNumber(textOr(m.hashes[throttleOf(tid)]["maximum"], "0"))
	return f
}

func (m *model) available(tid string) bool {
	most := m.maximum(tid)
	return most == 0 || float64(len(m.zset(throttleOf(tid)+"-locks"))) < most
}

// firstTaken is the first throttle of a job that is not available.
func (m *model) firstTaken(jid string) string {
	for _, tid := range m.throttlesOf(jid) {
		if !m.available(tid) {
			return tid
		}
	}
	return ""
}

// throttle makes a job wait for the first of its throttles that is taken.
func (m *model) throttle(jid, queue string) {
	m.add(throttleOf(m.firstTaken(jid))+"-pending", m.now, jid)
	m.add(queueOf(queue, "throttled"), m.now, jid)
	if m.field(jid, "state") != "throttled" {
		m.change(jid, "state", "throttled")
		m.note(jid, m.now, "throttled", object("queue", queue))
	}
}

// admitted brings in what is due and returns the jobs that may run: they hold all
// their throttles. Others are moved out of the way.
func (m *model) admitted(queue string, missing float64) (jids []string) {
	if !m.available("ql:q:" + queue) {
		return nil
	}
	m.spawn(queue, missing)
	m.promote(queue, missing, false)
	tries := m.setting(queue+"-max-pop-retry", m.setting("max-pop-retry", 1))
	for ; tries >= 1 && float64(len(jids)) < missing; tries-- {
		work := queueOf(queue, "work")
		best := cut(reversed(m.ranked(work)), 0, whole(missing)-len(jids)-1)
		if len(best) == 0 {
			break
		}
		for _, jid := range best {
			delete(m.zset(work), jid)
			if m.exists(jid) && !m.hasThrottles(jid) { // a job of qless
				m.change(jid, "throttles", encodeJSON([]any{"ql:q:" + queue}))
			}
			if m.exists(jid) && m.admits(jid, queue) {
				jids = append(jids, jid)
			}
		}
	}
	return jids
}

// admits lets a job run that can have all its throttles. Others must wait for one.
func (m *model) admits(jid, queue string) bool {
	if m.firstTaken(jid) != "" {
		m.throttle(jid, queue)
		return false
	}
	for _, tid := range m.throttlesOf(jid) {
		m.add(throttleOf(tid)+"-locks", 1, jid)
	}
	return true
}

// releaseAll gives back all throttles of a job, which leaves the line for them.
func (m *model) releaseAll(jid string) {
	if m.hasThrottles(jid) && !m.reqless {
		m.leave(jid, m.field(jid, "queue"), "throttled")
	}
	for _, tid := range m.throttlesOf(jid) {
		m.release(tid, jid)
	}
}

// release gives one throttle back, or leaves the line for it, and lets those in front
// of the line try again.
func (m *model) release(tid, jid string) {
	locks, pending := m.zset(throttleOf(tid)+"-locks"), m.zset(throttleOf(tid)+"-pending")
	if _, held := locks[jid]; held {
		delete(locks, jid)
	} else {
		delete(pending, jid)
	}
	room := 10.0
	if most := m.maximum(tid); most != 0 {
		room = math.Floor(most) - float64(len(locks))
	}
	if room < 1 {
		return
	}
	let := 0
	for _, next := range m.ranked(throttleOf(tid) + "-pending") {
		if let == whole(room) {
			break
		}
		delete(pending, next)
		if !m.exists(next) {
			continue // the next one is tried in its place
		}
		let++
		queue, state := m.field(next, "queue"), m.field(next, "state")
		m.leave(next, queue, "throttled")
		_, ready := m.zset(queueOf(queue, "work"))[next]
		if state == "throttled" || state == "waiting" && ready {
			m.ready(next, queue, m.now)
		}
	}
}

func (m *model) throttleSet(w words) recordedReply {
	tid := w.need(0, "no tid provided")
	ttl := w.numberOr(2, 0, `Throttle(): Arg "ttl"`)
	m.limit(tid, w, 1)
	if ttl > 0 {
		m.ttls[throttleOf(tid)] = float64(whole(ttl))
	}
	return nothing()
}

// limit sets how many jobs may hold a throttle, from an argument.
func (m *model) limit(tid string, w words, i int) {
	f := w.number(i, "")
	if !finite(f) {
		refuse("")
	}
	h := m.hash(throttleOf(tid))
	h["id"], h["maximum"] = tid, w[i]
}

func (m *model) throttleGet(w words) recordedReply {
	return m.showThrottle(w.need(0, "no tid provided"))
}

func (m *model) showThrottle(tid string) recordedReply {
	ttl := -1.0
	if seconds, ok := m.ttls[throttleOf(tid)]; ok {
		ttl = seconds
	} else if len(m.hashes[throttleOf(tid)]) == 0 {
		ttl = -2
	}
	return jsonReply(map[string]any{"id": tid, "ttl": ttl, "maximum": rounded(m.maximum(tid))})
}

func (m *model) throttleDelete(w words) recordedReply {
	key := throttleOf(w.need(0, "no tid provided"))
	delete(m.hashes, key)
	delete(m.ttls, key)
	return nothing()
}

func (m *model) throttleLocks(w words) recordedReply {
	return jsonReply(items(m, m.ranked(throttleOf(w.need(0, "no tid provided"))+"-locks")))
}

func (m *model) throttlePending(w words) recordedReply {
	return jsonReply(items(m, m.ranked(throttleOf(w.need(0, "no tid provided"))+"-pending")))
}

func (m *model) throttleRelease(w words) recordedReply {
	tid := w.need(0, "no tid provided")
	for _, jid := range w[1:] {
		m.release(tid, jid)
	}
	return nothing()
}

func (m *model) queueThrottleSet(w words) recordedReply {
	m.limit("ql:q:"+w.need(0, ""), w, 1)
	return nothing()
}

func (m *model) queueThrottleGet(w words) recordedReply {
	return m.showThrottle("ql:q:" + w.need(0, ""))
}
