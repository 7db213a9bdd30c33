-- hand_over(queue, now, worker, expires, jids, jobs, limit, any_tracked) -> JSON list of the jobs
-- Makes jobs run under a worker's locks.
--   expires  when the locks run out, as text
--   jobs     what load_job returned for each of jids; one that is there twice, as
--            taken away and as ready, runs twice
--   limit    the history limit
--   any_tracked  false if no job at all is tracked
function hand_over(queue, now, worker, expires, jids, jobs, limit, any_tracked)
  if #jids == 0 then return json_list(jids) end
  local when, holder = text14(math.floor(now)), '"worker":' .. cjson.encode(worker) .. '}'
  local entry = '[' .. when .. ',"popped",{' .. holder .. ']'
  local newest = '{"when":' .. when .. ',"what":"popped",' .. holder
  local time = string.format('%.20f', now)
  local locks, waits, views, seen, twice = {}, {}, {}, {}, false
  for i, jid in ipairs(jids) do
    local job = jobs[i]
    remember(jid, entry, limit, job.history)
    redis.call('HSET', 'ql:j:' .. jid, 'time', time, 'worker', worker, 'expires', expires, 'state', 'running')
    if job.life and job.life == job.time and not job.park then tell_answer(jid, time) end
    waits[i] = seen[jid] and 0 or now - (tonumber(job.time) or now)
    twice = twice or seen[jid]
    seen[jid] = true
    locks[2 * i - 1], locks[2 * i] = expires, jid
    job.worker, job.expires, job.state, job.history = worker, expires, 'running', false
    local tracked = any_tracked and redis.call('ZSCORE', 'ql:tracked', jid)
    if tracked then redis.call('PUBLISH', 'ql:popped', jid) end
    views[i] = view(jid, job, tracked, newest)
  end
  if #waits == 1 then tally_one('wait', queue, now, waits[1]) else tally('wait', queue, now, waits) end
  hold_locks(queue, worker, locks)
  return twice and view_all(jids) or json_list(views)
end

-- tell_answer(jid, time): a job that was answered runs from that time on, and oarlock.response says with what
-- Rare.
function tell_answer(jid, time)
  local key = 'ql:j:' .. jid
  if redis.call('HEXISTS', key, 'oarlock-response') == 1 then redis.call('HSET', key, 'oarlock-life', time, 'oarlock-response-given', '1') end
end

-- head_of(queue, count) -> the jids to be popped next
-- A negative count means all but that many of the last.
function head_of(queue, count)
  if count == 0 then return {} end
  return redis.call('ZREVRANGE', 'ql:q:' .. queue .. '-work', '0', text17(count - 1))
end

-- has_keys(queue, now) -> whether some jobs of the queue have; those of them that are delayed and due are brought in
-- Rare.
function has_keys(queue, now)
  if not turn_settings(queue) then return false end
  unshelve(queue, now, 200)
  return true
end

-- has_turn(jid, job, queue, now) -> whether a job has the turn of its key, or has none; else it has left the work set
-- Rare.
function has_turn(jid, job, queue, now)
  local met, key = pcall(meet_turn, queue, jid, job.lane, job.tags, now)
  if not met then join_later(queue, jid, now) end
  return met and key ~= nil
end

-- bring_in(queue, now, count, limit) -> how many children of recurring jobs
-- What becomes ready by time alone.
--   limit   the history limit, or nil
-- Rare.
function bring_in(queue, now, count, limit)
  local spawned = spawn(queue, now, count, limit)
  promote(queue, now, count)
  return spawned
end

-- is_ruled_queue(queue) -> whether rules concern it. What has_keys asks is read on the way.
-- Rare.
function is_ruled_queue(queue)
  local f = redis.call('HMGET', 'ql:oarlock:rules', 'o:' .. queue, 'q:' .. queue)
  know_turns(queue, f[1])
  return f[2]
end

-- pop_by_rules(now, queue, worker, count) -> as hand_over
-- Of a queue with rules another client takes what a take of ours would. Nobody may be there who looks after places that became free, so that
-- is done first. It does at most pop_takes times what a call of ours does, and then hands out fewer than it might.
-- Rare.
function pop_by_rules(now, queue, worker, count)
  local jids, queues, batch = {}, { queue }, nil
  for _ = 1, pop_takes do
    batch = open_batch(now, worker, queues)
    local g = open_gate(batch)
    batch.foreign, batch.low = true, false
    batch.gate, batch.gated, batch.pop_ruled = g, { [queue] = true }, pop_ruled
    for _, tid in ipairs(redis.call('SRANDMEMBER', 'ql:oarlock:waited', '20')) do g.freed[tid] = true end
    local jobs = take_all(batch, queues, { '' }, 'ordered', 0, count - #jids, 0)
    pcall(tell_others, g, queues, count)
    for i = 1, #jobs, job_width do jids[#jids + 1] = jobs[i] end
    if batch.more == 0 or #jids >= count then break end
  end
  for i = 1, #jids == 0 and #batch.broken or 0, 3 do
    if batch.broken[i + 1] == '' then refuse('Pop', batch.broken[i + 2]) end
  end
  return view_all(jids)
end

pop_takes = 10
