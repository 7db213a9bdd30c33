-- Dependencies are two sets that mirror each other: what a job waits for, and
-- what waits for it.

-- given_depends(text, area) -> list of jids, from an argument
function given_depends(text, area)
  local on = cjson.decode(text)
  if type(on) ~= 'table' then refuse(area, 'Arg "depends" not a list: ' .. text) end
  for _, jid in ipairs(on) do
    if type(jid) ~= 'string' and type(jid) ~= 'number' then
      refuse(area, 'Arg "depends" must be jids: ' .. text)
    end
  end
  return on
end

-- depend(jid, on) -> how many of the jids in the list on the job waits for now
-- Those that are gone or complete, and the job itself, would never come.
function depend(jid, on)
  local open = 0
  for _, other in ipairs(on) do
    local state = other ~= jid and redis.call('HGET', 'ql:j:' .. other, 'state')
    if state and state ~= 'complete' then
      redis.call('SADD', 'ql:j:' .. other .. '-dependents', jid)
      redis.call('SADD', 'ql:j:' .. jid .. '-dependencies', other)
      open = open + 1
    end
  end
  return open
end

-- drop_dependencies(jid): it waits for nothing any more
function drop_dependencies(jid)
  local key = 'ql:j:' .. jid .. '-dependencies'
  local on = redis.call('SMEMBERS', key)
  if #on == 0 then return end
  for _, other in ipairs(on) do redis.call('SREM', 'ql:j:' .. other .. '-dependents', jid) end
  redis.call('DEL', key)
end

-- unblock(jid, now) -> list of those that could not be freed, nil if there are none
-- Frees the jobs that waited for this one alone. One that cannot be freed goes on waiting,
-- and does not keep the others from being it.
function unblock(jid, now)
  local key = 'ql:j:' .. jid .. '-dependents'
  local waiting = redis.call('SMEMBERS', key)
  if #waiting == 0 then return end
  local stuck
  for _, other in ipairs(waiting) do
    if not pcall(free, other, jid, now) then
      stuck = stuck or {}
      stuck[#stuck + 1] = other
      redis.pcall('SADD', 'ql:j:' .. other .. '-dependencies', jid)
    end
  end
  if not stuck then redis.call('DEL', key) end
  return stuck
end

-- free(jid, from, now): it waits no longer for a job that is complete
-- Rare.
function free(jid, from, now)
  local key = 'ql:j:' .. jid
  redis.call('SREM', key .. '-dependencies', from)
  if redis.call('EXISTS', key .. '-dependencies') == 1 then return end
  local queue, priority, due, lane = unpack(redis.call('HMGET', key, 'queue', 'priority', 'scheduled', 'oarlock-lane'))
  if not queue then return end
  local at = tonumber(due)
  if not at or at ~= at then
    if due then redis.call('HDEL', key, 'scheduled') end -- what is no time is past
    return stop_waiting(jid, queue, priority, lane, now)
  end
  redis.call('ZREM', 'ql:q:' .. queue .. '-depends', jid)
  if lane and shelves(queue, lane) then due = text17(at + shelf) end
  seat(queue, '-scheduled', due, jid)
  redis.call('HSET', key, 'state', 'scheduled')
  redis.call('HDEL', key, 'scheduled')
  wake(queue)
end

-- stop_waiting(jid, queue, priority, lane, now): from state depends to waiting
function stop_waiting(jid, queue, priority, lane, now)
  redis.call('ZREM', 'ql:q:' .. queue .. '-depends', jid)
  if lane and arrive_at(queue, jid, lane, now) then return end
  seat(queue, '-work', score(tonumber(priority) or 0, now), jid)
  redis.call('HSET', 'ql:j:' .. jid, 'state', 'waiting')
  wake(queue)
end
