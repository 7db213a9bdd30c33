-- worker.jobs(now, worker) -> {"stalled": [jid...], "jobs": [jid...]} as JSON
-- worker.jobs(now) -> as workers.counts
local now, worker = tonumber(ARGV[1]), ARGV[2]
drop_old_workers(now)
if worker then return view_worker(worker, now) end
return view_workers(now)
