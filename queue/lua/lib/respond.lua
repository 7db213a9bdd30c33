-- Answers to jobs that parked, or will. An answer may come early, late, and twice: the first counts.

max_response = 1048576 -- bytes of the data or error of one, unless the rules say less
max_early = 100000 -- answers of a class that wait for their job

-- take_answer(now, klass, correlation, of, said) -> word, jid
-- Writes the job's fields, its correlation, its place and one wake, and nothing else.
--   of     the jid for which it is meant, '' if that is not said
--   said   data (JSON text, byte for byte) or failed (text); and ending: '', complete or fail
--   word   resumed  the job waited for it and is the next of its queue
--          kept     it is given to the job when it parks, or to its next attempt, or to the first job of the correlation
--          again    there was an answer already, which counts
--          late     its job is complete, failed or gone, or another has the correlation now
--          refused  and instead of the jid why
-- Rare.
function take_answer(now, klass, correlation, of, said)
  local wrong = check_correlation(klass, correlation) or check_said(said)
  if wrong then return 'refused', wrong end
  local told = response_text(now, correlation, said)
  local entry = redis.call('HGET', 'ql:oarlock:correlations:' .. klass, correlation)
  if not entry then return answer_early(now, klass, correlation, of, told) end
  if string.sub(entry, 1, 1) ~= 'j' then
    return answer_after(klass, correlation, of, string.match(entry, '^d%S* (.*)$'), told)
  end
  local jid = string.sub(entry, 2)
  local f = redis.call('HMGET', 'ql:j:' .. jid, 'state', 'klass', 'oarlock-correlation', 'queue', 'time', 'oarlock-life',
    'oarlock-park', 'oarlock-response', 'oarlock-queue')
  if not still_names(f, klass, correlation) then
    end_correlation(now, klass, correlation, jid)
    return answer_after(klass, correlation, of, jid, told)
  end
  if of ~= '' and of ~= jid then return 'late', jid end
  local counts = f[6] == f[5]
  if counts and f[8] then return 'again', jid end
  if counts and f[4] and tonumber(f[7]) and (f[1] == 'scheduled' or f[1] == 'waiting') then
    local ok, raised = pcall(resume, jid, f[4], told)
    if not ok then
      reseat(open_batch(now, ''), jid, f[4])
      raise(raised)
    end
    return 'resumed', jid
  end
  keep_answer(jid, f, counts, told)
  return 'kept', jid
end

-- check_said(said) -> nil, or what is wrong with an answer
function check_said(said)
  local most = answer_rule('answers-most', max_response)
  if #(said.data or said.failed) > most then return 'too large: an answer has at most ' .. text14(most) .. ' bytes' end
  if said.ending ~= '' and said.ending ~= 'complete' and said.ending ~= 'fail' then
    return 'bad end: it is complete or fail, not ' .. excerpt(said.ending)
  end
  if said.data and not is_utf8(said.data) then return 'the data is not UTF-8, as JSON is' end
  if said.data and is_deep(said.data, deepest_response) then
    return 'the data is nested more than ' .. deepest_response .. ' deep'
  end
end

deepest_response = 500 -- a child reads it as a part of its job, and some readers give up at a thousand

-- is_utf8(text) -> whether it is, by what is left without all that is
function is_utf8(text)
  for _, sequence in ipairs({ '[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]',
    '\237[\128-\159][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]', '[\241-\243][\128-\191][\128-\191][\128-\191]',
    '\244[\128-\143][\128-\191][\128-\191]' }) do
    if not string.find(text, '[\128-\255]') then return true end
    text = string.gsub(text, sequence, ' ')
  end
  return not string.find(text, '[\128-\255]')
end

-- is_deep(text, most) -> whether JSON is nested deeper
function is_deep(text, most)
  if #text <= 2 * most then return false end
  local depth = 0
  text = string.gsub(string.gsub(text, '\\.', ''), '"[^"]*"', '')
  for bracket in string.gmatch(text, '[%[%]{}]') do
    depth = depth + ((bracket == '[' or bracket == '{') and 1 or -1)
    if depth > most then return true end
  end
  return false
end

-- response_text(now, correlation, said) -> JSON
function response_text(now, correlation, said)
  return '{"correlation":' .. cjson.encode(correlation) .. ',"at":' .. text17(now)
    .. (said.failed and ',"error":' .. cjson.encode(said.failed) or ',"data":' .. said.data)
    .. (said.ending ~= '' and ',"end":"' .. said.ending .. '"' or '') .. '}'
end

-- answer_early(now, klass, correlation, of, told) -> as take_answer, where no job has the correlation
function answer_early(now, klass, correlation, of, told)
  if of ~= '' then return answer_one_early(klass, correlation, of, told) end
  local key, kept = 'ql:oarlock:early:' .. klass, answer_rule('answers-early', correlation_kept)
  if kept <= 0 then return 'refused', 'none: no job waits for it, and answers that come before their job are not kept' end
  if redis.call('HGET', key, correlation) then return 'again', '' end
  if redis.call('HLEN', key) >= max_early then
    return 'refused', 'full: ' .. max_early .. ' answers wait for jobs of this class'
  end
  redis.call('HSET', key, correlation, told)
  redis.call('ZADD', 'ql:oarlock:correlations-due', text17(now + kept), due_mark(klass, correlation))
  return 'kept', ''
