-- decider.look(now, throttle, asker, lease) -> number, when to look again, candidates, running, how many places are taken, how many more jobs run
-- Takes the turn of asking what the command of a throttle decides. One at a time has it, so that it decides about what is true.
--
--   asker    who asks, to be told to people
--   lease    seconds after which somebody else may ask, if nobody said what was decided
--   number   of the question, for decider.rule; 0 if there is nothing to ask now: nobody waits, or it is somebody else's turn, or
--            too early
--   when     of the last; 0: that depends on others
--   candidates   jobs of which only the command keeps that they start, the next one first, a hundred at most: each jid, queue,
--                class, data (false above 4 KiB), its size, priority, tags, retries, remaining, crashes, when it was put, places
--   running  jobs that have places, a thousand at most: each jid and places; see decider.running
--   more     jobs that have places beside those; of more than ten thousand places, those that were not looked at count as a job each
--
-- Of each waitlist the jobs are looked at that come first, and are not held: a thousand can be.
--
-- Reads    ql:oarlock:rules; ql:oarlock:rota, wait, seen; the waitlists; ql:j:<jid>; ql:th:<tid>-locks
-- Writes   ql:oarlock:asker:<tid>, ql:oarlock:asked:<tid>
local now, tid, asker, lease = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local g, key, held_key = open_gate(open_batch(now, '')), 'ql:oarlock:asker:' .. tid, 'ql:oarlock:asked:' .. tid
local f = redis.call('HMGET', key, 'until', 'next', 'seen')
if numeric(f[3], 0) > now + clock_step then -- what was put off was so by another clock
  redis.call('HDEL', key, 'until', 'next', 'open')
  redis.call('DEL', held_key)
  f = {}
end
redis.call('HSET', key, 'seen', ARGV[1])
redis.call('EXPIRE', key, '7200')
local busy = math.max(numeric(f[1], 0), numeric(f[2], 0))
if busy > now then return { 0, text17(busy) } end
local t = places_of(g, { tid = tid })
if not t.defined.asks then return { 0, '0' } end

redis.call('ZREMRANGEBYSCORE', held_key, '-inf', ARGV[1])
local held, some = {}, redis.call('ZRANGE', held_key, '0', '999')
for _, jid in ipairs(some) do held[jid] = true end
local next_held = redis.call('ZRANGE', held_key, '0', '0', 'WITHSCORES')[2] or '0'
if #some == 1000 then return { 0, next_held } end

-- All that are awake, as far as a thousand: what is held of those in front may not keep that the others are asked about.
local lists = {}
for _, party in ipairs(redis.call('ZRANGE', 'ql:oarlock:rota:' .. tid, '0', '999')) do
  local marks = redis.call('ZREVRANGE', wait_key(tid, party), '0', text14(999 - #lists), 'WITHSCORES')
  for i = 1, #marks, 2 do
    local places, queue, line = read_mark_of_list(marks[i])
    if is_awake(g, queue) then lists[#lists + 1] = { places = places, queue = queue, line = line, head = tonumber(marks[i + 1]) } end
  end
  if #lists >= 1000 then break end
end
table.sort(lists, function(a, b) return a.head > b.head end)
local found, share = {}, math.ceil(100 / math.max(1, #lists))
for n, list in ipairs(lists) do
  if n > 20 and #found >= 100 then break end
  local key, from, many = 'ql:oarlock:waitlist:' .. #list.queue .. ':' .. list.queue .. list.line, 0, math.max(10, share)
  local left = share
  repeat
    local heads = redis.call('ZREVRANGE', key, text14(from), text14(from + many - 1), 'WITHSCORES')
    for i = 1, #heads, 2 do
      if left > 0 and not held[heads[i]] then
        found[#found + 1] = { jid = heads[i], score = tonumber(heads[i + 1]), queue = list.queue, places = list.places }
        left = left - 1
      end
    end
    from = from + many
  until left == 0 or #heads < 2 * many or from > #some + share
end
table.sort(found, function(a, b) return a.score > b.score end)

local candidates, running = {}, {}
local function append(to, ...)
  for _, value in ipairs({ ... }) do to[#to + 1] = value end
end
for i = 1, math.min(100, #found) do
  local one = found[i]
  local j = 'ql:j:' .. one.jid
  local v = redis.call('HMGET', j, 'state', 'queue', 'klass', 'priority', 'tags', 'retries', 'remaining', 'oarlock-crashes', 'time')
  if v[1] == 'throttled' and v[2] == one.queue then
    local size = redis.call('HSTRLEN', j, 'data')
    append(candidates, one.jid, one.queue, v[3] or '', size <= 4096 and redis.call('HGET', j, 'data') or false, size, v[4] or '0', v[5] or '[]', v[6] or '0',
      v[7] or '0', v[8] or '0', v[9] or '0', one.places)
  end
end
if #candidates == 0 then return { 0, next_held } end
local places, jids, locks = {}, {}, 'ql:th:' .. tid .. '-locks'
local members, taken = redis.call('ZREVRANGE', locks, '0', '9999'), redis.call('ZCARD', locks)
for _, member in ipairs(members) do
  local jid = string.match(member, '^[^%z]*')
  if not places[jid] then jids[#jids + 1] = jid end
  places[jid] = (places[jid] or 0) + 1
end
for i = 1, math.min(1000, #jids) do append(running, jids[i], places[jids[i]]) end
local question = redis.call('HINCRBY', key, 'number', '1')
redis.call('HSET', key, 'until', text17(now + lease), 'by', asker)
return { question, '0', candidates, running, taken, #jids - #running / 2 + taken - #members }
