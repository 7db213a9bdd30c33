-- cron.due(now, limit) -> list, next
-- The recurring jobs of ours that are to be looked at, the longest due first.
--
--   list   per job a list of name, rev, due, schedule, zone, missed
--   next   when the next one is to be looked at; '' if there is none
--
-- Reads    ql:oarlock:crons, ql:oarlock:cron:<name>
-- Writes   ql:oarlock:cron-state  seen; ql:oarlock:crons, where a name has nothing behind it, or no hash
local names, list = redis.call('ZRANGEBYSCORE', 'ql:oarlock:crons', '-inf', ARGV[1], 'LIMIT', '0', ARGV[2]), {}
for _, name in ipairs(names) do
  local f = redis.pcall('HMGET', 'ql:oarlock:cron:' .. name, 'rev', 'due', 'schedule', 'zone', 'missed')
  if f.err then -- somebody wrote something else there
    redis.call('ZADD', 'ql:oarlock:crons', text17(tonumber(ARGV[1]) + 60), name)
  elseif f[1] then
    list[#list + 1] = { name, f[1], f[2] or '', f[3] or '', f[4] or '', f[5] or '' }
  else
    redis.call('ZREM', 'ql:oarlock:crons', name)
  end
end
local first = redis.call('ZRANGE', 'ql:oarlock:crons', '0', '0', 'WITHSCORES')
if first[1] then redis.call('HSET', 'ql:oarlock:cron-state', 'seen', ARGV[1]) end
return { list, first[2] or '' }
