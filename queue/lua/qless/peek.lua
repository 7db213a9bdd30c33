-- peek(now, queue, count) -> JSON list of the jobs a pop would return
-- Jobs with an expired lock come first, untouched.
--
-- Refuses  "Queue(): no queue name provided", "Peek(): Arg ..."
-- Reads    what pop reads, but for the settings of locks
-- Writes   brings in recurring and delayed jobs that are due, as pop does
local now, queue = tonumber(ARGV[1]), given_queue(ARGV[2])
local count = number(ARGV[3], 'Peek', 'count')
local jids = redis.call('ZRANGEBYSCORE', 'ql:q:' .. queue .. '-locks', '-inf', ARGV[1], 'LIMIT', '0', count)
bring_in(queue, now, count - #jids)
for _, jid in ipairs(head_of(queue, count - #jids)) do jids[#jids + 1] = jid end
return view_all(jids)
