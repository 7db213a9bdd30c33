-- jobs(ns, now, fix, count, queue, ..., jid, ...) -> jid, reason, remedy, ...
-- Which jobs are not where their state says. With fix "1" they are put there, so that they
-- run, at once if nothing tells when; what has no data is no job and is deleted.
--   count, queue   all other queues that a job may be in, for it may have been retried into
--                  one that its hash does not name; without them nothing is repaired
-- Four more answers are no findings but questions: 'failed' and a group, if the job should be in
-- the list of that; 'depends', if somebody is to look at what it waits for; 'behind' and its mark, if it
-- should be in the lane that it names; 'turn' and its mark, if it has not the turn that it names.
local now, fix, count = tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4])

-- anywhere(jid, queue, ...) -> whether it is in one of these parts of its queue, or of others
local function anywhere(jid, queue, ...)
  for _, part in ipairs({ ... }) do
    if has(ns .. 'q:' .. queue .. '-' .. part, jid) then return true end
    for i = 5, 4 + count do
      if has(ns .. 'q:' .. ARGV[i] .. '-' .. part, jid) then return true end
    end
  end
end

-- pending(jid, throttles) -> whether it stands in the line of one of them
local function pending(jid, throttles)
  local ok, list = pcall(cjson.decode, throttles or '[]')
  for _, tid in ipairs(ok and type(list) == 'table' and list or {}) do
    if has(ns .. 'th:' .. tid .. '-pending', jid) then return true end
  end
end

-- in_turn(jid, queue, mark) -> the question that is to be asked of a job with a key in its queue, nil if none is
local function in_turn(jid, queue, mark)
  local sign, of, key = read_mark(mark)
  if of ~= queue then return nil end
  if sign == '-' then return 'behind' end
  if sign == '+' and redis.call('HGET', ns .. 'oarlock:turns:' .. queue, key) ~= '=' .. jid then return 'turn' end
end

local function group_of(failure)
  local ok, was = pcall(cjson.decode, failure or '')
  return ok and type(was) == 'table' and type(was.group) == 'string' and was.group or nil
end

-- state_of(jid, queue) -> the state of a job that does not say it, by where it is; nil if that is
-- nowhere
local function state_of(jid, queue)
  if has(ns .. 'completed', jid) then return 'complete' end
  local states = { locks = 'running', scheduled = 'scheduled', depends = 'depends', throttled = 'throttled', work = 'waiting' }
  for _, part in ipairs({ 'locks', 'scheduled', 'depends', 'throttled', 'work' }) do
    if has(ns .. 'q:' .. queue .. '-' .. part, jid) then return states[part] end
  end
end

-- stateless(jid, key, queue, failure) -> reason, remedy of a job that does not say its state
local function stateless(jid, key, queue, failure)
  local state = state_of(jid, queue or '') or group_of(failure) and 'failed'
  if not state and (queue or '') == '' then return 'says neither its state nor its queue', '' end
  if fix and state then
    redis.call('HSET', key, 'state', state)
  elseif fix then
    to_work(jid, queue, now)
  end
  return 'does not say its state', state and 'it says again that it is ' .. state or 'waits for a worker'
end

-- husk(jid, key) -> reason, remedy of a hash that is no job for those who read it
-- Whatever has data is somebody's job.
local function husk(jid, key)
  local data, state, queue, failure = unpack(redis.call('HMGET', key, 'data', 'state', 'queue', 'failure'))
  if redis.call('EXISTS', key) == 0 then return end -- it went since it was listed
  if not data and #payload_names(key) > 0 then return end -- it is looked at with what merged
  if not data then
    if fix then
      redis.call('DEL', key)
      redis.pcall('LTRIM', key .. '-history', '1', '0') -- a list, and nothing else
    end
    return 'is no whole job', 'what is left of it is deleted'
  end
  if fix then redis.call('HSET', key, 'jid', jid) end
  if not state then return stateless(jid, key, queue, failure) end
  return 'does not say its own jid', 'it says it again'
end

local function unlisted_complete(jid, time)
  if has(ns .. 'completed', jid) then return end
  if fix then redis.call('ZADD', ns .. 'completed', as_score(time) or now, jid) end
  return 'is complete and not listed as such', 'listed'
end

local function unlocked(jid, queue, expires)
  if anywhere(jid, queue, 'locks') then return end
  if fix then redis.call('ZADD', ns .. 'q:' .. queue .. '-locks', as_score(expires) or now, jid) end
  return 'is running without a lock in ' .. queue, 'locked again until its lock ends'
end

local function unscheduled(jid, queue, due)
  if anywhere(jid, queue, 'scheduled') then return end
  due = as_score(due)
  if due then
    if fix then to_schedule(jid, queue, due) end
    return 'is scheduled, but not in the schedule of ' .. queue, 'scheduled for the time that it says'
  end
  if fix then to_work(jid, queue, now) end
  return 'is scheduled, but not in the schedule of ' .. queue, 'waits for a worker now, because nothing tells its time'
end

-- in_waitlist(jid, queue, throttles) -> whether it stands where jobs of a ruled queue wait for places, and whether rules are there by which it does
local function in_waitlist(jid, queue, throttles)
  if not (throttles and has(waitlist_of(queue, throttles), jid)) then return false, true end
  local ruled = redis.call('HEXISTS', ns .. 'oarlock:rules', 'q:' .. queue) == 1
  return ruled, ruled
end

local function unthrottled(jid, queue, throttles)
  if anywhere(jid, queue, 'work') then return end
  local listed = anywhere(jid, queue, 'throttled')
  local waits, ruled = in_waitlist(jid, queue, throttles)
  if listed and (waits or pending(jid, throttles)) then return end
  if fix then
    redis.call('ZREM', ns .. 'q:' .. queue .. '-throttled', jid)
    if not ruled then redis.call('ZREM', (waitlist_of(queue, throttles)), jid) end
    to_work(jid, queue, now)
  end
  if not ruled then return 'waits for a place by rules of ' .. queue .. ', which are not there', 'waits for a worker' end
  return listed and 'is throttled, but in the line of no throttle' or 'is throttled, but nowhere in ' .. queue, 'waits for a worker'
end

return each(5 + count, function(jid)
  local key = ns .. 'j:' .. jid
  local whole, state, queue, expires, time, due, throttles, failure, mark =
    unpack(redis.call('HMGET', key, 'jid', 'state', 'queue', 'expires', 'time', 'scheduled', 'throttles', 'failure', 'oarlock-lane'))
  if not whole or not state then return husk(jid, key) end
  if state == 'complete' then return unlisted_complete(jid, time) end
  if state == 'failed' then
    local group = group_of(failure)
    if group then return 'failed', group end
    return
  end
  if not queue or queue == '' then return end
  local question = mark and in_turn(jid, queue, mark)
  if question and (question == 'turn' or state ~= 'running') then return question, mark end
  if state == 'running' then return unlocked(jid, queue, expires) end
  if state == 'scheduled' then return unscheduled(jid, queue, due) end
  if state == 'throttled' then return unthrottled(jid, queue, throttles) end
  if state == 'depends' then
    if has(ns .. 'q:' .. queue .. '-depends', jid) then return 'depends', '' end
    if fix then redis.call('ZADD', ns .. 'q:' .. queue .. '-depends', now, jid) end
    return 'is not among those that wait for others in ' .. queue, 'listed there'
  end
  if anywhere(jid, queue, 'work', 'scheduled', 'locks') then return end
  if fix then to_work(jid, queue, now) end
  return 'is ' .. state .. ', but nowhere in ' .. queue, 'waits for a worker'
end)
