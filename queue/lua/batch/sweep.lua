-- sweep(now, limit, [queue]...) -> counts, broken
-- Looks after the locks of queues that have run out, as the protocol's pop does: a worker
-- is warned first; when its grace period is over the job is put back in front of its
-- queue at the cost of one retry, or fails with none left. So it does not take somebody
-- who pops to notice.
--
--   limit   how many locks to look at per queue
--   counts  per queue how many jobs were put back
--   broken  what had to be left out, as in exchange
--
-- Reads    ql:config  grace-period, max-job-history; ql:q:<queue>-locks; ql:j:<jid>
-- Writes   what pop writes for lost locks; ql:j:<jid>  state, worker, expires;
--          ql:q:<queue>-locks|work
-- Sends    what pop sends for lost locks; the queue's name on ql:oarlock:wake
local batch = open_batch(tonumber(ARGV[1]), '')
local limit, counts = tonumber(ARGV[2]), {}
for i = 3, #ARGV do
  local queue, back = ARGV[i], 0
  local ok, jids, jobs = pcall(reap_each, batch, queue, limit)
  if not ok then
    report(batch, queue, '', jids)
    jids = {}
  end
  for k, jid in ipairs(jids) do
    if put_in_front(batch, queue, jid, jobs[k]) then back = back + 1 end
  end
  counts[#counts + 1] = back
end
return { counts, batch.broken }
