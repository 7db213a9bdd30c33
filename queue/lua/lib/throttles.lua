-- Throttles: named semaphores. A job's field throttles lists those it must hold
-- to run; jobs made by qless have none, and none of this concerns them.

-- queue_throttle(queue) -> the id of the throttle every job of a queue shares
function queue_throttle(queue)
  return 'ql:q:' .. queue
end

-- move_throttles(list, from, queue) -> list, changed: without the throttle from, and
-- with that of the queue. Nothing is taken out if from is false.
function move_throttles(list, from, queue)
  for i = #list, 1, -1 do
    if list[i] == from then table.remove(list, i) end
  end
  list[#list + 1] = queue_throttle(queue)
  return list
end

-- So many throttles a job may have that we take, places that rules give it included. One with more counts as damaged.
most_throttles = 8192

-- given_throttles(text, area) -> list, from an argument
function given_throttles(text, area)
  local list = cjson.decode(text)
  if type(list) ~= 'table' then refuse(area, 'Arg "throttles" not a list: ' .. text) end
  if area == 'Take' and #list > most_throttles then refuse(area, 'there are ' .. #list .. ', and at most ' .. most_throttles) end
  for _, tid in ipairs(list) do
    if type(tid) ~= 'string' and type(tid) ~= 'number' then
      refuse(area, 'Arg "throttles" must be strings: ' .. text)
    end
  end
  return list
end

-- room_in(tid) -> how many more jobs may hold it; math.huge if it has no limit
function room_in(tid)
  local maximum = redis.pcall('HGET', 'ql:th:' .. tid, 'maximum')
  maximum = numeric(type(maximum) == 'table' and throttle_fields(tid, 'maximum')[1] or maximum, 0)
  return maximum == 0 and math.huge or maximum - redis.call('ZCARD', 'ql:th:' .. tid .. '-locks')
end

-- throttle_fields(tid, ...) -> what a throttle says of them
-- Of a-locks nothing, where jobs hold a: that is their key, and this one has no limit.
-- Rare.
function throttle_fields(tid, ...)
  local key = 'ql:th:' .. tid
  local f = redis.pcall('HMGET', key, ...)
  if not f.err then return f end
  local part = string.sub(tid, -6) == '-locks' or string.sub(tid, -8) == '-pending'
  if part and type(redis.pcall('ZCARD', key)) == 'number' then return {} end
  return redis.call('HMGET', key, ...) -- which raises
end

-- split_value(tid) -> throttle and value of a name that is of one value of a throttle; nil of others
-- The name of a queue may have the sign, and its own throttle has it then.
-- Rare.
function split_value(tid)
  if string.sub(tid, 1, #'ql:q:') == 'ql:q:' then return nil end
  return string.match(tid, '^([^=]+)=(.*)$')
end

-- first_full(throttles, jid) -> the first of a list that has no room, or nil
--   jid   of a job to which those that it holds already are none; else nil, or false
function first_full(throttles, jid)
  for _, tid in ipairs(throttles) do
    if room_in(tid) <= 0 and not (jid and redis.call('ZSCORE', 'ql:th:' .. tid .. '-locks', jid)) then return tid end
  end
end

-- acquire(jid, throttles): all of a list, whether there is room or not
function acquire(jid, throttles)
  for _, tid in ipairs(throttles) do redis.call('ZADD', 'ql:th:' .. tid .. '-locks', '1', jid) end
end

-- throttle(jid, job, queue, tid, now, limit): the job waits for a throttle
--   job    needs state and history
--   limit  the history limit
-- Where there are rules a place may have been left taken by what knows none of them; see mend_places.
function throttle(jid, job, queue, tid, now, limit)
  redis.call('ZADD', 'ql:th:' .. tid .. '-pending', now, jid)
  if redis.call('EXISTS', 'ql:oarlock:rules') == 1 then redis.call('SADD', 'ql:oarlock:held', tid) end
  seat(queue, '-throttled', now, jid)
  if job.state == 'throttled' then return end
  redis.call('HSET', 'ql:j:' .. jid, 'state', 'throttled')
  local entry = '[' .. text14(math.floor(now)) .. ',"throttled",{"queue":' .. cjson.encode(queue) .. '}]'
  remember(jid, entry, limit, job.history)
end

-- release(tid, jid, now, most): gives one throttle back, or leaves the line for it, and
-- lets those in front of the line try again
--   most   of them; nil means as many as there is room for, and ten where there is no limit.
--          Whoever runs of them lets others try
function release(tid, jid, now, most)
  local key = 'ql:th:' .. tid
  if redis.call('ZREM', key .. '-locks', jid) == 0 then redis.call('ZREM', key .. '-pending', jid) end
  local places = room_in(tid)
  places = math.min(places == math.huge and 10 or math.floor(places), most or math.huge)
  if places < 1 then return end
  local pending, looked = redis.call('ZRANGE', key .. '-pending', '0', places - 1), 0
  while pending[looked + 1] do
    looked = looked + 1
    local next = pending[looked]
    -- One that cannot be let go, because its queue is broken, must not hold up the others.
    local ok, is_gone = pcall(let_try, next, now)
    if ok then
      redis.call('ZREM', key .. '-pending', next)
    else
      redis.pcall('ZADD', key .. '-pending', now, next)
    end
    if ok and is_gone and #pending < places + 100 then pending[#pending + 1] = next_pending(key, pending, looked) end
  end
end

-- next_pending(key, pending, looked) -> the first of the line for a throttle behind those that are let try; nil if there is none
-- Somebody deleted a job that stood there, which takes no place.
-- Rare.
function next_pending(key, pending, looked)
  return redis.call('ZRANGE', key .. '-pending', #pending - looked, #pending - looked)[1]
end

-- let_try(jid, now) -> whether there is no such job: one that waited for a throttle is ready to be popped again
-- A job that is gone, or runs or waits elsewhere after another command, wants none; one
-- that was put again and is ready only gets a new place.
-- Rare.
function let_try(jid, now)
  local queue, priority, state = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'queue', 'priority', 'state'))
  if queue then redis.call('ZREM', 'ql:q:' .. queue .. '-throttled', jid) end
  if state == 'throttled' then
    local ok, raised = pcall(seat, queue, '-work', score(tonumber(priority) or 0, now), jid)
    if not ok then
      pcall(seat, queue, '-throttled', now, jid)
      raise(raised)
    end
    wake(queue)
  elseif state == 'waiting' then
    move_up(queue, jid, score(tonumber(priority) or 0, now))
  end
  return not (queue or state)
end

-- give_back(jid, queue, throttles, now, most, taken, own) -> nil, or why one of them could not be released
-- Everything the job holds or waits for. A throttle that is broken does not keep the others.
--   throttles  the job's field
--   taken      of one that is taken from its worker its fields oarlock-gate, time and expires, as a list; else nil
--   own        how many of the first names are the job's own; nil for none
-- A job that runs may still be listed as throttled, if it ran out of another queue that
-- it was retried into. In reqless only what detaches a job takes it off that list.
-- Rare.
function give_back(jid, queue, throttles, now, most, taken, own)
  if taken and taken[1] and leave_places(jid, throttles, taken[2], numeric(taken[3], now), now) then return nil end
  if queue and not reqless then redis.pcall('ZREM', 'ql:q:' .. queue .. '-throttled', jid) end
  local ok, list = pcall(cjson.decode, throttles)
  if not ok or type(list) ~= 'table' then return 'throttles is ' .. excerpt(throttles) .. ', no list' end
  local trouble, places = nil, {}
  for i = 1, math.min(#list, most_throttles) do
    local tid = list[i]
    places[tid] = (places[tid] or 0) + 1
    local member, nth = jid, jid .. '\0' .. places[tid]
    if places[tid] > 1 and own then
      member = nth
    elseif places[tid] > 1 and (redis.pcall('ZREM', 'ql:th:' .. tid .. '-locks', nth) == 1 or redis.pcall('HEXISTS', 'ql:j:' .. jid, 'oarlock-gate') == 1) then
      member = nil -- one of several that it has by rules; what a job itself names twice is released twice
    end
    if member and i > (own or 0) then
      local released, raised = pcall(release, tid, member, now, most)
      if not released then trouble = reason_of(raised) end
    end
  end
  return trouble
end

-- admit(jid, job, queue, now, limit) -> whether the job may run: it then holds all
-- its throttles, and otherwise waits for one
--   limit  the history limit
-- A job that was taken from its worker keeps the permits that its queue's rules gave it. A waiting job holds none. A job that reqless put again
-- while it ran waits like any other if only its own running attempt holds the permits.
-- Rare.
function admit(jid, job, queue, now, limit)
  if job.gate then
    shed_rules(jid, job, queue, now)
    if not (job.throttles or reqless) then return true end
  end
  if not job.throttles then
    -- Made by qless: from here on it shares its queue's throttle.
    job.throttles = cjson.encode({ queue_throttle(queue) })
    redis.call('HSET', 'ql:j:' .. jid, 'throttles', job.throttles)
  end
  local throttles = cjson.decode(job.throttles)
  local full = first_full(throttles, job.state == 'stalled' and jid)
  if full then
    if job.state == 'stalled' then give_back(jid, queue, job.throttles, now) end
    throttle(jid, job, queue, full, now, limit)
    return false
  end
  acquire(jid, throttles)
  return true
end

-- shed_rules(jid, job, queue, now): rules that concern its queue no more gave a job throttles; it has those of its own from here on
--   job   needs throttles and gate
-- Rare.
function shed_rules(jid, job, queue, now)
  give_back(jid, queue, job.throttles, now, nil, nil, #stored_tags(job.throttles) - numeric(job.gate, 0))
  job.throttles, job.gate = drop_derived(jid, job.throttles, job.gate), nil
end
