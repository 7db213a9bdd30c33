-- take_back(jid, job, now, entry): a running job leaves its worker, who is told, and is the
-- next of its queue
--   job     queue, worker, history, throttles, lane, expires, gate and time, as fields of the job
--   entry   of its history
function take_back(jid, job, now, entry)
  remember(jid, entry, nil, job.history)
  unlock(job.queue, jid)
  if job.throttles then give_back(jid, job.queue, job.throttles, now, nil, { job.gate, job.time, job.expires }) end
  if not (job.lane and stand_first(jid, job, now)) then
    seat(job.queue, '-work', '+inf', jid)
    redis.call('HSET', 'ql:j:' .. jid, 'state', 'stalled', 'expires', '0')
  end
  if reqless then redis.call('HSET', 'ql:j:' .. jid, 'worker', '') end
  lock_lost(jid, job.worker)
end

-- set_priority(jid, queue, priority): one that is ready overtakes all others of the new
-- priority, because its time no longer counts
function set_priority(jid, queue, priority)
  move_up(queue, jid, priority)
  move_in_waitlist(jid, queue, priority)
  redis.call('HSET', 'ql:j:' .. jid, 'priority', priority)
end
