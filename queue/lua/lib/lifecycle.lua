-- A job's way through the sets of its queue: it gets a seat in one of them, and leaves. No
-- other file adds a job to these sets, but for what mends them (reseat); until when a lock
-- holds is also written where it is renewed (heartbeat, renew), or its worker warned (reap).
-- The job's state is its caller's to write, with its other fields and in one call.
--
--   -work        ready, by priority and age; '+inf' is ahead of all
--   -scheduled   until a time
--   -depends     until other jobs are complete; by when that began
--   -throttled   until a throttle lets it try; by when that began
--   -locks       in the hands of a worker, until a time

-- seat(queue, part, place, jid)
function seat(queue, part, place, jid)
  redis.call('ZADD', 'ql:q:' .. queue .. part, place, jid)
end

-- seat_all(queue, entries): they become ready
--   entries   places and jids, in turn
function seat_all(queue, entries)
  add_all('ql:q:' .. queue .. '-work', entries)
end

-- move_up(queue, jid, place): one that is ready has another place; others are left alone
function move_up(queue, jid, place)
  redis.call('ZADD', 'ql:q:' .. queue .. '-work', 'XX', place, jid)
end

-- hold_locks(queue, worker, locks)
--   locks   when they run out, and jids, in turn
function hold_locks(queue, worker, locks)
  add_all('ql:w:' .. worker .. ':jobs', locks)
  add_all('ql:q:' .. queue .. '-locks', locks)
end

-- unlock(queue, jid): its lock is gone, and it is in the set of its worker still
function unlock(queue, jid)
  redis.call('ZREM', 'ql:q:' .. queue .. '-locks', jid)
end

-- leave_running(jid, queue): takes a job that ran out of its queue
-- It may be ready or delayed there as well, if it ran out of another queue that it
-- was retried into.
function leave_running(jid, queue)
  local prefix = 'ql:q:' .. queue
  redis.call('ZREM', prefix .. '-locks', jid)
  redis.call('ZREM', prefix .. '-work', jid)
  redis.call('ZREM', prefix .. '-scheduled', jid)
end

-- detach(jid, queue): takes a job out of every set of a queue it may be in
function detach(jid, queue)
  local prefix = 'ql:q:' .. queue
  if reqless then redis.call('ZREM', prefix .. '-throttled', jid) end
  redis.call('ZREM', prefix .. '-work', jid)
  redis.call('ZREM', prefix .. '-locks', jid)
  redis.call('ZREM', prefix .. '-depends', jid)
  redis.call('ZREM', prefix .. '-scheduled', jid)
end

-- leave(jid, state, queue, owner, failure, counted): a job leaves the places
-- that its state and owner gave it
--   counted  the queue whose failed jobs are one less if it was one of them
function leave(jid, state, queue, owner, failure, counted)
  if queue then detach(jid, queue) end
  if state == 'complete' then redis.call('ZREM', 'ql:completed', jid) end
  if owner and owner ~= '' then redis.call('ZREM', 'ql:w:' .. owner .. ':jobs', jid) end
  if state == 'failed' then unlist_failed(jid, failure, counted) end
end
