-- Whose turn it is at a throttle. A party waits there with a pass, the virtual time of its next start: who has the least
-- is next, and a start moves it on by its places divided by its share (start-time fair queueing). A party is a value of
-- the throttle, or, where that counts by nothing, a queue.
--   oarlock:rota:<tid>, oarlock:over:<tid>   waiting party -> pass: those within and those beyond their share
--   oarlock:rested:<tid>   party that waits no more -> its pass, as far as that is ahead of all others'
--   oarlock:virtual        tid -> virtual time
--   oarlock:wait:<n>:<tid><party>   mark of a waitlist -> score of its head
--   oarlock:eldest:<tid>   mark of a waitlist -> since when nothing of it started
-- A mark is <places>:<n>:<queue><line>, n the bytes of the queue's name. What nobody works is passed over, so nothing
-- is kept for the dead: a queue is awake for a while after somebody with a free child looked into it (oarlock:seen), unless as many of it
-- run as its setting max-concurrency lets.

-- wait_key(tid, party) -> the key of the waitlists of a party
function wait_key(tid, party)
  return 'ql:oarlock:wait:' .. #tid .. ':' .. tid .. party
end

-- read_mark_of_list(mark) -> places, queue, line; of what is no mark those of a queue that nobody works
function read_mark_of_list(mark)
  local places, length, rest = string.match(mark, '^(%d+):(%d+):(.*)$')
  if not places then return 1, '', '' end
  return tonumber(places), string.sub(rest, 1, tonumber(length)), string.sub(rest, tonumber(length) + 1)
end

-- is_awake(g, queue) -> whether somebody who has a free child works it, and may take of it
function is_awake(g, queue)
  local known = g.awake[queue]
  if known == nil then
    known = numeric(redis.call('HGET', 'ql:oarlock:seen', queue), 0) >= g.now and not is_at_most(g.batch, queue)
    g.awake[queue] = known
  end
  return known
end

-- is_at_most(batch, queue) -> whether as many of it run as its setting lets
function is_at_most(batch, queue)
  if not batch.lock[queue] then learn(batch, queue) end
  local most = batch.most[queue]
  return most > 0 and redis.call('ZCOUNT', 'ql:q:' .. queue .. '-locks', batch.stored_now, '+inf') >= most
end

