-- complete_job(now, jid, worker, queue, data, next, delay, depends) -> the new state
-- The arguments of the command as text; those from next on may be missing.
function complete_job(now, jid, worker, queue, data, next, delay, depends)
  local wait, on = 0, {}
  if delay or depends then wait, on = check_next(next, delay, depends) end
  local key = 'ql:j:' .. jid
  local state, owner, in_queue, priority, retries, time, history, throttles, lane =
    unpack(redis.call('HMGET', key, 'state', 'worker', 'queue', 'priority', 'retries', 'time', 'history', 'throttles', 'oarlock-lane'))
  if not state then
    refuse('Complete', named_job(jid) .. ' does not exist')
  elseif state ~= 'running' then
    refuse('Complete', named_job(jid) .. ' is not currently running: ' .. state)
  elseif owner ~= worker then
    refuse('Complete', named_job(jid) .. ' has been handed out to another worker: ' .. tostring(owner))
  elseif in_queue ~= queue then
    refuse('Complete', named_job(jid) .. ' running in another queue: ' .. tostring(in_queue))
  end

  local settings = redis.call('HMGET', 'ql:config', 'max-job-history', 'jobs-history', 'jobs-history-count')
  local limit = history_limit(settings[1])
  -- Few jobs are tracked or waited for, or were retried into another queue with a delay,
  -- and one question tells.
  local prefix = 'ql:q:' .. queue
  local special = redis.call('EXISTS', 'ql:tracked', key .. '-dependents', prefix .. '-scheduled') > 0
  redis.call('ZREM', prefix .. '-locks', jid)
  redis.call('ZREM', prefix .. '-work', jid)
  if special then redis.call('ZREM', prefix .. '-scheduled', jid) end
  if reqless then
    redis.call('ZREM', prefix .. '-depends', jid)
    redis.call('ZREM', prefix .. '-throttled', jid)
  end
  redis.call('ZREM', 'ql:w:' .. worker .. ':jobs', jid)
  if throttles then give_back(jid, queue, throttles, now) end
  if remember(jid, plain_entry(now, 'done'), limit, history) then stands_apart(jid) end
  tally_one('run', queue, now, now - (tonumber(time) or now))
  if special then tell_trackers('ql:completed', jid) end
  if lane then
    leave_rest(jid, lane, now)
    depart_lane(jid, lane, now)
  end
  if not next then
    set_ended(key, now, data, '', 'complete', retries)
    announce('{"jid":' .. cjson.encode(jid) .. ',"event":"completed","queue":' .. cjson.encode(queue) .. '}')
    redis.call('ZADD', 'ql:completed', ARGV[1], jid)
    prune(now, numeric(settings[2], 604800), math.floor(numeric(settings[3], 50000)))
    if special then unblock(jid, now) end
    return 'complete'
  end

  return advance(now, jid, queue, data, next, wait, on, priority, retries, limit, lane)
end

-- check_next(next, delay, depends) -> delay as a number, depends as a list
-- Rare.
function check_next(next, delay, depends)
  local wait = assert(tonumber(delay or 0))
  local on = given_depends(depends or '[]', 'Complete')
  if delay and not next then refuse('Complete', '"delay" cannot be used without a "next".') end
  if depends and not next then refuse('Complete', '"depends" cannot be used without a "next".') end
  return wait, on
end

-- advance(now, jid, queue, data, next, wait, on, priority, retries, limit, lane) -> the new state
-- A job that has left its queue goes on to the next.
-- Rare.
function advance(now, jid, queue, data, next, wait, on, priority, retries, limit, lane)
  local key = 'ql:j:' .. jid
  announce('{"jid":' .. cjson.encode(jid) .. ',"to":' .. cjson.encode(next)
    .. ',"event":"advanced","queue":' .. cjson.encode(queue) .. '}')
  remember(jid, put_entry(now, next), limit, false)
  register(next)
  if depend(jid, on) > 0 then
    set_ended(key, now, data, next, 'depends', retries)
    seat(next, '-depends', ARGV[1], jid)
    if wait > 0 then redis.call('HSET', key, 'scheduled', now + wait) end
    return 'depends'
  end
  wake(next)
  -- Strange but observable: the state of a job that is scheduled here says
  -- waiting, and a delay is forgotten if dependencies were given, all satisfied.
  set_ended(key, now, data, next, 'waiting', retries)
  local due = wait > 0 and #on == 0 and now + wait
  if lane and follow_key(next, jid, lane, now, due) then return due and 'scheduled' or 'waiting' end
  if due then
    seat(next, '-scheduled', due, jid)
    return 'scheduled'
  end
  seat(next, '-work', score(tonumber(priority) or 0, now), jid)
  return 'waiting'
end

-- set_ended(key, now, data, queue, state, retries): what every completion leaves in
-- the job
function set_ended(key, now, data, queue, state, retries)
  redis.call('HSET', key, 'data', data, 'time', string.format('%.20f', now), 'state', state, 'worker', '',
    'failure', '{}', 'queue', queue, 'expires', '0', 'remaining', retries)
end
