-- stats.expire(now, dry, [key]...) -> how many
-- Deletes statistics of days that are longer ago than stats-history says, of those that are named.
--
--   dry   1: only count
--   key   without ql:s:, such as wait:1700000000:mail
--
-- The counters of a day on which jobs failed that are failed to this day stay: other programs
-- cannot cancel such a job without them. A stats-history of 0 keeps everything.
--
-- Reads    ql:config  stats-history; ql:s:stats:<day>:<queue>  failed
-- Writes   ql:s:wait|run|stats:<day>:<queue>
local now, dry, gone = tonumber(ARGV[1]), ARGV[2] == '1', 0
local history = bounded('stats-history', redis.call('HGET', 'ql:config', 'stats-history'))
if history == 0 then return 0 end
local first = tonumber(day(now)) - history * 86400
for i = 3, #ARGV do
  local kind, of = string.match(ARGV[i], '^(%a+):(%d+):')
  local known = kind == 'wait' or kind == 'run' or kind == 'stats'
  if known and tonumber(of) < first then
    local key = 'ql:s:' .. ARGV[i]
    local failed = kind == 'stats' and redis.pcall('HGET', key, 'failed')
    if not failed or type(failed) == 'string' and (tonumber(failed) or 1) <= 0 then
      gone = gone + (dry and redis.call('EXISTS', key) or redis.call('DEL', key))
    end
  end
end
return gone
