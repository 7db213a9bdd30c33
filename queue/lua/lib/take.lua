-- Taking in batches: jobs from several queues under one policy.

-- take_all(batch, queues, order, cursor, count, max_job) -> jobs, broken, due, cursor
--   order    ordered, round-robin or oldest
--   cursor   where round-robin goes on, from 0; likewise returned
--   count    how many at most; 0 takes nothing and looks at nothing
--   max_job  jobs with more bytes of data are handed out without it; 0 means no limit
--   jobs     flat list, as write_job leaves them
--   broken   flat list of queue, jid, reason: entries removed because no job was behind them
--   due      when the next delayed or recurring job of the queues is due, as text; '0'
--            if there is none
function take_all(batch, queues, order, cursor, count, max_job)
  batch.jobs, batch.broken, batch.max_job, batch.due = {}, {}, max_job, nil
  if count > 0 and #queues > 0 then
    batch.any_paused = redis.call('EXISTS', 'ql:paused_queues') == 1
    batch.entry = '[' .. text14(math.floor(batch.now)) .. ',"popped",{"worker":' .. cjson.encode(batch.worker) .. '}]'
    if order == 'round-robin' then
      cursor = take_in_turn(batch, queues, cursor, count)
    elseif order == 'oldest' then
      take_oldest(batch, queues, count)
    else
      take_ordered(batch, queues, count)
    end
  end
  return batch.jobs, batch.broken, batch.due and text17(batch.due) or '0', cursor
end

-- take_ordered: the first queue as long as it has jobs, then the next
function take_ordered(batch, queues, count)
  for _, queue in ipairs(queues) do
    if count <= 0 then return end
    count = count - pop_some(batch, queue, count)
  end
end

