-- Where a job stands, in the one word that people are told. Nothing here writes.

-- row_of(jid, state, queue, placed) -> row, moment
-- From the job's hash and at most two look-ups.
--   placed  its score in the set that its state names, if the caller has just read that
--   row     waiting, behind (others of its key), scheduled, parked, depends, throttled, running, stalled, complete, failed. A delayed
--           job that is due waits, though it comes in with the next take only; a running one
--           whose lock ran out is stalled; and one that was taken from its worker, or may try
--           its throttles again, waits, though its hash says stalled or throttled. What is none
--           of these is as the hash says
--   moment  of scheduled when it is due, of parked when it has waited in vain, of running and stalled when the lock ends; else ''
function row_of(jid, state, queue, placed)
  if (state == 'stalled' or state == 'throttled') and type(redis.pcall('ZSCORE', 'ql:q:' .. (queue or '') .. '-work', jid)) == 'string' then
    return 'waiting', ''
  end
  if state == 'waiting' then
    local lane = redis.pcall('HGET', 'ql:j:' .. jid, 'oarlock-lane')
    local sign, of = read_mark(type(lane) == 'string' and lane)
    if sign == '-' and of == queue then return 'behind', '' end
  end
  local set = state == 'running' and '-locks' or state == 'scheduled' and '-scheduled'
  if not set then return state or '', '' end
  local moment = placed or redis.pcall('ZSCORE', 'ql:q:' .. (queue or '') .. set, jid)
  if type(moment) ~= 'string' then return state, '' end
  if state == 'scheduled' then moment = due_of(jid, queue, moment) end
  local past = tonumber(moment) <= tonumber(ARGV[1])
  if state == 'running' then return past and 'stalled' or 'running', moment end
  if past then return 'waiting', '' end
  local f = redis.pcall('HMGET', 'ql:j:' .. jid, 'oarlock-park', 'oarlock-life', 'time')
  return f[1] and f[2] == f[3] and 'parked' or 'scheduled', moment
end

-- ready_since(queue, now, due, stalled) -> moment as number, or nil if no job of the queue could be taken
--   due, stalled   how many of its delayed jobs are due, and of its locks ran out
-- Since when nothing but a free child has been missing to the one that is next in turn: it came in
-- when it was put, or when its delay was over, which its place tells, or its lock ran out.
function ready_since(queue, now, due, stalled)
  local prefix, since = 'ql:q:' .. queue, nil
  local head = ask('ZREVRANGE', prefix .. '-work', '0', '0', 'WITHSCORES')
  if head[1] then
    since = head_since(queue, head[1], head[2], now)
  end
  for kind, past in pairs({ ['-scheduled'] = due, ['-locks'] = stalled }) do
    local first = past > 0 and tonumber(ask('ZRANGE', prefix .. kind, '0', '0', 'WITHSCORES')[2])
    if first and (not since or first < since) then since = first end
  end
  return since
end

-- head_since(queue, jid, place, now) -> since when a job with that score in -work has been missing nothing but a free child; when it
-- was put, or had the turn of its key if that was later, 0 if that is not known
function head_since(queue, jid, place, now)
  local f = redis.pcall('HMGET', 'ql:j:' .. jid, 'time', 'priority', 'oarlock-lane')
  if f.err then f = {} end
  -- The place is the priority less the ten thousand millionth part of the time; see score.
  local came = (numeric(f[2], 0) - tonumber(place)) * 10000000000
  local since, put = numeric(f[1], now), numeric(f[1], 0)
  if came > since and came <= now then since = came end
  if f[3] then -- it may have waited for its turn before
    local sign, of, word = read_mark(f[3])
    local turn = sign == '+' and of == queue and numeric(word, 0) or 0
    since, put = math.max(since, math.min(turn, now)), math.max(put, turn)
  end
  return since, put
end
