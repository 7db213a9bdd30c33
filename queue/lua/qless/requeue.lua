-- requeue(now, worker, queue, jid, klass, data, delay [, option, value]...) -> jid
-- put, but only of a job that exists. Arguments, keys and events are those of put.
--
-- Refuses  "Requeue(): Job <jid> does not exist", and as put does
-- A call without a queue has no jid either, and that is what it is told.
local now, worker, queue, jid = tonumber(ARGV[1]), ARGV[2], ARGV[3], given_jid(ARGV[4])
if redis.call('EXISTS', 'ql:j:' .. jid) == 0 then refuse('Requeue', 'Job ' .. jid .. ' does not exist') end
local delay = check_put(jid, ARGV[5], ARGV[6], ARGV[7])
local moved = put_job(now, worker, queue, jid, ARGV[5], ARGV[6], delay, options(8))
if moved then move_run(jid, moved, queue) end
register(queue)
return jid
