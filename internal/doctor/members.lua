-- members(ns, key, part, queue, fix, jid, ...) -> jid, reason, ...
-- Which of the members of a set or list are jobs that do not belong there. With fix
-- "1" they are removed from it, which loses no job: one that is nowhere then is found
-- by jobs.lua.
--   part    the end of the key's name: work, locks, scheduled, depends, throttled,
--           recur, completed or failed
--   queue   whose it is; "" for completed and failed
local ns, key, part, queue, fix = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
local states = {
  work = { waiting = true, stalled = true, throttled = true },
  locks = { running = true, stalled = true },
  scheduled = { scheduled = true },
  depends = { depends = true },
  throttled = { throttled = true },
  completed = { complete = true },
  failed = { failed = true },
}

local function wrong(jid)
  if part == 'recur' then
    return redis.call('EXISTS', ns .. 'r:' .. jid) == 0 and 'there is no such recurring job'
  end
  local job = redis.call('HMGET', ns .. 'j:' .. jid, 'state', 'queue')
  if not job[1] then return 'there is no such job' end
  if not states[part][job[1]] then return 'the job is ' .. job[1] end
  if queue ~= '' and job[2] ~= queue then return 'the job is in ' .. tostring(job[2]) end
end

local found = {}
for i = 6, #ARGV do
  local jid = ARGV[i]
  local reason = wrong(jid)
  -- It may have moved since it was listed.
  local still = reason and (part == 'failed' or redis.call('ZSCORE', key, jid))
  if still then
    found[#found + 1], found[#found + 2] = jid, reason
    if fix and part == 'failed' then
      redis.call('LREM', key, 0, jid)
    elseif fix then
      redis.call('ZREM', key, jid)
    end
  end
end
return found
