-- What nobody does in the call that it follows from: clients that know no rules give places back to nobody, or not at
-- all; a limit is raised; a queue falls asleep. All of it is found by looking, a part each time.

-- tend_gate(batch) -> per throttle how many places were given back that jobs had which are over; and whether there is more to do
-- Rare.
function tend_gate(batch)
  local g = open_gate(batch)
  waiting_room(g)
  local mended = {}
  local last = numeric(redis.call('HGET', 'ql:oarlock:tended', 'places'), 0)
  if last > g.now or g.now >= last + 5 then
    redis.call('HSET', 'ql:oarlock:tended', 'places', ARGV[1])
    mended = mend_places(g)
    place_strangers(g)
  end
  local some = redis.call('SRANDMEMBER', 'ql:oarlock:waited', '100')
  for _, tid in ipairs(some) do g.freed[tid] = true end
  spend(batch, 8 * #some)
  stir_all(g)
  for queue in pairs(g.opened) do wake(queue) end
  return mended, reconsider(g)
end

-- suspects() -> names of throttles: some of those of which the gate gave places, and some for which jobs wait, whoever gave them
-- Rare.
function suspects()
  local tids, seen = {}, {}
  for _, from in ipairs({ { 'held', '100' }, { 'waited', '20' } }) do
    for _, tid in ipairs(redis.call('SRANDMEMBER', 'ql:oarlock:' .. from[1], from[2])) do
      if not seen[tid] then tids[#tids + 1] = tid end
      seen[tid] = true
    end
  end
  return tids
end

-- mend_places(g) -> per throttle how many were taken from jobs that neither run nor wait for an answer
-- Of some throttles, and of each at most 500 members, from a place that differs each time.
function mend_places(g)
  local left, mended = 500, {}
  for _, tid in ipairs(suspects()) do
    local key = 'ql:th:' .. tid .. '-locks'
    pcall(restore_limit, g, tid)
    local all = redis.call('ZCARD', key)
    if all == 0 then redis.call('SREM', 'ql:oarlock:held', tid) end
    if left > 0 and all > 0 then
      local windows = math.ceil(all / left)
      local first = left * (math.floor(g.now * 1000) % windows)
      local members = redis.call('ZRANGE', key, text14(first), text14(first + left - 1), 'WITHSCORES')
      left = left - #members / 2
      for i = 1, #members, 2 do
        local holder = members[i]
        if not keeps_place(holder, tid, members[i + 1], g.now) then
          redis.call('ZREM', key, holder)
          mended[tid] = (mended[tid] or 0) + 1
          g.freed[tid] = true
        end
      end
      -- Those of queues without rules wait in another line for it.
      if g.freed[tid] and redis.call('EXISTS', 'ql:th:' .. tid .. '-pending') == 1 then release(tid, '', g.now, 25) end
    end
  end
  return mended
end

-- restore_limit(g, tid): a throttle of which somebody deleted the key that has its limit has again what the rules say
-- Rare.
function restore_limit(g, tid)
  local key = 'ql:th:' .. tid
  if redis.call('EXISTS', key) == 1 then return end
  local limit = ruled_limit(g, tid, defined_as(g, tid))
  if limit > 0 then redis.call('HSET', key, 'id', tid, 'maximum', text14(limit), 'oarlock-limit', text14(limit)) end
end

-- keeps_place(holder, tid, until_when, now) -> whether the job runs, or waits for an answer or has one, and needs the place
--   holder       its jid, or that, NUL and which of its places it is; of a ghost and when it was popped
--   until_when   until then it has the place in any case: a ghost, or one that a command lets start
function keeps_place(holder, tid, until_when, now)
  if tonumber(until_when) > now then return true end
  if string.find(holder, '^[^%z]*%z%d+%z') then return false end
  local jid, n = string.match(holder, '^(.*)%z(%d+)$')
  jid, n = jid or holder, tonumber(n or 1)
  local f = redis.call('HMGET', 'ql:j:' .. jid, 'state', 'throttles', 'oarlock-park', 'oarlock-response', 'oarlock-life', 'time')
  local waits = (f[3] or f[4]) and f[5] == f[6] and f[1] ~= 'complete' and f[1] ~= 'failed'
  if not (f[1] == 'running' or waits) then return false end
  local ok, names = pcall(cjson.decode, f[2] or '')
  for _, name in ipairs(ok and names or {}) do
    if tostring(name) == tid then n = n - 1 end
  end
  return n <= 0
end

-- place_strangers(g): jobs of ruled queues that run without having asked the gate get the places that they need, whether there is
-- room or not, so that nobody else comes in before room is; and who runs them is noted. Such is what a client that knows no rules took, or what
-- began before there were any. Of some queues, and of each at most a hundred jobs, from a place that differs each time.
-- Rare.
function place_strangers(g)
  local scan = redis.call('HSCAN', 'ql:oarlock:seen', redis.call('HGET', 'ql:oarlock:tended', 'strangers') or '0', 'COUNT', '20')
  redis.call('HSET', 'ql:oarlock:tended', 'strangers', scan[1])
  for i = 1, #scan[2], 2 do
    local queue = scan[2][i]
    local rules = rules_of(g, queue)
    if rules and not rules.damage then
      local key = 'ql:q:' .. queue .. '-locks'
      local windows = math.max(1, math.ceil(redis.call('ZCARD', key) / 100))
      local first = 100 * (math.floor(g.now * 1000) % windows)
      for _, jid in ipairs(redis.call('ZRANGE', key, text14(first), text14(first + 99))) do
        local ok, raised = pcall(place_stranger, g, rules, queue, jid)
        if not ok then report(g.batch, queue, jid, raised) end
      end
      write_places(g)
      local ok, raised = pcall(drop_gone, g, queue)
      if ok then ok, raised = pcall(try_forgotten, g, queue) end
      if not ok then report(g.batch, queue, '', raised) end
    end
  end
end

-- try_forgotten(g, queue): waitlists that wait for a throttle, by their record, of which that knows nothing lose the record, and are tried: what of
-- them must wait gives them a new one. Else nobody would try them, whatever is free, and who comes would stand behind. Somebody deleted the
-- keys of the throttle, or a call broke off as it wrote them.
-- Rare.
function try_forgotten(g, queue)
  local key, field = 'ql:oarlock:waitlists:' .. queue, 'lists:' .. queue
  local scan = redis.call('HSCAN', key, redis.call('HGET', 'ql:oarlock:tended', field) or '0', 'COUNT', '50')
  if scan[1] == '0' then redis.call('HDEL', 'ql:oarlock:tended', field) else redis.call('HSET', 'ql:oarlock:tended', field, scan[1]) end
  for i = 1, #scan[2], 2 do
    local line, record = scan[2][i], scan[2][i + 1]
    local list = { id = #queue .. ':' .. queue .. line, record = record }
    if line ~= 'shape' and read_record(list) then
      spend(g.batch, 3)
      if not list.tid then
        redis.call('ZADD', 'ql:oarlock:open:' .. queue, 'NX', '0', line)
      elseif not is_waited_for(g, list) then
        open_list(g, queue, line)
        list = list_named(g, queue, line)
        leave_throttles(g, list) -- what they know of it else would keep a place for it
        g.lists[list.id] = nil
        redis.call('HDEL', key, line)
      end
    end
  end
end

-- is_waited_for(g, list) -> whether the throttle for which it waits knows so
-- Rare.
function is_waited_for(g, list)
  local tid, party = list.tid, list.party
  return redis.call('SISMEMBER', 'ql:oarlock:waited', tid) == 1 and redis.call('ZSCORE', wait_key(tid, party), list.mark)
    and (redis.call('ZSCORE', 'ql:oarlock:rota:' .. tid, party) or defined_as(g, tid).borrow and redis.call('ZSCORE', 'ql:oarlock:over:' .. tid, party))
end

-- drop_gone(g, queue): jobs that somebody canceled who knows no waitlists are counted no more among those that wait; a take would drop them when it meets
-- them. And waitlists that have no record, for somebody deleted it, are tried. Of those that wait a hundred are looked at, from a place that differs
-- each time.
-- Rare.
function drop_gone(g, queue)
  local key, gone, seen = 'ql:q:' .. queue .. '-throttled', {}, {}
  local lists = 'ql:oarlock:waitlists:' .. queue
  local windows = math.max(1, math.ceil(redis.call('ZCARD', key) / 100))
  local first = 100 * (math.floor(g.now * 1000) % windows)
  for _, jid in ipairs(redis.call('ZRANGE', key, text14(first), text14(first + 99))) do
    local text, gate = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'throttles', 'oarlock-gate'))
    if not text and redis.call('EXISTS', 'ql:j:' .. jid) == 0 then gone[#gone + 1] = jid end
    if gate and text and not seen[text] then
      seen[text] = true
      local line = #text > 256 and redis.sha1hex(text) or text
      if redis.call('HEXISTS', lists, line) == 0 then open_list(g, queue, line) end
    end
  end
  spend(g.batch, 50)
  if #gone == 0 or redis.call('HLEN', lists) > 500 then return end
  for _, line in ipairs(redis.call('HKEYS', lists)) do
    local list = line ~= 'shape' and list_named(g, queue, line)
    if list and redis.call('ZREM', list.key, unpack(gone)) > 0 then look_at_head(g, list) end
  end
  redis.call('ZREM', key, unpack(gone))
end

-- has_any(jid, text) -> whether it has a place of one of the throttles that its field names
-- Rare.
function has_any(jid, text)
  local ok, names = pcall(cjson.decode, text or '')
  for _, tid in ipairs(ok and names or {}) do
    if redis.call('ZSCORE', 'ql:th:' .. tostring(tid) .. '-locks', jid) then return true end
  end
  return false
end

-- place_stranger(g, rules, queue, jid)
function place_stranger(g, rules, queue, jid)
  local state, owner, of, gate, text = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'state', 'worker', 'queue', 'oarlock-gate', 'throttles'))
  spend(g.batch, gate and 2 or 1)
  if state ~= 'running' or of ~= queue or gate and has_any(jid, text) then return end
  local f = redis.call('HMGET', 'ql:j:' .. jid, unpack(g.fields))
  local need = needs_of(g, rules, queue, f)
  if #need.list == 0 then return end
  take_places(g, need, jid, {})
  redis.call('HSET', 'ql:j:' .. jid, 'throttles', need.text, 'oarlock-gate', need.derived)
  local key = 'ql:oarlock:outside'
  redis.call('HSET', key, owner, text14(math.floor(g.now)) .. ' ' .. queue)
  redis.call('EXPIRE', key, '86400')
end
