-- reap(queue, now, limit, grace, history) -> list of jids, list of their jobs
-- Looks after locks that have run out. A worker is warned first, and has the
-- grace period to finish; the next time the job is taken away: it is returned to
-- be handed out again, or fails if it has no retries left.
--   limit    how many locks to look at; negative: all
--   grace    seconds; not above 0 means no warning
--   history  the history limit
function reap(queue, now, limit, grace, history)
  local jids, jobs = {}, {}
  local locks = 'ql:q:' .. queue .. '-locks'
  local expired = redis.call('ZRANGEBYSCORE', locks, '-inf', ARGV[1], 'LIMIT', '0', text17(limit))
  for _, jid in ipairs(expired) do
    local job = look_after(jid, queue, now, grace, history)
    if job then jids[#jids + 1], jobs[#jobs + 1] = jid, job end
  end
  return jids, jobs
end

-- look_after(jid, queue, now, grace, history) -> the job, if it was taken away and may
-- run again
-- Rare.
function look_after(jid, queue, now, grace, history)
  local locks = 'ql:q:' .. queue .. '-locks'
  local job = load_job(jid)
  if not job then
    redis.call('ZREM', locks, jid)
    return nil
  end
  local worker = job.worker or ''
  local left = redis.pcall('ZREM', 'ql:w:' .. worker .. ':jobs', jid)
  if type(left) == 'table' and not is_wrong_type(left) then raise(left) end
  local warned = redis.call('HGET', 'ql:j:' .. jid, 'grace') == '1'
  if not warned or grace <= 0 then
    warn(jid, job, worker, queue, now, history)
    if grace > 0 then
      redis.call('HSET', 'ql:j:' .. jid, 'grace', '1')
      redis.call('ZADD', locks, now + grace, jid)
      return nil
    end
  end
  return take_away(jid, job, worker, queue, now, history) and job or nil
end

function warn(jid, job, worker, queue, now, history)
  tell_trackers('ql:stalled', jid)
  remember(jid, plain_entry(now, 'timed-out'), history, job.history)
  job.history = false
  lock_lost(jid, worker)
  redis.pcall('HINCRBY', 'ql:s:stats:' .. day(now) .. ':' .. queue, 'retries', '1')
end

-- take_away(jid, job, worker, queue, now, history) -> whether it may run again
function take_away(jid, job, worker, queue, now, history)
  local key = 'ql:j:' .. jid
  redis.call('HDEL', key, 'grace')
  job.remaining = text17(math.floor(tonumber(job.remaining) or 0) - 1)
  redis.call('HSET', key, 'remaining', job.remaining)
  if tonumber(job.remaining) >= 0 then return true end

  local group, message = exhausted(job.queue or queue, queue)
  leave_running(jid, queue)
  local entry = '[' .. text14(math.floor(now)) .. ',"failed",{"group":' .. cjson.encode(group) .. '}]'
  remember(jid, entry, history, job.history)
  local failure = failure_json(group, message, now, '')
  redis.call('HSET', key, 'state', 'failed', 'worker', '', 'expires', '', 'failure', failure)
  list_failed(jid, group)
  tell_trackers('ql:failed', jid)
  announce(failed_event(jid, group, message, worker))
  count_failure(queue, now)
  if job.throttles then give_back(jid, queue, job.throttles, now) end
  if hooks then tell_dead(jid, queue, now, 0) end
  if job.lane then depart_lane(jid, job.lane, now, nil, true) end
  return false
end

-- put_in_front(batch, queue, jid, job) -> whether that went well
-- A job that was taken away, and is not handed out at once, waits in front of its queue.
--   job   what look_after returned
-- Rare.
function put_in_front(batch, queue, jid, job)
  local ok, raised = pcall(function()
    unlock(queue, jid)
    if job.throttles then
      give_back(jid, queue, job.throttles, batch.now)
      note_freed(batch, job.throttles)
    end
    seat(queue, '-work', '+inf', jid)
    redis.call('HSET', 'ql:j:' .. jid, 'state', 'stalled', 'worker', '', 'expires', '0')
  end)
  if ok then
    wake(queue)
  else
    report(batch, queue, jid, raised)
    reseat(batch, jid, queue)
  end
  return ok
end
