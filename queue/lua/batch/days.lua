-- days(now, queue, last, count) -> list
-- What happened in a queue day by day, without changing anything.
--
--   last, count   the midnight that begins the last day (UTC), and how many days, back from that
--   list    per day, the last first, nine values: of the waiting and then of the running how many, the mean
--           of their seconds, and the spread as stored; how often a job failed; how many locks ran out; the counter
--           of failed jobs
--
-- Reads    ql:s:wait|run|stats:<day>:<queue>
local queue, last, count = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local reply = {}
for i = 0, count - 1 do
  local of = text14(last - 86400 * i) .. ':' .. queue
  for _, kind in ipairs({ 'wait', 'run' }) do
    for _, value in ipairs(ask('HMGET', 'ql:s:' .. kind .. ':' .. of, 'total', 'mean', 'vk')) do reply[#reply + 1] = value or 0 end
  end
  for _, value in ipairs(ask('HMGET', 'ql:s:stats:' .. of, 'failures', 'retries', 'failed')) do reply[#reply + 1] = value or 0 end
end
return reply
