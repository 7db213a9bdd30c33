-- Taking in batches: jobs from several queues under one policy.

-- take_all(batch, queues, heads, order, cursor, count, max_job) -> jobs, broken, due, cursor, more, left
--   heads    for oldest, per queue when its head was put as far as the caller knows, or ''
--   order    ordered, round-robin or oldest
--   cursor   where round-robin goes on, from 0; likewise returned
--   count    how many at most; 0 takes nothing and looks at nothing
--   max_job  jobs with more bytes of data are handed out without it; 0 means no limit
--   jobs     flat list, as write_job leaves them
--   broken   flat list of queue, jid, reason: what had to be left out; see report
--   due      when the next delayed or recurring job of the queues is due, as text; '0'
--            if there is none
--   more     1 if the call had done enough before it was done, so that the next is to come at once
--   left     flat list of the index of a queue, from 1, and when its head was put; '0' if
--            nothing of it is left to take. Of other queues this is not known
function take_all(batch, queues, heads, order, cursor, count, max_job)
  batch.jobs, batch.max_job, batch.due, batch.left = {}, max_job, nil, {}
  batch.bytes, batch.more = batch.bytes or call_bytes, 0
  if count > 0 and #queues > 0 then
    batch.entry = '[' .. batch.second .. ',"popped",{"worker":' .. cjson.encode(batch.worker) .. '}]'
    if batch.lacks then
      report(batch, '', '', batch.lacks)
    elseif order == 'round-robin' then
      cursor = take_in_turn(batch, queues, cursor, count)
    elseif order == 'oldest' then
      if batch.by_age then batch.by_age(batch, queues, count) else take_oldest(batch, queues, heads, count) end
    else
      take_ordered(batch, queues, count)
    end
  end
  return batch.jobs, batch.broken, batch.due and text17(batch.due) or '0', cursor, batch.more, batch.left
end

-- take_ordered(batch, queues, count): the first queue as long as it has jobs, then the next
function take_ordered(batch, queues, count)
  for i, queue in ipairs(queues) do
    if count <= 0 then return end
    local got, drained = try(batch, queue, pop_some, count)
    count = count - (got or 0)
    if drained then leave_behind(batch, i, '0') end
  end
end

