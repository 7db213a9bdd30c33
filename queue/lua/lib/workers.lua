-- How long after now a lock may run out and still be counted: a hundred days.
lock_horizon = 8640000

-- drop_old_workers(now): those not seen for longer than the setting max-worker-age
function drop_old_workers(now)
  local age = numeric(redis.call('HGET', 'ql:config', 'max-worker-age'), 86400)
  local old = redis.call('ZRANGEBYSCORE', 'ql:workers', '0', now - age)
  for _, worker in ipairs(old) do redis.call('DEL', 'ql:w:' .. worker .. ':jobs') end
  call_many('ZREM', 'ql:workers', old)
end

-- view_workers(now) -> JSON list, most recently seen first
function view_workers(now)
  local workers = redis.call('ZREVRANGE', 'ql:workers', '0', '-1')
  for i, worker in ipairs(workers) do
    local key = 'ql:w:' .. worker .. ':jobs'
    workers[i] = '{"stalled":' .. redis.call('ZCOUNT', key, '0', now) .. ',"name":' .. cjson.encode(worker)
      .. ',"jobs":' .. redis.call('ZCOUNT', key, now, now + lock_horizon) .. '}'
  end
  return json_list(workers)
end

-- view_worker(worker, now) -> JSON
function view_worker(worker, now)
  local key = 'ql:w:' .. worker .. ':jobs'
  return '{"stalled":' .. cjson.encode(redis.call('ZREVRANGEBYSCORE', key, now, '0'))
    .. ',"jobs":' .. cjson.encode(redis.call('ZREVRANGEBYSCORE', key, now + lock_horizon, now)) .. '}'
end
