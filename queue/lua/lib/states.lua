-- jobs_in_state(state, queue, now, offset, count) -> list of jids
function jobs_in_state(state, queue, now, offset, count)
  local prefix = 'ql:q:' .. queue
  if state == 'running' then
    return redis.call('ZRANGEBYSCORE', prefix .. '-locks', now, '+inf', 'LIMIT', offset, count)
  elseif state == 'stalled' then
    return redis.call('ZRANGEBYSCORE', prefix .. '-locks', '-inf', now, 'LIMIT', offset, count)
  elseif state == 'recurring' then
    return redis.call('ZRANGEBYSCORE', prefix .. '-recur', '0', '+inf', 'LIMIT', offset, count)
  elseif state == 'scheduled' then
    promote(queue, now, -1)
    return redis.call('ZRANGE', prefix .. '-scheduled', page(offset, count))
  elseif state == 'depends' or state == 'throttled' and reqless then
    return redis.call('ZRANGE', prefix .. '-' .. state, page(offset, count))
  end
  refuse('Jobs', 'Unknown type "' .. state .. '"')
end
