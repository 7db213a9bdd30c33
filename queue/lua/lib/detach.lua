-- detach(jid, queue): takes a job out of every set of a queue it may be in
function detach(jid, queue)
  local prefix = 'ql:q:' .. queue
  redis.call('ZREM', prefix .. '-work', jid)
  redis.call('ZREM', prefix .. '-locks', jid)
  redis.call('ZREM', prefix .. '-depends', jid)
  redis.call('ZREM', prefix .. '-scheduled', jid)
end
