-- key.free(now, queue, cursor) -> freed, rest, broken, cursor
-- Gives the order of a queue up: whoever stands behind goes into the work set, a delayed job is scheduled as any other,
-- and when there is none left the queue has no keys any more. As many as one call may.
--
--   freed   how many jobs stand where jobs of the protocol do, and did not before
--   rest    1 if there are more
--   cursor  where to look for turns: of the call before, '0' of the first
--   broken  what had to be left out, as in exchange; the same call once more does the rest
--
-- Reads    ql:j:<jid>
-- Writes   all that lib/turns.lua names, of the queue; ql:q:<queue>-work|scheduled
-- Sends    the queue's name on ql:oarlock:wake
local batch, queue, freed, left, cursor = open_batch(tonumber(ARGV[1]), ''), ARGV[2], 0, 100, ARGV[3]
local turn_key, lanes = 'ql:oarlock:turns:' .. queue, 'ql:oarlock:lanes:' .. queue

-- unmark(jid, mark) -> whether the job has that mark; it has none from here on
local function unmark(jid, mark)
  if redis.call('HGET', 'ql:j:' .. jid, 'oarlock-lane') ~= mark then return false end
  redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-lane')
  return true
end

-- put_right(jid, wrong): one that could not be freed stands where it belongs
local function put_right(jid, wrong)
  report(batch, queue, jid, wrong)
  reseat(batch, jid, queue)
end

-- free_entry(key, entry): one that stood behind waits, unless it has ended or is elsewhere
local function free_entry(key, entry)
  local place, jid = string.match(entry, '^(%S+) (.*)$')
  if not place or not unmark(jid, mark_text('-', queue, place, key)) then return end
  local of, state, priority, time = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'queue', 'state', 'priority', 'time'))
  if of ~= queue or state ~= 'waiting' then return end
  seat(queue, '-work', text17(score(numeric(priority, 0), numeric(time, batch.now))), jid)
  freed = freed + 1
end

-- free_lane(key): as many of its entries as may be
local function free_lane(key)
  local lane = lane_of(queue, key)
  while left > 0 do
    local entry = redis.call('LINDEX', lane, '0')
    if not entry then break end
    local ok, wrong = pcall(free_entry, key, entry)
    if not ok then return put_right(string.match(entry, '^%S+ (.*)$') or '', wrong) end
    redis.call('LPOP', lane)
    redis.call('HINCRBY', 'ql:oarlock:behind', queue, '-1')
    left = left - 1
  end
  if redis.call('EXISTS', lane) == 0 then
    redis.call('ZREM', lanes, key)
    left = left - 1
  end
end

-- free_holder(key, holder): nobody has the turn
local function free_holder(key, holder)
  local jid = string.match(holder, '^=(.*)$')
  local mark = jid and redis.call('HGET', 'ql:j:' .. jid, 'oarlock-lane')
  local sign, of, _, its = read_mark(mark)
  if sign == '+' and of == queue and its == key then redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-lane') end
  redis.call('HDEL', turn_key, key)
  left = left - 1
end

local function free_lanes()
  for _, key in ipairs(redis.call('ZRANGE', lanes, '0', '99')) do
    if left <= 0 then break end
    free_lane(key)
  end
end

-- free_holders(): from the cursor on, for in front of it lies only what is gone
local function free_holders()
  while left > 0 and redis.call('EXISTS', turn_key) == 1 do
    local found = redis.call('HSCAN', turn_key, cursor, 'COUNT', '100')
    cursor, left = found[1], left - 1
    for i = 1, #found[2], 2 do free_holder(found[2][i], found[2][i + 1]) end
  end
end

-- free_shelved(jid, place): a delayed job is scheduled as any other
local function free_shelved(jid, place)
  local sign, of = read_mark(redis.call('HGET', 'ql:j:' .. jid, 'oarlock-lane'))
  seat(queue, '-scheduled', text17(place - shelf), jid)
  if sign and of == queue then redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-lane') end
  freed = freed + 1
end

local function free_shelf()
  for _, job in ipairs((on_shelf(queue, '(inf', left))) do
    left = left - 1
    local ok, wrong = pcall(free_shelved, job.jid, job.place)
    if not ok then put_right(job.jid, wrong) end
  end
end

-- forget(): the queue has no keys
local function forget()
  redis.call('HDEL', 'ql:oarlock:rules', 'o:' .. queue, 'w:' .. queue)
  redis.call('HDEL', 'ql:oarlock:behind', queue)
  redis.call('HDEL', 'ql:oarlock:tended', 'q:' .. queue)
  for _, field in ipairs(redis.call('HKEYS', 'ql:oarlock:rules')) do
    if string.sub(field, 1, 2) == 'o:' then return end
  end
  redis.call('SREM', 'ql:oarlock:needs', 'keys')
  redis.call('DEL', 'ql:oarlock:places', 'ql:oarlock:tended')
end

-- attempt(deed): what breaks is reported, and nothing more is done
local function attempt(deed)
  if left <= 0 or #batch.broken > 0 then return end
  local ok, wrong = pcall(deed)
  if not ok then report(batch, queue, '', wrong) end
end

attempt(free_lanes)
attempt(free_holders)
attempt(free_shelf)
if freed > 0 then wake(queue) end
if left == 100 then attempt(forget) end
return { freed, left < 100 and #batch.broken == 0 and 1 or 0, batch.broken, cursor }
