-- census(now, [queue]...) -> list
-- What the queues hold and how they go, without changing anything.
--
--   list   per queue 20 values: how many jobs wait or are due, those behind others of their key
--          included; run; stall, their lock having run
--          out; are scheduled for later; depend on others; recur; wait for a throttle; 1 if the
--          queue is paused; how many may run at a time, 0 being any number; since when the one that
--          is next in turn could be taken, 0 if none could; when the next delayed job is due, 0 if
--          there is none; and of the day (UTC): how many jobs were completed, how often one failed,
--          how many locks ran out, the mean of the seconds that jobs ran; how many of those that wait
--          stand behind others of their key; how many keys have a job with the turn, -1 of a queue that has no
--          keys; for how many of them another waits, and since when, of the one for which that is longest,
--          those aside whose turn waits for an answer (0: for none); then what is wrong with one of its keys,
--          which makes the others 0, or ''
--
-- Reads    ql:q:<queue>-work|locks|scheduled|depends|recur|throttled; ql:j:<jid>  time, priority, oarlock-lane;
--          ql:paused_queues; ql:config; ql:s:run|stats:<day>:<queue>; ql:oarlock:behind, rules (o:<queue>); of a queue that has
--          keys ql:oarlock:turns|lanes:<queue>; ql:j:<jid>  state, oarlock-park, oarlock-life, time
local now, reply = tonumber(ARGV[1]), {}
local any_pauses = redis.call('EXISTS', 'ql:paused_queues') == 1
local any_behind = redis.call('EXISTS', 'ql:oarlock:behind') == 1
local today = day(now) .. ':'

local function limits()
  local names = {}
  for i = 2, #ARGV do names[i - 1] = ARGV[i] .. '-max-concurrency' end
  local set = #names > 0 and redis.pcall('HMGET', 'ql:config', unpack(names)) or {}
  return set.err and {} or set
end

-- how many members, and how many of them have a score that is past
local function cards(key)
  local all = ask('ZCARD', key)
  return all, all > 0 and ask('ZCOUNT', key, '-inf', ARGV[1]) or 0
end

-- behind(queue) -> how many stand behind others of their key
local function behind(queue)
  local n = any_behind and redis.pcall('HGET', 'ql:oarlock:behind', queue)
  return math.max(0, numeric(type(n) == 'string' and n, 0))
end

-- ordered() -> per queue its settings of turns, false where it has no keys
local function ordered()
  local names = {}
  for i = 2, #ARGV do names[i - 1] = 'o:' .. ARGV[i] end
  local set = #names > 0 and redis.pcall('HMGET', 'ql:oarlock:rules', unpack(names)) or {}
  return set.err and {} or set
end

-- blocked_since(queue) -> see above
-- Of those that wait longest five are looked at: were it for answers, all, the next may be for one, too.
local function blocked_since(queue)
  local some = ask('ZRANGE', 'ql:oarlock:lanes:' .. queue, '0', '5', 'WITHSCORES')
  for i = 1, #some, 2 do
    local holder = i < 11 and ask('HGET', 'ql:oarlock:turns:' .. queue, some[i])
    local jid = holder and string.match(holder, '^=(.*)$')
    local state = jid and redis.pcall('HGET', 'ql:j:' .. jid, 'state')
    if state ~= 'scheduled' or row_of(jid, state, queue) ~= 'parked' then return some[i + 1] end
  end
  return 0
end

-- keys_of(queue) -> how many keys, for how many another waits, since when
local function keys_of(queue)
  local all, blocked = ask('HLEN', 'ql:oarlock:turns:' .. queue), ask('ZCARD', 'ql:oarlock:lanes:' .. queue)
  return all, blocked, blocked > 0 and blocked_since(queue) or 0
end

local function look(queue, limit, with_keys)
  local prefix = 'ql:q:' .. queue
  local work, waits = ask('ZCARD', prefix .. '-work'), behind(queue)
  local scheduled, due = cards(prefix .. '-scheduled')
  local locks, stalled = cards(prefix .. '-locks')
  local depends, recur, throttled = 0, 0, 0
  if redis.call('EXISTS', prefix .. '-depends', prefix .. '-recur', prefix .. '-throttled') > 0 then
    depends, recur, throttled = ask('ZCARD', prefix .. '-depends'), ask('ZCARD', prefix .. '-recur'), ask('ZCARD', prefix .. '-throttled')
  end
  local since = work + due + stalled > 0 and ready_since(queue, now, due, stalled)
  local next = scheduled > due and ask('ZRANGE', prefix .. '-scheduled', text14(due), text14(due), 'WITHSCORES') or {}
  local keys, blocked, blocks = -1, 0, 0
  if with_keys then keys, blocked, blocks = keys_of(queue) end
  local run = ask('HMGET', 'ql:s:run:' .. today .. queue, 'total', 'mean')
  local counts = ask('HMGET', 'ql:s:stats:' .. today .. queue, 'failures', 'retries')
  return {
    work + due + waits, locks - stalled, stalled, scheduled - due, depends, recur, throttled,
    any_pauses and redis.pcall('SISMEMBER', 'ql:paused_queues', queue) == 1 and 1 or 0, text17(bounded('max-concurrency', limit)),
    since and text17(since) or 0, next[1] and due_of(next[1], queue, next[2]) or 0, run[1] or 0, counts[1] or 0, counts[2] or 0, run[2] or 0, waits, keys, blocked, blocks, '',
  }
end

local limit, keyed = limits(), ordered()
for i = 2, #ARGV do
  local ok, numbers = pcall(look, ARGV[i], limit[i - 1], keyed[i - 1])
  if not ok then numbers = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, reason_of(numbers) } end
  for _, n in ipairs(numbers) do reply[#reply + 1] = n end
end
return reply
