package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"oarlock/queue/internal/wire"
)

// jointShot is where all jobs stand.
type jointShot struct {
	Jobs  map[string]jointJob
	Used  map[string]int      // by throttle: places that are taken
	Asked map[string][]string // of those: by whom that began since the rules came
	Parks map[string][]string // of these: by whom that is parked
	Wrong []string            // who is to have a place, or to have none, and is not so
}

type jointJob struct {
	State, Lane, Queue string
	In                 []string // an entry of a waitlist counts where the job says so; another is dropped when it is met
}

const jointShotScript = `
local shot = { Jobs = {}, Used = {}, Asked = {}, Parks = {} }
local elders = {}
for i = 3, #ARGV do elders[ARGV[i]] = true end
local wrong = {}
local waits = {}
for _, name in ipairs(redis.call('KEYS', 'ql:oarlock:waitlist:*')) do
  local rest = string.sub(name, #'ql:oarlock:waitlist:' + 1)
  local length, from = string.match(rest, '^(%d+):()')
  local queue = string.sub(rest, from, from + length - 1)
  for _, jid in ipairs(redis.call('ZRANGE', name, 0, -1)) do
    waits[queue .. '\0' .. jid] = true
    if redis.call('EXISTS', 'ql:j:' .. jid) == 0 then wrong[#wrong + 1] = jid .. ' is no more, and waits in ' .. name end
  end
end
local lanes = {}
for _, name in ipairs(redis.call('KEYS', 'ql:oarlock:lane:*')) do
  for _, entry in ipairs(redis.call('LRANGE', name, 0, -1)) do
    local jid = string.match(entry, '^%S+ (.*)$')
    lanes[jid] = entry
  end
end
for _, name in ipairs(redis.call('KEYS', 'ql:j:*')) do
  if redis.call('TYPE', name).ok == 'hash' then
    local jid = string.sub(name, 6)
    local f = redis.call('HMGET', name, 'state', 'oarlock-lane', 'queue')
    local job = { State = f[1] or '', Lane = f[2] or '', Queue = f[3] or '', In = {} }
    for _, queue in ipairs({ 'q', 'p:q' }) do
      for _, part in ipairs({ 'work', 'scheduled', 'locks', 'depends', 'throttled' }) do
        if redis.call('ZSCORE', 'ql:q:' .. queue .. '-' .. part, jid) then job.In[#job.In + 1] = part end
      end
    end
    if job.State == 'throttled' and waits[job.Queue .. '\0' .. jid] then job.In[#job.In + 1] = 'waitlist' end
    if lanes[jid] and string.sub(job.Lane, 1, 1) == '-' then job.In[#job.In + 1] = 'lane' end
    if #job.In == 0 then job.In = nil end
    shot.Jobs[jid] = job
    local throttles, gate, since, queue, klass = unpack(redis.call('HMGET', name, 'throttles', 'oarlock-gate', 'time', 'queue', 'klass'))
    local older = f[1] == 'running' and tonumber(since) <= tonumber(ARGV[1])
    if f[1] == 'running' and gate and klass ~= 'Free' and not older and string.find(ARGV[2], ' ' .. queue .. ' ', 1, true) then
      for _, tid in ipairs(cjson.decode(throttles)) do
        if not redis.call('ZSCORE', 'ql:th:' .. tid .. '-locks', jid) then wrong[#wrong + 1] = jid .. ' runs without ' .. tid end
      end
    end
  end
end
for _, name in ipairs(redis.call('KEYS', 'ql:th:*-locks')) do
  local tid = string.sub(name, 7, -7)
  shot.Used[tid] = redis.call('ZCARD', name)
  for _, holder in ipairs(redis.call('ZRANGE', name, 0, -1)) do
    local jid = string.match(holder, '^[^%z]*')
    local f = redis.call('HMGET', 'ql:j:' .. jid, 'state', 'throttles', 'oarlock-park', 'oarlock-response', 'time')
    local has = f[1] == 'running' or f[1] == 'stalled' or (f[3] or f[4]) and f[1] ~= 'complete' and f[1] ~= 'failed'
    local popped = string.match(holder, '%z%d+%z(.*)$')
    if not elders[jid] and not (popped and tonumber(popped) <= tonumber(ARGV[1])) then 
      shot.Asked[tid] = shot.Asked[tid] or {}
      table.insert(shot.Asked[tid], holder)
      if f[1] == 'scheduled' and f[3] and tonumber(f[5]) > tonumber(ARGV[1]) then
        shot.Parks[tid] = shot.Parks[tid] or {}
        table.insert(shot.Parks[tid], holder)
      end
    end
    if not popped and not (has and string.find(f[2] or '', '"' .. tid .. '"', 1, true)) then
      wrong[#wrong + 1] = jid .. ' has a place of ' .. tid
    end
  end
end
if #wrong > 0 then shot.Wrong = wrong end
return cjson.encode(shot)`

// jointRows is where a job of a state stands.
var jointRows = map[string][]string{
	"waiting": {"work", "lane"}, "scheduled": {"scheduled"}, "running": {"locks"}, "depends": {"depends"}, "throttled": {"throttled waitlist", "throttled", "work"},
	"stalled": {"work"}, "complete": {""}, "failed": {""},
}

