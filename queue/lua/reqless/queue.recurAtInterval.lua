-- queue.recurAtInterval(now, queue, jid, klass, data, interval, offset [, option, value]...) -> jid
-- As recur, whose word interval it does without. The children hold the throttles
-- that are given and their queue's.
local now, queue = tonumber(ARGV[1]), given_queue(ARGV[2])
local jid, klass = given(ARGV[3], 'RecurringJob On', 'jid'), given(ARGV[4], 'RecurringJob On', 'klass')
local data = given_json(ARGV[5], 'RecurringJob On', 'data')
recur_job(now, queue, jid, klass, data, ARGV[6], ARGV[7], 8)
return jid
