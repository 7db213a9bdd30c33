-- cron.pause(now, name, rev, due) -> paused, resumed or changed
-- Lets a recurring job of ours put nothing until it is resumed; what was due meanwhile is not
-- missed. It stays so whatever becomes of the file.
--
--   due   '' to pause it; else it is resumed, and its next run is due then
--
-- Reads and writes  ql:oarlock:cron:<name>, ql:oarlock:crons
local now, name, rev, due = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local key = 'ql:oarlock:cron:' .. name
local f = redis.call('HMGET', key, 'rev', 'pending', 'due')
if f[1] ~= rev then return 'changed' end
local resumed = due ~= ''
if not resumed then due = f[3] or '+inf' end
set_look(name, due, f[2], not resumed and '1', now)
redis.call('HSET', key, 'rev', text14((tonumber(rev) or 0) + 1), 'paused', resumed and '' or '1', 'due', due)
return resumed and 'resumed' or 'paused'
