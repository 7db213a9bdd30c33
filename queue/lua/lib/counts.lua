-- queue_counts(queue, now) -> JSON object
function queue_counts(queue, now)
  local prefix = 'ql:q:' .. queue
  local stalled = redis.call('ZCOUNT', prefix .. '-locks', '0', now)
  promote(queue, now, -1)
  return '{"paused":' .. (redis.call('SISMEMBER', 'ql:paused_queues', queue) == 1 and 'true' or 'false')
    .. ',"running":' .. redis.call('ZCARD', prefix .. '-locks') - stalled
    .. ',"name":' .. cjson.encode(queue)
    .. ',"waiting":' .. redis.call('ZCARD', prefix .. '-work')
    .. ',"recurring":' .. redis.call('ZCARD', prefix .. '-recur')
    .. ',"depends":' .. redis.call('ZCARD', prefix .. '-depends')
    .. (reqless and ',"throttled":' .. redis.call('ZCARD', prefix .. '-throttled') or '')
    .. ',"stalled":' .. stalled
    .. ',"scheduled":' .. redis.call('ZCARD', prefix .. '-scheduled') .. '}'
end

-- all_counts(now) -> list of the JSON objects of all known queues, oldest first
function all_counts(now)
  local counts = {}
  for i, queue in ipairs(redis.call('ZRANGE', 'ql:queues', '0', '-1')) do counts[i] = queue_counts(queue, now) end
  return counts
end