// places checks that each job stands in one place, and that no more places are taken than there are.
func (w *jointWorld) places() *jointShot {
	words := []any{wire.Number(w.came), " " + strings.Join(slices.Sorted(maps.Keys(w.ruled)), " ") + " "}
	for jid := range w.elders {
		words = append(words, jid)
	}
	text, _ := w.eval(jointShotScript, words...).(string)
	var shot jointShot
	if err := json.Unmarshal([]byte(text), &shot); err != nil {
		w.t.Fatalf("where all stands: %v in %q", err, text)
	}
	for jid, job := range shot.Jobs {
		in := strings.Join(job.In, " ")
		if job.State == "stalled" && in == "lane" { // taken back while others of its key go first
			continue
		}
		if w.mix != ours && job.State == "throttled" && in == "work waitlist" { // a foreigner let it try, of whom the waitlist was not told
			continue
		}
		if !slices.Contains(jointRows[job.State], in) {
			w.fail("%s is %s and stands in %q, with the mark %q", jid, job.State, in, job.Lane)
		}
		if job.State == "depends" && strings.HasPrefix(job.Lane, "+") {
			w.fail("%s depends on others and has the turn", jid)
		}
	}
	if w.mix != ours {
		return &shot
	}
	for jid, job := range shot.Jobs {
		if job.State == "running" && strings.HasPrefix(job.Lane, fmt.Sprintf("=%d:%s:", len(job.Queue), job.Queue)) {
			w.fail("%s runs, and has not the turn of its key: %q", jid, job.Lane)
		}
	}
	if len(shot.Wrong) > 0 {
		w.fail("%q", shot.Wrong)
	}
	if parks := shot.Parks["a"]; w.free && len(parks) > 0 {
		w.fail("%q are parked, and have places that those have not who are", parks)
	}
	for tid, limit := range w.limits {
		if all := shot.Asked[tid]; len(all) > limit {
			w.fail("%d places of %s are taken, of %d: by %q", len(all), tid, limit, all)
		}
	}
	return &shot
}

// idle lets a worker with free children look twice; beside others, for as long as it takes to find what they have left of places, and to give them to
// one after the other: then nothing waits that could run.
func (w *jointWorld) idle() {
	looks := 2
	if w.mix != ours {
		looks = 7
	}
	for range looks {
		w.now += 1.1
		w.tend()
		w.exchange("w1", 60, nil)
		w.look()
	}
	w.exchange("w1", 60, nil) // who could try only since a queue was looked at, of which a wake tells
	if w.mix != ours || w.lost["w1"] {
		return
	}
	shot := w.places()
	for jid, job := range shot.Jobs {
		if slices.Contains(job.In, "work") && !(job.Queue == "q" && w.isFull(shot)) {
			w.fail("%s waits, and children are free", jid)
		}
		if !slices.Contains(job.In, "throttled") {
			continue
		}
		var names []string
		f := w.lab.redis.HGet(w.t.Context(), "ql:j:"+jid, "throttles").Val()
		if err := json.Unmarshal([]byte(f), &names); err != nil {
			w.fail("%s waits for a place of %q", jid, f)
		}
		// Of what a waitlist has passed that waits for longest and is overdue, the places are kept for it.
		if !slices.ContainsFunc(names, func(tid string) bool {
			return shot.Used[tid] > 0 || w.lab.redis.ZCard(w.t.Context(), "ql:oarlock:eldest:"+tid).Val() > 1
		}) {
			w.fail("%s waits for a place of %q, of which nobody has any", jid, names)
		}
	}
}

// isFull reports whether jobs run in all places of the queue q: of what comes in then nothing is looked at.
func (w *jointWorld) isFull(shot *jointShot) bool {
	limit, runs := w.limits["ql:q:q"], 0
	for _, job := range shot.Jobs {
		if job.State == "running" && job.Queue == "q" {
			runs++
		}
	}
	return limit > 0 && shot.Used["ql:q:q"] >= limit && runs >= shot.Used["ql:q:q"]
}

// left are the keys that are there and ought not to be when all jobs are complete.
func (w *jointWorld) left() []string {
	return slices.DeleteFunc(w.lab.redis.Keys(w.t.Context(), "ql:*").Val(), mayStay)
}

// over reports whether all jobs are complete.
func (w *jointWorld) over() bool {
	for _, job := range w.places().Jobs {
		if job.State != "complete" {
			return false
		}
	}
	return true
}

// mayStay reports whether a key may be there when all jobs are complete.
func mayStay(key string) bool {
	ours, is := strings.CutPrefix(key, "ql:oarlock:")
	if !is {
		return !strings.HasPrefix(key, "ql:th:") || !strings.HasSuffix(key, "-locks")
	}
	name, _, _ := strings.Cut(ours, ":")
	return slices.Contains([]string{"rules", "needs", "seen", "tended", "held", "places", "windows", "outside", "correlations", "correlations-due", "early", "starts", "edition", "o"}, name)
}
