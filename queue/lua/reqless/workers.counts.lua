-- workers.counts(now) -> JSON list of {"stalled", "name", "jobs"}, [] if there are none
-- As workers.
local now = tonumber(ARGV[1])
drop_old_workers(now)
return view_workers(now)
