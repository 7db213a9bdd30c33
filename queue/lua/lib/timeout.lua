-- take_back(jid, job, now): a running job leaves its worker, who is told, and is the next
-- of its queue
--   job   queue, worker, history and throttles, as fields of the job
function take_back(jid, job, now)
  local prefix = 'ql:q:' .. job.queue
  remember(jid, plain_entry(now, 'timed-out'), nil, job.history)
  redis.call('ZREM', prefix .. '-locks', jid)
  if job.throttles then release_all(jid, job.queue, job.throttles, now) end
  redis.call('ZADD', prefix .. '-work', '+inf', jid)
  redis.call('HSET', 'ql:j:' .. jid, 'state', 'stalled', 'expires', '0')
  if reqless then redis.call('HSET', 'ql:j:' .. jid, 'worker', '') end
  lock_lost(jid, job.worker)
end

-- set_priority(jid, queue, priority): one that is ready overtakes all others of the new
-- priority, because its time no longer counts
function set_priority(jid, queue, priority)
  redis.call('ZADD', 'ql:q:' .. queue .. '-work', 'XX', priority, jid)
  redis.call('HSET', 'ql:j:' .. jid, 'priority', priority)
end
