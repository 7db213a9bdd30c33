-- sweep(now, limit, [queue]...) -> counts, broken, done, rest
-- Looks after the locks of queues that have run out, as the protocol's pop does: a worker
-- is warned first; when its grace period is over the job is put back in front of its
-- queue at the cost of one retry, or fails with none left. So it does not take somebody
-- who pops to notice.
--
--   limit   how many locks to look at per queue
--   counts  how many jobs were put back, of each queue that was looked at
--   done    of how many queues all is done; the others are to be asked for again
--   rest    as in exchange, with which it goes on, too
--   broken  what had to be left out, as in exchange
--
-- Reads    ql:config  grace-period, max-job-history; ql:q:<queue>-locks; ql:j:<jid>
-- Writes   what pop writes for lost locks; ql:j:<jid>  state, worker, expires;
--          ql:q:<queue>-locks|work
-- Sends    what pop sends for lost locks; the queue's name on ql:oarlock:wake
local batch = open_batch(tonumber(ARGV[1]), '')
local limit, counts, done = tonumber(ARGV[2]), {}, 0
for i = 3, #ARGV do
  if batch.commands <= 0 then break end
  local queue, back = ARGV[i], 0
  local most = at_most(batch, limit, 25)
  local ok, jids, jobs, seen = pcall(reap_each, batch, queue, most)
  if not ok then
    report(batch, queue, '', jids)
    jids, seen = {}, 0
  end
  spend(batch, 2 + 25 * seen)
  for k, jid in ipairs(jids) do
    if put_in_front(batch, queue, jid, jobs[k]) then back = back + 1 end
  end
  counts[#counts + 1] = back
  if seen == most and most < limit then break end
  done = done + 1
end
if batch.freed then let_waiters_try(batch) end
go_on(batch, true)
local ended, raised = pcall(end_correlations, batch.now, 50)
if not ended then report(batch, '', '', raised) elseif raised == 50 then batch.rest = 1 end
return { counts, batch.broken, done, batch.rest }
