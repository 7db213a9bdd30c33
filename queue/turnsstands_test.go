package queue

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// turnsShot is all that is kept of turns at one moment.
type turnsShot struct {
	Jobs    map[string]turnsJob
	Turns   map[string]map[string]string // by queue and key
	Entries map[string][]string          // by the name of the list, without what all have
	Lanes   map[string][]string          // by queue
	Seats   map[string][]string          // by queue and part: jids
	Behind  map[string]string
}

type turnsJob struct{ State, Queue, Lane string }

// key is that of a job in a queue; "" if it has none there.
func (j turnsJob) key(queue string) string {
	m := turnsMark.FindStringSubmatch(j.Lane)
	if m == nil {
		return ""
	}
	n, _ := strconv.Atoi(m[2])
	if len(m[3]) < n || m[3][:n] != queue || j.Queue != queue && j.Queue != "" {
		return ""
	}
	_, key, _ := strings.Cut(m[3][n:], " ")
	return key
}

var turnsMark = regexp.MustCompile(`(?s)^([-+=])(\d+):(.*)$`)

const turnsShotScript = `
local shot = { Jobs = {}, Turns = {}, Entries = {}, Lanes = {}, Seats = {}, Behind = {} }
for _, name in ipairs(redis.call('KEYS', 'ql:j:*')) do
  if redis.call('TYPE', name).ok == 'hash' then
    local f = redis.call('HMGET', name, 'state', 'queue', 'oarlock-lane')
    shot.Jobs[string.sub(name, 6)] = { State = f[1] or '', Queue = f[2] or '', Lane = f[3] or '' }
  end
end
for _, queue in ipairs(ARGV) do
  local turns = redis.call('HGETALL', 'ql:oarlock:turns:' .. queue)
  local by = {}
  for i = 1, #turns, 2 do by[turns[i]] = turns[i + 1] end
  if #turns > 0 then shot.Turns[queue] = by end
  local lanes = redis.call('ZRANGE', 'ql:oarlock:lanes:' .. queue, 0, -1)
  if #lanes > 0 then shot.Lanes[queue] = lanes end
  for _, part in ipairs({ 'work', 'locks', 'scheduled', 'depends' }) do
    local jids = redis.call('ZRANGEBYSCORE', 'ql:q:' .. queue .. '-' .. part, '-inf', part == 'scheduled' and '9e9' or '+inf')
    if #jids > 0 then shot.Seats[queue .. '-' .. part] = jids end
  end
end
for _, name in ipairs(redis.call('KEYS', 'ql:oarlock:lane:*')) do
  shot.Entries[string.sub(name, 17)] = redis.call('LRANGE', name, 0, -1)
end
local behind = redis.call('HGETALL', 'ql:oarlock:behind')
for i = 1, #behind, 2 do shot.Behind[behind[i]] = behind[i + 1] end
local text = cjson.encode(shot)
return (string.gsub(text, ':%[%]', ':{}'))`

// shot reads all.
func (w *turnsWorld) shot() *turnsShot {
	text, ok := w.eval(turnsShotScript, "q", "p:q").(string)
	var shot turnsShot
	if !ok || json.Unmarshal([]byte(text), &shot) != nil {
		w.t.Fatalf("what is kept: %q", text)
	}
	return &shot
}

// look checks the invariants.
func (w *turnsWorld) look() {
	shot := w.shot()
	w.was = shot
	w.arrivals(shot)
	count := map[string]int{}
	for jid, job := range shot.Jobs {
		m := turnsMark.FindStringSubmatch(job.Lane)
		if m == nil {
			if job.Lane != "" {
				w.fail("%s has the mark %q", jid, job.Lane)
			}
			continue
		}
		n, _ := strconv.Atoi(m[2])
		queue := m[3][:n]
		word, key, _ := strings.Cut(m[3][n+1:], " ")
		switch holder := shot.Turns[queue][key]; {
		case m[1] == "+" && holder != "="+jid:
			w.fail("%s has the mark %q, and the turn is %q", jid, job.Lane, holder)
		case m[1] == "-" && !slices.Contains(shot.Entries[fmt.Sprintf("%d:%s:%s", n, queue, key)], word+" "+jid):
			w.fail("%s has the mark %q and is not in its lane", jid, job.Lane)
		}
		if m[1] == "-" && w.mix == ours && job.State != "waiting" {
			w.fail("%s stands behind and is %s", jid, job.State)
		}
	}
	for queue, turns := range shot.Turns {
		for key, holder := range turns {
			if jid, is := strings.CutPrefix(holder, "="); is && w.mix == ours {
				if job := shot.Jobs[jid]; !strings.HasPrefix(job.Lane, "+") || job.State == "" || job.State == "failed" || job.State == "complete" {
					w.fail("the turn of %q in %s is %q, of which %+v", key, queue, holder, job)
				}
			}
		}
	}
	for name, entries := range shot.Entries {
		length, rest, _ := strings.Cut(name, ":")
		n, _ := strconv.Atoi(length)
		queue, key := rest[:n], rest[n+1:]
		count[queue] += len(entries)
		if shot.Turns[queue][key] == "" || !slices.Contains(shot.Lanes[queue], key) {
			w.fail("in %s %q stand behind %q: %q, %q", queue, entries, key, shot.Turns[queue][key], shot.Lanes[queue])
		}
	}
	for _, queue := range turnQueues {
		if n := shot.Behind[queue]; n != strconv.Itoa(count[queue]) && (n != "" || count[queue] != 0) {
			w.fail("of %s %q entries are counted, and there are %d", queue, n, count[queue])
		}
		if w.mix != wild {
			w.seats(shot, queue)
		}
	}
}

// seats checks that who is in a set of a queue has the turn of its key.
func (w *turnsWorld) seats(shot *turnsShot, queue string) {
	for _, part := range []string{"work", "locks", "scheduled"} {
		for _, jid := range shot.Seats[queue+"-"+part] {
			job := shot.Jobs[jid]
			if key := job.key(queue); key != "" && job.Lane[:1] != "+" && (w.mix == ours || job.Lane[:1] == "-") {
				w.fail("%s is in %s of %s and has the mark %q", jid, part, queue, job.Lane)
			}
		}
	}
}
