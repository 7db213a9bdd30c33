-- install(now, version, doc, puts, count, [queue, rules, limit]..., count, [throttle, rules, limit, count, [value, cap]...]...,
--         count, [queue]..., count, [spec, table]..., count, [window, rules]..., early, done, most) -> version, or why not
-- Puts rules in place of those that are there, all or none.
--
--   version  of the rules that the caller has seen, '' for none; likewise of the new ones: how many there were so far, @ and
--            when, so that no two are alike, even if Redis loses its keys in between
--   doc      the document; no script reads it
--   puts     what holds for new jobs of classes; '' if nothing does
--   queue    one that is ruled: its compiled rules, and the limit of its own throttle, 0 for none
--   throttle its compiled rules and limit; of values that it has room for in any case, how much (cap)
--   last     the queues whose priorities are stored negated; and the windows of the rules, as learn has them
--   window   by its name, as the rules of a queue have it: jobs may name it themselves
--   early    and the other two: what is said of answers, see answer_rule; '' for what is usual
--   why not  the list conflict, and the version that is there; or busy, a queue and how many jobs it has: its priorities
--            cannot change their meaning
--
-- A limit that somebody set by hand stays until the rules name another. Tokens that were taken at an old rate come back at the new one.
--
-- Reads    what it writes; ql:q:<queue>-work|scheduled|locks|depends|throttled|recur; ql:oarlock:waitlists:<queue>, ql:oarlock:orders
-- Writes   ql:oarlock:reconsider, ql:oarlock:asker, asked; ql:oarlock:rules, ql:oarlock:needs, ql:oarlock:windows, ql:th:<tid>; ql:oarlock:edition:<name>
local rules_key, at = 'ql:oarlock:rules', 5
local old, flat_old = {}, redis.call('HGETALL', rules_key)
for i = 1, #flat_old, 2 do old[flat_old[i]] = flat_old[i + 1] end
if (old.version or '') ~= ARGV[2] then return { 'conflict', old.version or '' } end

local function next_argument()
  at = at + 1
  return ARGV[at - 1]
end

