-- Jobs as they are shown: never more of them than a page has room for. Nothing here writes.

-- append_glance(reply, jid, cut, most, placed) -> how many bytes of data it gives; 36 values about a job
--   reply   the list that they are appended to
--   cut     so many bytes of its data, and of the message of its failure, are given
--   most    data that is longer is not even read
--   placed  as row_of has it
-- The values: jid; row and moment, see row_of, where the row 'gone' says that there is no such job
-- and nothing else is said; state, klass, queue, worker, priority, retries, remaining, expires; the
-- size of the data in bytes, and what is given of it; tags, throttles and failure as stored; the
-- recurring job it comes from; time; 1 if it is tracked; then of what we keep with a job queue,
-- timeout, crashes, interruptions, spared, standstill, deaths, unstarted, unknown, correlation, and of its
-- answer 'came', 'given' once an attempt was told, or ''; its trace; its mark among the jobs of its key; and why the job cannot be
-- read as it should be, or ''; and oarlock-merge, oarlock-first and oarlock-wants. The size is that of all payloads.
function append_glance(reply, jid, cut, most, placed)
  local ok, values = pcall(glance_at, jid, cut, most, placed)
  if not ok then
    local why = reason_of(values)
    values = { jid, 'damaged' }
    values[12], values[19], values[33] = 0, 0, why
  end
  local n = #reply
  for i = 1, 36 do reply[n + i] = values[i] or '' end
  return #reply[n + 13]
end

-- glance_at(jid, cut, most, placed) -> the values of append_glance
function glance_at(jid, cut, most, placed)
  local key = 'ql:j:' .. jid
  local f = ask('HMGET', key, 'state', 'klass', 'queue', 'worker', 'priority', 'retries', 'remaining', 'expires',
    'tags', 'throttles', 'spawned_from_jid', 'time', 'oarlock-queue', 'oarlock-timeout', 'oarlock-crashes',
    'oarlock-interruptions', 'oarlock-spared', 'oarlock-standstill', 'oarlock-deaths', 'oarlock-unstarted', 'oarlock-unknown', 'jid',
    'oarlock-correlation', 'oarlock-response-given', 'oarlock-life', 'oarlock-trace', 'oarlock-lane', 'oarlock-merge', 'oarlock-first', 'oarlock-load', 'oarlock-wants')
  if not f[1] and not f[22] then return { jid, 'gone' } end
  local size = redis.call('HSTRLEN', key, 'data')
  if f[28] and f[13] == f[3] and f[30] then size = math.max(size, numeric(f[30], 0) % run_unit) end
  local data = size <= most and redis.call('HGET', key, 'data')
  local answered = f[25] and f[25] == f[12] and redis.call('HEXISTS', key, 'oarlock-response') == 1 and (f[24] and 'given' or 'came')
  local row, moment = row_of(jid, f[1], f[3], placed)
  local priority = f[5] and f[5] ~= '0' and shown_priority(key, f[5], f[3] or '') or f[5]
  return { jid, row, moment, f[1], f[2], f[3], f[4], priority, f[6], f[7], f[8], size, data and string.sub(data, 1, cut),
    f[9], f[10], short_failure(key, cut, most), f[11], f[12], type(redis.pcall('ZSCORE', 'ql:tracked', jid)) == 'string' and 1 or 0,
    f[13], f[14], f[15], f[16], f[17], f[18], f[19], f[20], f[21], f[23], answered, f[26], f[27], '', f[28], f[29], f[31] }
end

-- shown_priority(key, priority, queue) -> text, as it was said
--   queue   a complete job is in none: then the one into which it was put last counts
-- Rare.
function shown_priority(key, priority, queue)
  local batch = {}
  local low = is_low(batch, queue)
  if queue == '' and batch.low then
    local entries = ask('LRANGE', key .. '-history', '0', '-1')
    for i = #entries, 1, -1 do
      local ok, entry = pcall(cjson.decode, entries[i])
      if ok and type(entry) == 'table' and entry[2] == 'put' and type(entry[3]) == 'table' then
        low = is_low(batch, entry[3].q)
        break
      end
    end
  end
  return low and negated(priority) or priority
end

-- short_failure(key, cut, most) -> text of a job's failure, with a message of at most cut bytes
function short_failure(key, cut, most)
  local size = redis.call('HSTRLEN', key, 'failure')
  if size < 3 or size > most then return '' end
  local text = redis.call('HGET', key, 'failure')
  if size <= cut then return text end
  local ok, was = pcall(cjson.decode, text)
  if not ok or type(was) ~= 'table' then return '' end
  return failure_json(tostring(was.group or ''), string.sub(tostring(was.message or ''), 1, cut), tonumber(was.when) or 0,
    tostring(was.worker or ''))
end
