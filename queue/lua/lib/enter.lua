-- Putting jobs in batches.

-- read_puts(at) -> list of puts, index after them
-- ARGV[at] says how many follow; each is queue, jid, klass, data, delay, options.
-- Rare.
function read_puts(at)
  local count = tonumber(ARGV[at])
  at = at + 1
  local puts = {}
  for i = 1, count do
    local put = { queue = ARGV[at], jid = ARGV[at + 1], klass = ARGV[at + 2], data = ARGV[at + 3], delay = tonumber(ARGV[at + 4]) }
    put.named, at = read_options(at + 5)
    puts[i] = put
  end
  return puts, at
end

-- enter_all(batch, puts, reply, one_by_one): puts each job and appends for it the word put, with a colon and the state of
-- the job that it replaced behind it if it did, or the
-- state of the job that is in its way, or a list of what became of its payload and the jid of the job that has it, or,
-- if it was refused, a list of the reason; where it goes one by one, that is the end
-- Rare.
function enter_all(batch, puts, reply, one_by_one)
  local ready = {}
  for _, put in ipairs(puts) do
    local ok, word = pcall(enter, batch, put, ready)
    reply[#reply + 1] = ok and word or entered_after_all(batch, put, word)
    local said = reply[#reply]
    if one_by_one and type(said) == 'table' and not said[2] then break end
  end
  flush_ready(batch, ready)
end

-- entered_after_all(batch, put, raised) -> put if the job is there all the same, or a list of
-- the reason why it is not
-- Rare.
function entered_after_all(batch, put, raised)
  local key, named = 'ql:j:' .. put.jid, put.named
  if put.old_queue ~= nil then reseat(batch, put.jid, put.queue, put.old_queue or nil) end
  local time = redis.pcall('HGET', key, 'time')
  if not time and put.old_queue == false then redis.pcall('LTRIM', key .. '-history', '1', '0') end -- a list, and nothing else
  if time ~= batch.time then return { told_neighbors(put.jid, raised) } end
  if named.timeout then redis.pcall('HSET', key, 'oarlock-queue', put.queue, 'oarlock-timeout', named.timeout) end
  if named.trace then redis.pcall('HSET', key, 'oarlock-queue', put.queue, 'oarlock-trace', named.trace) end
  if says_wants(named) then pcall(write_wants, put.jid, given_wants(put.queue, named)) end
  if put.run then redis.pcall('HSET', key, unpack(put.run)) end
  -- It joins when it is met.
  if named.key then redis.pcall('HSETNX', key, 'oarlock-lane', outside_mark(put.queue, named.key)) end
  return done_word(put)
end

-- enter(batch, put, ready) -> what enter_all answers for it
-- The data was seen to be JSON by the caller, who need not decode it for that.
--   ready   receives the entry for the work set
function enter(batch, put, ready)
  local key, named = 'ql:j:' .. put.jid, put.named
  put.old_queue, put.replaced = nil, nil -- until something is written: the queue it was in, or false; the state of the job that was there
  if named.at then plan_put(batch, put) end
  if named.after and put.delay <= 0 then put.came = (put.came or batch.now) + finite(named.after, 'Put', 'after') end
  local special = redis.call('EXISTS', key, key .. '-dependencies', key .. '-dependents') > 0 -- see put_job
  local exists = special and redis.call('EXISTS', key) == 1
  if special and not exists then check_neighbors(key) end
  if exists and named['if-exists'] then
    local state = in_the_way(key, named['if-exists'])
    if state then return state end
  end
  if exists and named['replace-in'] and is_elsewhere(key, named['replace-in']) then
    return { 'Put(): The job of that jid changed since it was looked at: it is in another queue' }
  end
  if batch.settings and (batch.puts or batch.low ~= false) then
    put_as_ruled(batch, put, exists)
    named = put.named
    local other = stands_for(batch, put)
    if other then return other end
  end
  if named.merge ~= 'none' and (named.key or named.merge or named.score) and not exists then
    local usual = named.key and turn_settings(put.queue)
    if named.merge or named.score or usual and string.find(usual, ' merge=', 1, true) then
      local merged = (put_merging or merging())(batch, put)
      if merged then return merged end
    end
  end
  local wants = says_wants(named) and given_wants(put.queue, named)
  if named.correlation then may_bind(batch, put) end
  if special or named ~= no_options and (named.depends or named.tags or named.throttles) or put.delay > 0 then
    enter_with_care(batch, put, key, exists, ready)
  else
    enter_new(batch, put, key, ready)
  end
  if named.timeout then redis.call('HSET', key, 'oarlock-queue', put.queue, 'oarlock-timeout', named.timeout) end
  if named.trace then redis.call('HSET', key, 'oarlock-queue', put.queue, 'oarlock-trace', named.trace) end
  if wants then write_wants(put.jid, wants) end
  if put.run then redis.call('HSET', key, unpack(put.run)) end
  if put.due and put.came and not (named.key or named.correlation) then
    redis.call('HSET', key, 'time', string.format('%.20f', put.due)) -- it has been waiting since
  end
  if named.correlation then bind(batch, put) end
  know(batch, put.queue)
  wake(put.queue)
  return done_word(put)
end

-- done_word(put) -> how a put is answered that was done
function done_word(put)
  return put.replaced and 'put:' .. put.replaced or 'put'
end

-- plan_put(batch, put): when the job is due, and the delay until then
-- One that is past decides the place among those that are ready. With a key the job waits on the shelf, as one that is due does, so that
-- those of a key come in in the order of their times, whatever the order of their puts.
-- Rare.
function plan_put(batch, put)
  put.due = math.max(1, finite(put.named.at, 'Put', 'at'))
  put.delay, put.came = put.due - batch.now, nil
  if put.delay > 0 then return end
  put.delay, put.came = put.named.key and 0.000001 or 0, put.due
end

-- may_bind(batch, put): raises if the job cannot have its correlation
-- Rare.
function may_bind(batch, put)
  local klass, correlation = put.klass, put.named.correlation
  local wrong = check_correlation(klass, correlation)
  if wrong then error(wrong, 0) end
  usable(batch, 'ZCARD', 'ql:oarlock:correlations-due')
  usable(batch, 'HLEN', 'ql:oarlock:early:' .. klass)
  local other = held_by_other(klass, correlation, put.jid)
  if other then error('correlation ' .. excerpt(correlation) .. ' of class ' .. excerpt(klass) .. ' is held by job ' .. other, 0) end
end

-- bind(batch, put): the job has its correlation, and an answer that came before it
-- Rare.
function bind(batch, put)
  local key, correlation = 'ql:j:' .. put.jid, put.named.correlation
  local early = claim(put.klass, correlation, put.jid, batch.now + put.delay + correlation_kept)
  redis.call('HSET', key, 'oarlock-queue', put.queue, 'oarlock-correlation', correlation)
  if early then redis.call('HSET', key, 'oarlock-response', early, 'oarlock-life', batch.time) end
end

-- in_the_way(key, if_exists) -> the state of the job that is there, if it may not be replaced
-- Rare.
function in_the_way(key, if_exists)
  local state = redis.call('HGET', key, 'state') or 'unknown'
  if if_exists ~= 'final' or state ~= 'complete' and state ~= 'failed' then return state end
end

-- is_elsewhere(key, queues) -> whether the job that is there is in a queue other than those of a JSON list
-- Rare.
function is_elsewhere(key, queues)
  local queue = redis.call('HGET', key, 'queue') or ''
  for _, name in ipairs(cjson.decode(queues)) do
    if name == queue then return false end
  end
  return queue ~= ''
end

-- enter_with_care(batch, put, key, exists, ready): for a job that exists, or has what few have
-- Rare.
function enter_with_care(batch, put, key, exists, ready)
  local jid, queue, named = put.jid, put.queue, put.named
  local throttles = named.throttles and move_throttles(given_throttles(named.throttles, 'Put'), nil, queue)
  if throttles and batch.settings then check_of_values(throttles) end
  -- A job of this batch may be put again by it, and must be where it belongs by then.
  flush_ready(batch, ready)
  local of_queue, old_queue, state, record, lane, expires, before = nil, false, nil, nil, nil, nil, nil
  if exists then
    of_queue, old_queue, state, record, lane, expires, before =
      unpack(redis.call('HMGET', key, 'oarlock-queue', 'queue', 'state', 'oarlock-record', 'oarlock-lane', 'expires', 'throttles'))
    note_freed(batch, before)
    put.replaced = state or 'unknown'
  end
  put.old_queue = old_queue
  -- It may be another of this worker's jobs that runs.
  if lane and state == 'running' then depart_lane(jid, lane, batch.now, expires) end
  local answered = of_queue and was_answered(key, put)
  put_job(batch.now, batch.worker, queue, jid, put.klass, put.data, in_turn(batch, put), named, batch.limit, named.key and put.due, put.run, put.came)
  if of_queue then
    redis.call('HDEL', key, 'oarlock-trace') -- that of the put before
    carry_over(jid, answered and 'onward' or 'anew', queue)
  end
  if state == 'failed' and record then keep_record(batch, jid, record) end
  -- Whether they are free is asked when the job is taken.
  if throttles then redis.call('HSET', key, 'throttles', cjson.encode(throttles)) end
end

-- check_of_values(throttles): raises if one of a list is that of a value of a throttle of the rules, or of a fair queue
-- Rare.
function check_of_values(throttles)
  for _, tid in ipairs(throttles) do
    local base = split_value(tostring(tid))
    check_of_fair(tostring(tid))
    if base and redis.call('HEXISTS', 'ql:oarlock:rules', 't:' .. base) == 1 then
      refuse('Put', 'throttle ' .. excerpt(tid) .. ' has the key of a value of throttle ' .. excerpt(base) .. '; choose another name')
    end
  end
end

-- check_of_fair(tid): raises if a fair queue counts its values by that name: fair:<queue>, or fair:<queue>=<value>. Both the
-- queue and the value may have a '='; of more than 63 only the first are tried.
-- Rare.
function check_of_fair(tid)
  local rest = string.match(tid, '^fair:(.*)$')
  if not rest then return end
  local fields, at = { 'q:' .. rest }, string.find(rest, '=', 1, true)
  while at and #fields < 64 do
    fields[#fields + 1] = 'q:' .. string.sub(rest, 1, at - 1)
    at = string.find(rest, '=', at + 1, true)
  end
  for i, text in ipairs(redis.call('HMGET', 'ql:oarlock:rules', unpack(fields))) do
    if text and string.find(text, '"fair":"', 1, true) then
      refuse('Put', 'throttle ' .. excerpt(tid) .. ' has a key of fair queue ' .. excerpt(string.sub(fields[i], 3)) .. '; choose another name')
    end
  end
end

-- was_answered(key, put) -> whether a job that is put again has an answer that no attempt was told, to the correlation that it goes on with
-- Whoever answered was told that it is kept.
-- Rare.
function was_answered(key, put)
  local state, klass, correlation, answer, was_told, life, time =
    unpack(redis.call('HMGET', key, 'state', 'klass', 'oarlock-correlation', 'oarlock-response', 'oarlock-response-given', 'oarlock-life', 'time'))
  if not answer or was_told or life ~= time then return false end
  return still_names({ state, klass, correlation }, put.klass, put.named.correlation or correlation)
end

-- keep_record(batch, jid, record): how a failed job ended goes into its history before the
-- job is forgotten for a new one; without its last words, where they are long
-- Rare.
function keep_record(batch, jid, record)
  local ok, text = pcall(function()
    local read = cjson.decode(record)
    if #record > 4096 then read.stdout, read.stderr = nil, nil end
    return cjson.encode({ record = read })
  end)
  if ok then remember(jid, '[' .. text14(math.floor(batch.now)) .. ',"replaced",' .. text .. ']', batch.limit, false) end
end

-- in_turn(batch, put) -> its delay, a microsecond longer for each put of the batch before
-- that had the same: delayed jobs come in by their due time, and then the least jid first,
-- which is that of the last one put. The due times of those with a key are larger numbers, and coarser.
-- Rare.
function in_turn(batch, put)
  local delay = put.delay
  if delay <= 0 then return delay end
  if put.named.after then return delay + put.named.after end
  batch.dues = batch.dues or {}
  local before = batch.dues[delay] or 0
  batch.dues[delay] = before + 1
  return delay + before / (put.named.key and 250000 or 1000000)
end

-- enter_new(batch, put, key, ready): put_job for a job that is new and has only what
-- every job has
function enter_new(batch, put, key, ready)
  local jid, queue, named = put.jid, put.queue, put.named
  local priority, retries = named.priority or '0', named.retries or '5'
  if named.key then check_key(named.key) end
  if priority ~= '0' then priority = stored_number(priority, 'Put', 'priority') end
  if retries ~= '5' then retries = stored_number(retries, 'Put', 'retries') end
  put.old_queue = false
  redis.call('HSET', key, 'jid', jid, 'klass', put.klass, 'data', put.data, 'priority', priority, 'tags', '{}',
    'state', 'waiting', 'worker', '', 'expires', '0', 'queue', queue, 'retries', retries, 'remaining', retries,
    'time', batch.time)
  batch.put_entries = batch.put_entries or {}
  local entry = batch.put_entries[queue]
  if not entry then
    entry = put_entry(batch.now, queue)
    batch.put_entries[queue] = entry
  end
  if remember(jid, entry, batch.limit, false) then make_way(jid, key) end
  announce('{"jid":' .. cjson.encode(jid) .. ',"event":"put","queue":' .. json_name(batch, queue) .. '}')
  if not named.key or join_new(batch, put, priority) then
    add(ready, queue, put.came and text17(score(tonumber(priority), put.came)) or score_text(batch, priority), jid)
  end
  tell(batch, 'ql:put', jid)
end

-- join_new(batch, put) -> whether a job that was just made is to be seated
-- Rare.
function join_new(batch, put)
  return join_lane(put.queue, put.named.key, put.jid, batch.now)
end

-- flush_ready(batch, ready): writes what was kept for the work sets
function flush_ready(batch, ready)
  for queue, entries in pairs(ready) do
    put_in_line(batch, queue, entries)
    ready[queue] = nil
  end
end
