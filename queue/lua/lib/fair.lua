-- Fair queues: values take turns whenever a queue holds more jobs than a take has room for, whatever its limits are. A
-- queue is fair by fair_by of its rules, or else by the first of its throttles that counts by a value. A take files the
-- front of the inbox into the waitlists of the values (files), and then starts the heads of open waitlists in turn (picks):
-- those of the highest priority first, and of these the value with the least start tag (start-time fair queueing). A start
-- moves the tag of its value on by the job's places divided by the value's weight. A value that comes has the tag of the last that started, a
-- little later than those that came before it, so that a flood of new values does not keep the others from their turns.
-- A waitlist that waits for nothing but its turn is always open. Where a throttle refuses its head it waits there as any
-- other, and of those that wait as one party the one whose turn is next is first.
--   oarlock:fair:<n>:<queue>:<priority>   '=' and a value -> its start tag, of those that wait, or are ahead of virtual time;
--                                         v -> virtual time, the tag of the last that started; n -> the tag of the last that came
-- In a fair queue the score of a waitlist in open and wait is its rank: the priority of its head, less a half, less a small part of its tag. A rank may be
-- too high, where another waitlist of the value has started meanwhile or somebody opened it; never too low. Who meets such a one writes it anew.

-- A take files so many jobs of the inbox.
call_turns = 64

-- As parts of a priority tags are so much smaller than they are: 2^40 is 35 years of a thousand starts per second.
tag_unit = 1099511627776

-- take_turns(g, rules, queue, room) -> as sort_out
-- Rare.
function take_turns(g, rules, queue, room)
  local batch, done, rest, left = g.batch, 0, redis.call('ZCARD', 'ql:q:' .. queue .. '-work'), g.left
  if not g.waiting then waiting_room(g) end
  local moved = false
  if rest > 0 then
    g.left = math.huge -- c.files bounds it
    local ran, c = sort_once(g, rules, queue, room, 'files')
    done, rest, moved = ran, rest - #c.gone, #c.gone > 0
    g.left = left
    g.waiting.stir_all(g)
  end
  g.inbox = rest > 0
  for _ = 1, 8 do
    if done >= room or batch.more == 1 then return done end
    local ran, c = sort_once(g, rules, queue, room - done, 'picks')
    g.picking = nil
    done = done + ran
    g.opened[queue] = nil
    g.waiting.stir_all(g)
    if #c.open == 0 and not g.opened[queue] then
      if rest > 0 and moved then batch.more = 1 end
      return done
    end
    moved = moved or ran > 0
  end
  if done < room and moved then batch.more = 1 end
  return done
end

-- begin_turns(g, c, phase): as sort_once has it
-- Rare.
function begin_turns(g, c, phase)
  g.picking = phase == 'picks' and c
  if phase == 'files' then
    c.files = math.max(1, math.min(call_turns, math.floor((g.batch.commands - 60) / 5)))
  else
    c.picks = redis.call('ZREVRANGE', 'ql:oarlock:open:' .. c.queue, '0', '31', 'WITHSCORES')
    c.picked = 1
  end
end

-- file_in_turn(g, c, jid, state, history, place, list, need): as file; a job waits for the turn of its value
-- Where a queue has no more than turns, that is no entry in its history: it lacks nothing but a free child.
-- Rare.
function file_in_turn(g, c, jid, state, history, place, list, need)
  if not list.record then find_lost(list, g.now) end
  if not list.record then
    local key = 'ql:oarlock:waitlists:' .. c.queue
    list.since, list.tid, list.party, list.open = g.now, nil, need.value, true
    write_record(list)
    redis.call('HSETNX', key, 'shape', c.rules.shape or '')
  end
  list.value = need.value
  file(g, c, jid, c.rules.turns_only and 'throttled' or state, history, place or score_of(c, jid), list, need)
  c.counts.turn = (c.counts.turn or 0) + 1
end

