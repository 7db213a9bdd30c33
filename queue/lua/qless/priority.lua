-- priority(now, jid, priority) -> priority, as an integer
-- Changes a job's priority. One that is ready overtakes all others of the new
-- priority, because its time no longer counts.
--
-- Refuses  "Job(): no jid provided", "Priority(): Arg "priority" ..."
--          "Priority(): Job <jid> does not exist"; reqless complains of the queue instead
-- Reads    ql:j:<jid>  queue
-- Writes   ql:j:<jid>  priority; ql:q:<queue>-work
local jid, priority = given_jid(ARGV[2]), finite(ARGV[3], 'Priority', 'priority')
local queue = redis.call('HGET', 'ql:j:' .. jid, 'queue')
if not queue then
  if reqless then refuse('Queue', 'no queue name provided') end
  refuse('Priority', 'Job ' .. jid .. ' does not exist')
end
set_priority(jid, queue, priority)
return priority
