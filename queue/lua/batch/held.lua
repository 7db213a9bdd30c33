-- held(now, worker, known, [jid, popped]..., [queue]...) -> jobs, more, others
-- What Redis holds in a worker's name: its set of jobs, and those of the queues' locks that
-- may have left that set because they ran out. Only jobs that say themselves that
-- they run under this worker count; where no job is behind an entry, or something else
-- than a job, nothing is held.
--
--   known  how many jids follow, each with its field time as it was popped. They are left out, so that no job is
--          sent twice. An empty time leaves a job out in any case: an earlier call answered it
--   jobs   per job the values that exchange answers for a taken one
--   more   1 if it ended because it had done enough for one call
--   others the jids that were looked at and are not answered: they are not held, or are known. The next call leaves them out,
--          so that each call gets further
--
-- Reads    ql:w:<worker>:jobs; ql:q:<queue>-locks; ql:j:<jid>; ql:config  grace-period
local now, worker = tonumber(ARGV[1]), ARGV[2]
local batch = { jobs = {}, max_job = 0, bytes = call_bytes, commands = call_commands }
local seen, more, others = {}, 0, {}
local first = 4 + 2 * tonumber(ARGV[3])
for i = 4, first - 1, 2 do seen[ARGV[i]] = ARGV[i + 1] end

local function look(jid)
  local known = seen[jid]
  if known == '' then return end
  seen[jid] = ''
  local state, owner, queue, expires, popped = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'state', 'worker', 'queue', 'expires', 'time'))
  spend(batch, 1)
  if known and popped == known and state == 'running' and owner == worker then return others end
  if not (state == 'running' and owner == worker and queue) then return others end
  local job = look_at(jid, queue)
  spend(batch, 3)
  local size = data_size(batch, job)
  if size > batch.bytes and #batch.jobs > 0 then
    more = 1
    seen[jid] = nil
    return
  end
  batch.bytes = batch.bytes - size
  write_job(batch, queue, job, expires)
end

-- each(command, ...): of the entries of a set; one of another type has none
local function each(...)
  local jids = redis.pcall(...)
  if jids.err then return end
  for _, jid in ipairs(jids) do
    if batch.commands <= 0 or batch.bytes <= 0 then more = 1 end
    if more == 1 then return end
    local ok, other = pcall(look, jid)
    if other or not ok then others[#others + 1] = jid end
  end
end

each('ZRANGE', 'ql:w:' .. worker .. ':jobs', 0, -1)
-- After the courtesy notice a lock is listed with the end of the grace period.
local horizon = text17(now + bounded('grace-period', read_setting('grace-period')))
for i = first, #ARGV do
  each('ZRANGEBYSCORE', 'ql:q:' .. ARGV[i] .. '-locks', '-inf', horizon)
end
return { batch.jobs, more, others }