local fields, limits, kept, low = {}, {}, {}, {}
for _ = 1, tonumber(next_argument()) do
  local queue = next_argument()
  fields['q:' .. queue] = next_argument()
  limits[#limits + 1] = { queue_throttle(queue), next_argument() }
end
for _ = 1, tonumber(next_argument()) do
  local tid = next_argument()
  fields['t:' .. tid] = next_argument()
  limits[#limits + 1] = { tid, next_argument() }
  for _ = 1, tonumber(next_argument()) do
    local value = next_argument()
    limits[#limits + 1] = { tid .. '=' .. value, next_argument() }
  end
end
for _ = 1, tonumber(next_argument()) do low[next_argument()] = true end
local tables = {}
for i = 1, 2 * tonumber(next_argument()) do tables[i] = next_argument() end
for _ = 1, tonumber(next_argument()) do
  local window = next_argument()
  fields['window:' .. window] = next_argument()
end
local answers = { ['answers-early'] = next_argument(), ['answers-done'] = next_argument(), ['answers-most'] = next_argument() }

local function jobs_of(queue)
  local jobs = 0
  for _, kind in ipairs({ '-work', '-scheduled', '-locks', '-depends', '-throttled', '-recur' }) do
    local there = redis.pcall('ZCARD', 'ql:q:' .. queue .. kind)
    if type(there) == 'number' then jobs = jobs + there end
  end
  return jobs
end

local was_low = {}
for _, queue in ipairs(cjson.decode(old.low or '[]')) do was_low[queue] = true end
local turned = {}
for queue in pairs(low) do if not was_low[queue] then turned[#turned + 1] = queue end end
for queue in pairs(was_low) do if not low[queue] then turned[#turned + 1] = queue end end
table.sort(turned)
for _, queue in ipairs(turned) do
  local jobs = jobs_of(queue)
  if jobs > 0 then return { 'busy', queue, jobs } end
end

-- A queue that is ruled no more stays so until nothing in it stands as only rules let it: in a waitlist, by a score that the
-- protocol does not give, or delayed by a window, for only of ruled queues tend is asked to let those in.
local function is_clean(queue)
  return redis.call('EXISTS', 'ql:oarlock:waitlists:' .. queue) == 0 and redis.call('HEXISTS', 'ql:oarlock:orders', queue) == 0
    and (redis.call('HEXISTS', 'ql:oarlock:reconsider', queue) == 0 or redis.call('EXISTS', 'ql:q:' .. queue .. '-scheduled') == 0)
    and redis.call('ZCOUNT', 'ql:q:' .. queue .. '-work', '-inf', raw_scores) == 0
end

end_edition()
for _, limit in ipairs(limits) do
  local tid, maximum = limit[1], limit[2]
  local key = 'ql:th:' .. tid
  kept[tid] = true
  if redis.call('HGET', key, 'oarlock-limit') ~= maximum then
    if tonumber(maximum) > 0 or not string.find(tid, 'ql:q:', 1, true) then
      redis.call('HSET', key, 'id', tid, 'maximum', maximum, 'oarlock-limit', maximum)
    elseif redis.call('HEXISTS', key, 'oarlock-limit') == 1 then
      redis.call('DEL', key)
    end
  end
end
-- seconds_of_token(text) -> how long a token takes by the rules of a throttle, nil if these have no rate
local function seconds_of_token(text)
  local ok, defined = pcall(cjson.decode, text)
  local rate = ok and type(defined) == 'table' and defined.rate
  return type(rate) == 'table' and numeric(rate[1], 0) > 0 and numeric(rate[2], 0) / rate[1] or nil
end

local fills = {} -- throttle -> when its bucket will be full, where the rate differs
local windows_differ = false -- of those that jobs may name themselves
for field, text in pairs(old) do
  if string.sub(field, 1, 7) == 'window:' and fields[field] ~= text then
    windows_differ = true
    if not fields[field] then redis.call('HDEL', rules_key, field) end
  end
end
for field, text in pairs(old) do
  local kind, name = string.match(field, '^([qt]):(.*)$')
  if kind == 'q' and (windows_differ or not fields[field] and old.windows or fields[field] ~= text and string.find(text, '"windows"', 1, true)) then
    redis.call('HSET', 'ql:oarlock:reconsider', name, '-inf')
  end
  if kind == 't' then
    local tids, ok, was = { name }, pcall(cjson.decode, text)
    for value in pairs(ok and type(was) == 'table' and type(was.shares) == 'table' and was.shares or {}) do tids[#tids + 1] = name .. '=' .. value end
    tids[#tids + 1] = name .. '=*'
    for _, tid in ipairs(tids) do
      if not kept[tid] then redis.call('DEL', 'ql:th:' .. tid) end
    end
    if not fields[field] then
      redis.call('HDEL', rules_key, field)
    elseif fields[field] ~= text then
      local now, full = tonumber(ARGV[1]), numeric(redis.call('HGET', 'ql:th:' .. name, 'oarlock-tat'), 0)
      local took, takes = seconds_of_token(text), seconds_of_token(fields[field])
      if full > now and took and takes then fills[name] = text17(now + (full - now) / took * takes) end
    end
    redis.call('DEL', 'ql:oarlock:asker:' .. name, 'ql:oarlock:asked:' .. name)
  elseif kind == 'q' and not fields[field] then
    local key = 'ql:th:' .. queue_throttle(name)
    if redis.call('HEXISTS', key, 'oarlock-limit') == 1 then redis.call('DEL', key) end
    if is_clean(name) then redis.call('HDEL', rules_key, field) else fields[field] = left_rules end
  end
end
for name, value in pairs(answers) do
  if value ~= '' then fields[name] = value else redis.call('HDEL', rules_key, name) end
end
-- The version is written last: where a command failed before, the same call once more does the whole.
local flat, names = {}, {}
for field, text in pairs(fields) do flat[#flat + 1], flat[#flat + 2] = field, text end
call_many('HSET', rules_key, flat)
for tid, full in pairs(fills) do redis.call('HSET', 'ql:th:' .. tid, 'oarlock-tat', full) end -- now, for twice would be too much
for queue in pairs(low) do names[#names + 1] = queue end
redis.call('DEL', 'ql:oarlock:windows')
call_many('HSET', 'ql:oarlock:windows', tables)
redis.call('SADD', 'ql:oarlock:needs', 'rules')
for field, text in pairs(fields) do
  if string.sub(field, 1, 2) == 'q:' and string.find(text, '"fair":"', 1, true) then redis.call('SADD', 'ql:oarlock:needs', 'fair') end
end
if ARGV[4] == '' then redis.call('HDEL', rules_key, 'puts') else redis.call('HSET', rules_key, 'puts', ARGV[4]) end
local version = tostring((tonumber(string.match(old.version or '', '^%d+')) or 0) + 1) .. '@' .. text17(tonumber(ARGV[1]))
redis.call('HSET', rules_key, 'at', ARGV[1], 'doc', ARGV[3], 'low', #names == 0 and '[]' or cjson.encode(names), 'version', version)
begin_edition()
return version
