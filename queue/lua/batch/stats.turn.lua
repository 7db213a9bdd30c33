-- stats.turn(now, pause) -> cursor, at
-- Whose turn it is to look at the next page of old statistics: that of who asks first once the
-- pause is over since the last, or since all were looked at.
--
--   cursor  of SCAN, where to go on; '' if it is nobody's turn
--   at      when it is somebody's next
--
-- Reads and writes  ql:oarlock:stats-sweep
local now, pause = tonumber(ARGV[1]), tonumber(ARGV[2])
local key = 'ql:oarlock:stats-sweep'
local f = redis.call('HMGET', key, 'at', 'cursor')
local at = tonumber(f[1]) or 0
if at > now and at < now + 604800 then return { '', text17(at) } end -- one beyond is of a clock that went wrong
at = text17(now + pause)
redis.call('HSET', key, 'at', at)
return { f[2] or '0', at }
