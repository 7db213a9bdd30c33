-- check_put(jid, klass, data, delay) -> delay as a number
function check_put(jid, klass, data, delay)
  given(jid, 'Put', 'jid')
  given(klass, 'Put', 'klass')
  given_json(data, 'Put', 'data')
  return number(delay, 'Put', 'delay')
end

-- put_job(now, worker, queue, jid, klass, data, delay, named, limit)
-- Creates a job or moves an existing one, whatever its state. The arguments were
-- seen by check_put; the options are checked before anything is written. The
-- queue is not registered here.
--   worker  who asks: the previous owner is told that its lock is gone, unless
--           it is the same
--   named   table of options: priority, tags, retries, depends, throttles
--   limit   the history limit
function put_job(now, worker, queue, jid, klass, data, delay, named, limit)
  local key = 'ql:j:' .. jid
  local state, old_queue, owner, priority, old_tags, retries, failure, history, old_throttles
  -- Most jobs are new, and to learn that is cheaper than to read nine fields.
  if redis.call('EXISTS', key) == 1 then
    state, old_queue, owner, priority, old_tags, retries, failure, history, old_throttles =
      unpack(redis.call('HMGET', key, 'state', 'queue', 'worker', 'priority', 'tags', 'retries', 'failure', 'history', 'throttles'))
  end
  if named.retries then
    finite(named.retries, 'Put', 'retries')
    retries = named.retries
  end
  local tags = named.tags and given_tags(named.tags, 'Put') or stored_tags(old_tags)
  if named.priority then
    finite(named.priority, 'Put', 'priority')
    priority = named.priority
  end
  local depends = named.depends and given_depends(named.depends, 'Put') or {}
  local throttles = put_throttles(named.throttles, old_throttles, state and old_queue, queue)

  announce('{"jid":' .. cjson.encode(jid) .. ',"event":"put","queue":' .. cjson.encode(queue) .. '}')
  remember(jid, put_entry(now, queue), limit, history)
  if state then leave(jid, state, old_queue, owner, failure, queue) end
  if owner and owner ~= '' and owner ~= worker then lock_lost(jid, owner) end
  if old_throttles then
    redis.call('ZREM', 'ql:q:' .. old_queue .. '-throttled', jid)
    -- Strange but observable: in reqless a job keeps what it holds and waits for.
    if not reqless then release_all(jid, old_queue, old_throttles, now) end
  end
  unindex_tags(jid, stored_tags(old_tags))
  index_tags(jid, tags)
  if #depends > 0 then
    drop_dependencies(jid)
    depend(jid, depends)
  end

  state = delay > 0 and 'scheduled' or 'waiting'
  if redis.call('EXISTS', key .. '-dependencies') == 1 then
    if delay > 0 then redis.call('HSET', key, 'scheduled', now + delay) end
    state = 'depends'
  end
  priority, retries = stored_text(priority or '0'), stored_text(retries or '5')
  redis.call('HSET', key, 'jid', jid, 'klass', klass, 'data', data, 'priority', priority,
    'tags', #tags == 0 and next(tags) == nil and '{}' or cjson.encode(tags), 'state', state, 'worker', '', 'expires', '0',
    'queue', queue, 'retries', retries, 'remaining', retries, 'time', string.format('%.20f', now))
  if throttles then redis.call('HSET', key, 'throttles', cjson.encode(throttles)) end

  local prefix = 'ql:q:' .. queue
  local taken = reqless and state == 'waiting' and first_taken(throttles)
  if state == 'depends' then
    redis.call('ZADD', prefix .. '-depends', ARGV[1], jid)
  elseif state == 'scheduled' then
    redis.call('ZADD', prefix .. '-scheduled', now + delay, jid)
  elseif taken then
    throttle(jid, { state = state, history = false }, queue, taken, now, limit)
  else
    redis.call('ZADD', prefix .. '-work', score(tonumber(priority), now), jid)
  end
  tell_trackers('ql:put', jid)
end

-- leave(jid, state, queue, owner, failure, counted): a job leaves the places
-- that its state and owner gave it
--   counted  the queue whose failed jobs are one less if it was one of them
function leave(jid, state, queue, owner, failure, counted)
  if state ~= 'complete' then
    if queue then detach(jid, queue) end
  else
    redis.call('ZREM', 'ql:completed', jid)
  end
  if owner and owner ~= '' then redis.call('ZREM', 'ql:w:' .. owner .. ':jobs', jid) end
  if state == 'failed' then unlist_failed(jid, failure, counted) end
end

-- put_throttles(named, old, old_queue, queue) -> list, or nil for none
-- In reqless a job has those it is given and its queue's. In qless, which does not
-- know them, a job keeps what it has, but for the queue's.
function put_throttles(named, old, old_queue, queue)
  if reqless then
    return move_throttles(named and given_throttles(named, 'Put') or {}, old_queue and queue_throttle(old_queue), queue)
  end
  return old and move_throttles(cjson.decode(old), old_queue and queue_throttle(old_queue), queue) or nil
end

-- register(queue): makes the queue known
function register(queue)
  if not redis.call('ZSCORE', 'ql:queues', queue) then redis.call('ZADD', 'ql:queues', ARGV[1], queue) end
end
