-- Freeing in slices the jobs that waited for others. Where so many wait for one job that a call
-- cannot free them all, its jid stands in ql:oarlock:unblock, by when it was completed, and
-- each exchange and each sweep goes on. Until then these jobs wait as before, and nothing may
-- take the name of the job they wait for.

-- unblock_all(batch, jids): frees the jobs that waited for those that completed, or begins to
function unblock_all(batch, jids)
  local keys = {}
  for i, jid in ipairs(jids) do keys[i] = 'ql:j:' .. jid .. '-dependents' end
  local any = 0
  for i = 1, #keys, 6000 do
    local some = redis.pcall('EXISTS', unpack(keys, i, math.min(i + 5999, #keys)))
    any = any + (type(some) == 'number' and some or 1)
  end
  if any == 0 then return end
  for i = 2, #batch.completed, 2 do
    local jid = batch.completed[i]
    local ok, raised = pcall(unblock_or_note, batch, jid)
    if not ok then report(batch, '', jid, raised) end
  end
end

-- unblock_or_note(batch, jid)
-- Rare.
function unblock_or_note(batch, jid)
  local waiting = redis.pcall('SCARD', 'ql:j:' .. jid .. '-dependents')
  if type(waiting) ~= 'number' then waiting = 0 end
  if waiting > at_most(batch, 60, 8) and type(redis.pcall('ZADD', 'ql:oarlock:unblock', batch.stored_now, jid)) == 'number' then
    batch.unblocking = true
    return
  end
  spend(batch, 1 + 8 * waiting)
  local stuck = unblock(jid, batch.now)
  if stuck then keep_waiting(batch, stuck) end
end

-- keep_waiting(batch, stuck): the jobs of a list could not be freed
-- Rare.
function keep_waiting(batch, stuck)
  for _, jid in ipairs(stuck) do
    local queue = redis.pcall('HGET', 'ql:j:' .. jid, 'queue')
    if type(queue) ~= 'string' then queue = '' end
    report(batch, queue, jid, 'it could not be freed, though what it waited for is complete')
    reseat(batch, jid, queue)
  end
end

-- unblock_on(batch) -> whether some still wait
-- Goes on freeing, and leaves something of what the call may do for a take.
-- Rare.
function unblock_on(batch)
  while true do
    local jid = redis.call('ZRANGE', 'ql:oarlock:unblock', '0', '0')[1]
    if not jid then return false end
    if batch.commands < 150 then return true end
    spend(batch, 5)
    local ok, done = pcall(unblock_some, batch, jid)
    if not ok then
      -- What cannot be read now will not be read later, and is in the way of the others.
      if not is_wrong_type(done) then raise(done) end
      report(batch, '', jid, done)
      done = true
    end
    if done then redis.call('ZREM', 'ql:oarlock:unblock', jid) end
  end
end

-- unblock_some(batch, jid) -> whether none is left that can be freed
-- Rare.
function unblock_some(batch, jid)
  local key = 'ql:j:' .. jid .. '-dependents'
  local limit = at_most(batch, 40, 8)
  local some = redis.call('SRANDMEMBER', key, text17(limit))
  spend(batch, 8 * #some)
  local freed, stuck = {}, {}
  for _, other in ipairs(some) do
    if pcall(free, other, jid, batch.now) then
      freed[#freed + 1] = other
    else
      stuck[#stuck + 1] = other
      redis.pcall('SADD', 'ql:j:' .. other .. '-dependencies', jid)
    end
  end
  call_many('SREM', key, freed)
  keep_waiting(batch, stuck)
  return #some < limit or #freed == 0
end

-- finish_unblocking(jid, now): before another job takes the name of one that is complete, those
-- are freed that still wait for it
-- Rare.
function finish_unblocking(jid, now)
  if not is_unblocking(jid) then return end
  unblock(jid, now)
  redis.call('ZREM', 'ql:oarlock:unblock', jid)
end

-- is_unblocking(jid) -> whether the job is complete and others still wait for it
-- Rare.
function is_unblocking(jid)
  return type(redis.pcall('ZSCORE', 'ql:oarlock:unblock', jid)) == 'string'
end
