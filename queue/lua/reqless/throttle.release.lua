-- throttle.release(now, tid [, jid]...) -> null
-- Takes the throttle from jobs, or jobs from the line for it.
--
-- Refuses  "Throttle(): no tid provided"
-- Writes   ql:th:<tid>-locks|pending, and the queues of those set free
local tid = given_tid(ARGV[2])
for i = 3, #ARGV do release(tid, ARGV[i], tonumber(ARGV[1])) end
