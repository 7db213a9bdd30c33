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
-- Those that are gone or complete, and the job itself, would never come. Where it cannot wait for one of them it waits for no more
-- than before, and that is raised.
function depend(jid, on)
  local open, own = 0, 'ql:j:' .. jid .. '-dependencies'
  for i, other in ipairs(on) do
    local state = other ~= jid and redis.call('HGET', 'ql:j:' .. other, 'state')
    if state and state ~= 'complete' then
      local told, kept = redis.pcall('SADD', 'ql:j:' .. other .. '-dependents', jid), nil
      if type(told) == 'number' then kept = redis.pcall('SADD', own, other) end
      if type(kept) ~= 'number' then cannot_depend(jid, on, i, kept or told) end
      open = open + 1
    end
  end
  return open
end

-- cannot_depend(jid, on, last, raised): it waits for none of a list up to last, and that is raised
-- Rare.
function cannot_depend(jid, on, last, raised)
  for i = 1, last do
    redis.pcall('SREM', 'ql:j:' .. on[i] .. '-dependents', jid)
    redis.pcall('SREM', 'ql:j:' .. jid .. '-dependencies', on[i])
  end
  if is_job('ql:j:' .. on[last] .. '-dependents') then
    error('no job can depend on job ' .. excerpt(on[last]) .. ': the key for its dependents is that of job ' .. excerpt(on[last]) .. '-dependents', 0)
  end
  raise(raised)
end

-- drop_dependencies(jid) -> list of jids: it waits for nothing any more
function drop_dependencies(jid)
  local key = 'ql:j:' .. jid .. '-dependencies'
  local on = set_of(key)
  if #on == 0 then return on end
  for _, other in ipairs(on) do redis.pcall('SREM', 'ql:j:' .. other .. '-dependents', jid) end
  redis.call('DEL', key)
  return on
end

-- unblock(jid, now) -> list of those that could not be freed, nil if there are none
-- Frees the jobs that waited for this one alone. One that cannot be freed goes on waiting,
-- and does not keep the others from being it.
function unblock(jid, now)
  local key = 'ql:j:' .. jid .. '-dependents'
  local waiting = set_of(key)
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
  if has_members(key .. '-dependencies') then return end
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
