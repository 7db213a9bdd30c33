-- held(now, worker, [queue]...) -> list of jobs
-- What Redis holds in a worker's name: its set of jobs, and those of the queues' locks that
-- may have left that set because they ran out. Only jobs that say themselves that
-- they run under this worker count; where no job is behind an entry, or something else
-- than a job, nothing is held.
--
--   list   per job the values that exchange answers for a taken one
--
-- Reads    ql:w:<worker>:jobs; ql:q:<queue>-locks; ql:j:<jid>; ql:config  grace-period
local now, worker = tonumber(ARGV[1]), ARGV[2]
local batch = { jobs = {}, max_job = 0 }
local seen = {}

local function look(jid)
  if seen[jid] then return end
  seen[jid] = true
  local f = redis.call('HMGET', 'ql:j:' .. jid, unpack(job_fields))
  local state, owner, queue, expires = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'state', 'worker', 'queue', 'expires'))
  if state == 'running' and owner == worker and f[3] then write_job(batch, jid, queue, f, expires) end
end

for _, jid in ipairs(redis.call('ZRANGE', 'ql:w:' .. worker .. ':jobs', 0, -1)) do pcall(look, jid) end
-- After the courtesy notice a lock is listed with the end of the grace period.
local horizon = text17(now + math.max(0, numeric(redis.call('HGET', 'ql:config', 'grace-period'), 10)))
for i = 3, #ARGV do
  for _, jid in ipairs(redis.call('ZRANGEBYSCORE', 'ql:q:' .. ARGV[i] .. '-locks', '-inf', horizon)) do pcall(look, jid) end
end
return batch.jobs
