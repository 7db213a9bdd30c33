-- members(ns, key, part, queue, fix, jid, ...) -> jid, reason, remedy, ...
-- Which members of a set or list are jobs that do not belong there. With fix "1" they are
-- removed from it, which loses no job: one that is nowhere then is found by jobs.lua.
--   part    the end of the key's name: work, locks, scheduled, depends, throttled,
--           recur, completed or failed
--   queue   whose it is; "" for completed and failed
-- Legal, if rare: a job that was moved on with a delay is in the schedule and says
-- waiting; one that was retried into another queue is there and names its old queue.
local key, part, queue, fix = ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
local states = {
  work = { waiting = true, stalled = true, throttled = true },
  locks = { running = true, stalled = true },
  scheduled = { scheduled = true, waiting = true },
  depends = { depends = true },
  throttled = { throttled = true },
  completed = { complete = true },
  failed = { failed = true },
}

-- at_home(jid, own) -> whether its own queue has it in a place that makes it go on there
local function at_home(jid, own)
  if part == 'locks' then return has(ns .. 'q:' .. own .. '-locks', jid) end
  return has(ns .. 'q:' .. own .. '-work', jid) or has(ns .. 'q:' .. own .. '-scheduled', jid)
end

local function wrong(jid)
  if part == 'recur' then
    return redis.call('EXISTS', ns .. 'r:' .. jid) == 0 and 'there is no such recurring job'
  end
  local state, own, data = unpack(redis.call('HMGET', ns .. 'j:' .. jid, 'state', 'queue', 'data'))
  -- One that lost its state is told it again by its places.
  if not state then return not data and 'there is no such job' end
  if not states[part][state] then return 'the job is ' .. state end
  if queue == '' then return end
  if part == 'scheduled' and state == 'waiting' and has(ns .. 'q:' .. queue .. '-work', jid) then
    return 'the job waits for a worker already'
  end
  if own ~= queue and (part == 'depends' or own and at_home(jid, own)) then return 'the job is in ' .. tostring(own) end
end

-- still_there(jid) -> whether it has not moved since it was listed
local function still_there(jid)
  if part ~= 'failed' then return has(key, jid) end
  return in_list(key, jid)
end

return each(6, function(jid)
  local reason = wrong(jid)
  if not reason or not still_there(jid) then return end
  if fix and part == 'failed' then
    redis.call('LREM', key, 0, jid)
  elseif fix then
    redis.call('ZREM', key, jid)
  end
  return reason, 'taken out of ' .. key
end)
