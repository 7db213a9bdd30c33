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
    'oarlock-queue', 'jid', 'oarlock-park', 'oarlock-life')
  a.queue, a.worker, a.history, a.throttles, a.of_queue = f[3], f[4], f[5], f[6], f[7]
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
      going[a.jid], waiting[a.jid] = i, redis.call('SMEMBERS', 'ql:j:' .. a.jid .. '-dependents')
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

-- amend(batch, a) -> how many bytes of data were moved
function amend(batch, a)
  local jid, now = a.jid, batch.now
  if a.action == 'cancel' then
    cancel_job(jid, now)
  elseif a.action == 'timeout' then
    take_back(jid, a, now, given_back(now, 'taken-back', nil, a.worker or ''))
    wake(a.queue)
  elseif a.action == 'priority' then
    set_priority(jid, a.queue, a.priority)
  elseif a.action == 'now' then
    promote_each(a.queue, now, { jid })
    know(batch, a.queue)
    wake(a.queue)
  elseif a.tags then
    change_tags(jid, stored_tags(redis.call('HGET', 'ql:j:' .. jid, 'tags')), a.tags, a.action == 'tag')
  else
    local klass, data = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'klass', 'data'))
    if not data then error('its data is missing; put it again', 0) end
    put_job(now, '', a.to, jid, klass or '', data, a.delay, {}, batch.limit)
    if a.of_queue then carry_over(jid, a.to == a.queue and 'again' or 'moved', a.to) end
    know(batch, a.to)
    return #data
  end
  return 0
end
