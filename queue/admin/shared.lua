-- shared(ns, fix, jid, ...) -> jid, reason, remedy, alone, ...
-- Which jobs have the key of a part of another job, as a-history has that of the history of job a. With fix "1" one that waits gets another jid,
-- with a dot in place of the last dash.
--   alone   1 if there is no such other job
local fix = ARGV[2] == '1'
local parts = { ['-history'] = 'the history', ['-dependencies'] = 'the dependencies', ['-dependents'] = 'the dependents' }

-- part_in(jid) -> the jid of the other job, and its part
local function part_in(jid)
  for part in pairs(parts) do
    if string.sub(jid, -#part) == part then return string.sub(jid, 1, -#part - 1), part end
  end
end

-- place_of(jid, queue) -> the set in which it waits; nil if it does not, or others know it by its jid
local function place_of(jid, queue)
  local key = ns .. 'j:' .. jid
  for _, field in ipairs({ 'oarlock-lane', 'oarlock-correlation', 'oarlock-park', 'oarlock-gate', 'spawned_from_jid' }) do
    if redis.call('HEXISTS', key, field) == 1 then return nil end
  end
  for part in pairs(parts) do
    if part ~= '-history' and redis.call('EXISTS', key .. part) == 1 then return nil end
  end
  local state = redis.call('HGET', key, 'state')
  local set = ns .. 'q:' .. queue .. (state == 'waiting' and '-work' or state == 'scheduled' and '-scheduled' or '')
  local score = set ~= ns .. 'q:' .. queue and has(set, jid)
  if score and type(redis.pcall('LLEN', key .. '-history')) == 'number' then return set end
end

-- free_name(other, part) -> a jid that no job has
local function free_name(other, part)
  local name = other .. '.' .. string.sub(part, 2)
  for n = 1, 100 do
    local new = n == 1 and name or name .. '.' .. n
    local key = ns .. 'j:' .. new
    if redis.call('EXISTS', key, key .. '-history', key .. '-dependencies', key .. '-dependents') == 0 then return new end
  end
end

-- index(set, old, new): the new name in place of the old one
local function index(set, old, new)
  local score = has(set, old)
  if not score then return end
  redis.call('ZREM', set, old)
  redis.call('ZADD', set, score, new)
end

local function rename(old, new, set)
  local from, to = ns .. 'j:' .. old, ns .. 'j:' .. new
  local fields = redis.call('HGETALL', from)
  for i = 1, #fields, 1000 do redis.call('HSET', to, unpack(fields, i, math.min(i + 999, #fields))) end
  redis.call('HSET', to, 'jid', new)
  for _, entry in ipairs(redis.call('LRANGE', from .. '-history', 0, -1)) do redis.call('RPUSH', to .. '-history', entry) end
  index(set, old, new)
  index(ns .. 'tracked', old, new)
  local ok, tags = pcall(cjson.decode, redis.call('HGET', to, 'tags') or '{}')
  for _, tag in ipairs(ok and type(tags) == 'table' and tags or {}) do index(ns .. 't:' .. tostring(tag), old, new) end
  redis.call('DEL', from, from .. '-history')
end

return each(3, function(jid)
  local other, part = part_in(jid)
  if not other or other == '' or redis.call('HEXISTS', ns .. 'j:' .. jid, 'jid') == 0 then return end
  local alone = redis.call('EXISTS', ns .. 'j:' .. other) == 0 and '1' or '0'
  local reason = 'has the key of ' .. parts[part] .. ' of job ' .. other
  local set = place_of(jid, redis.call('HGET', ns .. 'j:' .. jid, 'queue') or '')
  local new = set and free_name(other, part)
  if not new then return reason, '', alone end
  if fix then rename(jid, new, set) end
  return reason, 'its jid is ' .. new .. ' now', alone
end)
