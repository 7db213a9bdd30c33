-- unrecur(now, jid) -> 1
-- Ends a recurring job; its children live on.
--
-- Refuses  "Recurring(): no jid provided"
-- Reads    ql:r:<jid>  queue
-- Writes   ql:r:<jid>, ql:q:<queue>-recur
local jid = ARGV[2] or refuse('Recurring', 'no jid provided')
local queue = redis.call('HGET', 'ql:r:' .. jid, 'queue')
if queue then
  redis.call('ZREM', 'ql:q:' .. queue .. '-recur', jid)
  redis.call('DEL', 'ql:r:' .. jid)
end
return 1
