-- Settling in batches: what became of jobs that ran.

-- read_settlements(at) -> list of settlements, index after them
-- ARGV[at] says how many follow; each is jid, queue, popped, action, options, puts.
function read_settlements(at)
  local args, list = ARGV, {}
  local count = tonumber(args[at])
  at = at + 1
  for i = 1, count do
    local s = { jid = args[at], queue = args[at + 1], popped = args[at + 2], action = args[at + 3], named = no_options }
    if args[at + 4] == '0' then
      at = at + 5
    else
      s.named, at = read_options(at + 4)
    end
    if args[at] == '0' then
      at = at + 1
    else
      s.puts, at = read_puts(at)
    end
    list[i] = s
  end
  return list, at
end

-- settle_all(batch, list, already) -> list with, per settlement, complete if that is what became
-- of the job and it had no puts; else a list of the state it came to, or lost or refused;
-- the reason for these; remaining; crashes; if there are puts, what became of them, else false; and, if a payload
-- of a job failed alone, the jid of the job that has it
-- All are looked at before any is written, so that the first write takes entries
-- away: a Redis that is out of memory lets a script go on that began so.
--   already   how many of the list are complete, and are only to be counted; may be nil
-- nil, before any write, if somebody may wait for a place of these jobs, where there are rules: that is for ruled.
function settle_all(batch, list, already)
  local reply, accepted, locks, held, seen = {}, {}, {}, {}, {}
  batch.completed, batch.runs = {}, {}
  if already and already > 0 then count_completed(batch, list, already, reply, held) end
  for i = #held + 1, #list do
    local s = list[i]
    local word, reason = examine(batch, s)
    if not word and seen[s.jid] then
      word, reason = 'lost', 'settled twice in one call'
    end
    if word then
      reply[i] = { word, reason, 0, 0 }
    else
      seen[s.jid] = true
      accepted[#accepted + 1] = i
      held[#held + 1] = s.jid
      add(locks, s.queue, s.jid)
    end
  end
  if #held == 0 then return reply end
  if batch.throttled and (batch.ruled or batch.edition) and not batch.gate then
    for _, i in ipairs(accepted) do
      if list[i].throttles and are_there_rules(batch) then return nil end
    end
  end

  let_go(batch, locks, held)
  batch.done = '[' .. batch.second .. ',"done"]'
  for _, i in ipairs(accepted) do
    local s = list[i]
    local ok, state, remaining, crashes
    if s.action == 'plain' then
      ok, state = complete_plain(batch, s)
    else
      ok, state, remaining, crashes = pcall(conclude, batch, s)
    end
    if not ok then
      reply[i] = settled_after_all(batch, s, state)
      if reply[i][1] == 'refused' then s.puts = nil end
    elseif state == 'complete' and not s.puts then
      reply[i] = state
    else
      reply[i] = { state, '', remaining or 0, crashes or 0 }
      if s.part then reply[i][5], reply[i][6] = false, s.part end
    end
  end
  if batch.departs then pass_turns(batch) end
  if batch.enters then put_all_in_line(batch) end
  for queue, durations in pairs(batch.runs) do tally('run', queue, batch.now, durations) end
  if #batch.completed > 0 then end_completed(batch, held) end
  for _, i in ipairs(accepted) do
    if list[i].puts then
      local answers = {}
      enter_all(batch, list[i].puts, answers)
      reply[i][5] = answers
    end
  end
  return reply
end

-- count_completed(batch, list, already, reply, held): the first of a list are complete, by what a call does before it makes functions
-- Rare.
function count_completed(batch, list, already, reply, held)
  for i = 1, already do
    local s = list[i]
    reply[i], held[i] = 'complete', s.jid
    add(batch, 'completed', batch.stored_now, s.jid)
    add(batch.runs, s.queue, batch.now - seconds_of(batch, s.popped))
  end
  batch.wrote = true
end

-- let_go(batch, locks, held): the jobs of a list leave their locks and their worker's set
-- It may raise as long as nothing was written. What is left of a lock, where the set
-- of locks is no set, is nothing that could be in anybody's way.
--   locks   per queue the jids of its jobs
function let_go(batch, locks, held)
  for queue, jids in pairs(locks) do
    local ok, raised = pcall(call_many, 'ZREM', 'ql:q:' .. queue .. '-locks', jids)
    if not ok then not_let_go(batch, queue, jids, raised) end
    batch.wrote = batch.wrote or ok
  end
  local ok, raised = pcall(call_many, 'ZREM', batch.holds, held)
  if not ok then not_let_go(batch, '', held, raised) end
end

-- not_let_go(batch, queue, jids, raised)
-- Rare.
function not_let_go(batch, queue, jids, raised)
  if not (batch.wrote or is_wrong_type(raised)) then raise(raised) end
  report(batch, queue, '', raised)
  for _, jid in ipairs(jids) do
    if queue ~= '' then redis.pcall('ZREM', 'ql:q:' .. queue .. '-locks', jid) end
    redis.pcall('ZREM', batch.holds, jid)
  end
end

-- settled_after_all(batch, s, raised) -> what to answer for a job amid whose settling a command
-- failed: it is settled if its hash says so, else it is ours as before
-- Rare.
function settled_after_all(batch, s, raised)
  local state, owner, remaining = reseat(batch, s.jid, s.queue, s.named.next, s.named.group or 'failed-retries-' .. s.queue)
  if state == 'running' and owner == batch.worker then
    if s.throttles then
      batch.kept = batch.kept or {}
      batch.kept[s.jid] = true
      pcall(acquire, s.jid, cjson.decode(s.throttles))
    end
    if s.depends then pcall(drop_dependencies, s.jid) end
    return { 'refused', reason_of(raised), 0, 0 }
  end
  report(batch, s.queue, s.jid, raised)
  return { state or (s.action == 'cancel' and 'canceled' or 'complete'), '', math.floor(tonumber(remaining) or 0), 0 }
end

-- put_all_in_line(batch): the jobs that become ready at the end of the batch
-- Rare.
function put_all_in_line(batch)
  for queue, entries in pairs(batch.enters) do put_in_line(batch, queue, entries) end
end

-- put_in_line(batch, queue, entries): jobs whose state says already that they wait
function put_in_line(batch, queue, entries)
  local ok, raised = pcall(seat_all, queue, entries)
  if not ok then seat_each(batch, queue, entries, raised) end
end

-- seat_each(batch, queue, entries, raised): one by one, where all together failed
--   entries   scores and jids
-- Rare.
function seat_each(batch, queue, entries, raised)
  report(batch, queue, '', raised)
  for i = 2, #entries, 2 do reseat(batch, entries[i], queue) end
end

-- end_completed(batch, held): lists the jobs that were completed, prunes, and frees those that
-- waited for them
function end_completed(batch, held)
  local ok, raised = pcall(call_many, 'ZADD', 'ql:completed', batch.completed)
  if not ok then seat_each(batch, '', batch.completed, raised) end
  if not batch.hurries then prune_some(batch, #batch.completed) end
  unblock_all(batch, held)
end

-- examine(batch, s) -> nil, or lost or refused and why; reads the job into s
function examine(batch, s)
  if s.action == 'leave' then return examined(pcall(end_attempt, batch, s)) end
  local key = 'ql:j:' .. s.jid
  -- A job that was popped has no legacy history left, so that is not looked for.
  local f = redis.pcall('HMGET', key, 'state', 'worker', 'queue', 'time', 'retries', 'throttles', 'oarlock-queue', 'oarlock-lane')
  if f.err then return 'refused', f.err end
  local state, owner, time = f[1], f[2], f[4]
  if not state then
    redis.pcall('ZREM', batch.holds, s.jid) -- nobody else knows whose it was
    return 'lost', 'the job does not exist'
  end
  if state ~= 'running' then return 'lost', 'not running but ' .. state end
  if owner ~= batch.worker then return 'lost', 'given to another worker: ' .. tostring(owner) end
  if f[3] ~= s.queue then return 'lost', 'running in another queue: ' .. tostring(f[3]) end
  if s.popped ~= '' and s.popped ~= time then return 'lost', 'popped again since' end
  s.key, s.time, s.retries = key, time, f[5] or '0'
  if s.named == no_options and s.action == 'complete' and not (f[6] or f[7]) then
    s.action, s.lane = 'plain', f[8] -- nothing else is to be done with it
    return
  end
  s.throttles, s.of_queue, s.lane = f[6], f[7], f[8]
  if f[6] then batch.throttled = true end -- one of the call is, also one that is refused
  if s.named ~= no_options or s.action ~= 'complete' then return examined(pcall(examine_further, batch, s)) end
end

-- examined(ok, word, reason) -> what examine returns: refused, if looking at the job failed
-- Rare.
function examined(ok, word, reason)
  if ok then return word, reason end
  return 'refused', reason_of(word)
end

-- end_attempt(batch, s) -> left and '': a job was taken from us, and what we had of it is over
-- Rare.
function end_attempt(batch, s)
  if s.named.key then end_ghost(s.queue, s.named.key, s.jid, s.popped, batch.now) end
  if s.named.places then end_ghosts(batch, s) end
  return 'left', ''
end

-- examine_further(batch, s) -> as examine, for what is no bare complete
-- Rare.
function examine_further(batch, s)
  local named, known = s.named, { complete = true, fail = true, retry = true, release = true, cancel = true, requeue = true,
    park = true }
  if not known[s.action] then return 'refused', 'unknown action ' .. s.action end
  if #(named.checkpoint or '') + #(named.record or '') > 65536 then
    return 'refused', 'checkpoint and record exceed 64 KiB'
  end
  if named.depends then s.depends = given_depends(named.depends, 'Complete') end
  if named.data and s.action ~= 'complete' and s.of_queue and s.lane then
    local mode = redis.call('HGET', s.key, 'oarlock-merge')
    if mode == 'all' or mode == 'set' then
      return 'refused', 'its data is a list of payloads, to which only puts add: put what is left with its key, and complete it'
    end
  end
  if s.action == 'cancel' then
    local other = part_of_job('SRANDMEMBER', s.key .. '-dependents', '1')[1]
    if other then return 'refused', other .. ' waits for it; cancel both at once' end
    return
  end
  if s.action == 'park' then
    local word, why = examine_park(batch, s)
    if word then return word, why end
  end
  check_place(batch, s)
  if s.action == 'park' then will_park(batch, s) end
  s.priority, s.remaining = unpack(redis.call('HMGET', s.key, 'priority', 'remaining'))
end

-- check_place(batch, s): raises if the job could not be put where it is to go
-- Rare.
function check_place(batch, s)
  local named, queue = s.named, s.queue
  local later = (tonumber(named.delay) or 0) > 0
  if s.action == 'requeue' then
    queue = named.next or queue
  elseif s.action == 'complete' then
    if not named.next then return end
    queue = named.next
    if s.depends then usable(batch, 'ZCARD', 'ql:q:' .. queue .. '-depends') end
  else
    usable(batch, 'LLEN', 'ql:f:' .. (named.group or 'failed-retries-' .. queue))
    if s.action == 'fail' then return end
  end
  usable(batch, 'ZCARD', 'ql:q:' .. queue .. (later and '-scheduled' or '-work'))
end

-- usable(batch, command, key): raises, once a batch, if the key is of another type than the
-- command reads
-- Rare.
function usable(batch, command, key)
  batch.checked = batch.checked or {}
  if batch.checked[key] then return end
  redis.call(command, key)
  batch.checked[key] = true
end

-- complete_plain(batch, s) -> whether it is done, and complete or why not: the end of a job, as the protocol's complete
-- The job has lost its lock and left its worker's set. Only its hash may not be written without notice.
function complete_plain(batch, s)
  local jid, queue = s.jid, s.queue
  if remember(jid, batch.done, batch.limit, false) then stands_apart(jid) end
  add(batch.runs, queue, batch.now - seconds_of(batch, s.time))
  if batch.tracked then tell_trackers('ql:completed', jid) end
  redis.pcall('PUBLISH', 'ql:log', '{"jid":' .. cjson.encode(jid) .. ',"event":"completed","queue":' .. json_name(batch, queue) .. '}')
  local set
  if s.lane then
    set = complete_in_lane(batch, s)
  else
    set = redis.pcall('HSET', s.key, 'time', batch.time, 'state', 'complete', 'worker', '', 'failure', '{}', 'queue', '',
      'expires', '0', 'remaining', s.retries)
  end
  if set ~= 0 and type(set) == 'table' then return false, set end
  local completed = batch.completed
  completed[#completed + 1], completed[#completed + 2] = batch.stored_now, jid
  return true, 'complete'
end

-- conclude(batch, s) -> state; and of any action but complete remaining, crashes
-- For all that is no plain complete. The job has lost its lock and left its worker's set.
-- Rare.
function conclude(batch, s)
  if s.throttles and (s.action ~= 'park' or batch.give_places) then (batch.give_places or give_throttles_back)(batch, s) end
  if s.named.trace then keep_trace(s) end
  if s.action ~= 'complete' then return conclude_unfinished(batch, s) end
  local key, named = s.key, s.named
  if s.of_queue then
    redis.pcall('HDEL', key, 'oarlock-checkpoint', 'oarlock-record', 'oarlock-unstarted', 'oarlock-unknown', 'oarlock-deaths', 'oarlock-batch',
      'oarlock-park', named.next and 'oarlock-park' or 'oarlock-load', named.next and 'oarlock-park' or 'oarlock-early')
  end
  if named.data then redis.call('HSET', key, 'data', named.data) end
  if named.next then return conclude_advance(batch, s) end
  local ok, state = complete_plain(batch, s)
  if not ok then raise(state) end
  return state
end

-- complete_in_lane(batch, s) -> what Redis says: as complete_plain writes it, and the job leaves its lane. Its turn is passed on with
-- those of all others.
-- Rare.
function complete_in_lane(batch, s)
  local sign, queue, _, key = read_mark(s.lane)
  local departs = sign == '+' or sign == '-'
  local mark = departs and mark_text('=', queue, '', key) or s.lane
  local set = redis.pcall('HSET', s.key, 'time', batch.time, 'state', 'complete', 'worker', '', 'failure', '{}', 'queue', '',
    'expires', '0', 'remaining', s.retries, 'oarlock-lane', mark)
  if sign == '+' and type(set) ~= 'table' then -- else it runs on
    batch.departs = batch.departs or {}
    add(batch.departs, queue, key, s.jid)
  end
  return set
end

-- keep_trace(s): the next attempt is part of the trace that this one began
-- Rare.
function keep_trace(s)
  redis.call('HSET', s.key, 'oarlock-queue', s.of_queue or s.queue, 'oarlock-trace', s.named.trace)
end

-- pass_turn(batch, s, failed): the job leaves its lane. No verdict is lost for a lane that is broken; it is
-- looked after.
-- Rare.
function pass_turn(batch, s, failed)
  local ok, raised = pcall(depart_lane, s.jid, s.lane, batch.now, nil, failed)
  if not ok then report(batch, s.queue, s.jid, raised) end
end

-- pass_turns(batch): the turns of jobs that were completed
-- Rare.
function pass_turns(batch)
  for queue, left in pairs(batch.departs) do
    local ok, raised = pcall(pass_all, queue, left, batch.now)
    if not ok then report(batch, queue, '', raised) end
  end
end

-- give_throttles_back(batch, s): the job's throttles. One that is broken is no reason to lose a verdict,
-- and where it is why the job fails, that is said already.
-- Rare.
function give_throttles_back(batch, s)
  local trouble = give_back(s.jid, s.queue, s.throttles, batch.now, 25)
  if trouble and s.named.group ~= 'damaged' then report(batch, s.queue, s.jid, trouble) end
end

function end_run(batch, key, queue, state, retries)
  redis.call('HSET', key, 'time', batch.time, 'state', state, 'worker', '', 'failure', '{}', 'queue', queue,
    'expires', '0', 'remaining', retries)
end

-- conclude_advance(batch, s) -> state, as the protocol's complete with next
-- Rare.
function conclude_advance(batch, s)
  local jid, key, named, now = s.jid, s.key, s.named, batch.now
  local next, delay, depends = named.next, tonumber(named.delay) or 0, s.depends or {}
  if remember(jid, batch.done, batch.limit, false) then stands_apart(jid) end
  add(batch.runs, s.queue, now - seconds_of(batch, s.time))
  tell(batch, 'ql:completed', jid)
  if s.of_queue and not named.data then take_along(s) end -- it may have no key any more
  if s.of_queue then carry_over(jid, 'onward', next) end
  local derived = s.throttles and redis.call('HGET', key, 'oarlock-gate')
  if derived then drop_derived(jid, s.throttles, derived) end
  local turned = batch.settings and batch.ruled ~= false and moved_options(batch, jid, s.queue, next).priority
  if turned then
    s.priority = turned
    redis.call('HSET', key, 'priority', turned)
  end
  announce('{"jid":' .. cjson.encode(jid) .. ',"to":' .. json_name(batch, next) .. ',"event":"advanced","queue":'
    .. json_name(batch, s.queue) .. '}')
  remember(jid, put_entry(now, next), batch.limit, false)
  know(batch, next)
  if s.lane then pass_turn(batch, s) end
  if depend(jid, depends) > 0 then
    if delay > 0 then redis.call('HSET', key, 'scheduled', now + delay) end
    seat(next, '-depends', batch.stored_now, jid)
    end_run(batch, key, next, 'depends', s.retries)
    return 'depends'
  end
  -- As the protocol has it: the state of a job scheduled here says waiting, and a delay
  -- is forgotten if dependencies were given, all satisfied.
  local due = delay > 0 and #depends == 0 and now + delay
  end_run(batch, key, next, 'waiting', s.retries)
  if s.lane and follow_key(next, jid, s.lane, now, due) then return due and 'scheduled' or 'waiting' end
  if due then
    seat(next, '-scheduled', due, jid)
    wake(next)
    return 'scheduled'
  end
  ready_later(batch, next, jid, score_text(batch, s.priority))
  return 'waiting'
end

-- conclude_unfinished(batch, s) -> state, remaining, crashes, for all but complete
-- Rare.
function conclude_unfinished(batch, s)
  if s.action == 'park' then return conclude_park(batch, s) end
  if s.action == 'cancel' or s.action == 'requeue' then return conclude_anew(batch, s) end
  s.ours = load_ours(s.jid, s.queue, s.of_queue)
  local crashes = tonumber(s.ours.crashes) or 0
  if s.named.data then redis.call('HSET', s.key, 'data', s.named.data) end
  if s.action == 'fail' then
    keep_ours(s, {})
    conclude_fail(batch, s, s.named.group or '', s.named.message or '')
    return 'failed', math.floor(tonumber(s.remaining) or 0), crashes
  elseif s.action == 'retry' then
    keep_ours(s, {})
    if s.ours.park or s.named.response then end_wait(s) end
    local state, remaining = conclude_retry(batch, s)
    return state, remaining, crashes
  end
  return conclude_release(batch, s, crashes)
end

-- conclude_anew(batch, s) -> state, remaining, crashes: the job is no more, or is put again,
-- as by the amendments cancel, retry and move
-- Rare.
function conclude_anew(batch, s)
  local jid, key, named = s.jid, s.key, s.named
  if s.lane then pass_turn(batch, s) end
  if s.action == 'cancel' then
    cancel_job(jid, batch.now, true)
    return 'canceled', 0, 0
  end
  s.ours = load_ours(jid, s.queue, s.of_queue)
  keep_ours(s, {})
  local of_queue, klass, data = unpack(redis.call('HMGET', key, 'oarlock-queue', 'klass', 'data'))
  local to = named.next or s.queue
  put_job(batch.now, batch.worker, to, jid, klass or '', data, tonumber(named.delay) or 0,
    batch.settings and batch.ruled ~= false and moved_options(batch, jid, s.queue, to) or {}, batch.limit)
  if of_queue then carry_over(jid, to == s.queue and 'again' or 'moved', to) end
  know(batch, to)
  local f = redis.call('HMGET', key, 'state', 'remaining')
  return f[1], math.floor(tonumber(f[2]) or 0), 0
end

-- seconds_of(batch, time) -> number; jobs that were popped together share the text
function seconds_of(batch, time)
  local known = batch.times[time]
  if not known then
    known = numeric(time, batch.now)
    batch.times[time] = known
  end
  return known
end

-- ready_later(batch, queue, jid, place): becomes ready at the end of the batch, with all others
function ready_later(batch, queue, jid, place)
  batch.enters = batch.enters or {}
  add(batch.enters, queue, place, jid)
  wake(queue)
end

-- conclude_fail(batch, s, group, message), as the protocol's fail
function conclude_fail(batch, s, group, message)
  local jid, queue, now = s.jid, s.queue, batch.now
  announce(failed_event(jid, group, message, batch.worker))
  tell(batch, 'ql:failed', jid)
  remember(jid, '[' .. text14(math.floor(now)) .. ',"failed",{"group":' .. cjson.encode(group)
    .. ',"worker":' .. json_name(batch, batch.worker) .. '}]', batch.limit, false)
  set_failed(batch, s, group, failure_json(group, message, math.floor(now), batch.worker))
end

function set_failed(batch, s, group, failure)
  count_failure(s.queue, batch.now)
  redis.call('HSET', s.key, 'state', 'failed', 'worker', '', 'expires', '', 'failure', failure)
  local ours = s.ours
  if ours.crashes or ours.interruptions or ours.spared or ours.unstarted or ours.unknown or ours.deaths or ours.batch or s.counted then
    redis.call('HSET', s.key, 'oarlock-failed', '1')
  end
  if ours.park or ours.response then
    redis.call('HDEL', s.key, 'oarlock-park', 'oarlock-then', 'oarlock-response', 'oarlock-response-given')
  end
  list_failed(s.jid, group)
  if hooks then tell_dead(s.jid, s.queue, batch.now, s.action == 'fail' and 1 or 0) end
  if s.lane then pass_turn(batch, s, true) end
end

-- conclude_retry(batch, s) -> state, remaining, as the protocol's retry
function conclude_retry(batch, s)
  local jid, queue, key, named, now = s.jid, s.queue, s.key, s.named, batch.now
  local delay, group, message = tonumber(named.delay) or 0, named.group, named.message
  redis.call('HDEL', key, 'grace')
  local left = math.floor(tonumber(s.remaining) or 0) - 1
  local stored = text17(left)
  if left >= 0 then
    if group then redis.call('HSET', key, 'failure', failure_json(group, message, math.floor(now), batch.worker)) end
    if s.ours.merge and s.ours.load and s.lane then absorb_next(batch, s) end
    if delay > 0 then
      seat(queue, '-scheduled', now + delay, jid)
      redis.call('HSET', key, 'remaining', stored, 'state', 'scheduled')
      return 'scheduled', left
    end
    redis.call('HSET', key, 'remaining', stored, 'state', 'waiting')
    ready_later(batch, queue, jid, score_text(batch, s.priority))
    return 'waiting', left
  end
  redis.call('HSET', key, 'remaining', stored)
  local failure
  if group then
    failure = failure_json(group, message, math.floor(now), batch.worker)
  else
    group, message = exhausted(queue, queue)
    failure = failure_json(group, message, now, '')
  end
  local part = s.ours.merge and bury_first(batch, s, group, failure)
  if part then
    s.part = part
    return 'waiting', math.floor(tonumber(s.retries) or 0)
  end
  remember(jid, '[' .. text14(math.floor(now)) .. ',"failed",{"group":' .. cjson.encode(group) .. '}]', batch.limit, false)
  tell(batch, 'ql:failed', jid)
  set_failed(batch, s, group, failure)
  return 'failed', left
end

-- conclude_release(batch, s, crashes) -> state, remaining, crashes
-- Gives a job back uncounted: as the protocol's timeout leaves it, but out of the
-- worker's set, without a grace mark, and nobody is told. With a delay it is
-- scheduled; unless it is to be in front, it waits in line. A count of ours may end it instead.
function conclude_release(batch, s, crashes)
  local jid, queue, named = s.jid, s.queue, s.named
  local counts, counter = {}, named.counter
  if counter == 'interruption' then
    counts.interruptions = text14((tonumber(s.ours.interruptions) or 0) + 1)
    counts.standstill = named.standstill
  elseif counter == 'spared' then
    counts.spared = text14((tonumber(s.ours.spared) or 0) + 1)
  elseif counter == 'death' then
    counts.deaths = text14((tonumber(s.ours.deaths) or 0) + 1)
  elseif counter == 'crash' then
    crashes = crashes + 1
    counts.crashes = text14(crashes)
  end
  local remaining = math.floor(tonumber(s.remaining) or 0)
  keep_ours(s, counts)
  redis.call('HDEL', s.key, 'grace')
  if counter == 'crash' and crashes > (tonumber(named['max-crashes']) or 0) then
    conclude_fail(batch, s, named.group or 'crashed', named.message or '')
    return 'failed', remaining, crashes
  end

  if named.group then
    redis.call('HSET', s.key, 'failure', failure_json(named.group, named.message, math.floor(batch.now), batch.worker))
  end
  remember(jid, given_back(batch.now, named.counter or 'release', named.group, batch.worker), batch.limit, false)
  local delay = tonumber(named.delay) or 0
  if delay > 0 then
    seat(queue, '-scheduled', batch.now + delay, jid)
    redis.call('HSET', s.key, 'state', 'scheduled', 'expires', '0')
    return 'scheduled', remaining, crashes
  elseif named.front then
    redis.call('HSET', s.key, 'state', 'stalled', 'expires', '0')
    ready_later(batch, queue, jid, '+inf')
    return 'stalled', remaining, crashes
  end
  redis.call('HSET', s.key, 'state', 'waiting', 'expires', '0')
  ready_later(batch, queue, jid, score_text(batch, s.priority))
  return 'waiting', remaining, crashes
end

-- keep_ours(s, counts): writes the counts that changed, checkpoint, record and what stands
-- in the job's way; what stood there before does so no more when the job ended otherwise
--   counts   may have crashes, interruptions, standstill, spared, deaths, as text
function keep_ours(s, counts)
  local named, words = s.named, {}
  for name, value in pairs(counts) do
    words[#words + 1] = 'oarlock-' .. name
    words[#words + 1] = value
    s.counted = true
  end
  for _, name in ipairs(kept_as_given) do
    if named[name] then
      words[#words + 1] = 'oarlock-' .. name
      words[#words + 1] = named[name]
    end
  end
  for _, name in ipairs(standings) do
    if s.ours[name] and not named[name] then redis.call('HDEL', s.key, 'oarlock-' .. name) end
  end
  if named.cleared then redis.call('HDEL', s.key, 'oarlock-deaths') end
  if #words == 0 then return end
  -- What was kept for another queue must not come to count in this one.
  if s.of_queue and s.of_queue ~= s.queue then carry_over(s.jid, 'anew', s.queue) end
  redis.call('HSET', s.key, 'oarlock-queue', s.queue, unpack(words))
end

kept_as_given = { 'checkpoint', 'record', 'unstarted', 'unknown', 'batch' }
standings = { 'unstarted', 'unknown', 'batch' }
