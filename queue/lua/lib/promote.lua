-- promote(queue, now, limit): moves delayed jobs that are due into the work set,
-- at most limit (negative: all of them)
function promote(queue, now, limit)
  if limit == 0 then return end
  local due = redis.call('ZRANGEBYSCORE', 'ql:q:' .. queue .. '-scheduled', '0', ARGV[1], 'LIMIT', '0', text17(limit))
  if #due > 0 then promote_each(queue, now, due) end
end

-- promote_each(queue, now, due, times) -> those of a list of jids that have no job
--   times   when they came in, as far as that is not now; may be nil
-- Rare.
function promote_each(queue, now, due, times)
  local scores, dropped = {}, {}
  for i, jid in ipairs(due) do
    local f = redis.pcall('HMGET', 'ql:j:' .. jid, 'jid', 'priority')
    if f.err and not is_wrong_type(f) then raise(f) end
    local exists, priority = f[1], f[2]
    -- A jid without a job, or with something else behind it, is only dropped.
    if exists then
      scores[#scores + 1] = score(tonumber(priority) or 0, times and times[i] or now)
      scores[#scores + 1] = jid
      redis.call('HSET', 'ql:j:' .. jid, 'state', 'waiting')
    else
      dropped[#dropped + 1] = jid
    end
  end
  seat_all(queue, scores)
  call_many('ZREM', 'ql:q:' .. queue .. '-scheduled', due)
  return dropped
end
