-- What all scripts need to know of rules: whether a queue has any, and what rules have left with a job.

-- is_ruled(batch, settlements, queues) -> whether one of the queues, or one of a settlement, is ruled
-- Where that cannot be read they are: of such a queue nothing is taken.
-- Rare.
function is_ruled(batch, settlements, queues)
  local names, seen = { 'version', 'low', 'puts', 'edition' }, {}
  for _, queue in ipairs(queues) do
    seen[queue] = true
    names[#names + 1], names[#names + 2] = 'q:' .. queue, 'o:' .. queue
  end
  local take = #names
  for _, s in ipairs(settlements) do
    if not seen[s.queue] then
      seen[s.queue] = true
      names[#names + 1] = 'q:' .. s.queue
    end
  end
  for i = 1, #names, 1000 do
    local some = redis.pcall('HMGET', 'ql:oarlock:rules', unpack(names, i, math.min(i + 999, #names)))
    if some.err then
      if not is_wrong_type(some) then raise(some) end
      return true
    end
    if i == 1 then
      batch.ruled = some[1] ~= false
      note_rules(batch, some)
    end
    for k = i, i + #some - 1 do
      local of = some[k - i + 1]
      if k > 4 and k <= take and k % 2 == 0 then
        local queue = queues[(k - 4) / 2]
        batch.ordered[queue] = of
        if of or batch.low and batch.low[queue] then batch.tells = nil end
      elseif k > 4 and of then
        return true
      end
    end
  end
  return false
end

-- are_there_rules(batch) -> whether there are, for a call that knows their edition and has not asked
-- Rare.
function are_there_rules(batch)
  if batch.ruled == nil then batch.ruled = redis.call('HEXISTS', 'ql:oarlock:rules', 'version') == 1 end
  return batch.ruled
end

-- drop_derived(jid, text, derived) -> its field throttles from here on, false if it has none
-- The job has only the throttles of its own.
--   text, derived   its fields throttles and oarlock-gate
-- Rare.
function drop_derived(jid, text, derived)
  local key, own = 'ql:j:' .. jid, {}
  local names = text and stored_tags(text) or {}
  for i = 1, #names - numeric(derived, 0) do own[i] = names[i] end
  redis.call('HDEL', key, 'oarlock-gate')
  if #own == 0 then
    redis.call('HDEL', key, 'throttles')
    return false
  end
  text = cjson.encode(own)
  redis.call('HSET', key, 'throttles', text)
  return text
end

-- move_in_waitlist(jid, queue, place): one that waits for a place of a throttle has another score
-- Rare.
function move_in_waitlist(jid, queue, place)
  local state, text, derived = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'state', 'throttles', 'oarlock-gate'))
  if state ~= 'throttled' or not derived then return end
  local key = waitlist_of(queue, text)
  local was = redis.call('ZSCORE', key, jid)
  -- Where rules give another order it counts when the job comes in the next time.
  if was and tonumber(was) > -2097152 then redis.call('ZADD', key, place, jid) end
end

-- leave_waitlist(jid, queue, text): one that waited for a place of a throttle is no more, or is elsewhere
--   text   its field throttles
-- A waitlist of which nobody is left is ended by the next take, which may not know where it had passed: that its line may not tell.
-- Rare.
function leave_waitlist(jid, queue, text)
  local key, line = waitlist_of(queue, text)
  if redis.pcall('ZREM', key, jid) ~= 1 or redis.pcall('EXISTS', key) ~= 0 then return end
  for tid, at in pairs(marks_of({ id = #queue .. ':' .. queue .. line, queue = queue }, text)) do redis.pcall('ZREM', 'ql:oarlock:eldest:' .. tid, at.mark) end
  redis.pcall('ZADD', 'ql:oarlock:open:' .. queue, '0', line)
  wake(queue)
end

-- waitlist_of(queue, text) -> key and line of the waitlist of a job of that field throttles
-- Rare.
function waitlist_of(queue, text)
  local line = #text > 256 and redis.sha1hex(text) or text
  return 'ql:oarlock:waitlist:' .. #queue .. ':' .. queue .. line, line
end
