-- dependencies(ns, now, fix, job, jid, ...) -> jid, reason, remedy, ...
-- For which of the jids a job waits that will never free it, because they are complete or
-- gone, or do not know of it. With fix "1" it waits no longer for the former and is known to the
-- latter; a job that waits for nothing then goes on, when its time has come.
--   jid   some of those it waits for; with none it is asked whether it waits for anything
local now, fix, job = tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4]
local key = ns .. 'j:' .. job
local state, queue, due = unpack(redis.call('HMGET', key, 'state', 'queue', 'scheduled'))
if state ~= 'depends' then return {} end
due = as_score(due)

local found = each(5, function(jid)
  if redis.call('SISMEMBER', key .. '-dependencies', jid) == 0 then return end
  local there, data = unpack(redis.call('HMGET', ns .. 'j:' .. jid, 'state', 'data'))
  if not there and data then return end -- that one is told its state again
  if not there or there == 'complete' then
    -- Where many waited for it they are freed in slices.
    if has(ns .. 'oarlock:unblock', jid) and redis.call('SISMEMBER', ns .. 'j:' .. jid .. '-dependents', job) == 1 then return end
    if fix then
      redis.call('SREM', key .. '-dependencies', jid)
      redis.call('SREM', ns .. 'j:' .. jid .. '-dependents', job)
    end
    return 'waits for ever for ' .. jid .. ', which is ' .. (there or 'gone'), 'it waits for that no longer'
  end
  if redis.call('SISMEMBER', ns .. 'j:' .. jid .. '-dependents', job) == 0 then
    if fix then redis.call('SADD', ns .. 'j:' .. jid .. '-dependents', job) end
    return 'waits for ' .. jid .. ', which does not know it', 'it does again'
  end
end)
for i = 1, #found, 3 do found[i] = job end
if #ARGV == 4 and redis.call('EXISTS', key .. '-dependencies') == 0 then
  found = { job, 'waits for other jobs, but there are none', due and 'it goes on when it is due' or 'it waits for a worker' }
end
if fix and #found > 0 and redis.call('EXISTS', key .. '-dependencies') == 0 then
  redis.call('ZREM', ns .. 'q:' .. queue .. '-depends', job)
  if due then to_schedule(job, queue, due) else to_work(job, queue, now) end
end
return found
