-- The history of a job: a list of [when,"what"] or [when,"what",{...}], oldest
-- first, cut to its first entry and the newest max-job-history - 1.

-- remember(jid, entry, limit, legacy) -> nil, or why there is no such entry now
-- Appends one entry. A history that cannot be kept is no reason to do less with the job.
--   limit    the setting; nil if the caller did not read it
--   legacy   the job's field history, or false: what older programs kept
function remember(jid, entry, limit, legacy)
  if legacy then
    local ok, raised = pcall(convert_history, jid, legacy)
    if not ok then return reason_of(raised) end
  end
  local key = 'ql:j:' .. jid .. '-history'
  local length = redis.pcall('RPUSH', key, entry)
  if (length == 2 or length == 3) and limit and limit > 2 then return end -- as nearly all are
  if type(length) ~= 'number' then return reason_of(length) end
  if length > 2 then pcall(trim_history, key, length, limit) end
end

-- reason_of(raised) -> text of what pcall caught: Redis raises tables, Lua strings
-- Where Redis takes no writes at all, that is no matter of a single job: it is raised again, to be the answer to the whole call. Redis says so before
-- the first write of a call only, so nothing was done.
-- Rare.
function reason_of(raised)
  local text = type(raised) == 'table' and raised.err or tostring(raised)
  local code = string.match(text, '^(%u+) ') or string.match(text, '^@?user_script: ?%d+: %-(%u+) ')
  if code == 'READONLY' or code == 'NOREPLICAS' or code == 'MISCONF' or code == 'MASTERDOWN' or code == 'CLUSTERDOWN' or code == 'LOADING' then raise(text) end
  return text
end

-- raise(raised): raises again what pcall caught, or what redis.pcall answered
-- Redis would put ERR in front of the text that pcall caught, but clients need the code that the error begins with: READONLY makes them
-- reconnect. Before version 7 an error must be a text.
-- Rare.
function raise(raised)
  local text = type(raised) == 'table' and raised.err or raised
  if redis.REDIS_VERSION_NUM and type(text) == 'string' and string.find(text, '^%u+ ') then error({ err = text }, 0) end
  error(text, 0)
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

-- given_back(now, how, group, worker) -> the entry for a job that a verb of ours gave back.
-- For others it is a timeout, as the single command leaves it; how it came about stands beside.
--   group   why, or nil
-- Rare.
function given_back(now, how, group, worker)
  return '[' .. text14(math.floor(now)) .. ',"timed-out",{"oarlock":' .. cjson.encode(how)
    .. (group and ',"group":' .. cjson.encode(group) or '') .. ',"worker":' .. cjson.encode(worker) .. '}]'
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