-- waiting_for(g, t, kind) -> list of up to ten awake parties in their order, each with pass, and lists: places, queue,
-- line, head and mark of those of its waitlists that are awake, the best head first
--   kind   rota or over
function waiting_for(g, t, kind)
  t.waiting = t.waiting or {}
  local known = t.waiting[kind]
  if known then return known end
  known = {}
  local key, gone = 'ql:oarlock:' .. kind .. ':' .. t.tid, {}
  local first, many = 0, 10
  while many > 0 do
    local some = redis.call('ZRANGE', key, text14(first), text14(first + many - 1), 'WITHSCORES')
    for i = 1, #some, 2 do
      local lists, none = lists_of(g, t, some[i])
      if none then gone[#gone + 1] = some[i] end
      if #lists > 0 then known[#known + 1] = { party = some[i], pass = tonumber(some[i + 1]), lists = lists } end
      if #known == 10 then break end
    end
    if #known == 10 or #some < 2 * many then break end
    first, many = next_page(g, key, first + many)
  end
  for _, party in ipairs(gone) do leave_rota(g, t, party) end -- somebody deleted what they had
  t.waiting = t.waiting or {}
  t.waiting[kind] = known
  return known
end

-- lists_of(g, t, party) -> its waitlists that are awake, as waiting_for has them; and whether it has none at all
function lists_of(g, t, party)
  local lists, key = {}, wait_key(t.tid, party)
  local first, many = 0, 20
  while many > 0 do
    local found = redis.call('ZREVRANGE', key, text14(first), text14(first + many - 1), 'WITHSCORES')
    for k = 1, #found, 2 do
      local places, queue, line = read_mark_of_list(found[k])
      if is_awake(g, queue) then
        lists[#lists + 1] = { places = math.min(places, t.max), queue = queue, line = line, head = tonumber(found[k + 1]), mark = found[k] }
      end
    end
    if #found == 0 and first == 0 then return lists, true end
    if #lists > 0 or #found < 2 * many then break end
    first, many = next_page(g, key, first + many)
  end
  return lists
end

-- next_page(g, key, seen) -> from where on to look at how many more of those that wait, of whom seen were looked at; 0 if that is enough
-- Any number may sleep before those that are awake: behind a thousand some are looked at, from a place that differs each time, so that nobody waits
-- for ever behind the dead.
-- Rare.
function next_page(g, key, seen)
  if seen < 1000 then return seen, math.min(100, 1000 - seen) end
  if seen > 1000 then return 0, 0 end
  local windows = math.ceil((redis.call('ZCARD', key) - seen) / 100)
  return seen + 100 * (math.floor(g.now * 1000) % math.max(1, windows)), 100
end

-- eldest_of(g, t) -> the awake waitlist of which nothing started for longest, if that is longer than the throttle's
-- patience: places, mark, and whether it is to be tried from here; or nil
function eldest_of(g, t)
  if t.eldest == nil then
    local before, behind = text17(g.now - patience_of(g, t.tid)), nil
    t.eldest, behind = seek_eldest(g, t, before, 0, 1000)
    if behind then
      local others = redis.call('ZCOUNT', 'ql:oarlock:eldest:' .. t.tid, '-inf', before) - behind
      local first = behind + math.floor(g.now * 1000) % math.max(1, others) -- a different one each time
      t.eldest = seek_eldest(g, t, before, first, first + 100)
    end
  end
  return t.eldest or nil
end

-- patience_of(g, tid) -> seconds after which a waitlist comes first; a value has the patience of its throttle
function patience_of(g, tid)
  return defined_as(g, tid).patience or defined_as(g, split_value(tid) or '').patience or 60
end

-- seek_eldest(g, t, before, first, last) -> as eldest_of, false if there is none; then, if more could be looked at, from which rank on
--   before        score (text) of marks that have waited long enough
--   first, last   ranks of those that are looked at
-- Most marks that are passed over cost nothing: their queue is known to sleep. Each other one is a look of some commands, of which a call may do
-- eldest_looks, and at least four per throttle.
function seek_eldest(g, t, before, first, last)
  g.looks = g.looks or eldest_looks
  local key, many, left = 'ql:oarlock:eldest:' .. t.tid, 10, math.max(4, math.min(g.looks, eldest_looks / 2))
  while first < last do
    local some = redis.call('ZRANGEBYSCORE', key, '-inf', before, 'LIMIT', text14(first), text14(many))
    for i, mark in ipairs(some) do
      if left <= 0 then return false, first + i - 1 end
      local places, queue, line = read_mark_of_list(mark)
      local known, claims, waits_for, gone = g.awake[queue], nil, nil, nil
      if is_awake(g, queue) then claims, waits_for, gone = has_claim(g, queue, line) end
      if claims then
        local here = not waits_for or waits_for == t.tid or defined_as(g, waits_for).borrow
        return { places = math.min(places, t.max), queue = queue, line = line, mark = mark, here = here }
      end
      if gone then redis.call('ZREM', key, mark) end -- whoever ended it did not know where it had passed
      if known ~= false then
        g.looks, left = g.looks - 1, left - 1
        spend(g.batch, 3)
      end
    end
    if #some < many then return false end
    first, many = first + many, 100
  end
  return false, first
end

eldest_looks = 50

-- has_claim(g, queue, line) -> whether a waitlist that has waited for longer than patience comes before all, so that places are kept for it;
-- for which throttle it waits, if its record says so; and whether it is no more
-- One has none while it waits for what would be lent to it, at whichever throttle: it could keep what another needs for whom it waits itself. Nor has
-- one of whose first job a command wants to hear nothing: another of its jobs, that was let start, may have brought it here.
-- Rare.
function has_claim(g, queue, line)
  local list = { record = redis.call('HGET', 'ql:oarlock:waitlists:' .. queue, line), id = '' }
  if not list.record and redis.call('EXISTS', 'ql:oarlock:waitlist:' .. #queue .. ':' .. queue .. line) == 0 then
    return false, nil, true
  end
  if not (list.record and read_record(list)) then return true end -- it is tried, see drop_gone and restore_record
  if not list.tid then return false, nil, true end
  if defined_as(g, list.tid).borrow and redis.call('ZSCORE', 'ql:oarlock:over:' .. list.tid, list.party) then return false end
  local rules = rules_of(g, queue)
  if not (rules and rules.asks) then return true, list.tid end
  local head = redis.call('ZREVRANGE', 'ql:oarlock:waitlist:' .. #queue .. ':' .. queue .. line, '0', '0')[1] or ''
  for tid in pairs(rules.asks) do
    if numeric(redis.call('ZSCORE', 'ql:oarlock:asked:' .. tid, head), 0) > g.now then return false end
  end
  return true, list.tid
end

-- claims_before(g, t, item, wanted, list) -> how many places are for others, whether the job is beyond the share of its
-- party, and whether it must wait for that
--   list   the waitlist of the job, nil if there is none
function claims_before(g, t, item, wanted, list)
  local beyond = t.defined.borrow and is_beyond(g, t, item.party, wanted) or false
  if beyond then
    if g.inbox or t.max - t.used - (t.defined.keep or 0) < wanted then return 0, true, true end
    for _, other in ipairs(waiting_for(g, t, 'rota')) do
      if other.party ~= item.party then return 0, true, true end
    end
    if g.picking and g.picking.rules.fair == t.tid and another_has_turn(g, g.picking, t, item.party) then return 0, true, true end
  end
  if not t.waits then return 0, beyond end
  local eldest = eldest_of(g, t)
  if eldest and list and eldest.mark == list.mark then return 0, beyond end
  local ahead = eldest and eldest.places or 0
  local own, newcomer = pass_of(g, t, item.party)
  for _, other in ipairs(waiting_for(g, t, beyond and 'over' or 'rota')) do
    if other.party == item.party then
      if not newcomer then break end
    else
      if other.pass > own then break end
      for _, one in ipairs(other.lists) do
        if not (eldest and eldest.mark == one.mark) then
          ahead = ahead + one.places
          break
        end
      end
    end
  end
  return ahead, beyond
end

-- is_beyond(g, t, party, wanted) -> whether a party that takes so many places more has more than its share
function is_beyond(g, t, party, wanted)
  local share = share_of(t.defined, party, t.max)
  if share == 0 then return false end
  local tid = t.tid .. '=' .. party
  local value = g.places[tid]
  local used = value and value.used or redis.call('ZCARD', 'ql:th:' .. tid .. '-locks')
  return used + math.min(wanted, share) > share
end

-- pass_of(g, t, party) -> its pass, and whether it is not waiting yet
function pass_of(g, t, party)
  for _, kind in ipairs({ 'rota', 'over' }) do
    local pass = redis.call('ZSCORE', 'ql:oarlock:' .. kind .. ':' .. t.tid, party)
    if pass then return tonumber(pass), false, kind end
  end
  return math.max(virtual_time(t), numeric(redis.call('ZSCORE', 'ql:oarlock:rested:' .. t.tid, party), 0)), true
end

-- virtual_time(t) -> the pass of the last that started
function virtual_time(t)
  t.virtual = t.virtual or numeric(redis.call('HGET', 'ql:oarlock:virtual', t.tid), 0)
  return t.virtual
end

-- charge(g, t, item, places): a job of a party starts, where others wait
function charge(g, t, item, places)
  if t.contended == nil then t.contended = redis.call('EXISTS', 'ql:oarlock:rota:' .. t.tid, 'ql:oarlock:over:' .. t.tid) > 0 end
  if not t.contended then return end
  local pass, newcomer, kind = pass_of(g, t, item.party)
  local share = share_of(t.defined, item.party, t.max)
  if pass > virtual_time(t) then
    t.virtual = pass
    redis.call('HSET', 'ql:oarlock:virtual', t.tid, text17(pass))
    redis.call('ZREMRANGEBYSCORE', 'ql:oarlock:rested:' .. t.tid, '-inf', text17(pass))
  end
  local key = 'ql:oarlock:' .. (newcomer and 'rested' or kind) .. ':' .. t.tid
  redis.call('ZADD', key, text17(pass + places / math.max(1, share)), item.party)
  t.waiting = nil
end

-- wait_for(g, t, item, mark, head, beyond): a waitlist begins to wait
--   head   score (text) of its head
function wait_for(g, t, item, mark, head, beyond)
  local tid, party = t.tid, item.party
  redis.call('ZADD', wait_key(tid, party), head, mark)
  local pass, newcomer, kind = pass_of(g, t, party)
  local into = beyond and 'over' or 'rota'
  if newcomer then
    redis.call('ZREM', 'ql:oarlock:rested:' .. tid, party)
  elseif kind ~= into then
    redis.call('ZREM', 'ql:oarlock:' .. kind .. ':' .. tid, party)
  end
  redis.call('ZADD', 'ql:oarlock:' .. into .. ':' .. tid, text17(pass), party)
  redis.call('SADD', 'ql:oarlock:waited', tid)
  t.waits, t.contended, t.waiting = true, true, nil
end

-- wait_no_more(g, t, party, mark): a waitlist has left a throttle
function wait_no_more(g, t, party, mark)
  local key = wait_key(t.tid, party)
  redis.call('ZREM', key, mark)
  t.waiting = nil
  if redis.call('EXISTS', key) == 0 then leave_rota(g, t, party) end
end

-- leave_rota(g, t, party): nothing of it waits at a throttle
function leave_rota(g, t, party)
  local tid, pass = t.tid, pass_of(g, t, party)
  t.waiting = nil
  redis.call('ZREM', 'ql:oarlock:rota:' .. tid, party)
  redis.call('ZREM', 'ql:oarlock:over:' .. tid, party)
  if redis.call('EXISTS', 'ql:oarlock:rota:' .. tid, 'ql:oarlock:over:' .. tid) == 0 then
    redis.call('DEL', 'ql:oarlock:rested:' .. tid)
    redis.call('HDEL', 'ql:oarlock:virtual', tid)
    redis.call('SREM', 'ql:oarlock:waited', tid)
    t.virtual, t.contended = nil, false
  elseif pass > virtual_time(t) then
    redis.call('ZADD', 'ql:oarlock:rested:' .. tid, text17(pass), party)
  end
end

-- stir(g, t): lets those in front try, as many as there are places free
-- The eldest is let try where it waits, and not where it passed, but where it waits for what is lent: as it is tried it is known that it is within its
-- share again. Before a rate lets it only who is not due then is: it waited for a place. Who is tried in vain each time hides those of lower priority, for
-- of what is open a call looks at some.
-- A heavy one in front keeps places from other parties. Of its own, lighter ones pass it until it has waited for longer than patience.
function stir(g, t)
  local room = t.max - t.used
  if t.asks or room < 1 then return end
  if t.defined.borrow then
    recall_lent(g, t)
    let_others_go_first(g, t, room)
  end
  local eldest = eldest_of(g, t)
  local ahead = eldest and not eldest.here and eldest.places or 0
  if t.tat and t.max == math.huge and g.waiting.no_token(g, t, 1, ahead) then return end -- all are due
  if eldest then
    if eldest.here and eldest.places <= room then try_in_front(g, t, eldest, 0) end
    room = room - eldest.places
  end
  local within = waiting_for(g, t, 'rota')
  if #within == 0 then
    within = waiting_for(g, t, 'over')
    room = room - (t.defined.keep or 0)
  end
  for _, one in ipairs(within) do
    if room < 1 then return end
    local left = room
    for _, list in ipairs(one.lists) do
      if list.places <= left then
        try_in_front(g, t, list, ahead)
        left = left - list.places
      end
    end
    room = math.min(left, room - one.lists[1].places)
  end
end

-- try_in_front(g, t, list, ahead): a waitlist that waits at a throttle, unless it is due when the rate lets it
--   list    as waiting_for or eldest_of have it
--   ahead   how many places are for others
function try_in_front(g, t, list, ahead)
  if t.tat and g.waiting.no_token(g, t, list.places, ahead) and redis.call('ZSCORE', 'ql:oarlock:due:' .. list.queue, list.line) then return end
  open_list(g, list.queue, list.line, list.head)
end

-- recall_lent(g, t): parties that waited beyond their share, and are within it again, wait as the others
-- Behind a hundred some are looked at, from a place that differs each time.
function recall_lent(g, t)
  local key = 'ql:oarlock:over:' .. t.tid
  local over = redis.call('ZRANGE', key, '0', '99', 'WITHSCORES')
  recall_some(g, t, over)
  if #over < 200 then return end
  local windows = math.max(1, math.ceil(redis.call('ZCARD', key) / 100) - 1)
  local first = 100 + 100 * (math.floor(g.now * 1000) % windows)
  recall_some(g, t, redis.call('ZRANGE', key, text14(first), text14(first + 99), 'WITHSCORES'))
end

-- recall_some(g, t, over): of these parties
--   over   each, and its pass
function recall_some(g, t, over)
  for i = 1, #over, 2 do
    local places = read_mark_of_list(redis.call('ZREVRANGE', wait_key(t.tid, over[i]), '0', '0')[1] or '1:0:')
    if not is_beyond(g, t, over[i], places) then
      redis.call('ZREM', 'ql:oarlock:over:' .. t.tid, over[i])
      redis.call('ZADD', 'ql:oarlock:rota:' .. t.tid, over[i + 1], over[i])
      t.waiting, t.eldest = nil, nil
    end
  end
end

-- let_others_go_first(g, t, room): parties that are beyond their share by now wait with those, as far as they stand before whom there is room for.
-- Else each would have to be tried for that, and the place stand empty meanwhile.
function let_others_go_first(g, t, room)
  for _ = 1, 10 do
    local moved, left = false, room
    for _, one in ipairs(waiting_for(g, t, 'rota')) do
      if left < 1 then break end
      if is_beyond(g, t, one.party, one.lists[1].places) then
        redis.call('ZREM', 'ql:oarlock:rota:' .. t.tid, one.party)
        redis.call('ZADD', 'ql:oarlock:over:' .. t.tid, text17(one.pass), one.party)
        moved = true
      else
        left = left - one.lists[1].places
      end
    end
    if not moved then return end
    t.waiting, t.eldest = nil, nil
  end
end
