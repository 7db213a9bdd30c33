-- A batch does for many jobs what single commands do for one: what is the same for
-- all is read once, entries of the same set are written in one call, and each job
-- has a result of its own.

-- open_batch(now, worker) -> what all jobs of the call share
function open_batch(now, worker)
  local set = redis.pcall('HMGET', 'ql:config', 'heartbeat', 'grace-period', 'max-job-history', 'jobs-history', 'jobs-history-count')
  local broken = {}
  if set.err then -- the defaults, then
    if not is_wrong_type(set) then error(set, 0) end
    broken, set = { '', '', 'ql:config: ' .. reason_of(set) }, {}
  end
  -- There is seldom one of these, and one question tells.
  local special = redis.call('EXISTS', 'ql:tracked', 'ql:oarlock:unblock') > 0
  return {
    now = now,
    stored_now = text17(now),
    time = string.format('%.20f', now),
    worker = worker,
    holds = 'ql:w:' .. worker .. ':jobs',
    grace = bounded('grace-period', set[2]),
    limit = math.floor(bounded('max-job-history', set[3])),
    keep_age = bounded('jobs-history', set[4]),
    keep_count = math.floor(bounded('jobs-history-count', set[5])),
    heartbeat = set[1],
    lock = {},
    most = {},
    commands = call_commands,
    tracked = special and redis.call('EXISTS', 'ql:tracked') == 1,
    unblocking = special and redis.call('EXISTS', 'ql:oarlock:unblock') == 1,
    rest = 0,
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

-- What a call does at most with what it finds, for all others wait as long as it runs: so many
-- commands, about; so many bytes of data handed out, but for a single job; and so many
-- delayed jobs brought in.
call_commands = 450
call_bytes = 4194304
call_promotions = 200

-- spend(batch, commands) -> whether the call may do more
function spend(batch, commands)
  batch.commands = batch.commands - commands
  return batch.commands > 0
end

-- at_most(batch, count, each) -> no more than count of what takes so many commands each
function at_most(batch, count, each)
  return math.min(count, math.max(1, math.floor(batch.commands / each)))
end

-- go_on(batch, prunes): with what calls before this one left to be done
--   prunes   whether completed jobs are to be pruned too, where none was just completed
function go_on(batch, prunes)
  if prunes then prune_some(batch, 0) end
  if not batch.unblocking then return end
  local ok, left = pcall(unblock_on, batch)
  if not ok then report(batch, '', '', left) end
  if ok and left then batch.rest = 1 end
end

-- learn(batch, queue): reads the settings of a queue, once per batch
function learn(batch, queue)
  if batch.lock[queue] then return end
  local set = redis.pcall('HMGET', 'ql:config', queue .. '-heartbeat', queue .. '-max-concurrency')
  batch.lock[queue] = lease_length(set[1], batch.heartbeat)
  batch.most[queue] = bounded('max-concurrency', set[2])
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

-- add(lists, name, first, second): appends one or two values to the list of that name
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