-- take_in_turn(...) -> cursor: all queues get the same share, and those that have
-- less leave it to the others; what cannot be divided goes round
-- Rare.
function take_in_turn(batch, queues, cursor, count)
  local busy = {}
  for i = 0, #queues - 1 do busy[#busy + 1] = queues[(cursor + i) % #queues + 1] end
  local place = {}
  for i, queue in ipairs(queues) do place[queue] = i end
  while count > 0 and #busy > 0 do
    local share, still = math.max(1, math.floor(count / #busy)), {}
    for _, queue in ipairs(busy) do
      local want = math.min(share, count)
      if want > 0 then
        local got = pop_some(batch, queue, want)
        count = count - got
        if got > 0 then cursor = place[queue] % #queues end
        if got == want then still[#still + 1] = queue end
      end
    end
    busy = still
  end
  return cursor
end

-- take_oldest: one by one from the queue whose head was put first
-- Rare.
function take_oldest(batch, queues, count)
  local heads, wanted = {}, {}
  for _, queue in ipairs(queues) do
    local room = prepare(batch, queue, count - #batch.jobs / job_width)
    if room > 0 then
      local head = { queue = queue, list = head_of(queue, room), next = 0 }
      if next_head(head) then heads[#heads + 1] = head end
    end
  end
  for _ = 1, count - #batch.jobs / job_width do
    local best
    for i, head in ipairs(heads) do
      if not best or head.time < heads[best].time then best = i end
    end
    if not best then break end
    local head = heads[best]
    add(wanted, head.queue, head.list[head.next])
    if not next_head(head) then table.remove(heads, best) end
  end
  for queue, jids in pairs(wanted) do hand_out(batch, queue, jids, false) end
end

-- next_head(head) -> whether the queue has one more
function next_head(head)
  head.next = head.next + 1
  local jid = head.list[head.next]
  if not jid then return false end
  -- One that is broken goes first, to be found out.
  head.time = tonumber(redis.call('HGET', 'ql:j:' .. jid, 'time')) or 0
  return true
end

-- pop_some(batch, queue, count) -> how many were handed out, as the protocol's pop
function pop_some(batch, queue, count)
  local before = #batch.jobs
  local room = prepare(batch, queue, count)
  -- Entries that are broken, or must wait for a throttle, leave room for others.
  for _ = 1, 3 do
    local heads = room > 0 and head_of(queue, room) or {}
    local done = #heads > 0 and hand_out(batch, queue, heads, false) or 0
    if done == #heads then break end
    room = room - done
  end
  return (#batch.jobs - before) / job_width
end

-- prepare(batch, queue, count) -> for how many jobs of the work set there is room
-- Hands out jobs whose lock another worker lost, unless these are spared, and brings in what is due.
function prepare(batch, queue, count)
  if count <= 0 then return 0 end
  if batch.any_paused and redis.call('SISMEMBER', 'ql:paused_queues', queue) == 1 then return 0 end
  if not batch.registered then
    redis.call('ZADD', 'ql:workers', batch.stored_now, batch.worker)
    batch.registered = true
  end
  local most = batch.most[queue]
  if most > 0 then
    local running = redis.call('ZCOUNT', 'ql:q:' .. queue .. '-locks', batch.stored_now, '+inf')
    count = math.min(math.max(0, most - running), count)
    if count == 0 then return 0 end
  end
  local expired = not batch.spare and try(batch, queue, reap, queue, batch.now, count, batch.grace, batch.limit)
  if expired and #expired > 0 then
    count = count - hand_out(batch, queue, expired, true)
    if count <= 0 then return 0 end
  end
  local recurring, scheduled = 'ql:q:' .. queue .. '-recur', 'ql:q:' .. queue .. '-scheduled'
  if is_due(batch, recurring) then spawn_due(batch, queue, recurring, count) end
  if is_due(batch, scheduled) then promote_due(batch, queue, scheduled, count) end
  return count
end

-- spawn_due(batch, queue, recurring, count)
-- Rare.
function spawn_due(batch, queue, recurring, count)
  try(batch, queue, spawn, queue, batch.now, count, batch.limit)
  is_due(batch, recurring)
end

-- promote_due(batch, queue, scheduled, count)
-- Rare.
function promote_due(batch, queue, scheduled, count)
  try(batch, queue, promote, queue, batch.now, count)
  is_due(batch, scheduled)
end

-- try(batch, queue, action, ...) -> what action returns, nil if it fails
-- One job that is not as it should be must not keep the others from being taken.
function try(batch, queue, action, ...)
  local ok, result = pcall(action, ...)
  if ok then return result end
  report(batch, queue, '', result)
end

-- report(batch, queue, jid, raised): an entry that had to be left out
-- Rare.
function report(batch, queue, jid, raised)
  local broken = batch.broken
  broken[#broken + 1], broken[#broken + 2], broken[#broken + 3] = queue, jid, reason_of(raised)
end

-- is_due(batch, key) -> whether the set's first entry is due; one that is not is noted
function is_due(batch, key)
  local first = redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')
  local when = tonumber(first[2])
  if not when then return false end
  if when <= batch.now then return true end
  if not batch.due or when < batch.due then batch.due = when end
  return false
end

-- hand_out(batch, queue, jids, admitted) -> how many
-- Makes jobs run under our locks and writes them to batch.jobs. All jids leave the work set.
--   admitted   whether they hold their throttles already
function hand_out(batch, queue, jids, admitted)
  local expires = text17(batch.now + batch.lock[queue])
  local locks, waits = {}, {}
  for _, jid in ipairs(jids) do
    local ok, f = pcall(start, batch, queue, jid, expires, admitted)
    if not ok then
      report(batch, queue, jid, f)
    elseif f then
      waits[#waits + 1] = batch.now - seconds_of(batch, f[9])
      locks[#locks + 1], locks[#locks + 2] = expires, jid
      write_job(batch, jid, queue, f, expires)
    end
  end
  call_many('ZREM', 'ql:q:' .. queue .. '-work', jids)
  if #waits == 0 then return 0 end
  tally('wait', queue, batch.now, waits)
  call_many('ZADD', batch.holds, locks)
  call_many('ZADD', 'ql:q:' .. queue .. '-locks', locks)
  return #waits
end

-- start(batch, queue, jid, expires, admitted) -> the fields of a job that runs now, in the order
-- of job_fields; nil if it must wait for a throttle
-- Raises if there is no job.
function start(batch, queue, jid, expires, admitted)
  local key = 'ql:j:' .. jid
  local f = redis.call('HMGET', key, unpack(job_fields))
  if not (f[1] and f[3]) then error('there is no job behind it', 0) end
  local history = f[10]
  if f[11] and not admitted then
    local job = { throttles = f[11], state = redis.call('HGET', key, 'state'), history = history }
    if not admit(jid, job, queue, batch.now, batch.limit) then return nil end
    history = job.history
  end
  remember(jid, batch.entry, batch.limit, history)
  redis.call('HSET', key, 'time', batch.time, 'worker', batch.worker, 'expires', expires, 'state', 'running')
  tell(batch, 'ql:popped', jid)
  return f
end

job_fields = {
  'jid', 'klass', 'data', 'tags', 'priority', 'retries', 'remaining', 'oarlock-queue', 'time', 'history', 'throttles',
}

-- write_job(batch, jid, queue, f, expires): appends job_width values to batch.jobs
--   f   the fields of the job, in the order of job_fields, as they were
function write_job(batch, jid, queue, f, expires)
  local jobs, data = batch.jobs, f[3]
  local n, size = #jobs, #data
  if batch.max_job > 0 and size > batch.max_job then data = false end
  jobs[n + 1], jobs[n + 2], jobs[n + 3], jobs[n + 4], jobs[n + 5] = jid, queue, f[2], data, size
  jobs[n + 6], jobs[n + 7], jobs[n + 8], jobs[n + 9] = f[4], f[5], f[6], f[7]
  jobs[n + 10], jobs[n + 11] = expires, f[9]
  jobs[n + 12] = f[8] and write_ours(jid, queue, f[8])
end

job_width = 12

-- write_ours(jid, queue, of_queue) -> list of crashes, interruptions, releases,
-- checkpoint and timeout
-- Rare.
function write_ours(jid, queue, of_queue)
  local ours = load_ours(jid, queue, of_queue)
  if ours.failed then drop_counts(jid) end
  return { ours.crashes or '0', ours.interruptions or '0', ours.releases or '0', ours.checkpoint or false, ours.timeout or '0' }
end