end

-- answer_after(klass, correlation, of, was, told) -> as take_answer, where the correlation is over
-- What is meant for another job than the one that had it is no answer to that.
--   was   the job that had it, as far as that is known
-- Rare.
function answer_after(klass, correlation, of, was, told)
  if of ~= '' and was and was ~= of then return answer_one_early(klass, correlation, of, told) end
  return 'late', was or ''
end

-- answer_one_early(klass, correlation, jid, told) -> as take_answer, where the answer is for one job, which has not parked with the
-- correlation yet
-- It is kept with that job, and so is nobody else's, whoever parks with that correlation first.
function answer_one_early(klass, correlation, jid, told)
  local key = 'ql:j:' .. jid
  local f = redis.call('HMGET', key, 'state', 'klass', 'oarlock-early', 'oarlock-queue', 'queue')
  if not f[1] or f[1] == 'complete' or f[1] == 'failed' or f[2] ~= klass then return 'late', jid end
  if is_answer_to(f[3], correlation) or redis.call('HEXISTS', 'ql:oarlock:early:' .. klass, correlation) == 1 then
    return 'again', jid
  end
  redis.call('HSET', key, 'oarlock-early', told, 'oarlock-queue', f[4] or f[5] or '')
  return 'kept', jid
end

-- is_answer_to(told, correlation) -> whether the text of an answer, or false, is one to this
function is_answer_to(told, correlation)
  local head = '{"correlation":' .. cjson.encode(correlation) .. ',"at":'
  return told and string.sub(told, 1, #head) == head
end

-- resume(jid, queue, told): a parked job, or one that was in vain and is not taken yet, is the next
function resume(jid, queue, told)
  redis.call('ZSCORE', 'ql:q:' .. queue .. '-work', jid) -- what is no set is found before anything is written
  redis.call('ZSCORE', 'ql:q:' .. queue .. '-scheduled', jid)
  redis.call('HSET', 'ql:j:' .. jid, 'oarlock-response', told, 'state', 'waiting')
  redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-park', 'oarlock-response-given')
  seat(queue, '-work', '+inf', jid)
  redis.call('ZREM', 'ql:q:' .. queue .. '-scheduled', jid)
  wake(queue)
end

-- keep_answer(jid, f, counts, told): with the job, for its park or its next attempt
--   counts   whether what it has of ours counts; see oarlock-life
function keep_answer(jid, f, counts, told)
  local key, queue, of_queue = 'ql:j:' .. jid, f[4] or '', f[9]
  if not counts then redis.call('HDEL', key, 'oarlock-park', 'oarlock-then', 'oarlock-response-given') end
  if of_queue and of_queue ~= queue then carry_over(jid, 'anew', queue) end
  redis.call('HSET', key, 'oarlock-queue', queue, 'oarlock-response', told, 'oarlock-life', f[5])
end

-- read_json(text) -> nil, or why it is no JSON
function read_json(text)
  local ok = pcall(cjson.decode, text)
  if not ok or not is_strict(text) then return 'the answer is no JSON' end
end

-- drain_responses(now, most) -> how many were read, how many of them were set aside
-- Answers that somebody pushed to a list: class, correlation and JSON, each on a line.
-- Rare.
function drain_responses(now, most)
  local texts, broken, bytes = redis.call('LRANGE', 'ql:oarlock:responses', '0', text17(most - 1)), 0, 0
  local read = 0
  for _, text in ipairs(texts) do
    if bytes > call_bytes then break end -- each has a limit, and may be many
    bytes, read = bytes + #text, read + 1
    local klass, correlation, data = string.match(text, '^([^\n]*)\r\n([^\n]*)\r\n(.*)$') -- as some systems end lines
    if not klass then klass, correlation, data = string.match(text, '^([^\n]*)\n([^\n]*)\n(.*)$') end
    local ok, word, why = true, 'refused', 'it is not class, correlation and JSON, each on a line'
    if klass then
      why = read_json(data)
      if not why then ok, word, why = pcall(take_answer, now, klass, correlation, '', { data = data, ending = '' }) end
    end
    if not ok or word == 'refused' then
      broken = broken + 1
      redis.pcall('RPUSH', 'ql:oarlock:responses-broken', cjson.encode({ at = now, reason = ok and why or reason_of(word),
        text = string.sub(text, 1, 4096) }))
      redis.pcall('LTRIM', 'ql:oarlock:responses-broken', '-1000', '-1')
    end
  end
  -- Where that fails they are read again, and have come twice.
  redis.pcall('LTRIM', 'ql:oarlock:responses', text17(read), '-1')
  return read, broken
end
