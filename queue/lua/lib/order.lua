-- Orders that rules give a queue. There is one score. All that comes in, by whomever, has that of the protocol, which is
-- above raw_scores; those of other orders are below. So what came in stands in front, and a take reckons its score
-- before it takes. p is the priority, within 2^20 either way; t is when the job came in or was due.
--   ageing   p - t / ageing - 2^22
--   slice    -(slices of t) + (p + 2^20) / 2^21 - 2^22

raw_scores = -2097152

-- prepare_order(g, rules, queue) -> whether the call is over
-- Before the order can change, those that wait for places come in again.
-- Rare.
function prepare_order(g, rules, queue)
  local was = redis.call('HGET', 'ql:oarlock:orders', queue)
  local stays = not rules.leaving and (not was or was == order_word(rules))
  if not stays and redis.call('EXISTS', 'ql:oarlock:waitlists:' .. queue) == 1 then
    rules.shape = rules.shape and rules.shape .. ' in another order'
    return (g.waiting or waiting_room(g)).sort_anew(g, rules, queue)
  end
  if put_in_order(g, rules, queue) then return true end
  if not rules.leaving or redis.call('HEXISTS', 'ql:oarlock:reconsider', queue) == 1 then return false end -- there may be some that a window holds
  redis.call('HDEL', 'ql:oarlock:rules', 'q:' .. queue)
  return over_now(g) -- the next call takes from an ordinary queue
end

-- order_word(rules) -> the order that they say, '' for that of the protocol
-- Rare.
function order_word(rules)
  return rules.slice and 'slice ' .. rules.slice or rules.ageing and 'ageing ' .. rules.ageing or ''
end

-- put_in_order(g, rules, queue) -> whether the call is over, for there are more
-- Rare.
function put_in_order(g, rules, queue)
  local word = order_word(rules)
  local was = redis.call('HGET', 'ql:oarlock:orders', queue) or ''
  local key, some = 'ql:q:' .. queue .. '-work', nil
  if was ~= '' and was ~= word then -- raw again, before anything else
    some = redis.call('ZRANGEBYSCORE', key, '-inf', '(' .. raw_scores, 'LIMIT', '0', text14(g.left))
    score_anew(g, key, some, function(p, t) return score(p, t) end)
    if #some == g.left then return over_now(g) end
    redis.call('HDEL', 'ql:oarlock:orders', queue)
    was = ''
  end
  if word == '' then return false end
  some = redis.call('ZREVRANGEBYSCORE', key, '(+inf', raw_scores, 'WITHSCORES', 'LIMIT', '0', text14(g.left))
  if #some == 0 then return false end
  if was == '' then redis.call('HSET', 'ql:oarlock:orders', queue, word) end
  local jids, came = {}, {}
  for i = 1, #some, 2 do
    jids[#jids + 1] = some[i]
    came[some[i]] = tonumber(some[i + 1])
  end
  score_anew(g, key, jids, function(p, t, jid)
    -- The place is the priority less the ten thousand millionth part of the time; see score.
    local from_place = (p - came[jid]) * 10000000000
    if from_place >= 1000000000 and math.abs(p) < 1000000 then t = from_place end
    p = math.max(-1048576, math.min(1048576, p))
    if rules.ageing then return p - t / rules.ageing - 4194304 end
    return -math.floor(t / rules.slice) + (p + 1048576) / 2097152 - 4194304
  end)
  g.left = g.left - #jids
  return g.left <= 0 and over_now(g)
end

-- over_now(g) -> true
-- Rare.
function over_now(g)
  g.batch.more = 1
  return true
end

-- score_anew(g, key, jids, of): of priority, time and jid
-- Rare.
function score_anew(g, key, jids, of)
  local entries = {}
  for _, jid in ipairs(jids) do
    local f = redis.pcall('HMGET', 'ql:j:' .. jid, 'priority', 'time')
    if f.err then f = {} end
    entries[#entries + 1] = text17(of(numeric(f[1], 0), numeric(f[2], g.now), jid))
    entries[#entries + 1] = jid
  end
  spend(g.batch, #jids + 1)
  if #entries > 0 then call_many('ZADD', key, entries) end
end
