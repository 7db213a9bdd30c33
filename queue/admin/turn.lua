-- turn(ns, now, fix, queue, key, jid) -> jid, reason, remedy, or nothing
-- Whether a job says that it has the turn of its key, and has not. With fix "1" it has it again where nobody else has; else
-- it joins those of its key at the end. But one that has begun, and waits for its answer or has it, may hold places that others of its key need: it
-- has the turn before whoever has not begun, and is the next of one who has.
local now, fix, queue, key = tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4], ARGV[5]
local turn, prefix = ns .. 'oarlock:turns:' .. queue, ns .. 'q:' .. queue

-- held(holder) -> whether that is somebody, or may be: who has the turn says so himself, and a run that was taken from its worker may live
local function held(holder)
  local ends = string.match(holder, '^!(%S+) ')
  if ends then return (tonumber(ends) or 0) > now end
  local sign, of, its = read_mark(redis.call('HGET', ns .. 'j:' .. string.sub(holder, 2), 'oarlock-lane'))
  return sign == '+' and of == queue and its == key
end

-- asked(jid) -> whether it waits for an answer, or was answered
local function asked(jid)
  local park, response, life, time = unpack(redis.call('HMGET', ns .. 'j:' .. jid, 'oarlock-park', 'oarlock-response', 'oarlock-life', 'time'))
  return (park or response) and life == time
end

-- has_begun(holder) -> whether that is an attempt, or was
local function has_begun(holder)
  local jid = string.match(holder, '^=(.*)$')
  local state = jid and redis.call('HGET', ns .. 'j:' .. jid, 'state')
  return not jid or state == 'running' or state == 'stalled' or asked(jid)
end

-- stand_first(jid): it is the next of its key
local function stand_first(jid)
  local place = redis.call('INCR', ns .. 'oarlock:places') .. '.1'
  redis.call('LPUSH', lane_of(queue, key), place .. ' ' .. jid)
  redis.call('HSET', ns .. 'j:' .. jid, 'oarlock-lane', '-' .. #queue .. ':' .. queue .. ':' .. place .. ' ' .. key)
  redis.call('HINCRBY', ns .. 'oarlock:behind', queue, '1')
  look_after(queue, key, now)
end

-- step_back(jid): who has the turn, and has not begun, is where no job is that stands behind, and due when it was to be
local function step_back(jid)
  local job, due = ns .. 'j:' .. jid, has(prefix .. '-scheduled', jid)
  local text = redis.call('HGET', job, 'throttles')
  for _, part in ipairs({ 'work', 'scheduled', 'throttled' }) do redis.call('ZREM', prefix .. '-' .. part, jid) end
  local ok, names = pcall(cjson.decode, text or '[]')
  for _, tid in ipairs(ok and type(names) == 'table' and names or {}) do redis.call('ZREM', ns .. 'th:' .. tostring(tid) .. '-pending', jid) end
  if text then
    local list, line = waitlist_of(queue, text)
    if redis.call('ZREM', list, jid) == 1 and redis.call('EXISTS', list) == 0 then redis.call('ZADD', ns .. 'oarlock:open:' .. queue, '0', line) end
  end
  redis.call('HSET', job, 'state', 'waiting')
  if due then redis.call('HSET', job, 'scheduled', due) end
  stand_first(jid)
end

-- mend(jid, holder) -> what mends it
--   holder   who has the turn, nil if nobody has
local function mend(jid, holder)
  if holder and not asked(jid) then
    if fix then redis.call('HSET', ns .. 'j:' .. jid, 'oarlock-lane', '=' .. #queue .. ':' .. queue .. ': ' .. key) end
    return 'joins those of its key at the end'
  end
  if holder and has_begun(holder) then
    if fix then stand_first(jid) end
    return 'is the next of its key, for it has begun'
  end
  if fix then
    if holder then step_back(string.sub(holder, 2)) end
    redis.call('HSET', turn, key, '=' .. jid)
    look_after(queue, key, now)
  end
  return holder and 'it has the turn again, for it has begun, and ' .. string.sub(holder, 2) .. ' is the next' or 'it has the turn again'
end

return each(6, function(jid)
  local sign, of, its = read_mark(redis.call('HGET', ns .. 'j:' .. jid, 'oarlock-lane'))
  if sign ~= '+' or of ~= queue or its ~= key then return end
  local holder = redis.call('HGET', turn, key)
  if holder == '=' .. jid then return end
  return 'says that it has the turn of key ' .. key .. ', which is not so', mend(jid, holder and held(holder) and holder)
end)
