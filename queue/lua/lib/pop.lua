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

-- head_of(queue, count) -> the jids to be popped next
-- A negative count means all but that many of the last.
function head_of(queue, count)
  if count == 0 then return {} end
  return redis.call('ZREVRANGE', 'ql:q:' .. queue .. '-work', '0', text17(count - 1))
end

-- has_keys(queue, now) -> whether some jobs of the queue have; those of them that are delayed and due are brought in
-- Rare.
function has_keys(queue, now)
  local t = turns or ordering()
  if not t.settings(queue) then return false end
  t.unshelve(queue, now, 200)
  return true
end

-- has_turn(jid, job, queue, now) -> whether a job has the turn of its key, or has none; else it has left the work set
-- Rare.
function has_turn(jid, job, queue, now)
  return (turns or ordering()).meet(queue, jid, job.lane, job.tags, now) ~= nil
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
