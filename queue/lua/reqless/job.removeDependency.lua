-- job.removeDependency(now, jid [, jid]...) -> 1
-- job.removeDependency(now, jid, 'all') -> 1
-- As depends off.
local now, jid = tonumber(ARGV[1]), given_jid(ARGV[2])
local queue, priority, lane = in_depends(jid)
local others = arguments(3)
if others[1] == 'all' then
  depend_on_nothing(jid, queue, priority, lane, now)
else
  depend_no_more(jid, queue, priority, lane, others, now)
end
return 1
