-- spawn(queue, now, limit, history) -> how many
-- Puts the children of recurring jobs that are due into the work set, at most limit
-- (negative: none, although promote takes it for all).
--   history  the history limit, or nil
function spawn(queue, now, limit, history)
  if limit <= 0 then return 0 end
  local schedule = 'ql:q:' .. queue .. '-recur'
  local due = redis.call('ZRANGEBYSCORE', schedule, '0', ARGV[1], 'WITHSCORES', 'LIMIT', '0', text17(limit))
  local left = limit
  for i = 1, #due, 2 do
    left = left - spawn_children(queue, due[i], tonumber(due[i + 1]), now, left, history)
  end
  return limit - left
end

-- spawn_children(queue, parent, next, now, limit, history) -> how many
--   next     when the first child was due
--   history  the history limit, or nil
-- When the next is due, and its number, are written before the children are: none may come
-- twice under one name.
-- Rare.
function spawn_children(queue, parent, next, now, limit, history)
  local recurring, schedule = 'ql:r:' .. parent, 'ql:q:' .. queue .. '-recur'
  local f = redis.call('HMGET', recurring, 'klass', 'data', 'priority', 'tags', 'retries', 'interval',
    'backlog', 'count', 'throttles')
  if not f[1] then
    redis.call('ZREM', schedule, parent)
    return 0
  end
  check_recurring(f)
  local interval, backlog, count = tonumber(f[6]), tonumber(f[7]), tonumber(f[8]) or 0
  if reqless and not f[9] then f[9] = cjson.encode({ queue_throttle(queue) }) end

  local time, times = math.floor(next), {}
  if backlog ~= 0 then
    local missed = (now - time) / interval
    if missed > backlog then time = time + math.ceil(missed - backlog) * interval end
  end
  while time <= now and #times < limit do
    times[#times + 1] = time
    time = time + interval
  end
  if #times == 0 then return 0 end
  redis.call('HSET', recurring, 'count', text14(count + #times))
  redis.call('ZADD', schedule, time, parent)
  for i, when in ipairs(times) do
    local child = parent .. '-' .. text14(count + i)
    local ok, raised = pcall(spawn_child, child, parent, queue, f, when, now, history)
    if not ok then -- it is due still
      pcall(delete_job, 'ql:j:' .. child)
      redis.pcall('ZREM', 'ql:q:' .. queue .. '-work', child)
      redis.pcall('ZADD', schedule, when, parent)
      raise(raised)
    end
  end
  return #times
end

-- spawn_child(child, parent, queue, f, time, now, history)
--   f     the fields of the recurring job, in the order of spawn_children
--   time  when it was due
-- Rare.
function spawn_child(child, parent, queue, f, time, now, history)
  local priority, tags, retries = f[3], f[4], f[5]
  evict(child, now)
  index_tags(child, stored_tags(tags))
  redis.call('HSET', 'ql:j:' .. child, 'jid', child, 'klass', f[1], 'data', f[2], 'priority', priority, 'tags', tags,
    'state', 'waiting', 'worker', '', 'expires', '0', 'queue', queue, 'retries', retries, 'remaining', retries,
    'time', string.format('%.20f', time), 'spawned_from_jid', parent)
  if f[9] then redis.call('HSET', 'ql:j:' .. child, 'throttles', f[9]) end
  remember(child, put_entry(time, queue), history, false)
  seat(queue, '-work', score(tonumber(priority), time), child)
end

-- check_recurring(f): raises if a recurring job cannot be read
--   f   its fields, in the order of spawn_children
-- Rare.
function check_recurring(f)
  for i, name in pairs({ [3] = 'priority', [5] = 'retries', [6] = 'interval', [7] = 'backlog', [8] = 'count' }) do
    local n = tonumber(f[i])
    if (f[i] or i ~= 8) and not (n and n - n == 0) then
      error('damaged: its field ' .. name .. ' is ' .. excerpt(f[i] or 'missing') .. ', no number', 0)
    end
  end
  if not f[2] then error('damaged: its field data is missing', 0) end
  local ok, tags = pcall(cjson.decode, f[4])
  if not f[4] or not ok or type(tags) ~= 'table' then
    error('damaged: its field tags is ' .. excerpt(f[4] or 'missing') .. ', no list', 0)
  end
end

-- evict(jid, now): clears the way for a new job of that name
-- A parent that was removed and made again counts its children from 1 again, and
-- may come upon old ones. Their places are taken from them before their hash is.
function evict(jid, now)
  local state, queue, worker, failure, tags, throttles, lane, expires, gate = unpack(
    redis.call('HMGET', 'ql:j:' .. jid, 'state', 'queue', 'worker', 'failure', 'tags', 'throttles', 'oarlock-lane', 'expires', 'oarlock-gate'))
  finish_unblocking(jid, now)
  if not state then return end
  evicted = evicted or {}
  evicted[(queue or '') .. '\0' .. jid] = true
  if state == 'throttled' and gate then leave_waitlist(jid, queue, throttles) end
  leave(jid, state, queue, worker, failure, queue)
  if throttles then give_back(jid, queue, throttles, now) end
  if gate then drop_derived(jid, throttles, gate) end
  if lane then
    depart_lane(jid, lane, now, state == 'running' and expires)
    redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-lane')
  end
  unindex_tags(jid, stored_tags(tags))
  drop_dependencies(jid)
end

-- who was in its place before in this call, by queue and jid; whoever listed it before must not take it there
evicted = false
