-- Changing jobs that somebody looked at before: each only if it is still as it was seen.

-- read_amendments(at) -> list
-- From ARGV[at] on each is jid, state, time, action, options.
function read_amendments(at)
  local list = {}
  while ARGV[at] do
    local a = { jid = ARGV[at], state = ARGV[at + 1], time = ARGV[at + 2], action = ARGV[at + 3] }
    a.named, at = read_options(at + 4)
    list[#list + 1] = a
  end
  return list
end

-- look_again(a) -> nil, or changed, gone or refused, and why; reads the job into a
function look_again(a)
  local f = redis.call('HMGET', 'ql:j:' .. a.jid, 'state', 'time', 'queue', 'worker', 'history', 'throttles',
    'oarlock-queue', 'jid', 'oarlock-park', 'oarlock-life', 'oarlock-lane', 'expires',
    'oarlock-gate')
  a.queue, a.worker, a.history, a.throttles, a.of_queue, a.lane, a.expires, a.gate = f[3], f[4], f[5], f[6], f[7], f[11], f[12], f[13]
  if not f[8] then return 'gone', 'there is no such job' end
  if f[1] ~= a.state or (f[2] or '') ~= a.time then return 'changed', f[1] or '' end
  local action, named = a.action, a.named
  if f[9] and a.state == 'scheduled' and f[10] == f[2] and (action == 'retry' or action == 'move' or action == 'now') then
    return 'refused', 'it is parked until its answer comes; answer it (oarlock respond), or cancel it'
  end
  if action == 'retry' or action == 'move' then
    if a.state == 'running' then return 'refused', 'it is running' end
    a.to, a.delay = action == 'move' and named.queue or a.queue, tonumber(named.delay or '0')
    if not a.delay or a.delay - a.delay ~= 0 then return 'refused', 'its delay is no number: ' .. named.delay end
    if not a.to or a.to == '' then return 'refused', 'it is ' .. a.state .. ' and in no queue' end
  elseif action == 'cancel' then
    if a.state == 'complete' then return 'refused', 'it is complete; such jobs go by themselves' end
  elseif action == 'timeout' then
    if a.state ~= 'running' then return 'refused', 'it is not running but ' .. a.state end
  elseif action == 'now' then
    local row = row_of(a.jid, a.state, a.queue)
    if row ~= 'scheduled' then return 'refused', 'it is not scheduled but ' .. row end
    if not a.queue then return 'refused', 'it is in no queue' end
  elseif action == 'kill' then
    local row = row_of(a.jid, a.state, a.queue)
    if row ~= 'scheduled' or not a.queue then return 'refused', 'it is not scheduled but ' .. row end
    local left = redis.call('HMGET', 'ql:j:' .. a.jid, 'retries', 'remaining')
    if numeric(left[2], 0) >= numeric(left[1], 0) then return 'refused', 'it has not been tried yet' end
    redis.call('LLEN', 'ql:f:killed')
  elseif action == 'extend' then
    if not (tonumber(f[9] or '') and a.state == 'scheduled' and f[10] == f[2]) then
      return 'refused', 'it is not parked but ' .. row_of(a.jid, a.state, a.queue)
    end
    a.delay = finite(named.delay, 'Amend', 'delay')
    if a.delay <= 0 then return 'refused', 'a park without an end' end
  elseif action == 'tag' or action == 'untag' then
    a.tags = given_tags(given(named.tags, 'Amend', 'tags'), 'Amend')
  elseif action == 'priority' then
    a.priority = finite(named.priority, 'Amend', 'priority')
    if not a.queue then return 'refused', 'it is in no queue' end
  else
    return 'refused', 'unknown action ' .. action
  end
end

-- keep_needed(list, words): does not cancel what a job waits for that is not cancelled
-- with it, and then not what that one waits for
--   words   per amendment nil, or what became of it; those that are kept here are added
function keep_needed(list, words)
  local going, waiting = {}, {}
  for i, a in ipairs(list) do
    if a.action == 'cancel' and not words[i] then
      going[a.jid], waiting[a.jid] = i, part_of_job('SRANDMEMBER', 'ql:j:' .. a.jid .. '-dependents', text14(#list)) -- one at least does not go, if there are more
    end
  end
  local again = next(going)
  while again do
    again = false
    for jid, i in pairs(going) do
      local other = left_waiting(waiting[jid], going)
      if other then
        words[i] = { 'needed', other .. ' waits for it; cancel both at once' }
        going[jid], again = nil, true
      end
    end
  end
end

-- left_waiting(waiting, going) -> one that waits and does not go, or nil
-- Rare.
function left_waiting(waiting, going)
  for _, other in ipairs(waiting) do
    if not going[other] then return other end
  end
end

-- kill_job(batch, a): a job that waits to be tried again fails instead, in the group killed
-- Rare.
function kill_job(batch, a)
  local jid, queue, key, group = a.jid, a.queue, 'ql:j:' .. a.jid, 'killed'
  local _, before = pcall(cjson.decode, redis.call('HGET', key, 'failure') or '{}')
  local message = 'killed while it waited to be tried again'
  if type(before) == 'table' and before.group then
    message = tostring(before.group) .. ': ' .. tostring(before.message) .. ' (' .. message .. ')'
  end
  leave_running(jid, queue)
  remember(jid, '[' .. text14(math.floor(batch.now)) .. ',"failed",{"group":"killed"}]', batch.limit, a.history)
  redis.call('HSET', key, 'state', 'failed', 'worker', '', 'expires', '', 'failure',
    failure_json(group, message, math.floor(batch.now), ''))
  if a.of_queue then redis.call('HSET', key, 'oarlock-failed', '1') end
  list_failed(jid, group)
  tell(batch, 'ql:failed', jid)
  announce(failed_event(jid, group, message, ''))
  count_failure(queue, batch.now)
  if a.throttles then give_back(jid, queue, a.throttles, batch.now) end
  if hooks then tell_dead(jid, queue, batch.now, 0) end
  if a.lane then depart_lane(jid, a.lane, batch.now, nil, true) end
end

-- promote_now(batch, a): a job waits for its delay no longer; one with a key joins the others of that
-- Rare.
function promote_now(batch, a)
  if a.lane and arrive_at(a.queue, a.jid, a.lane, batch.now) then
    redis.call('ZREM', 'ql:q:' .. a.queue .. '-scheduled', a.jid)
    redis.call('HSET', 'ql:j:' .. a.jid, 'state', 'waiting')
  else
    promote_each(a.queue, batch.now, { a.jid })
  end
end

-- extend_park(batch, a): a parked job waits longer, or less long
-- Rare.
function extend_park(batch, a)
  local key, due = 'ql:j:' .. a.jid, batch.now + a.delay
  local klass, correlation = unpack(redis.call('HMGET', key, 'klass', 'oarlock-correlation'))
  seat(a.queue, '-scheduled', text17(due), a.jid)
  redis.call('HSET', key, 'oarlock-park', text17(due))
  redis.call('ZADD', 'ql:oarlock:correlations-due', text17(due + correlation_kept), due_mark(klass or '', correlation or ''))
end

-- amend(batch, a) -> how many bytes of data were moved; and, if another job has its payloads now, merged and the jid of that
function amend(batch, a)
  local jid, now = a.jid, batch.now
  if a.action ~= 'now' and a.action ~= 'priority' and not a.tags then note_freed(batch, a.throttles) end
  if a.action == 'cancel' then
    cancel_job(jid, now)
  elseif a.action == 'timeout' then
    take_back(jid, a, now, given_back(now, 'taken-back', nil, a.worker or ''))
    wake(a.queue)
  elseif a.action == 'priority' then
    set_priority(jid, a.queue, is_low(batch, a.queue) and -a.priority or a.priority)
  elseif a.action == 'now' then
    promote_now(batch, a)
    know(batch, a.queue)
    wake(a.queue)
  elseif a.action == 'kill' then
    kill_job(batch, a)
  elseif a.action == 'extend' then
    extend_park(batch, a)
  elseif a.tags then
    change_tags(jid, stored_tags(redis.call('HGET', 'ql:j:' .. jid, 'tags')), a.tags, a.action == 'tag')
  else
    local other = a.action == 'retry' and a.state == 'failed' and a.lane and a.delay <= 0 and revive_into(batch, a)
    if other then return 0, { 'merged', other } end
    local klass, data = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'klass', 'data'))
    if not data then error('its data is missing; put it again', 0) end
    if a.state == 'complete' and a.of_queue then count_again(jid) end
    put_job(now, '', a.to, jid, klass or '', data, a.delay, moved_options(batch, jid, a.queue, a.to), batch.limit)
    if a.of_queue then
      carry_over(jid, a.to == a.queue and 'again' or 'moved', a.to)
      if a.state == 'failed' or a.state == 'complete' then pcall(reclaim, batch, jid, klass or '', a.to, a.delay) end
    end
    know(batch, a.to)
    return #data
  end
  return 0
end
