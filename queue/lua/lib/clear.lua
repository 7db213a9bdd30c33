-- Clearing a queue: many jobs at rest, of whom nobody has looked at each.

-- clear_one(batch, jid, queue, part, to, before) -> nil, or why the job is left
function clear_one(batch, jid, queue, part, to, before)
  local key = 'ql:j:' .. jid
  local f = redis.call('HMGET', key, 'state', 'queue', 'time', 'tags', 'throttles', 'history', 'priority', 'oarlock-queue', 'oarlock-lane')
  local state, throttles = f[1], f[5]
  spend(batch, 14)
  if not state then return 'there is no such job; see oarlock doctor' end
  if f[2] ~= queue or state == 'running' or state == 'failed' or state == 'complete' then
    return 'it is ' .. state .. ' in ' .. tostring(f[2]) .. '; see oarlock doctor'
  end
  if numeric(f[3], 0) > before then return 'newer' end
  if to == '' then
    local other = redis.pcall('SRANDMEMBER', key .. '-dependents')
    if type(other) == 'table' then other = part_of_job('SRANDMEMBER', key .. '-dependents')[1] end
    if other then return other .. ' waits for it' end
    spend(batch, 2 * #stored_tags(f[4]) + (throttles and 10 or 0))
    cancel_job(jid, batch.now)
    return
  end
  if is_low(batch, queue) ~= is_low(batch, to) then return 'its priority would mean the opposite there; put it again there' end
  local place = redis.call('ZSCORE', 'ql:q:' .. queue .. '-' .. part, jid)
  if part == 'throttled' then
    spend(batch, 10)
    give_back(jid, queue, throttles or '[]', batch.now, 25)
    part, state = 'work', 'waiting'
    place = text17(score(numeric(f[7], 0), numeric(f[3], batch.now)))
  end
  if f[9] then
    depart_lane(jid, f[9], batch.now)
    if part == 'scheduled' and shelves(queue, f[9]) then place = unshelved(place) end
    spend(batch, 8)
  end
  move_one(batch, jid, queue, to, part, place, state, throttles)
  if f[8] == queue then redis.call('HSET', key, 'oarlock-queue', to) end
  remember(jid, put_entry(batch.now, to), batch.limit, f[6])
  announce('{"jid":' .. cjson.encode(jid) .. ',"event":"put","queue":' .. json_name(batch, to) .. '}')
  tell(batch, 'ql:put', jid)
end

-- move_one(batch, jid, queue, to, part, place, state, throttles): from a part of a queue into the
-- same of another
function move_one(batch, jid, queue, to, part, place, state, throttles)
  local key = 'ql:j:' .. jid
  know(batch, to)
  detach(jid, queue)
  seat(to, '-' .. part, place, jid)
  redis.call('HSET', key, 'queue', to, 'state', state)
  if throttles then
    redis.call('HSET', key, 'throttles', cjson.encode(move_throttles(stored_tags(throttles), queue_throttle(queue), to)))
  end
  if part ~= 'depends' then wake(to) end
end
