-- promote(queue, now, limit): moves delayed jobs that are due into the work set,
-- at most limit (negative: all of them)
function promote(queue, now, limit)
  if limit == 0 then return end
  local due = redis.call('ZRANGEBYSCORE', 'ql:q:' .. queue .. '-scheduled', '0', ARGV[1], 'LIMIT', '0', text17(limit))
  if #due > 0 then promote_each(queue, now, due) end
end

-- promote_each(queue, now, due): a list of jids
-- Rare.
function promote_each(queue, now, due)
  local scores = {}
  for _, jid in ipairs(due) do
    local exists, priority = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'jid', 'priority'))
    -- A jid without a job is only dropped.
    if exists then
      scores[#scores + 1] = score(tonumber(priority) or 0, now)
      scores[#scores + 1] = jid
      redis.call('HSET', 'ql:j:' .. jid, 'state', 'waiting')
    end
  end
  call_many('ZADD', 'ql:q:' .. queue .. '-work', scores)
  call_many('ZREM', 'ql:q:' .. queue .. '-scheduled', due)
end
