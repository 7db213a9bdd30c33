-- What becomes of a job when a command fails amid its writes. Redis undoes nothing of what
-- a script did, so the job's hash decides: where it says that the job is, there it is put.

-- reseat(batch, jid, queue, elsewhere, group) -> state, owner, remaining
-- Puts a job where its hash says that it is, and takes it out of the other places that
-- it may have come to. Each write goes on by itself, for nothing can be relied on.
--   queue, elsewhere   in which it had or got a place; the second may be nil
--   group              of failed jobs in which it may be listed, or nil
-- Rare.
function reseat(batch, jid, queue, elsewhere, group)
  local f = redis.pcall('HMGET', 'ql:j:' .. jid, 'state', 'queue', 'worker', 'expires', 'priority', 'time', 'remaining', 'failure',
    'oarlock-lane', 'throttles', 'oarlock-gate')
  local state, of_queue = f[1], f[2]
  local key, place = seat_of(jid, state, of_queue, f[5], f[6], batch.now, f[9], f[10] and not f[11])
  if state == 'running' then place = tonumber(f[4]) or batch.now end
  for _, name in ipairs({ queue, elsewhere }) do
    for _, part in ipairs({ '-work', '-locks', '-scheduled', '-depends', '-throttled' }) do
      local other = 'ql:q:' .. name .. part
      if other ~= key then redis.pcall('ZREM', other, jid) end
    end
  end
  if state ~= 'complete' then redis.pcall('ZREM', 'ql:completed', jid) end
  if group then redis.pcall('LREM', 'ql:f:' .. group, '0', jid) end
  if state == 'failed' then
    local ok, failure = pcall(cjson.decode, f[8] or '')
    local listed = ok and type(failure) == 'table' and failure.group or 'damaged'
    redis.pcall('LREM', 'ql:f:' .. listed, '0', jid)
    pcall(list_failed, jid, listed)
  elseif state == 'running' then
    redis.pcall('ZADD', key, text17(place), jid)
    -- One whose lock ran out has left its worker's set.
    if place > batch.now then redis.pcall('ZADD', 'ql:w:' .. f[3] .. ':jobs', text17(place), jid) end
  elseif key then
    redis.pcall('ZADD', key, 'NX', place, jid)
  end
  if f[3] ~= batch.worker or state ~= 'running' then redis.pcall('ZREM', batch.holds, jid) end
  return state, f[3], f[7]
end

-- seat_of(jid, state, queue, priority, time, now, lane, chosen) -> the key of the set that a job belongs
-- into, and its score there as text; nil if it is in none
--   chosen   whether it has throttles, and not by rules
-- Rare.
function seat_of(jid, state, queue, priority, time, now, lane, chosen)
  if state == 'complete' then return 'ql:completed', text17(tonumber(time) or now) end
  if not state or state == 'failed' or not queue then return nil end
  local prefix = 'ql:q:' .. queue
  local function is_in(part) return type(redis.pcall('ZSCORE', prefix .. part, jid)) == 'string' end
  local parts = { running = '-locks', scheduled = '-scheduled', depends = '-depends' }
  local part = parts[state] or '-work'
  -- A job that was completed with next and delay says waiting; one that a throttle let go says throttled. Who waits
  -- by rules is judged anew, for it may have left its waitlist.
  if state == 'waiting' and is_in('-scheduled') and not is_in('-work') then part = '-scheduled' end
  if state == 'throttled' and chosen and is_in('-throttled') and not is_in('-work') then part = '-throttled' end
  local place = text17(now)
  local sign, of = read_mark(lane)
  if of == queue and state == 'waiting' and sign == '-' then return nil end
  if of == queue and state == 'scheduled' and sign == '=' then place = text17(now + shelf) end
  if state == 'stalled' then
    place = '+inf'
  elseif part == '-work' then
    place = text17(score(tonumber(priority) or 0, tonumber(time) or now))
  end
  return prefix .. part, place
end

-- is_wrong_type(raised) -> whether a command failed because a key is of another type
-- Rare.
function is_wrong_type(raised)
  return string.find(reason_of(raised), 'WRONGTYPE', 1, true) ~= nil
end
