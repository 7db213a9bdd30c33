-- Rates of throttles: so many places begin to be used in a period. A bucket of tokens is one number, the time at which
-- it will be full again (oarlock-tat), as of when somebody last took some (oarlock-at); a sliding one remembers each start of the last period.
-- Where the clock of Redis went back, what it left ahead of it counts for nothing: one bucket, or what may begin in a period, may begin once more.

-- By so many seconds clients do not disagree about the time: what is further ahead is of a clock that went back.
clock_step = 10

-- no_token(g, t, wanted, ahead) -> nil if there are tokens for so many, and for those that come before; else when there
-- will be
function no_token(g, t, wanted, ahead)
  local defined, now = t.defined, g.now
  local many = math.min(wanted + ahead, defined.burst)
  if defined.sliding then
    local room = defined.rate - started_lately(g, t)
    if room >= many then return nil end
    local key = 'ql:oarlock:starts:' .. t.tid
    local since = '(' .. text17(now - defined.period) -- those before are taken away as others start
    local first = redis.call('ZRANGEBYSCORE', key, since, '+inf', 'WITHSCORES', 'LIMIT', text14(many - room - 1), '1')[2]
    return (tonumber(first) or now) + defined.period
  end
  local when = math.max(t.tat, now) + (many - defined.burst) * defined.period / defined.rate
  return when > now and when or nil
end

-- started_lately(g, t) -> how many started in the last period
function started_lately(g, t)
  if not t.lately then
    t.lately = redis.call('ZCOUNT', 'ql:oarlock:starts:' .. t.tid, '(' .. text17(g.now - t.defined.period), text17(g.now + t.defined.period))
  end
  return t.lately
end

-- use_tokens(g, t, many, jid)
function use_tokens(g, t, many, jid)
  local defined = t.defined
  t.starts = t.starts or {}
  if defined.sliding then
    t.lately = started_lately(g, t) + many
    for n = 1, many do
      t.starts[#t.starts + 1] = g.batch.stored_now
      t.starts[#t.starts + 1] = g.batch.stored_now .. ' ' .. n .. ' ' .. jid
    end
  else
    t.tat = math.max(t.tat, g.now) + many * defined.period / defined.rate
  end
end

-- write_tokens(g, t)
function write_tokens(g, t)
  if t.defined.sliding then
    local key = 'ql:oarlock:starts:' .. t.tid
    redis.call('ZREMRANGEBYSCORE', key, '-inf', text17(g.now - t.defined.period))
    call_many('ZADD', key, t.starts)
    redis.call('EXPIRE', key, text14(math.ceil(t.defined.period) + 1))
  else
    redis.call('HSET', 'ql:th:' .. t.tid, 'oarlock-tat', text17(t.tat), 'oarlock-at', g.batch.stored_now)
  end
  t.starts = nil
end
