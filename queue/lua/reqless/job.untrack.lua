-- job.untrack(now, jid) -> '1', or '0' if it was not tracked
-- As track untrack.
local jid = given(ARGV[2], 'Track', 'jid')
if redis.call('EXISTS', 'ql:j:' .. jid) == 0 then refuse('Track', 'Job does not exist') end
return untrack_job(jid)
