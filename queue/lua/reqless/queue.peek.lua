-- queue.peek(now, queue, offset, limit) -> JSON list of the jobs, [] if there are none
-- A page of what a pop would return: jobs with an expired lock first, then the work
-- set. The offset counts over both.
--
-- Refuses  "Queue(): no queue name provided", "Peek(): Arg ..."
-- Reads    ql:q:<queue>-locks|work, ql:j:<jid>, ql:tracked
-- Writes   brings in recurring and delayed jobs that are due
local now, queue = tonumber(ARGV[1]), given_queue(ARGV[2])
local offset, limit = number(ARGV[3], 'Peek', 'offset'), number(ARGV[4], 'Peek', 'limit')
if limit <= 0 then return '[]' end
local expired = redis.call('ZRANGEBYSCORE', 'ql:q:' .. queue .. '-locks', '-inf', ARGV[1], 'LIMIT', '0', offset + limit)
if offset + limit > #expired then bring_in(queue, now, offset + limit - #expired) end
local jids = {}
for i = math.floor(offset) + 1, #expired do jids[#jids + 1] = expired[i] end
if #jids < limit then
  local first = math.max(0, offset - #expired)
  local work = redis.call('ZREVRANGE', 'ql:q:' .. queue .. '-work', first, first + limit - #jids - 1)
  for _, jid in ipairs(work) do jids[#jids + 1] = jid end
end
return view_all(jids)
