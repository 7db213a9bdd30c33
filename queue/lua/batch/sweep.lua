-- sweep(now, limit, [queue]...) -> list
-- Looks after the locks of queues that have run out, as the protocol's pop does: a worker
-- is warned first; when its grace period is over the job is put back in front of its
-- queue at the cost of one retry, or fails with none left. So it does not take somebody
-- who pops to notice.
--
--   limit   how many locks to look at per queue
--   list    per queue how many jobs were put back
--
-- Reads    ql:config  grace-period, max-job-history; ql:q:<queue>-locks; ql:j:<jid>
-- Writes   what pop writes for lost locks; ql:j:<jid>  state, worker, expires;
--          ql:q:<queue>-locks|work
-- Sends    what pop sends for lost locks; the queue's name on ql:oarlock:wake
local batch = open_batch(tonumber(ARGV[1]), '', {})
local limit, reply = tonumber(ARGV[2]), {}
for i = 3, #ARGV do
  local queue = ARGV[i]
  local ok, jids, jobs = pcall(reap, queue, batch.now, limit, batch.grace, batch.limit)
  if not ok then jids, jobs = {}, {} end
  for k, jid in ipairs(jids) do
    redis.call('ZREM', 'ql:q:' .. queue .. '-locks', jid)
    if jobs[k].throttles then release_all(jid, queue, jobs[k].throttles, batch.now) end
    redis.call('HSET', 'ql:j:' .. jid, 'state', 'stalled', 'worker', '', 'expires', '0')
    redis.call('ZADD', 'ql:q:' .. queue .. '-work', '+inf', jid)
    wake(queue)
  end
  reply[#reply + 1] = #jids
end
return reply
