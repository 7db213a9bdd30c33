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
