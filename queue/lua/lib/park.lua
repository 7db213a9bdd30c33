-- Parking: a job waits for an answer from outside, without a process and without a lock. It is scheduled,
-- for when it has waited in vain, and keeps its throttles. Fields of the job:
--   oarlock-correlation   what its answer will name
--   oarlock-park          when it has waited in vain; 'over' from the take that found it so until that is settled
--   oarlock-then          complete: the answer ends the job, and no child sees it
--   oarlock-response      the answer, JSON: correlation, at, data or error, end
--   oarlock-early         an answer to this job alone, to a correlation with which it has not parked yet
--   oarlock-response-given   1: an attempt was handed out with it. It stays until ack, fail or the next park
--   oarlock-life          the job's time as a script of ours left it last. If it has another, somebody
--                         else put or popped the job since, and park and answer are void

-- examine_park(batch, s) -> nil, or refused and why
-- A job whose correlation another has fails instead.
-- Rare.
function examine_park(batch, s)
  local klass, before, early = unpack(redis.call('HMGET', s.key, 'klass', 'oarlock-correlation', 'oarlock-early'))
  s.klass, s.correlation = klass or '', s.named.correlation or before or ''
  s.early = is_answer_to(early, s.correlation) and early
  local wrong = check_correlation(s.klass, s.correlation)
  if wrong then return 'refused', wrong end
  if not ((tonumber(s.named.delay) or 0) > 0) then return 'refused', 'a park without an end' end
  usable(batch, 'ZCARD', 'ql:q:' .. s.queue .. '-work')
  usable(batch, 'ZCARD', 'ql:q:' .. s.queue .. '-scheduled')
  usable(batch, 'ZCARD', 'ql:oarlock:correlations-due')
  usable(batch, 'HLEN', 'ql:oarlock:early:' .. s.klass)
  local other = held_by_other(s.klass, s.correlation, s.jid)
  local parks = batch.parks and batch.parks[due_mark(s.klass, s.correlation)]
  if not other and parks ~= s.jid then other = parks end
  if other then
    s.action = 'fail'
    s.named.group = 'duplicate-correlation'
    s.named.message = 'correlation ' .. excerpt(s.correlation) .. ' of class ' .. excerpt(s.klass) .. ' is held by job ' .. other
  end
end

-- will_park(batch, s): nothing is in its way, so no other of the call can have its correlation; of both, nothing is written yet
-- Rare.
function will_park(batch, s)
  batch.parks = batch.parks or {}
  batch.parks[due_mark(s.klass, s.correlation)] = s.jid
end

