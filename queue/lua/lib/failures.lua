-- Failed jobs: the failure field of the job, and the list of each group.

-- failure_json(group, message, when, worker) -> text of the failure field
function failure_json(group, message, when, worker)
  return '{"group":' .. cjson.encode(group) .. ',"message":' .. cjson.encode(message)
    .. ',"when":' .. text14(when) .. ',"worker":' .. cjson.encode(worker) .. '}'
end

-- list_failed(jid, group): newest first
function list_failed(jid, group)
  redis.call('SADD', 'ql:failures', group)
  redis.call('LPUSH', 'ql:f:' .. group, jid)
end

-- exhausted(of_group, of_message) -> group, message of a job with no retries left
-- Strange but observable: the queue that names the group need not be the one in the message.
function exhausted(of_group, of_message)
  return 'failed-retries-' .. of_group, 'Job exhausted retries in queue "' .. of_message .. '"'
end

-- unlist_failed(jid, failure, queue): a failed job leaves that state
--   failure   the job's field
--   queue     whose count of failed jobs, on the day of the failure, goes down
function unlist_failed(jid, failure, queue)
  local ok, was = pcall(cjson.decode, failure)
  if not (ok and type(was) == 'table' and was.group) then return unlist_everywhere(jid) end
  local key = 'ql:f:' .. was.group
  redis.call('LREM', key, '0', jid)
  if redis.call('EXISTS', key) == 0 then redis.call('SREM', 'ql:failures', was.group) end
  if tonumber(was.when) then redis.call('HINCRBY', 'ql:s:stats:' .. day(was.when) .. ':' .. queue, 'failed', '-1') end
end

-- unlist_everywhere(jid): a failed job that does not say in which group leaves the one it is in
-- Rare.
function unlist_everywhere(jid)
  for _, group in ipairs(redis.call('SMEMBERS', 'ql:failures')) do
    local key = 'ql:f:' .. group
    redis.pcall('LREM', key, '0', jid)
    if redis.call('EXISTS', key) == 0 then redis.call('SREM', 'ql:failures', group) end
  end
end

-- count_groups() -> JSON object, group to number of failed jobs
function count_groups()
  local counts = {}
  for _, group in ipairs(redis.call('SMEMBERS', 'ql:failures')) do
    counts[#counts + 1] = cjson.encode(group) .. ':' .. redis.call('LLEN', 'ql:f:' .. group)
  end
  return '{' .. table.concat(counts, ',') .. '}'
end

-- page_of_group(group, first, limit) -> JSON of jids, newest first, and their number
function page_of_group(group, first, limit)
  local key = 'ql:f:' .. group
  return '{"jobs":' .. cjson.encode(redis.call('LRANGE', key, page(first, limit)))
    .. ',"total":' .. redis.call('LLEN', key) .. '}'
end
