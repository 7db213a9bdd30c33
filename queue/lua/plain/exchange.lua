-- What a call does first, before it makes any function: nearly all calls of a busy pool are plain, and this does these in a straight line, for
-- much less than below. It reads all that it needs and, unless all is plain, has changed nothing, and lets the script go on. What it leaves is what the
-- script would leave.
--
-- Plain is a call that asks for it and completes jobs of its first queue, and no more; that finds there as many as it wants; and where nothing
-- special is: no rules that concern it, tracked jobs, dependents or paused queues, nothing of ours with a job, no throttles, no history of older programs.
--
-- Where a command fails, the script goes on behind what is done: already is how many of the settlements. All else may be done twice.
--
-- A table that begins with as many values as it will have, whichever, need not grow: that costs as much as anything here.
local already = 0
repeat
  local args, call = ARGV, redis.pcall
  local ended = args[3] - 0
  if ended == 0 or ended > plain_jobs then break end
  local plain, at = true, 6 * ended + 4
  local gone, asked = { unpack(args, 4, ended + 3) }, { unpack(args, 4, ended + 3) }
  for i = 1, ended do
    local k = 6 * i - 2
    if args[k + 3] ~= 'complete' or args[k + 4] ~= '0' or args[k + 5] ~= '0' then
      plain = false
      break
    end
    gone[i], asked[i] = args[k], 'ql:j:' .. args[k] .. '-dependents'
  end
  local when, queue = args[at + 4], args[at + 5]
  if not plain or not queue or #when < 3 then break end

  local wanted, most = args[at + 2] - 0, args[at + 3] - 0
  local of_queue = 'ql:q:' .. queue
  local work, locks, holds = of_queue .. '-work', of_queue .. '-locks', 'ql:w:' .. args[2] .. ':jobs'
  local heads = call('ZREVRANGE', work, '0', wanted == 1 and '0' or string.format('%d', wanted - 1))
  if #heads ~= wanted or wanted == 0 or wanted > plain_jobs then break end
  local special
  if (#args - at) % 2 == 0 then
    special = call('EXISTS', 'ql:oarlock:rules', 'ql:oarlock:needs', 'ql:tracked', 'ql:oarlock:unblock', 'ql:paused_queues', unpack(asked))
  elseif call('EXISTS', args[#args]) == 1 then -- an edition of rules that say nothing of the call
    special = call('EXISTS', 'ql:tracked', 'ql:oarlock:unblock', 'ql:paused_queues', unpack(asked))
  end
  if special ~= 0 then break end
  local set = call('HMGET', 'ql:config', 'heartbeat', 'max-job-history', queue .. '-heartbeat', queue .. '-max-concurrency')
  local lease, longest = tonumber(set[3] or set[1] or usual_heartbeat), tonumber(set[2] or usual_max_job_history)
  if set.err or set[4] or not (lease and lease >= least_heartbeat and lease <= most_heartbeat and longest and longest >= 3 and longest < 1e9
    and longest % 1 == 0) then break end

  local now, worker = args[1] - 0, args[2]
  local settled, runs, mark, marks, time = { unpack(gone) }, { unpack(gone) }, '', nil, nil
  for i = 1, ended do
    local popped = args[6 * i]
    local key = 'ql:j:' .. gone[i]
    local f = call('HMGET', key, 'state', 'worker', 'queue', 'time', 'retries', 'throttles', 'oarlock-queue', 'oarlock-lane')
    if f[1] ~= 'running' or f[2] ~= worker or f[3] ~= queue or queue ~= args[6 * i - 1] or f[4] ~= popped or popped == '' or f[6] or f[7] or f[8] then
      plain = false
      break
    end
    if popped ~= mark then
      if time then
        marks = marks or {}
        marks[mark] = true
      end
      mark, time = popped, popped - 0
    end
    settled[i], runs[i], f[6] = f, now - time, key
  end
  if not plain then break end
  local reply, waits, bytes, text = { '', unpack(heads) }, { unpack(heads) }, 0, nil
  for i = 1, wanted do
    local key = 'ql:j:' .. heads[i]
    local f = call('HMGET', key, 'klass', 'data', 'tags', 'priority', 'retries', 'remaining', 'time', 'jid', 'queue', 'oarlock-queue', 'history',
      'throttles', 'oarlock-lane')
    local data = f[2]
    -- None of these may be one of those that are settled, which have their marks.
    if not (data and f[8] and f[7]) or f[9] ~= queue or f[10] or f[11] or f[12] or f[13] or f[7] == mark or marks and marks[f[7]] or most > 0 and #data > most then
      plain = false
      break
    end
    if f[7] ~= text then
      text = f[7]
      time = tonumber(text)
      if not (time and time > 0 and time < 1e14) then
        plain = false
        break
      end
    end
    bytes = bytes + #data + #(f[3] or '')
    if #(f[1] or '') > 1024 then bytes = bytes + #f[1] end
    reply[i + 1], waits[i], f[8], f[9] = f, now - time, heads[i], key
  end
  if not plain or bytes >= call_bytes then break end

  -- reckon(key, spans) -> what statistics say of how long something took, with these; raises if they hold what is no number
  local function reckon(key, spans)
    local slot, last, slots, counts, k = nil, nil, nil, nil, nil
    for i = 1, #spans do
      local second = spans[i] - spans[i] % 1
      if second ~= last then
        last = second
        local name = second == 0 and 's0' or second < 60 and 's' .. string.format('%d', second)
          or second < 3600 and 'm' .. string.format('%d', (second - second % 60) / 60)
          or second < 86400 and 'h' .. string.format('%d', (second - second % 3600) / 3600) or 'd' .. string.format('%d', (second - second % 86400) / 86400)
        slot = slot or name
        if name ~= slot and not slots then slots, counts = { slot }, { i - 1 } end
        if slots then
          k = 1
          while slots[k] and slots[k] ~= name do k = k + 1 end
          slots[k], counts[k] = name, counts[k] or 0
        end
      end
      if slots then counts[k] = counts[k] + 1 end
    end
    local stored = slots and call('HMGET', key, 'total', 'mean', 'vk', unpack(slots)) or call('HMGET', key, 'total', 'mean', 'vk', slot)
    local total, mean, vk = (stored[1] or 0) + 0, (stored[2] or 0) + 0, (stored[3] or 0) + 0
    for i = 1, #spans do
      local span, before = spans[i], mean
      total = total + 1
      mean = mean + (span - mean) / total
      vk = vk + (span - mean) * (span - before)
    end
    local words = { 'total', total, 'mean', mean, 'vk', vk, slot, (stored[4] or 0) + (slots and counts[1] or #spans) }
    for i = 2, slots and #slots or 1 do words[2 * i + 5], words[2 * i + 6] = slots[i], (stored[i + 3] or 0) + counts[i] end
    for i = 2, #words, 2 do
      local n = words[i]
      words[i] = string.format(n % 1 == 0 and n > 0 and n < 1e15 and '%d' or '%.17g', n)
    end
    return words
  end
  local of_day = string.format('%d', now - now % 86400) .. ':' .. queue
  local over, began = 'ql:s:run:' .. of_day, 'ql:s:wait:' .. of_day
  local ok, ran = pcall(reckon, over, runs)
  local fine, waited = pcall(reckon, began, waits)
  if not (ok and fine) then break end

  -- The first writes take entries away: a Redis that is out of memory lets a script go on that began so. What is named twice is not taken twice.
  if call('ZREM', locks, unpack(gone)) ~= ended or call('ZREM', holds, unpack(gone)) ~= ended then break end
  local function trim(key) -- a history that is too long
    local first = call('LPOP', key)
    if type(first) == 'string' and not call('LTRIM', key, 1 - longest, '-1').err then call('LPUSH', key, first) end
  end
  local second, entries = string.format('%d', now - now % 1), { unpack(args, 1, 2 * ended) }
  local entry, shown = '[' .. second .. ',"done"]', ',"event":"completed","queue":' .. cjson.encode(queue) .. '}'
  for i = 1, ended do
    local jid, f = gone[i], settled[i]
    local key = f[6]
    local said = call('HSET', key, 'time', when, 'state', 'complete', 'worker', '', 'failure', '{}', 'queue', '', 'expires', '0', 'remaining', f[5] or '0')
    if said ~= 0 and type(said) == 'table' then break end
    already, key, entries[2 * i - 1], entries[2 * i] = i, key .. '-history', args[1], jid
    said = call('RPUSH', key, entry)
    if said ~= 2 and said ~= 3 then
      if type(said) ~= 'number' then
        call('HSET', f[6], 'oarlock-apart', '1') -- see drop_completed
      elseif said > longest then
        trim(key)
      end
    end
    call('PUBLISH', 'ql:log', '{"jid":' .. cjson.encode(jid) .. shown)
  end
  if already < ended or type(call('ZADD', 'ql:completed', unpack(entries))) == 'table' then break end

  local expires = string.format('%.17g', now + lease)
  local places = { unpack(args, 1, 2 * wanted) }
  for i = 1, wanted do places[2 * i - 1], places[2 * i] = expires, heads[i] end
  if type(call('ZADD', holds, unpack(places))) == 'table' or type(call('ZADD', locks, unpack(places))) == 'table'
    or type(call('ZREM', work, unpack(heads))) == 'table' then break end
  entry, reply[1] = '[' .. second .. ',"popped",{"worker":' .. cjson.encode(worker) .. '}]', expires
  local last = 1
  for i = 1, wanted do
    local jid, f = heads[i], reply[i + 1]
    local key = f[9]
    local said = call('HSET', key, 'time', when, 'worker', worker, 'expires', expires, 'state', 'running')
    reply[i + 1], f[9] = nil, nil
    if said ~= 0 and type(said) == 'table' then -- it stays where it was
      local place = (tonumber(f[4]) or 0) - f[7] / 10000000000
      call('ZADD', work, place == place and place or 0, jid)
      call('ZREM', locks, jid)
      call('ZREM', holds, jid)
    else
      last, key = last + 1, key .. '-history'
      said, reply[last] = call('RPUSH', key, entry), f
      if said ~= 2 and said ~= 3 then
        if type(said) ~= 'number' then
          if call('HGET', key, 'jid') ~= jid .. '-history' then f[9] = 'its history: ' .. said.err end
        elseif said > longest then
          trim(key)
        end
      end
    end
  end
  call('HSET', over, unpack(ran))
  call('HSET', began, unpack(waited))
  return reply
until true
