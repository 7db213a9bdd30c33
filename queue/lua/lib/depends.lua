-- in_depends(jid) -> queue, priority, mark of a job that waits for others, or a refusal
function in_depends(jid)
  local state, queue, priority, lane = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'state', 'queue', 'priority', 'oarlock-lane'))
  if state ~= 'depends' then
    refuse('Depends', 'Job ' .. jid .. ' not in the depends state: ' .. tostring(state))
  end
  return queue, priority, lane
end

-- depend_no_more(jid, queue, priority, lane, on, now): it waits for none of a list, and
-- if that was all, no longer
function depend_no_more(jid, queue, priority, lane, on, now)
  local key = 'ql:j:' .. jid .. '-dependencies'
  for _, other in ipairs(on) do
    redis.call('SREM', 'ql:j:' .. other .. '-dependents', jid)
    redis.call('SREM', key, other)
  end
  if #on > 0 and redis.call('EXISTS', key) == 0 then stop_waiting(jid, queue, priority, lane, now) end
end

-- depend_on_nothing(jid, queue, priority, lane, now)
function depend_on_nothing(jid, queue, priority, lane, now)
  drop_dependencies(jid)
  stop_waiting(jid, queue, priority, lane, now)
end