-- leave_behind(batch, index, when): when the next of a queue was put, '0' if there is none
function leave_behind(batch, index, when)
  local left = batch.left
  left[#left + 1], left[#left + 2] = index, when
end

-- take_in_turn(batch, queues, cursor, count) -> cursor: all queues get the same share, and
-- those that have less leave it to the others; what cannot be divided goes round
-- Rare.
function take_in_turn(batch, queues, cursor, count)
  local busy = {}
  for i = 0, #queues - 1 do busy[#busy + 1] = (cursor + i) % #queues + 1 end
  while count > 0 and #busy > 0 and batch.more == 0 do
    local share, still = math.max(1, math.floor(count / #busy)), {}
    for _, i in ipairs(busy) do
      local want = math.min(share, count)
      if want > 0 and batch.more == 0 then
        local got, drained = try(batch, queues[i], pop_some, want)
        got = got or 0
        count = count - got
        if got > 0 then cursor = i % #queues end
        if drained then leave_behind(batch, i, '0') end
        if got == want then still[#still + 1] = i end
      end
    end
    busy = still
  end
  return cursor
end

-- take_oldest(batch, queues, heads, count): one by one from the queue whose head was put first
-- A queue is opened when its turn comes by what the caller knows of it.
-- Rare.
function take_oldest(batch, queues, heads, count)
  local line = {}
  for i, queue in ipairs(queues) do line[i] = { index = i, queue = queue, time = tonumber(heads[i]) or 0 } end
  local wanted, chosen = count, nil
  repeat
    chosen = choose_oldest(batch, line, wanted)
    for _, head in ipairs(chosen) do
      -- Another queue that was opened meanwhile may have had children of a recurring job.
      if evicted then head.chosen = still_there(head.queue, head.chosen) end
      local _, seen = try(batch, head.queue, hand_out, head.chosen, false, #head.chosen)
      -- Where some were broken, or had to wait for a throttle, there may be others.
      if seen == #head.chosen then head.again = true else head.time = nil end
      head.chosen = nil
    end
    wanted = count - #batch.jobs / job_width
  until wanted <= 0 or #chosen == 0 or batch.more == 1
  if wanted > 0 and batch.short then batch.more = 1 end
  for _, head in ipairs(line) do
    if head.list and batch.more == 0 then leave_behind(batch, head.index, text17(head.time or 0)) end
  end
end

-- still_there(queue, jids) -> those that were not evicted from the queue in this call
-- Rare.
function still_there(queue, jids)
  local there = {}
  for _, jid in ipairs(jids) do
    if not evicted[queue .. '\0' .. jid] then there[#there + 1] = jid end
  end
  return there
end

-- choose_oldest(batch, line, count) -> those of line of which jobs were chosen, each with
-- their list as chosen
-- Rare.
function choose_oldest(batch, line, count)
  for _, one in ipairs(line) do
    if one.again then one.again, one.list, one.time = nil, nil, one.time or 0 end
  end
  local some = {}
  while count > 0 and batch.more == 0 do
    local head
    for _, one in ipairs(line) do
      if one.time and not (one.list and one.next > one.room) and not (head and head.time <= one.time) then head = one end
    end
    if not head then break end
    if head.list then
      if not head.chosen then some[#some + 1] = head end
      add(head, 'chosen', head.list[head.next])
      next_head(batch, head)
      count = count - 1
    else
      local before = #batch.jobs
      try(batch, head.queue, open_queue, head, count)
      next_head(batch, head)
      count = count - (#batch.jobs - before) / job_width
    end
  end
  return some
end

-- open_queue(batch, queue, head, count): lists the jobs to be popped next, and one more
-- Rare.
function open_queue(batch, queue, head, count)
  head.room, head.list, head.next = 0, {}, 0
  head.room = math.min(prepare(batch, queue, count), 100)
  if head.room > 0 then head.list = head_of(queue, head.room + 1) end
  batch.short = batch.short or batch.still_due and #head.list < head.room
end

-- next_head(batch, head): head.time is nil if there is none
-- Rare.
function next_head(batch, head)
  head.next = head.next + 1
  local jid = head.list[head.next]
  head.time = nil
  if not jid then return end
  spend(batch, 1)
  -- One that is broken goes first, to be found out.
  local time = redis.pcall('HGET', 'ql:j:' .. jid, 'time')
  head.time = numeric(type(time) == 'string' and time, 0)
end

-- pop_some(batch, queue, count) -> how many were handed out, as the protocol's pop; and
-- whether nothing is left
function pop_some(batch, queue, count)
  if batch.gated and batch.gated[queue] then return batch.pop_ruled(batch, queue, count) end
  local before, hurried = #batch.jobs, batch.hurries
  local room = prepare(batch, queue, count)
  room = take_heads(batch, queue, room)
  if hurried and room > 0 and batch.more == 0 then take_heads(batch, queue, calm_down(batch, queue, room)) end
  local got = (#batch.jobs - before) / job_width
  if got < count and batch.still_due then batch.more = 1 end
  return got, got < count and batch.more == 0
end

-- take_heads(batch, queue, room) -> how much of it is left
function take_heads(batch, queue, room)
  if batch.passes and batch.passes[queue] then return take_others(batch, queue, room) end
  local want = room
  while room > 0 and batch.more == 0 do
    local heads = head_of(queue, want)
    if #heads == 0 then break end
    local done, seen = run_chosen(batch, queue, choose_fit(batch, queue, heads, false, room))
    room = room - done
    if #heads < want or seen == 0 then break end
    -- Entries that are broken, or must wait for a throttle, leave room for others.
    want = math.max(room, 50)
  end
  return room
end

-- take_others(batch, queue, room) -> as take_heads, but for jobs of classes that the caller wants none of: these stay where they are
-- Rare.
function take_others(batch, queue, room)
  local classes, jids, at = batch.passes[queue], head_of(queue, most_passed), 1
  while room > 0 and batch.more == 0 and jids[at] do
    local some, from = {}, at
    while #some < room and jids[at] do
      local klass = redis.pcall('HGET', 'ql:j:' .. jids[at], 'klass')
      if type(klass) ~= 'string' or not classes[klass] then some[#some + 1] = jids[at] end
      at = at + 1
    end
    spend(batch, at - from)
    if #some > 0 then room = room - hand_out(batch, queue, some, false, #some) end
  end
  return room
end

-- Among so many jobs at the head of a queue a call looks for one that is not passed over.
most_passed = 100

-- calm_down(batch, queue, room) -> for how many jobs there is room
-- A queue has less than is wanted: now there is time for what a call that hurries leaves undone.
-- Rare.
function calm_down(batch, queue, room)
  batch.hurries = false
  if #batch.completed > 0 then prune_some(batch, #batch.completed) end
  be_seen(batch)
  return look_around(batch, queue, room)
end

-- prepare(batch, queue, count) -> for how many jobs of the work set there is room
-- A call that hurries looks at no more than whether the queue may be served.
function prepare(batch, queue, count)
  if batch.still_due then batch.still_due = false end
  if count <= 0 then return 0 end
  if not spend(batch, 6) then
    batch.more = 1
    return 0
  end
  if batch.any_paused and is_paused(batch, queue) then return 0 end
  if not (batch.hurries or batch.registered) then be_seen(batch) end
  if batch.settings and batch.ordered[queue] == nil or not batch.lock[queue] then learn(batch, queue) end
  local most = batch.most[queue]
  if most > 0 then
    local running = redis.call('ZCOUNT', 'ql:q:' .. queue .. '-locks', batch.stored_now, '+inf')
    count = math.min(math.max(0, most - running), count)
    if count == 0 then return 0 end
  end
  return batch.hurries and count or look_around(batch, queue, count)
end

-- look_around(batch, queue, count) -> for how many jobs of the work set there is room
-- Hands out jobs whose lock another worker lost, unless these are spared, and brings in what is due.
-- Rare.
function look_around(batch, queue, count)
  if not batch.spare then
    local limit, before = at_most(batch, count, 25), #batch.broken
    local jids, jobs, seen = reap_each(batch, queue, limit)
    local failed = (#batch.broken - before) / 3
    if seen > 0 then count = count - take_lost(batch, queue, jids, jobs, seen) end
    -- What was looked after is not found again, so this comes to an end.
    if seen == limit and failed < seen and seen < count then batch.more = 1 end
    if count <= 0 then return 0 end
  end
  local recurring, scheduled = 'ql:q:' .. queue .. '-recur', 'ql:q:' .. queue .. '-scheduled'
  if is_due(batch, recurring) then spawn_due(batch, queue, recurring, count) end
  if is_due(batch, scheduled) then promote_due(batch, queue, scheduled) end
  if batch.ordered[queue] then unshelve_due(batch, queue) end
  return count
end

-- take_lost(batch, queue, jids, jobs, seen) -> how many were handed out
-- Hands out jobs that were taken from those who lost their locks. Those of a ruled queue stand in front, with the places that they have, to be
-- judged as all are: who lost one may have known of no rules.
--   seen   how many locks were looked at
-- Rare.
function take_lost(batch, queue, jids, jobs, seen)
  spend(batch, 15 * seen)
  if #jids == 0 then return 0 end
  local g, done, tried = batch.gated and batch.gated[queue] and batch.gate, 0, 0
  if not g then done, tried = hand_out(batch, queue, jids, true, #jids) end
  if g or batch.more == 1 then
    for i = tried + 1, #jids do
      if g then g.lost, jobs[i].throttles = true, nil end
      put_in_front(batch, queue, jids[i], jobs[i])
    end
  end
  return done
end

-- is_paused(batch, queue): where that cannot be read, no queue is
-- Rare.
function is_paused(batch, queue)
  local paused = redis.pcall('SISMEMBER', 'ql:paused_queues', queue)
  if type(paused) == 'number' then return paused == 1 end
  report(batch, '', '', paused)
  batch.any_paused = false
  return false
end

-- be_seen(batch): the worker is one of those known. This is the first write of a take: what
-- keeps Redis from writing at all ends the call here.
-- Rare.
function be_seen(batch)
  local seen = redis.pcall('ZADD', 'ql:workers', batch.stored_now, batch.worker)
  if type(seen) == 'table' then
    if not (batch.wrote or is_wrong_type(seen)) then
      batch.fatal = seen
      raise(seen)
    end
    report(batch, '', '', seen)
  end
  batch.registered, batch.wrote = true, true
end

-- reap_each(batch, queue, limit) -> list of jids, list of their jobs, how many were looked at
-- As reap; one that cannot be looked after is left out.
function reap_each(batch, queue, limit)
  local locks = 'ql:q:' .. queue .. '-locks'
  local expired = redis.call('ZRANGEBYSCORE', locks, '-inf', ARGV[1], 'LIMIT', '0', text17(limit))
  if #expired == 0 then return expired, expired, 0 end
  local jids, jobs = reap_some(batch, queue, expired)
  return jids, jobs, #expired
end

-- reap_some(batch, queue, expired) -> list of jids, list of their jobs
-- Rare.
function reap_some(batch, queue, expired)
  local jids, jobs = {}, {}
  for _, jid in ipairs(expired) do
    local ok, job = pcall(look_after, jid, queue, batch.now, bounded('grace-period', batch.set[2]), batch.limit)
    if not ok then
      report(batch, queue, jid, job)
      reseat(batch, jid, queue)
    elseif job then
      jids[#jids + 1], jobs[#jobs + 1] = jid, job
    end
  end
  return jids, jobs
end

-- spawn_due(batch, queue, recurring, count): as spawn. A recurring job that cannot be read is
-- set aside: it is never due, until somebody makes it anew.
-- Rare.
function spawn_due(batch, queue, recurring, count)
  local before = at_most(batch, count, 20)
  count = before
  local due = redis.call('ZRANGEBYSCORE', recurring, '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', '0', text17(count))
  for i = 1, #due, 2 do
    local ok, spawned = pcall(spawn_one, queue, due[i], tonumber(due[i + 1]), batch.now, count, batch.limit)
    if ok then
      count = count - spawned
    else
      report(batch, queue, due[i], spawned)
      local reason = reason_of(spawned)
      if string.find(reason, '^damaged: ') or is_wrong_type(spawned) then redis.pcall('ZADD', recurring, '+inf', due[i]) end
    end
    if count <= 0 then break end
  end
  spend(batch, 10 * (before - count))
  batch.still_due = is_due(batch, recurring) and count < before
end

-- spawn_one(queue, parent, next, now, limit, history): as spawn_children, but for what would
-- never come to an end
-- Rare.
function spawn_one(queue, parent, next, now, limit, history)
  local interval = redis.call('HGET', 'ql:r:' .. parent, 'interval')
  local seconds = tonumber(interval)
  if seconds and not (next + seconds > next) then
    error('damaged: its field interval is ' .. excerpt(interval) .. ', which never comes to the next one', 0)
  elseif next < 0 then
    error('damaged: it is due at ' .. text17(next) .. ', before all time', 0)
  end
  return spawn_children(queue, parent, next, now, limit, history)
end

-- promote_due(batch, queue, scheduled)
-- More than are wanted, so that a high priority is not kept waiting by those that were due
-- before; and each to the place where it would be if it had come in when it was due.
-- Rare.
function promote_due(batch, queue, scheduled)
  local promotable = batch.promotable or call_promotions
  local limit = at_most(batch, math.max(promotable, 20), 2)
  local due = redis.call('ZRANGEBYSCORE', scheduled, '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', '0', text17(limit))
  local jids, times = {}, {}
  for i = 1, #due, 2 do jids[#jids + 1], times[#times + 1] = due[i], tonumber(due[i + 1]) end
  spend(batch, 2 * #jids + 3)
  batch.promotable = math.max(0, promotable - #jids)
  local ok, dropped = pcall(promote_each, queue, batch.now, jids, times)
  if ok then
    for _, jid in ipairs(dropped) do report(batch, queue, jid, no_job) end
  else
    report(batch, queue, '', dropped)
    for _, jid in ipairs(jids) do reseat(batch, jid, queue) end
  end
  batch.still_due = is_due(batch, scheduled) and ok or batch.still_due
end

-- unshelve_due(batch, queue): as promote_due, for jobs that have a key
-- Rare.
function unshelve_due(batch, queue)
  local promotable = batch.promotable or call_promotions
  local limit = at_most(batch, math.max(promotable, 20), 8)
  local joined, more = unshelve(queue, batch.now, limit, batch)
  spend(batch, 8 * joined + 2)
  batch.promotable = math.max(0, promotable - joined)
  if more then batch.still_due = true end
  local when = next_shelved(queue)
  if when and when > batch.now and (not batch.due or when < batch.due) then batch.due = when end
end

-- try(batch, queue, action, ...) -> what action returns, nil if it fails
-- A queue whose keys are not as they should be must not keep us from the others.
function try(batch, queue, action, ...)
  local ok, result, second = pcall(action, batch, queue, ...)
  if ok then return result, second end
  if batch.fatal then raise(batch.fatal) end
  report(batch, queue, '', result)
end

-- report(batch, queue, jid, raised): what had to be left out
--   jid   '' if it is about the whole queue; queue '' if it is about all
-- Rare.
function report(batch, queue, jid, raised)
  local broken = batch.broken
  broken[#broken + 1], broken[#broken + 2], broken[#broken + 3] = queue, jid, reason_of(raised)
end

no_job = 'there is no job behind it'

-- is_due(batch, key) -> whether the set's first entry is due; one that is not is noted
function is_due(batch, key)
  local first = redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')
  local when = tonumber(first[2])
  if not when or when >= shelf and when < math.huge then return false end
  if when <= batch.now then return true end
  if not batch.due or when < batch.due then batch.due = when end
  return false
end

-- hand_out(batch, queue, jids, admitted, room) -> how many, and how many of jids were looked at,
-- 0 if that failed
-- Makes jobs run under our locks, no more than room, and writes them to batch.jobs. All that
-- were looked at leave the work set.
-- The places are changed before any job's hash is, and where that fails all are put back.
--   admitted   whether they hold their throttles already
function hand_out(batch, queue, jids, admitted, room)
  local fit, gone, seen = choose_fit(batch, queue, jids, admitted, room)
  return run_chosen(batch, queue, fit, gone, seen)
end

-- run_chosen(batch, queue, fit, gone, seen) -> as hand_out
--   fit    those that are to run, as look_at returned them
--   gone   the jids of those that leave the work set
function run_chosen(batch, queue, fit, gone, seen)
  local left, raised = pcall(call_many, 'ZREM', 'ql:q:' .. queue .. '-work', gone)
  if not left then
    for _, jid in ipairs(gone) do reseat(batch, jid, queue) end
    return not_handed_out(batch, queue, fit, raised)
  end
  if #fit == 0 then return 0, seen end
  local expires = text17(batch.now + batch.lock[queue])
  local locks = {}
  for i, job in ipairs(fit) do locks[2 * i - 1], locks[2 * i] = expires, job.jid end
  local locked, why = pcall(hold_locks, queue, batch.worker, locks)
  if not locked then locked, why = pcall(lock_anyway, batch, queue, locks, why) end
  if not locked then return not_handed_out(batch, queue, fit, why) end

  local waits = {}
  for _, job in ipairs(fit) do
    local wrong = start(batch, queue, job, expires)
    if not wrong then
      local since = seconds_of(batch, job.fields[9] or '')
      waits[#waits + 1] = batch.now - (job.since and math.max(job.since, since) or since)
      write_job(batch, queue, job, expires)
    else
      not_handed_out(batch, queue, { job }, wrong)
    end
  end
  if #waits > 0 then tally('wait', queue, batch.now, waits) end
  return #waits, #waits == #fit and seen or 0
end

-- choose_fit(batch, queue, jids, admitted, room) -> those that are to run, as look_at returned them,
-- the jids of those that leave the work set, and how many were looked at
function choose_fit(batch, queue, jids, admitted, room)
  local fit, gone, seen = {}, {}, 0
  local each, most = batch.tracked and 6 or 4, batch.max_job > 0 and batch.max_job or math.huge
  spend(batch, 6)
  for i, jid in ipairs(jids) do
    if #fit == room then break end
    if batch.commands <= 0 then batch.more = 1 end
    if batch.more == 1 then break end
    local f = redis.pcall('HMGET', 'ql:j:' .. jid, unpack(job_fields))
    local ok, job = true, nil
    if f[1] and f[3] and not (f[8] or f[13]) then -- as nearly all are
      job = { jid = jid, fields = f }
      if f[11] then job.throttles = f[11] end
    else
      ok, job = pcall(read_job, jid, queue, f)
    end
    batch.commands = batch.commands - each
    if ok then
      local size = #(f[3] or '')
      if job.ours or size > most then size = data_size(batch, job) end
      local beside = #(f[2] or '') + #(f[4] or '')
      if beside > 2048 then size = size + beside end
      if size > batch.bytes and #batch.jobs + #fit > 0 then
        batch.more = 1
        break
      end
      local fits
      if not job.has_turn and (job.lane or batch.ordered[queue]) and not may_begin(batch, queue, job, admitted) then
        job.stays = true
      elseif job.leg then
        fits = may_go_on(batch, queue, job, admitted)
      else
        fits = admitted or not job.throttles or may_run(batch, queue, job)
      end
      if not (fits or job.stays) then leave_work(queue, job) end
      if fits then
        fit[#fit + 1] = job
        batch.bytes = batch.bytes - size
        if batch.bytes <= 0 then batch.commands = 0 end
      end
    else
      report(batch, queue, jid, job)
    end
    if ok and not job.stays or not ok and (job == no_job or is_wrong_type(job)) then gone[#gone + 1] = jid end
    seen = i
  end
  return fit, gone, seen
end

-- leave_work(queue, job): it waits elsewhere, and leaves the work set at once: of those behind it one may give back what lets it come in again
-- Rare.
function leave_work(queue, job)
  job.stays = type(redis.pcall('ZREM', 'ql:q:' .. queue .. '-work', job.jid)) == 'number' -- else it leaves with the others
end

-- may_begin(batch, queue, job, locked) -> whether a job has the turn of its key, or has none; else it has left the work set
-- Rare.
function may_begin(batch, queue, job, locked)
  local met, key = pcall(meet_turn, queue, job.jid, job.lane, job.fields[4], batch.now, locked)
  spend(batch, 8)
  if not met then
    report(batch, queue, job.jid, key)
    join_later(queue, job.jid, batch.now)
    return false
  end
  job.key = key or nil
  return key ~= nil
end

-- data_size(batch, job) -> bytes that are handed out with it
-- Rare.
function data_size(batch, job)
  local size, leg = job.load and job.load % run_unit or #(job.fields[3] or ''), job.leg
  if batch.max_job > 0 and size > batch.max_job then size = 0 end
  return leg and leg.size and size + leg.size or size
end

-- lock_anyway(batch, queue, locks, raised): into the worker's set, and into the queue's set of locks, where what
-- stands under the worker's name is no set
--   locks   scores and jids
-- The name is ours alone, and so is what stands under it.
-- Rare.
function lock_anyway(batch, queue, locks, raised)
  local held = redis.pcall('ZCARD', batch.holds)
  if type(held) ~= 'table' or not is_wrong_type(held) then raise(raised) end
  redis.call('DEL', batch.holds)
  hold_locks(queue, batch.worker, locks)
end

-- not_handed_out(batch, queue, jobs, raised) -> 0, 0
-- One that came from a waitlist has left it, and stands in the work set: nobody would find it among the throttled.
-- Rare.
function not_handed_out(batch, queue, jobs, raised)
  report(batch, queue, #jobs == 1 and jobs[1].jid or '', raised)
  for _, job in ipairs(jobs) do
    if job.waited then redis.pcall('ZREM', 'ql:q:' .. queue .. '-throttled', job.jid) end
    if reseat(batch, job.jid, queue) ~= 'running' and job.throttles then pcall(let_go_of, job) end
  end
  return 0, 0
end

-- let_go_of(job): its throttles are as if it had not asked for them
-- Rare.
function let_go_of(job)
  local places = {}
  for i, tid in ipairs(cjson.decode(job.throttles)) do
    if i > most_throttles then break end
    places[tid] = (places[tid] or 0) + 1
    redis.pcall('ZREM', 'ql:th:' .. tid .. '-locks', places[tid] == 1 and job.jid or job.jid .. '\0' .. places[tid])
  end
end

-- look_at(jid, queue, fields) -> a job that is to run: its fields in the order of job_fields,
-- throttles, and ours and leg, see write_ours
--   fields   more than these are read if it is given
-- Raises if there is no job.
function look_at(jid, queue, fields)
  return read_job(jid, queue, redis.pcall('HMGET', 'ql:j:' .. jid, unpack(fields or job_fields)))
end

-- read_job(jid, queue, f) -> as look_at
--   f   what Redis answered for its fields
-- Rare.
function read_job(jid, queue, f)
  if f.err then raise(f) end
  if not (f[1] or f[3]) then error(no_job, 0) end
  local job = { jid = jid, fields = f, lane = f[13] }
  if f[11] then job.throttles = f[11] end
  if not (f[1] and f[3]) then job.damage = 'its field ' .. (f[1] and 'data' or 'jid') .. ' is missing' end
  if f[8] then job.ours, job.leg, job.load = write_ours(jid, queue, f[8], f[9]) end
  if job.lane then read_lane(job, queue) end
  return job
end

-- read_lane(job, queue): its key, whether it has the turn, and since when, if that is not when it was put
-- Rare.
function read_lane(job, queue)
  local sign, of, word, key = read_mark(job.lane)
  if of ~= queue then return end
  job.key, job.has_turn, job.since = key, sign == '+', sign == '+' and tonumber(word)
end

-- may_run(batch, queue, job) -> whether it holds all its throttles; otherwise it waits for one,
-- or, where a command failed, stays where it is
-- A job whose throttles cannot be read can wait for none of them.
-- Rare.
function may_run(batch, queue, job)
  local f, jid = job.fields, job.jid
  spend(batch, 5 + math.floor(#job.throttles / 4)) -- a throttle takes four bytes at least
  local ok, raised = pcall(given_throttles, job.throttles, 'Take')
  if ok then
    local seen = { throttles = job.throttles, history = f[10] }
    ok, raised = pcall(function()
      seen.state, seen.gate = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'state', 'oarlock-gate'))
      return admit(jid, seen, queue, batch.now, batch.limit)
    end)
    f[10], job.throttles = seen.history, seen.throttles or nil
    if ok and raised and batch.gate then batch.gate.places = {} end -- of what the gate knew of them something is taken
    if ok then return raised end
    pcall(let_go_of, job)
    redis.pcall('ZREM', 'ql:q:' .. queue .. '-throttled', jid)
    if not is_wrong_type(raised) then
      not_handed_out(batch, queue, { job }, raised)
      job.stays = true
      return false
    end
  end
  job.damage = 'its throttles ' .. excerpt(job.throttles) .. ': ' .. reason_of(raised)
  return true
end

-- start(batch, queue, job, expires) -> nil, or what went wrong: makes it run
-- One command says it, with its places and what it was answered: what can fail after it keeps nobody from being told.
function start(batch, queue, job, expires)
  local jid, f = job.jid, job.fields
  local set, wrong
  if job.leg or job.damage or f[12] ~= queue then
    set, wrong = pcall(start_anew, batch, queue, job, expires)
    if not set then return wrong end
  elseif job.places then
    set = redis.pcall('HSET', 'ql:j:' .. jid, 'time', batch.time, 'worker', batch.worker, 'expires', expires, 'state', 'running',
      'throttles', job.places.text, 'oarlock-gate', job.places.derived)
    if type(set) == 'table' then return set end
  else
    set = redis.pcall('HSET', 'ql:j:' .. jid, 'time', batch.time, 'worker', batch.worker, 'expires', expires, 'state', 'running')
    if set ~= 0 and type(set) == 'table' then return set end
  end
  local unkept = remember(jid, batch.entry, batch.limit, f[10])
  if unkept and not is_job('ql:j:' .. jid .. '-history') then job.damage = job.damage or 'its history: ' .. unkept end
  if batch.tracked then tell_trackers('ql:popped', jid) end
end

-- start_anew(batch, queue, job, expires): its hash says all that one of a job that runs does
-- Rare.
function start_anew(batch, queue, job, expires)
  local more = job.leg and begin_leg(batch, job) or {}
  if job.places then more[#more + 1], more[#more + 2], more[#more + 3], more[#more + 4] = 'throttles', job.places.text, 'oarlock-gate', job.places.derived end
  redis.call('HSET', 'ql:j:' .. job.jid, 'jid', job.jid, 'queue', queue, 'time', batch.time, 'worker', batch.worker, 'expires', expires,
    'state', 'running', unpack(more))
end

job_fields = {
  'jid', 'klass', 'data', 'tags', 'priority', 'retries', 'remaining', 'oarlock-queue', 'time', 'history', 'throttles', 'queue',
  'oarlock-lane',
}

-- write_job(batch, queue, job, expires): appends job_width values to batch.jobs
--   job   as look_at returned it
function write_job(batch, queue, job, expires)
  local jobs, f = batch.jobs, job.fields
  local data = f[3]
  local n, size = #jobs, job.load and job.load % run_unit or data and #data or 0
  if batch.max_job > 0 and size > batch.max_job then data = false end
  jobs[n + 1], jobs[n + 2], jobs[n + 3], jobs[n + 4], jobs[n + 5] = job.jid, queue, f[2], data, size
  jobs[n + 6], jobs[n + 7], jobs[n + 8], jobs[n + 9] = f[4], f[5], f[6], f[7]
  jobs[n + 10], jobs[n + 11] = expires, f[9]
  if batch.settings ~= false and batch.ruled ~= false and batch.low ~= false and f[5] and is_low(batch, queue) then jobs[n + 7] = negated(f[5]) end
  local ours = (job.ours or job.key or job.throttles or job.closes) and told_of(batch, job, data)
  jobs[n + 12], jobs[n + 13] = ours or false, job.damage or false
end

-- told_of(batch, job, data) -> list of names and values of ours that go with it, or nil
-- Rare.
function told_of(batch, job, data)
  local ours = job.ours
  if data and job.load and job.load >= 2 * run_unit then
    local all, some = redis.call('HGETALL', 'ql:j:' .. job.jid), {}
    for i = 1, #all, 2 do
      if string.find(all[i], payload_fields) then some[#some + 1] = all[i + 1] end
    end
    if #some > 0 then ours[#ours + 1], ours[#ours + 2] = 'payloads', some end
  end
  if job.key then
    ours = ours or {}
    ours[#ours + 1], ours[#ours + 2] = 'key', job.key
  end
  if job.throttles and batch.ruled ~= false then -- held does not know whether there are rules
    ours = ours or {}
    ours[#ours + 1], ours[#ours + 2] = 'places', job.throttles
  end
  if job.closes then
    ours = ours or {}
    ours[#ours + 1], ours[#ours + 2] = 'closes', text17(job.closes)
  end
  return ours
end

job_width = 13

-- write_ours(jid, queue, of_queue, time) -> list of names and values of what we keep with a job; what the
-- attempt is told of its answer, see leg_of; and oarlock-load, if it is a run
-- Rare.
function write_ours(jid, queue, of_queue, time)
  local ours, list = load_ours(jid, queue, of_queue), {}
  if ours.failed then drop_counts(jid) end
  local leg = leg_of(ours, time, tonumber(ARGV[1]))
  local told_fields = {
    'crashes', 'interruptions', 'spared', 'checkpoint', 'timeout', 'unstarted', 'unknown', 'standstill', 'deaths', 'batch',
    'correlation', 'trace', 'park', 'response', 'then', 'merge', 'first',
  }
  for _, name in ipairs(told_fields) do
    -- Of a run that was completed, and put anew by another client, nothing is left but its fields.
    if ours[name] and (ours.load or name ~= 'merge' and name ~= 'first') then list[#list + 1], list[#list + 2] = name, ours[name] end
  end
  return list, leg, ours.merge and tonumber(ours.load)
end
