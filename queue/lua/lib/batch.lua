-- A batch does for many jobs what single commands do for one: what is the same for
-- all is read once, entries of the same set are written in one call, and each job
-- has a result of its own.

-- open_batch(now, worker, queues, settlements, named, edition) -> what all jobs of the call share
--   queues       of which jobs are to be taken; nil or false if none are
--   settlements  and the queues that the call names, if it is to be told whether one of all these is ruled (batch.concerned)
--   edition      the key of one of rules that, as the caller was told, say nothing of the call; nil if it was told of none. See edition.lua
function open_batch(now, worker, queues, settlements, named, edition)
  local names, broken = { 'heartbeat', 'grace-period', 'max-job-history', 'jobs-history', 'jobs-history-count' }, {}
  local told = queues and math.min(#queues, 4) or 0 -- of the others learn asks, if their turn comes
  for i = 1, told do names[2 * i + 4], names[2 * i + 5] = queues[i] .. '-heartbeat', queues[i] .. '-max-concurrency' end
  local set = redis.pcall('HMGET', 'ql:config', unpack(names))
  if set.err then -- the defaults, then
    if not is_wrong_type(set) then raise(set) end
    broken, set = { '', '', 'ql:config: ' .. reason_of(set) }, {}
  end
  local batch = {
    now = now,
    stored_now = ARGV[1],
    time = string.format('%.20f', now),
    worker = worker,
    holds = 'ql:w:' .. worker .. ':jobs',
    set = set,
    limit = math.floor(bounded('max-job-history', set[3])),
    lock = {},
    most = {},
    commands = call_commands,
    ordered = {},
    rest = 0,
    broken = broken,
    shown = {},
    times = {},
    second = text14(math.floor(now)), -- in entries of histories
  }
  for i = 1, told do set_queue(batch, queues[i], set[2 * i + 4], set[2 * i + 5]) end
  ask_special(batch, queues, settlements, named, edition)
  return batch
end

-- ask_special(batch, takes, settlements, named, edition): what there seldom is
-- One question tells whether there is any; where there is one, the next find it in most cases: the words of needs, and what rules say that
-- every call of a key space with rules asks, unless it knows.
--   version, low, puts   fields of the rules; see read_low and put_as_ruled
--   edition              of the rules, if it still is as the caller was told
--   tells                the key of one that says nothing of the call: the caller need not ask again
function ask_special(batch, takes, settlements, named, edition)
  local special
  if edition then -- its key so often that it outweighs all others; where nothing is settled the others do not matter
    if settlements then
      special = redis.call('EXISTS', edition, edition, edition, edition, edition, 'ql:tracked', 'ql:oarlock:unblock', 'ql:oarlock:hooks', 'ql:paused_queues') - 5
    else
      special = redis.call('EXISTS', edition, edition, 'ql:tracked') - 2
      batch.tracked = special == 1
    end
    if special < 0 then edition = nil end
  end
  if edition then
    batch.edition = edition
  elseif takes then
    special = redis.call('EXISTS', 'ql:oarlock:rules', 'ql:tracked', 'ql:oarlock:unblock', 'ql:oarlock:hooks', 'ql:oarlock:needs', 'ql:paused_queues')
  else
    special = redis.call('EXISTS', 'ql:oarlock:rules', 'ql:tracked', 'ql:oarlock:unblock', 'ql:oarlock:hooks')
  end
  hooks, batch.settings = false, false -- settings: of keys, or rules
  if special == 0 or edition and not settlements then return end
  local function is_there(key)
    if special == 0 or redis.call('EXISTS', key) == 0 then return false end
    special = special - 1
    return true
  end
  if takes and not edition then
    local words = redis.pcall('SMEMBERS', 'ql:oarlock:needs')
    for _, word in ipairs(words) do
      if word ~= 'rules' and word ~= 'park' and word ~= 'keys' and word ~= 'fair' then batch.lacks = lacking() end
    end
    if #words > 0 then special = special - 1 end
  end
  if special > 0 and not edition then
    if settlements then
      batch.concerned = is_ruled(batch, settlements, named)
      if batch.concerned or not takes or batch.lacks then batch.tells = nil end
    else
      local f = redis.pcall('HMGET', 'ql:oarlock:rules', 'version', 'low', 'puts', 'edition')
      if not f.err then note_rules(batch, f) end
      if batch.puts or batch.low then batch.tells = nil end
    end
    if batch.version then
      batch.settings, special = true, special - 1
    else
      batch.settings = is_there('ql:oarlock:rules') -- of settings of keys alone there is no version
    end
  end
  batch.any_paused = (takes or edition) and is_there('ql:paused_queues')
  hooks = is_there('ql:oarlock:hooks')
  batch.tracked = is_there('ql:tracked')
  batch.unblocking = is_there('ql:oarlock:unblock')
end

-- note_rules(batch, f): what rules say to every call
--   f   their version, low, puts, and edition
-- Rare.
function note_rules(batch, f)
  batch.version, batch.low, batch.puts, batch.tells = f[1], false, f[3], f[4] and 'ql:oarlock:edition:' .. f[4] or nil
  if f[2] and f[2] ~= '[]' then read_low(batch, f[2]) end
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

-- read_count(text) -> how many jobs are wanted, and how many bytes of data they may have together: fewer than usual
-- Rare.
function read_count(text)
  local most, bytes = string.match(text, '^(%d+)/(%d+)$')
  return tonumber(most), tonumber(bytes)
end

-- read_passes(text) -> max_job, and per queue the set of the classes of which nothing is wanted
-- Rare.
function read_passes(text)
  local most, json = string.match(text, '^(%d+) (.*)$')
  local passes = cjson.decode(json)
  for _, classes in pairs(passes) do
    for _, class in ipairs(classes) do classes[class] = true end
  end
  return tonumber(most), passes
end

-- As many jobs as a call may settle, and take, in a straight line, are always within that.
plain_jobs = 100

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
-- Rare.
function go_on(batch, prunes)
  if prunes then prune_some(batch, 0) end
  if not batch.unblocking then return end
  local ok, left = pcall(unblock_on, batch)
  if not ok then report(batch, '', '', left) end
  if ok and left then batch.rest = 1 end
end

-- learn(batch, queue): reads the settings of a queue, once per batch
-- Rare.
function learn(batch, queue)
  if not batch.lock[queue] then
    local set = redis.pcall('HMGET', 'ql:config', queue .. '-heartbeat', queue .. '-max-concurrency')
    set_queue(batch, queue, set[1], set[2])
  end
  if batch.settings and batch.ordered[queue] == nil then batch.ordered[queue] = redis.call('HGET', 'ql:oarlock:rules', 'o:' .. queue) end
end

-- set_queue(batch, queue, heartbeat, most): what the settings say of a queue
function set_queue(batch, queue, heartbeat, most)
  batch.lock[queue] = lease_length(heartbeat, batch.set[1])
  batch.most[queue] = bounded('max-concurrency', most)
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
  batch.known = batch.known or {}
  if batch.known[queue] then return end
  batch.known[queue] = true
  pcall(register, queue)
end

-- tell(batch, channel, jid): as tell_trackers, which most batches need not ask
-- Rare.
function tell(batch, channel, jid)
  if batch.tracked then tell_trackers(channel, jid) end
end

-- score_text(batch, priority) -> place in the work set of a job that enters it now
function score_text(batch, priority)
  batch.scores = batch.scores or {}
  local known = batch.scores[priority]
  if not known then
    known = text17(score(tonumber(priority) or 0, batch.now))
    batch.scores[priority] = known
  end
  return known
end

-- read_options(at) -> table of names and values, index after them
-- ARGV[at] says how many pairs follow.
-- Rare.
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
