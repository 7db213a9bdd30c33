-- A batch does for many jobs what single commands do for one: what is the same for
-- all is read once, entries of the same set are written in one call, and each job
-- has a result of its own.

-- open_batch(now, worker, queues) -> what all jobs of the call share
--   queues   list of the queues whose lock lengths and limits are wanted
function open_batch(now, worker, queues)
  local fields = { 'heartbeat', 'grace-period', 'max-job-history', 'jobs-history', 'jobs-history-count' }
  for _, queue in ipairs(queues) do
    fields[#fields + 1] = queue .. '-heartbeat'
    fields[#fields + 1] = queue .. '-max-concurrency'
  end
  local ok, set = pcall(call_wide, 'HMGET', 'ql:config', fields)
  local broken = {}
  if not ok then -- the defaults, then
    if not is_wrong_type(set) then error(set, 0) end
    broken, set = { '', '', 'ql:config: ' .. reason_of(set) }, {}
  end
  local lock, most = {}, {}
  for i, queue in ipairs(queues) do
    lock[queue] = lock_length(set[4 + 2 * i], set[1])
    most[queue] = numeric(set[5 + 2 * i], 0)
  end
  return {
    now = now,
    stored_now = text17(now),
    time = string.format('%.20f', now),
    worker = worker,
    holds = 'ql:w:' .. worker .. ':jobs',
    grace = numeric(set[2], 10),
    limit = history_limit(set[3]),
    keep_age = numeric(set[4], 604800),
    keep_count = math.floor(numeric(set[5], 50000)),
    lock = lock,
    most = most,
    tracked = redis.call('EXISTS', 'ql:tracked') == 1,
    broken = broken,
    shown = {},
    known = {},
    times = {},
    scores = {},
    dues = {},
  }
end

-- read_setting(name) -> text; false if it is not set, or none can be read
-- Rare.
function read_setting(name)
  local value = redis.pcall('HGET', 'ql:config', name)
  return type(value) == 'string' and value
end

-- call_wide(command, key, fields) -> list, for more fields than fit on Lua's stack
function call_wide(command, key, fields)
  if #fields <= 6000 then return redis.call(command, key, unpack(fields)) end
  local all = {}
  for i = 1, #fields, 6000 do
    local slice = redis.call(command, key, unpack(fields, i, math.min(i + 5999, #fields)))
    for k = 1, #slice do all[i + k - 1] = slice[k] end
  end
  return all
end

-- json_name(batch, name) -> JSON of a queue or worker, which recur within a batch
function json_name(batch, name)
  local known = batch.shown[name]
  if not known then
    known = cjson.encode(name)
    batch.shown[name] = known
  end
  return known
end

-- add(lists, name, ...): appends to the list of that name
function add(lists, name, first, second)
  local list = lists[name]
  if not list then
    list = {}
    lists[name] = list
  end
  list[#list + 1] = first
  if second then list[#list + 1] = second end
end

-- know(batch, queue): makes a queue known, once per batch
function know(batch, queue)
  if batch.known[queue] then return end
  batch.known[queue] = true
  pcall(register, queue)
end

-- tell(batch, channel, jid): as tell_trackers, which most batches need not ask
function tell(batch, channel, jid)
  if batch.tracked then tell_trackers(channel, jid) end
end

-- score_text(batch, priority) -> place in the work set of a job that enters it now
function score_text(batch, priority)
  local known = batch.scores[priority]
  if not known then
    known = text17(score(tonumber(priority) or 0, batch.now))
    batch.scores[priority] = known
  end
  return known
end

-- read_options(at) -> table of names and values, index after them
-- ARGV[at] says how many pairs follow.
function read_options(at)
  local count = ARGV[at]
  at = at + 1
  if count == '0' then return no_options, at end
  local named = {}
  for _ = 1, tonumber(count) do
    named[ARGV[at]] = ARGV[at + 1]
    at = at + 2
  end
  return named, at
end

no_options = {}
