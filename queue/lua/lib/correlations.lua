-- Correlations: what joins a request and its answer, unique per class among jobs that are not
-- complete, failed or gone.
--   ql:oarlock:correlations:<klass>   hash: correlation -> j<jid>, whose it is, or d<time> <jid>, since when it is over, and of whom
--   ql:oarlock:early:<klass>          hash: correlation -> an answer that came before there was a job of it
--   ql:oarlock:correlations-due       zset: <length of klass>:<klass><correlation> -> when to look whether it is over
-- An entry is only as true as its job: one that is final, gone, or names another has it no more, whoever
-- ended it. So nothing need be written when a job ends.

correlation_kept = 86400 -- seconds for which it is known that one is over, and an answer waits for its job, unless the rules say otherwise

-- answer_rule(name, usual) -> number: what the rules say of answers, or what is usual
--   name   answers-early, answers-done, answers-most
function answer_rule(name, usual)
  return tonumber(redis.call('HGET', 'ql:oarlock:rules', name)) or usual
end

-- check_correlation(klass, correlation) -> nil, or what is wrong with them
function check_correlation(klass, correlation)
  if klass == '' then return 'a correlation is one of a class, and none is named' end
  if correlation == '' then return 'the correlation is empty' end
  if #correlation > 1024 then return 'the correlation is longer than 1024 bytes' end
end

-- still_names(f, klass, correlation) -> whether a job has a correlation, and may go on yet
--   f   its fields state, klass, oarlock-correlation; or an error
function still_names(f, klass, correlation)
  local state = f[1]
  return state and state ~= 'complete' and state ~= 'failed' and f[2] == klass and f[3] == correlation
end

-- held_by_other(klass, correlation, jid) -> the jid of another job that has it, or nil
function held_by_other(klass, correlation, jid)
  local entry = redis.call('HGET', 'ql:oarlock:correlations:' .. klass, correlation)
  if not entry or string.sub(entry, 1, 1) ~= 'j' then return nil end
  local other = string.sub(entry, 2)
  if other == jid then return nil end
  local f = redis.pcall('HMGET', 'ql:j:' .. other, 'state', 'klass', 'oarlock-correlation')
  return still_names(f, klass, correlation) and other or nil
end

-- due_mark(klass, correlation) -> its member in the set of those that are looked at again
function due_mark(klass, correlation)
  return #klass .. ':' .. klass .. correlation
end

-- claim(klass, correlation, jid, due) -> the answer that came for it before, or false
-- Nobody else has it.
--   due   when to look whether it is over
function claim(klass, correlation, jid, due)
  redis.call('HSET', 'ql:oarlock:correlations:' .. klass, correlation, 'j' .. jid)
  redis.call('ZADD', 'ql:oarlock:correlations-due', text17(due), due_mark(klass, correlation))
  local early = redis.call('HGET', 'ql:oarlock:early:' .. klass, correlation)
  if early then redis.call('HDEL', 'ql:oarlock:early:' .. klass, correlation) end
  return early
end

-- reclaim(batch, jid, klass, queue, delay): a job that was over goes on, and has its correlation again, unless another has it now
-- Else what is known of it, that it is over, makes an answer late that comes before it parks again.
-- Rare.
function reclaim(batch, jid, klass, queue, delay)
  local correlation = redis.call('HGET', 'ql:j:' .. jid, 'oarlock-correlation')
  if not correlation or check_correlation(klass, correlation) or held_by_other(klass, correlation, jid) then return end
  bind(batch, { jid = jid, klass = klass, queue = queue, delay = delay, named = { correlation = correlation } })
end

-- end_correlation(now, klass, correlation, jid): that of this job is over, and that is known for a while, so that an answer that
-- comes twice is not taken for one to the next job of that correlation
function end_correlation(now, klass, correlation, jid)
  local kept = answer_rule('answers-done', correlation_kept)
  redis.call('HSET', 'ql:oarlock:correlations:' .. klass, correlation, 'd' .. text17(now) .. ' ' .. jid)
  redis.call('ZADD', 'ql:oarlock:correlations-due', text17(now + kept), due_mark(klass, correlation))
end

-- end_correlations(now, most) -> how many were looked at
-- Those whose time has come: forgets what is over for long enough, and answers that nobody asked for.
-- Rare.
function end_correlations(now, most)
  local due = redis.call('ZRANGEBYSCORE', 'ql:oarlock:correlations-due', '-inf', ARGV[1], 'LIMIT', '0', text17(most))
  for _, mark in ipairs(due) do
    local length, rest = string.match(mark, '^(%d+):(.*)$')
    length = tonumber(length) or #mark
    local klass, correlation = string.sub(rest or '', 1, length), string.sub(rest or '', length + 1)
    local entry = redis.call('HGET', 'ql:oarlock:correlations:' .. klass, correlation) or 'd'
    local f = string.sub(entry, 1, 1) == 'j'
      and redis.pcall('HMGET', 'ql:j:' .. string.sub(entry, 2), 'state', 'klass', 'oarlock-correlation')
    if f and still_names(f, klass, correlation) then
      redis.call('ZADD', 'ql:oarlock:correlations-due', text17(now + correlation_kept), mark)
    elseif f then
      end_correlation(now, klass, correlation, string.sub(entry, 2))
    else
      redis.call('HDEL', 'ql:oarlock:correlations:' .. klass, correlation)
      redis.call('HDEL', 'ql:oarlock:early:' .. klass, correlation)
      redis.call('ZREM', 'ql:oarlock:correlations-due', mark)
    end
  end
  return #due
end
