-- Settings are read with one HMGET of ql:config and then understood here.

-- numeric(value, default) -> number
-- A setting that is missing or no finite number counts as its default.
function numeric(value, default)
  local n = tonumber(value)
  if not n or n - n ~= 0 then return default end
  return n
end

-- history_limit(value) -> integer, from the setting max-job-history
function history_limit(value)
  return math.floor(numeric(value, 100))
end

-- lock_length(of_queue, of_all) -> seconds
-- From the settings <queue>-heartbeat, which wins, and heartbeat.
function lock_length(of_queue, of_all)
  return numeric(of_queue, numeric(of_all, 60))
end

-- bounded(name, value) -> number: a setting as our own commands use it, see bounds.go
function bounded(name, value)
  local least, most, otherwise = bounds_of(name)
  if not value then return otherwise end
  return math.min(math.max(numeric(value, otherwise), least), most)
end

-- lease_length(of_queue, of_all) -> seconds, as lock_length, for our own commands
function lease_length(of_queue, of_all)
  return bounded('heartbeat', numeric(of_queue, of_all))
end

-- The settings that qless lists without being asked for them.
qless_defaults = {
  ['application'] = 'qless', ['heartbeat'] = 60, ['grace-period'] = 10, ['stats-history'] = 30,
  ['histogram-history'] = 7, ['jobs-history-count'] = 50000, ['jobs-history'] = 604800,
}

-- all_settings(defaults) -> JSON object of the defaults and, over them, what is set
function all_settings(defaults)
  local set = redis.call('HGETALL', 'ql:config')
  for i = 1, #set, 2 do defaults[set[i]] = set[i + 1] end
  return cjson.encode(defaults)
end

-- And those of reqless, where all are text.
reqless_defaults = {
  ['application'] = 'reqless', ['heartbeat'] = '60', ['grace-period'] = '10', ['jobs-history'] = '604800',
  ['jobs-history-count'] = '50000', ['max-job-history'] = '100', ['max-pop-retry'] = '1', ['max-worker-age'] = '86400',
}
