-- recur(now, queue, jid, klass, data, 'interval', seconds, offset [, option, value]...) -> jid
-- Makes a job recur: a child is put whenever its time has come and somebody looks.
-- If the jid recurs already it is replaced; its count of children goes on.
--
--   data     JSON, stored byte for byte
--   offset   seconds from now to the first child
--   options  priority   number                                   0
--            tags       JSON list of strings                     none
--            retries    number                                   0
--            backlog    how many missed children are made up for 0, all of them
--            throttles  JSON list of throttle ids, reqless only  none
--
-- Refuses  "Queue(): ...", "RecurringJob On(): Arg ...", "Recur(): ..."
--          "Odd number of additional args"
-- Reads    ql:r:<jid>
-- Writes   ql:r:<jid>, ql:q:<queue>-recur, ql:queues
local now, queue = tonumber(ARGV[1]), given_queue(ARGV[2])
local jid, klass = given(ARGV[3], 'RecurringJob On', 'jid'), given(ARGV[4], 'RecurringJob On', 'klass')
local spec = given(ARGV[6], 'RecurringJob On', 'spec')
local data = given_json(ARGV[5], 'RecurringJob On', 'data')
if spec ~= 'interval' then refuse('Recur', 'schedule type "' .. spec .. '" unknown') end
recur_job(now, queue, jid, klass, data, ARGV[7], ARGV[8], 9)
return jid
