-- The history of a job: a list of [when,"what"] or [when,"what",{...}], oldest
-- first, cut to its first entry and the newest max-job-history - 1.

-- remember(jid, entry, limit, legacy): appends one entry
--   limit    the setting; nil if the caller did not read it
--   legacy   the job's field history, or false: what older programs kept
function remember(jid, entry, limit, legacy)
  if legacy then convert_history(jid, legacy) end
  local key = 'ql:j:' .. jid .. '-history'
  local length = redis.call('RPUSH', key, entry)
  if length > 2 then trim_history(key, length, limit) end
end

-- trim_history(key, length, limit)
-- A limit of 1 keeps two entries and one of 2 keeps all: clients' histories look
-- like that, so ours do. One of 0 or less is none.
-- Rare.
function trim_history(key, length, limit)
  limit = limit or history_limit(redis.call('HGET', 'ql:config', 'max-job-history'))
  if length <= limit or limit <= 0 or limit == 2 then return end
  local first = redis.call('LPOP', key)
  if limit == 1 then
    redis.call('LPOP', key)
  else
    redis.call('LTRIM', key, 1 - limit, '-1')
  end
  redis.call('LPUSH', key, first)
end

-- put_entry(now, queue) -> the entry for a job's arrival in a queue
function put_entry(now, queue)
  local name = reqless and 'queue' or 'q'
  return '[' .. text14(math.floor(now)) .. ',"put",{"' .. name .. '":' .. cjson.encode(queue) .. '}]'
end

-- plain_entry(now, what) -> an entry with nothing to add; what needs no escapes
function plain_entry(now, what)
  return '[' .. text14(math.floor(now)) .. ',"' .. what .. '"]'
end

-- convert_history(jid, legacy): moves the history out of the job's own hash
-- Rare.
function convert_history(jid, legacy)
  local entries = {}
  for _, stay in ipairs(cjson.decode(legacy)) do
    entries[#entries + 1] = put_entry(stay.put, stay.q or stay.queue)
    if stay.popped then
      local popped = text14(math.floor(stay.popped))
      entries[#entries + 1] = '[' .. popped .. ',"popped",{"worker":' .. cjson.encode(stay.worker) .. '}]'
    end
    if stay.failed then entries[#entries + 1] = plain_entry(stay.failed, 'failed') end
    if stay.done then entries[#entries + 1] = plain_entry(stay.done, 'done') end
  end
  call_many('RPUSH', 'ql:j:' .. jid .. '-history', entries)
  redis.call('HDEL', 'ql:j:' .. jid, 'history')
end