-- next_in_turn(g, c) -> the waitlist whose turn it is, its head and the score (text) of that; nil if none is left, or others may come
-- first that are not known to the round
-- Waitlists are read only as far as their ranks let them be the next.
-- Rare.
function next_in_turn(g, c)
  while true do
    local best
    for _, list in ipairs(c.open) do
      if list.open and not list.rank then find_rank(g, c, list) end
      if list.open and list.rank and not (best and comes_before(best, list)) then best = list end
    end
    local line, rank = c.picks[c.picked], tonumber(c.picks[c.picked + 1])
    if best and not (rank and rank >= best.rank) then
      if #c.picks == 64 and best.rank < tonumber(c.picks[64]) then return nil end
      local at = best.next
      best.next, best.rank = at + 2, nil
      return best, best.heads[at], best.heads[at + 1]
    end
    if not line then return nil end
    c.picked = c.picked + 2
    local list = g.waiting.list_named(g, c.queue, line)
    if not list.record and g.waiting.find_again(list, g.now) then g.waiting.write_found(list) end -- somebody deleted it
    list.open, list.heads, list.rank = true, nil, nil
    c.open[#c.open + 1] = list
    find_rank(g, c, list)
    if list.rank ~= rank then list.touched = true end
  end
end

-- another_has_turn(g, c, t, party) -> whether a job of another value, which is within its share of a throttle, may wait for its turn
-- Rare.
function another_has_turn(g, c, t, party)
  for _, list in ipairs(c.open) do
    if list.open and list.heads and list.heads[list.next] then
      local value = value_in(g, c.rules, list)
      if value ~= party and not is_beyond(g, t, value, 1) then return true end
    end
  end
  return c.picks[c.picked] ~= nil
end

-- comes_before(list, other) -> whether its head is to be tried before that of the other; those of one value in their order
-- Rare.
function comes_before(list, other)
  if list.rank ~= other.rank then return list.rank > other.rank end
  return tonumber(list.heads[list.next + 1]) >= tonumber(other.heads[other.next + 1])
end

-- find_rank(g, c, list): of its next head; it has none if that has none
-- Rare.
function find_rank(g, c, list)
  local heads = g.waiting.heads_of(list, c.room)
  local place = heads[list.next + 1]
  list.rank = place and tonumber(rank_of(g, c.rules, list, place)) or nil
end

-- rank_of(g, rules, list, place) -> text
--   place   score (text) of its head
-- Rare.
function rank_of(g, rules, list, place)
  local level = level_of(rules, tonumber(place) or 0)
  if level == math.huge then return '+inf' end -- a command let it start
  return text17(level - 0.5 - tag_of(g, list.queue, level, value_in(g, rules, list)) / tag_unit)
end

-- level_of(rules, place) -> the priority of a job; where rules give the queue an order in which time counts, all have the same
-- Rare.
function level_of(rules, place)
  if rules.slice or rules.ageing then return 0 end
  return math.ceil(place) + 0 -- never -0
end

-- value_in(g, rules, list) -> the value of its jobs
-- Rare.
function value_in(g, rules, list)
  if list.value then return list.value end
  list.value = list.need and list.need.value or list.record and not list.tid and list.party or nil
  if list.value then return list.value end
  local text, prefix = text_of(list), rules.fair .. '='
  if string.sub(text, 1, 1) ~= '[' then
    local head = redis.call('ZREVRANGE', list.key, '0', '0')[1]
    text = head and redis.call('HGET', 'ql:j:' .. head, 'throttles') or ''
  end
  local ok, names = pcall(given_throttles, text, 'Take')
  for _, tid in ipairs(ok and names or {}) do
    if string.sub(tostring(tid), 1, #prefix) == prefix then list.value = string.sub(tid, #prefix + 1) end
  end
  list.value = list.value or '-'
  return list.value
end

-- turns_at(g, queue, level) -> the turns of jobs of one priority: key, virtual, newest, tags, and those that changed
-- The name of the key is ours alone: where somebody put something else there, that goes.
-- Rare.
function turns_at(g, queue, level)
  local key = 'ql:oarlock:fair:' .. #queue .. ':' .. queue .. ':' .. text14(level)
  g.turns = g.turns or {}
  local known = g.turns[key]
  if not known then
    local virtual = redis.pcall('ZSCORE', key, 'v')
    if type(virtual) == 'table' then
      if not is_wrong_type(virtual) then raise(virtual) end
      redis.call('DEL', key)
      virtual = false
    end
    known = { key = key, virtual = numeric(virtual, 0), newest = numeric(redis.call('ZSCORE', key, 'n'), 0), tags = {}, changed = {} }
    g.turns[key] = known
  end
  return known
end

-- tag_of(g, queue, level, value) -> its start tag
-- Rare.
function tag_of(g, queue, level, value)
  local at_level = turns_at(g, queue, level)
  local tag = at_level.tags[value]
  if not tag then
    tag = tonumber(redis.call('ZSCORE', at_level.key, '=' .. value) or nil)
    if not tag then
      tag = math.max(at_level.virtual, at_level.newest + 1 / 1024)
      at_level.newest, at_level.changed[value] = tag, true
    end
    at_level.tags[value] = tag
  end
  return tag
end

-- charge_turn(g, c, need, place): a job starts in the turn of its value
-- Rare.
function charge_turn(g, c, need, place)
  local value, level = need.value, level_of(c.rules, tonumber(place) or 0)
  if level == math.huge then return end
  local at_level, tag = turns_at(g, c.queue, level), tag_of(g, c.queue, level, value)
  at_level.virtual = math.max(at_level.virtual, tag)
  at_level.tags[value], at_level.changed[value] = tag + need.weight / weight_of(g, c.rules, value), true
  for _, list in ipairs(c.open) do
    if list.value == value then list.rank, list.touched = nil, true end
  end
end

-- weight_of(g, rules, value) -> how often it starts while one of weight 1 starts once
-- Rare.
function weight_of(g, rules, value)
  local defined, weight = defined_as(g, rules.fair), rules.weights and rules.weights[value]
  if defined.shares then weight = share_of(defined, value, places_of(g, { tid = rules.fair }).max) end
  return math.max(1, math.min(numeric(weight, 1), 1000000))
end

-- write_turns(g): what a round has changed of them. Values that neither wait nor are ahead are forgotten.
-- Rare.
function write_turns(g)
  for key, at_level in pairs(g.turns) do
    if next(at_level.changed) then
      local virtual, entries = text17(at_level.virtual), { text17(at_level.newest), 'n' }
      for value in pairs(at_level.changed) do
        entries[#entries + 1], entries[#entries + 2] = text17(at_level.tags[value]), '=' .. value
      end
      entries[#entries + 1], entries[#entries + 2] = virtual, 'v'
      call_many('ZADD', key, entries)
      redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. virtual)
      redis.call('EXPIRE', key, '86400')
      at_level.changed = {}
    end
  end
end

-- forget_turns(g, queue): nobody waits in it any more, and all values are equal again. What the call does not know of goes within a day.
-- Rare.
function forget_turns(g, queue)
  local prefix = 'ql:oarlock:fair:' .. #queue .. ':' .. queue .. ':'
  for key in pairs(g.turns) do
    if string.sub(key, 1, #prefix) == prefix then
      redis.call('DEL', key)
      g.turns[key] = nil
    end
  end
end
