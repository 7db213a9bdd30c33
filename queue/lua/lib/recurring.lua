-- spawn(queue, now, limit) -> how many
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
-- Rare.
function spawn_children(queue, parent, next, now, limit, history)
  local recurring, schedule = 'ql:r:' .. parent, 'ql:q:' .. queue .. '-recur'
  local f = redis.call('HMGET', recurring, 'klass', 'data', 'priority', 'tags', 'retries', 'interval',
    'backlog', 'count', 'throttles')
  if not f[1] then
    redis.call('ZREM', schedule, parent)
    return 0
  end
  local klass, data, priority, tags, retries, throttles = f[1], f[2], f[3], f[4], f[5], f[9]
  local interval, backlog, count = tonumber(f[6]), tonumber(f[7]), tonumber(f[8]) or 0
  if reqless and not throttles then throttles = cjson.encode({ queue_throttle(queue) }) end

  local time, spawned = math.floor(next), 0
  if backlog ~= 0 then
    local missed = (now - time) / interval
    if missed > backlog then time = time + math.ceil(missed - backlog) * interval end
  end
  while time <= now and spawned < limit do
    spawned = spawned + 1
    count = count + 1
    local child = parent .. '-' .. text14(count)
    evict(child, now)
    index_tags(child, stored_tags(tags))
    redis.call('HSET', 'ql:j:' .. child, 'jid', child, 'klass', klass, 'data', data, 'priority', priority, 'tags', tags,
      'state', 'waiting', 'worker', '', 'expires', '0', 'queue', queue, 'retries', retries, 'remaining', retries,
      'time', string.format('%.20f', time), 'spawned_from_jid', parent)
    if throttles then redis.call('HSET', 'ql:j:' .. child, 'throttles', throttles) end
    remember(child, put_entry(time, queue), history, false)
    redis.call('ZADD', 'ql:q:' .. queue .. '-work', score(tonumber(priority), time), child)
    time = time + interval
  end
  if spawned > 0 then
    redis.call('HSET', recurring, 'count', text14(count))
    redis.call('ZADD', schedule, time, parent)
  end
  return spawned
end

-- evict(jid, now): clears the way for a new job of that name
-- A parent that was removed and made again counts its children from 1 again, and
-- may come upon old ones. Their places are taken from them before their hash is.
function evict(jid, now)
  local state, queue, worker, failure, tags, throttles = unpack(
    redis.call('HMGET', 'ql:j:' .. jid, 'state', 'queue', 'worker', 'failure', 'tags', 'throttles'))
  if not state then return end
  leave(jid, state, queue, worker, failure, queue)
  if throttles then release_all(jid, queue, throttles, now) end
  unindex_tags(jid, stored_tags(tags))
  drop_dependencies(jid)
end
