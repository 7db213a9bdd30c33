-- length(now, queue) -> how many jobs run, are ready, or are scheduled
--
-- Refuses  "Queue(): no queue name provided"
-- Reads    ql:q:<queue>-locks|work|scheduled
local prefix = 'ql:q:' .. given_queue(ARGV[2])
return redis.call('ZCARD', prefix .. '-locks') + redis.call('ZCARD', prefix .. '-work')
  + redis.call('ZCARD', prefix .. '-scheduled')
