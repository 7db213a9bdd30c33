-- queue_counts(queue, now) -> JSON object
function queue_counts(queue, now)
  local prefix = 'ql:q:' .. queue
  local stalled = redis.call('ZCOUNT', prefix .. '-locks', '0', ARGV[1])
  promote(queue, now, -1)
  local paused = redis.call('SISMEMBER', 'ql:paused_queues', queue) == 1 and 'true' or 'false'
  local running = redis.call('ZCARD', prefix .. '-locks') - stalled
  local waiting = redis.call('ZCARD', prefix .. '-work')
  local recurring = redis.call('ZCARD', prefix .. '-recur')
  local depends = redis.call('ZCARD', prefix .. '-depends')
  local scheduled = redis.call('ZCARD', prefix .. '-scheduled')
  if reqless then
    return '{"recurring":' .. recurring .. ',"waiting":' .. waiting .. ',"stalled":' .. stalled
      .. ',"running":' .. running .. ',"name":' .. cjson.encode(queue) .. ',"paused":' .. paused
      .. ',"depends":' .. depends .. ',"scheduled":' .. scheduled
      .. ',"throttled":' .. redis.call('ZCARD', prefix .. '-throttled') .. '}'
  end
  return '{"paused":' .. paused .. ',"running":' .. running .. ',"name":' .. cjson.encode(queue)
    .. ',"waiting":' .. waiting .. ',"recurring":' .. recurring .. ',"depends":' .. depends
    .. ',"stalled":' .. stalled .. ',"scheduled":' .. scheduled .. '}'
end

-- all_counts(now) -> list of the JSON objects of all known queues, oldest first
function all_counts(now)
  local counts = {}
  for i, queue in ipairs(redis.call('ZRANGE', 'ql:queues', '0', '-1')) do counts[i] = queue_counts(queue, now) end
  return counts
end
