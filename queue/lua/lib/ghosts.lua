-- Places of an attempt that was taken from its worker while it ran: canceled, put elsewhere, taken back. Its child may
-- live on for a moment, so they are free when somebody says that it is over, or when its lock would have ended. Until
-- then they are members <jid> NUL <n> NUL <popped> of ql:th:<tid>-locks, whose score is when that is: whatever becomes of
-- the job has nothing to do with them.

-- leave_places(jid, text, popped, ends, now) -> whether its attempt may live
--   text     of the job, the field throttles
--   popped   when the attempt began, as the field time has it; ends: when its lock does
-- Rare.
function leave_places(jid, text, popped, ends, now)
  if ends <= now then return false end
  local _, longest = bounds_of('heartbeat')
  ends = text17(math.min(ends, now + longest))
  for tid, many in pairs(places_in(text)) do
    local key = 'ql:th:' .. tid .. '-locks'
    for n = 1, many do
      if redis.call('ZREM', key, n == 1 and jid or jid .. '\0' .. n) == 1 then redis.call('ZADD', key, ends, ghost_member(jid, n, popped)) end
    end
    redis.call('SADD', 'ql:oarlock:held', tid) -- where it has them from before there were no rules, nobody else finds them
  end
  return true
end

-- ghost_member(jid, n, popped) -> member of the holders of a throttle
function ghost_member(jid, n, popped)
  return jid .. '\0' .. n .. '\0' .. tostring(popped)
end

-- places_in(text) -> per throttle how often a field throttles names it
function places_in(text)
  local many = {}
  for _, tid in ipairs(stored_tags(text)) do
    tid = tostring(tid)
    many[tid] = (many[tid] or 0) + 1
  end
  return many
end

-- end_ghosts(batch, s): an attempt that was taken from us is over; its places are free, where that was not so already
--   s.named.places   the field throttles of its job, as we were told it
-- Rare.
function end_ghosts(batch, s)
  local g = batch.gate
  for tid, many in pairs(places_in(s.named.places)) do
    local members = {}
    for n = 1, many do members[n] = ghost_member(s.jid, n, s.popped) end
    if not g then
      redis.call('ZREM', 'ql:th:' .. tid .. '-locks', unpack(members))
    else
      g.giving = g.giving or {}
      for _, member in ipairs(members) do add(g.giving, tid, member) end
    end
  end
end

-- note_freed(batch, text): what knows no gate gives back the places of a job
--   text   its field throttles, or nil
-- Rare.
function note_freed(batch, text)
  if not text or not batch.settings then return end
  batch.freed = batch.freed or {}
  for tid in pairs(places_in(text)) do batch.freed[tid] = true end
end

-- let_waiters_try(batch): where places were so given back
-- Rare.
function let_waiters_try(batch)
  if redis.call('EXISTS', 'ql:oarlock:waited') == 0 then return end
  local g = open_gate(batch)
  waiting_room(g)
  g.freed = batch.freed
  stir_all(g)
  for queue in pairs(g.opened) do wake(queue) end
end
