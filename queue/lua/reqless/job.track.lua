-- job.track(now, jid) -> '1', or '0' if it was tracked already
-- As track track.
local jid = given(ARGV[2], 'Track', 'jid')
if redis.call('EXISTS', 'ql:j:' .. jid) == 0 then refuse('Track', 'Job does not exist') end
return track_job(jid, tonumber(ARGV[1]))