-- conclude_park(batch, s) -> state, remaining, crashes
-- An answer that is there already, because it came before this or during the attempt, resumes the job at once.
-- Rare.
function conclude_park(batch, s)
  local jid, queue, key, named, now = s.jid, s.queue, s.key, s.named, batch.now
  s.ours = load_ours(jid, queue, s.of_queue)
  local came = s.ours.response and not s.ours['response-given'] and s.ours.life == s.time and s.ours.correlation == s.correlation
    and s.ours.response
  keep_ours(s, {})
  if s.of_queue and s.of_queue ~= queue then carry_over(jid, 'anew', queue) end
  if named.data then redis.call('HSET', key, 'data', named.data) end
  redis.call('SADD', 'ql:oarlock:needs', 'park')
  local deadline = now + tonumber(named.delay)
  local early = claim(s.klass, s.correlation, jid, deadline + correlation_kept)
  local told = came or s.early or early
  if s.early then redis.call('HDEL', key, 'oarlock-early') end
  redis.call('HDEL', key, 'grace', 'oarlock-park', 'oarlock-then', 'oarlock-response', 'oarlock-response-given')
  local words = { 'oarlock-queue', queue, 'oarlock-correlation', s.correlation, 'oarlock-life', s.time, 'worker', '', 'expires', '0',
    'state', told and 'waiting' or 'scheduled', told and 'oarlock-response' or 'oarlock-park', told or text17(deadline) }
  if named['then'] == 'complete' then words[#words + 1], words[#words + 2] = 'oarlock-then', 'complete' end
  redis.call('HSET', key, unpack(words))
  remember(jid, '[' .. text14(math.floor(now)) .. ',"parked",{"correlation":' .. cjson.encode(s.correlation)
    .. ',"until":' .. text14(math.floor(deadline)) .. '}]', batch.limit, false)
  local remaining, crashes = math.floor(tonumber(s.remaining) or 0), tonumber(s.ours.crashes) or 0
  if told then
    ready_later(batch, queue, jid, '+inf')
    return 'waiting', remaining, crashes
  end
  seat(queue, '-scheduled', text17(deadline), jid)
  return 'scheduled', remaining, crashes
end

-- end_wait(s): what a settlement leaves of a park that was in vain, and of an answer
-- Rare.
function end_wait(s)
  if s.ours.park then redis.call('HDEL', s.key, 'oarlock-park') end
  if s.named.response == 'drop' then redis.call('HDEL', s.key, 'oarlock-response', 'oarlock-response-given', 'oarlock-then') end
end

-- leg_of(ours, time, now) -> nil, or what the attempt that begins is told, of a job that was parked or answered
--   ours   as load_ours returned it, from which is taken out what does not count
--   void   it does not count any more, see oarlock-life
--   back   it was brought in before its time, and has no answer: when it is due
-- Rare.
function leg_of(ours, time, now)
  if not (ours.park or ours.response) then return nil end
  if ours.life ~= time then
    ours.park, ours.response, ours['then'] = nil, nil, nil
    return { void = true }
  end
  if ours.response then
    ours.park = nil
    return { size = #ours.response }
  end
  local due = tonumber(ours.park)
  ours.park, ours['then'] = 'over', nil
  if due and due > now then return { back = text17(due) } end
  return { over = true }
end

-- may_go_on(batch, queue, job, admitted) -> whether a job that was parked or answered is to run
-- What it holds of its throttles it holds; what it lost to somebody it asks for.
-- Rare.
function may_go_on(batch, queue, job, admitted)
  local jid = job.jid
  if job.leg.back then
    seat(queue, '-scheduled', job.leg.back, jid)
    redis.call('HSET', 'ql:j:' .. jid, 'state', 'scheduled')
    return false
  end
  if admitted or not job.throttles then return true end
  job.gate = redis.call('HGET', 'ql:j:' .. jid, 'oarlock-gate')
  if job.gate then shed_rules(jid, job, queue, batch.now) end
  if not job.throttles then return true end
  local missing = {}
  local ok = pcall(function()
    for _, tid in ipairs(given_throttles(job.throttles, 'Take')) do
      if not redis.call('ZSCORE', 'ql:th:' .. tid .. '-locks', jid) then missing[#missing + 1] = tid end
    end
  end)
  spend(batch, 2 + math.floor(#job.throttles / 4))
  if ok and #missing == 0 then return true end
  local all = job.throttles
  if ok then job.throttles = cjson.encode(missing) end
  local fits = may_run(batch, queue, job)
  job.throttles = all
  return fits
end

-- begin_leg(batch, job) -> list of names and values that the hash is to say with what the job was handed out
-- What counts no more goes before that: until the job runs it is told by what is left. Whoever pops by the protocol is not told that it waited in
-- vain, and runs it: so that was all.
-- Rare.
function begin_leg(batch, job)
  local key, leg = 'ql:j:' .. job.jid, job.leg
  if leg.void or leg.over and batch.foreign then
    redis.call('HDEL', key, 'oarlock-park', 'oarlock-then', 'oarlock-response', 'oarlock-response-given', 'oarlock-life')
    return {}
  end
  if leg.over then return { 'oarlock-park', 'over', 'oarlock-life', batch.time } end
  redis.call('HDEL', key, 'oarlock-park')
  return { 'oarlock-response-given', '1', 'oarlock-life', batch.time }
end
