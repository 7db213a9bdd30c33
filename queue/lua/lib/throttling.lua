-- What the commands about throttles themselves share.

-- given_tid(value) -> value
function given_tid(value)
  return value or refuse('Throttle', 'no tid provided')
end

-- set_throttle(tid, maximum, ttl)
function set_throttle(tid, maximum, ttl)
  finite(maximum, 'Throttle', 'maximum')
  ttl = number(ttl or 0, 'Throttle', 'ttl')
  redis.call('HSET', 'ql:th:' .. tid, 'id', tid, 'maximum', maximum)
  if ttl > 0 then redis.call('EXPIRE', 'ql:th:' .. tid, ttl) end
end

-- view_throttle(tid) -> JSON
function view_throttle(tid)
  local key = 'ql:th:' .. tid
  return '{"id":' .. cjson.encode(tid) .. ',"ttl":' .. redis.call('TTL', key)
    .. ',"maximum":' .. cjson.encode(numeric(redis.call('HGET', key, 'maximum'), 0)) .. '}'
end
