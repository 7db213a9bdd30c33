-- recur_job(now, queue, jid, klass, data, interval, offset, first)
--   interval, offset  arguments, still to be checked
--   first             where the options begin in ARGV
function recur_job(now, queue, jid, klass, data, interval, offset, first)
  interval, offset = finite(interval, 'Recur', 'interval'), finite(offset, 'Recur', 'offset')
  if interval <= 0 then refuse('Recur', 'Arg "interval" must be greater than 0') end
  local named = options(first)
  local tags = named.tags and given_tags(named.tags, 'Recur') or {}
  local priority = finite(named.priority or 0, 'Recur', 'priority')
  local retries = finite(named.retries or 0, 'Recur', 'retries')
  local backlog = finite(named.backlog or 0, 'Recur', 'backlog')

  local key = 'ql:r:' .. jid
  local old_queue, count, old_throttles = unpack(redis.call('HMGET', key, 'queue', 'count', 'throttles'))
  local throttles
  if reqless then
    -- Strange but observable: what goes is the old queue's name, not its throttle.
    throttles = move_throttles(named.throttles and given_throttles(named.throttles, 'Recur') or {}, old_queue, queue)
  elseif old_throttles then
    throttles = move_throttles(cjson.decode(old_throttles), queue_throttle(old_queue), queue)
  end
  if old_queue then redis.call('ZREM', 'ql:q:' .. old_queue .. '-recur', jid) end
  redis.call('HSET', key, 'jid', jid, 'klass', klass, 'data', data, 'priority', priority, 'tags', cjson.encode(tags),
    'state', 'recur', 'queue', queue, 'type', 'interval', 'count', count or '0', 'interval', interval,
    'retries', retries, 'backlog', backlog)
  if throttles then redis.call('HSET', key, 'throttles', cjson.encode(throttles)) end
  redis.call('ZADD', 'ql:q:' .. queue .. '-recur', now + offset, jid)
  register(queue)
end

-- view_recurring(jid) -> JSON, or nil if there is none of that name
function view_recurring(jid)
  local klass, queue, priority, interval, retries, count, data, tags, backlog, throttles =
    unpack(redis.call('HMGET', 'ql:r:' .. jid, 'klass', 'queue', 'priority', 'interval', 'retries', 'count', 'data',
      'tags', 'backlog', 'throttles'))
  if not klass then return nil end
  return '{"tags":' .. shown_list(tags) .. ',"jid":' .. cjson.encode(jid) .. ',"retries":' .. json_number(retries)
    .. ',"data":' .. cjson.encode(data) .. ',"queue":' .. cjson.encode(queue)
    .. ',"state":"recur","count":' .. json_number(count)
    .. (reqless and ',"throttles":' .. shown_list(throttles) or '')
    .. ',"interval":' .. json_number(interval) .. ',"klass":' .. cjson.encode(klass)
    .. ',"backlog":' .. json_number(backlog) .. ',"priority":' .. json_number(priority) .. '}'
end

-- recurring_tags(jid, area) -> the list of tags, or a refusal
function recurring_tags(jid, area)
  local tags = redis.call('HGET', 'ql:r:' .. jid, 'tags')
  if not tags then refuse(area, 'Job ' .. jid .. ' does not exist') end
  return stored_tags(tags)
end
