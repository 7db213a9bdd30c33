-- workers(now) -> JSON list of {"stalled", "name", "jobs"}, numbers, most recently
-- seen first
-- workers(now, worker) -> {"stalled": [jid...], "jobs": [jid...]} as JSON, latest expiry first
--
-- Reads    ql:workers, ql:w:<worker>:jobs; ql:config  max-worker-age
-- Writes   workers not seen for longer than that are dropped, with their list of jobs
local now, worker = tonumber(ARGV[1]), ARGV[2]
drop_old_workers(now)
if worker then return view_worker(worker, now) end
return view_workers(now)
