-- track(now, 'track', jid) -> '1', or '0' if it was tracked already
-- track(now, 'untrack', jid) -> '1', or '0' if it was not tracked
-- track(now) -> {"expired": [jid...], "jobs": [job...]} as JSON, in the order of tracking
--
--   expired   tracked jobs that are gone
--
-- Refuses  "Track(): Arg "jid" missing", "Track(): Job does not exist", "Track(): Unknown action ..."
-- Reads    ql:tracked, ql:j:<jid>
-- Writes   ql:tracked
-- Sends    the jid on ql:track or ql:untrack, whether or not anything changes
local now, command = tonumber(ARGV[1]), ARGV[2]
if not command then return view_tracked() end
local jid = given(ARGV[3], 'Track', 'jid')
if redis.call('EXISTS', 'ql:j:' .. jid) == 0 then refuse('Track', 'Job does not exist') end
if string.lower(command) == 'track' then return track_job(jid, now) end
if string.lower(command) == 'untrack' then return untrack_job(jid) end
refuse('Track', 'Unknown action "' .. command .. '"')
