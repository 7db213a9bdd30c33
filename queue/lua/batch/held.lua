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
  local state, owner, queue, expires = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'state', 'worker', 'queue', 'expires'))
  if state == 'running' and owner == worker then write_job(batch, queue, look_at(jid, queue), expires) end
end

-- each(command, ...): of the entries of a set; one of another type has none
local function each(...)
  local jids = redis.pcall(...)
  if jids.err then return end
  for _, jid in ipairs(jids) do pcall(look, jid) end
end

each('ZRANGE', 'ql:w:' .. worker .. ':jobs', 0, -1)
-- After the courtesy notice a lock is listed with the end of the grace period.
local horizon = text17(now + math.max(0, numeric(read_setting('grace-period'), 10)))
for i = 3, #ARGV do
  each('ZRANGEBYSCORE', 'ql:q:' .. ARGV[i] .. '-locks', '-inf', horizon)
end
return batch.jobs
