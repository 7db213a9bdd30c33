-- jobs(ns, now, fix, jid, ...) -> jid, reason, ...
-- Which jobs are not where their state says. With fix "1" they are put there, so
-- that they run, at once if they are to run at all; what is no whole job is deleted.
local ns, now, fix = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'

local function has(key, jid) return redis.call('ZSCORE', key, jid) end

-- to_work: makes a job wait for a worker, behind the others of its priority
local function to_work(jid, queue)
  local priority = tonumber(redis.call('HGET', ns .. 'j:' .. jid, 'priority')) or 0
  redis.call('HSET', ns .. 'j:' .. jid, 'state', 'waiting', 'worker', '', 'expires', '0')
  redis.call('ZADD', ns .. 'q:' .. queue .. '-work', string.format('%.17g', priority - now / 10000000000), jid)
end

-- lost_dependencies(jid, fix): those that are complete or not there, which will never free it
local function lost_dependencies(jid)
  local lost = {}
  for _, other in ipairs(redis.call('SMEMBERS', ns .. 'j:' .. jid .. '-dependencies')) do
    local state = redis.call('HGET', ns .. 'j:' .. other, 'state')
    if not state or state == 'complete' then lost[#lost + 1] = other end
  end
  return lost
end

local function examine(jid)
  local job = redis.call('HMGET', ns .. 'j:' .. jid, 'state', 'queue', 'expires', 'jid')
  local state, queue = job[1], job[2]
  if not state or not job[4] then
    if fix then redis.call('DEL', ns .. 'j:' .. jid) end
    return 'is no whole job'
  end
  if state == 'complete' then
    if has(ns .. 'completed', jid) then return end
    if fix then redis.call('ZADD', ns .. 'completed', now, jid) end
    return 'is complete and not listed as such'
  elseif state == 'failed' or not queue or queue == '' then
    return
  end
  local prefix = ns .. 'q:' .. queue
  if state == 'running' then
    if has(prefix .. '-locks', jid) then return end
    if fix then redis.call('ZADD', prefix .. '-locks', tonumber(job[3]) or now, jid) end
    return 'is running without a lock in ' .. queue
  elseif state == 'scheduled' then
    if has(prefix .. '-scheduled', jid) then return end
    if fix then redis.call('ZADD', prefix .. '-scheduled', now, jid) end
    return 'is scheduled, but not in the schedule of ' .. queue
  elseif state == 'depends' then
    local lost = lost_dependencies(jid)
    local listed = has(prefix .. '-depends', jid)
    if #lost == 0 and listed then return end
    if fix then
      if #lost > 0 then redis.call('SREM', ns .. 'j:' .. jid .. '-dependencies', unpack(lost)) end
      if redis.call('SCARD', ns .. 'j:' .. jid .. '-dependencies') == 0 then
        redis.call('ZREM', prefix .. '-depends', jid)
        to_work(jid, queue)
      elseif not listed then
        redis.call('ZADD', prefix .. '-depends', now, jid)
      end
    end
    return #lost > 0 and 'waits for ever for ' .. table.concat(lost, ' ') or 'is not among those that wait in ' .. queue
  elseif state == 'throttled' then
    if has(prefix .. '-throttled', jid) or has(prefix .. '-work', jid) then return end
  elseif has(prefix .. '-work', jid) or state == 'stalled' and has(prefix .. '-locks', jid) then
    return
  end
  if fix then to_work(jid, queue) end
  return 'is ' .. state .. ', but nowhere in ' .. queue
end

local found = {}
for i = 4, #ARGV do
  local reason = examine(ARGV[i])
  if reason then found[#found + 1], found[#found + 2] = ARGV[i], reason end
end
return found
