-- Where the jobs of a ruled queue stand that must wait for a place. A job leaves the work set once, for the waitlist of
-- those that need the same places, and is not looked at again before that is opened: all jobs of a waitlist are alike to
-- the gate, so a take looks at the heads of open ones only.
--   oarlock:waitlist:<n>:<queue><line>   jid -> score, as in the work set; the line is the job's field throttles,
--                                        byte for byte, above 256 bytes its SHA-1
--   oarlock:waitlists:<queue>   line -> since when nothing of it started, places, and for which throttle and as
--                               which party it waits; and shape, of the rules by which jobs were sorted
--   oarlock:open:<queue>        line -> score of its head, if it may be tried
--   oarlock:due:<queue>         line -> when it is to be opened

-- list_named(g, queue, line, need) -> a waitlist, which may have no jobs: then it has no record
--   need   of its jobs; nil if that is not known
function list_named(g, queue, line, need)
  local id = #queue .. ':' .. queue .. line
  local known = g.lists[id]
  if not known then
    known = { queue = queue, line = line, key = 'ql:oarlock:waitlist:' .. id, id = id, entries = {}, left = {} }
    known.record = redis.call('HGET', 'ql:oarlock:waitlists:' .. queue, line)
    if known.record and not read_record(known) then restore_record(g, known) end
    g.lists[id] = known
  end
  if need and not known.need then
    known.need = need
    known.places = known.places or need.list[1].places
    known.mark = known.mark or known.places .. ':' .. id
  end
  return known
end

-- read_record(list) -> whether its record could be read; then it has since, places, tid, party and mark
-- It waits for nothing but its turn if it has no tid; then party is the value of its jobs. See fair.lua.
-- Rare.
function read_record(list)
  local since, places, length, rest = string.match(list.record, '^(%S+) (%d+) (%d+):(.*)$')
  since, length = numeric(since, nil), tonumber(length)
  if not since or length > #rest then return false end
  list.since, list.places, list.mark = since, tonumber(places), places .. ':' .. list.id
  if length > 0 then
    list.tid, list.party = string.sub(rest, 1, length), string.sub(rest, length + 1)
  else
    list.tid, list.party = nil, string.match(rest, '^=(.*)$')
    list.open = list.party ~= nil
  end
  return list.party ~= nil
end

-- find_again(list, now) -> whether throttles know of it whose record somebody overwrote; then it has what read_record finds
-- Rare.
function find_again(list, now)
  local head = redis.call('ZREVRANGE', list.key, '0', '0')[1]
  for tid, at in pairs(marks_of(list, head and redis.call('HGET', 'ql:j:' .. head, 'throttles') or list.line)) do
    if redis.call('ZSCORE', wait_key(tid, at.party), at.mark) then
      list.tid, list.party, list.places, list.mark = tid, at.party, at.places, at.mark
      list.since = numeric(redis.call('ZSCORE', 'ql:oarlock:eldest:' .. tid, at.mark), now)
      return true
    end
  end
  return false
end

-- marks_of(list, text) -> per throttle that its jobs need places, party and mark, with which it would wait there
--   text   their field throttles
-- Rare.
function marks_of(list, text)
  local ok, names = pcall(given_throttles, text, 'Take')
  local values, marks = {}, {}
  for _, tid in ipairs(ok and names or {}) do
    tid = tostring(tid)
    local base, value = split_value(tid)
    if base then values[base] = value end
    marks[tid] = marks[tid] or { places = 0 }
    marks[tid].places = marks[tid].places + 1
  end
  for tid, at in pairs(marks) do at.party, at.mark = values[tid] or list.queue, at.places .. ':' .. list.id end
  return marks
end

-- restore_record(g, list): somebody overwrote its record. Of what no throttle knows it has none: its jobs are tried, and what of them must wait
-- gives it a new one.
-- Rare.
function restore_record(g, list)
  if find_again(list, g.now) then return write_found(list) end
  list.record = false
  redis.call('HDEL', 'ql:oarlock:waitlists:' .. list.queue, list.line)
  open_list(g, list.queue, list.line)
end

-- write_record(list)
function write_record(list)
  local where = list.tid and #list.tid .. ':' .. list.tid or '0:='
  list.record = text17(list.since) .. ' ' .. list.places .. ' ' .. where .. list.party
  redis.call('HSET', 'ql:oarlock:waitlists:' .. list.queue, list.line, list.record)
end

-- write_found(list): the record of one that was found again. By which rules its jobs were sorted nobody knows then, so all come in again, see sort_anew.
-- Rare.
function write_found(list)
  write_record(list)
  redis.call('HSETNX', 'ql:oarlock:waitlists:' .. list.queue, 'shape', '?')
end

-- find_lost(list, now): restores a record that somebody deleted, before the list gets a new one. Otherwise the throttle for which the list waits would
-- never forget it: it would keep permits for the list, and its decision command would be asked about jobs that wait elsewhere.
-- A list whose jobs need one throttle cannot move on to another.
-- Rare.
function find_lost(list, now)
  if #list.need.list > 1 and redis.call('EXISTS', list.key) == 1 and find_again(list, now) then write_found(list) end
end

-- stand(g, rules, list, head, item, when, beyond): a waitlist is to wait at a throttle, from now on or as before
--   head   score (text) of its head
function stand(g, rules, list, head, item, when, beyond)
  local t, queue = places_of(g, item), list.queue
  if not list.record then find_lost(list, g.now) end
  if list.open then
    redis.call('ZREM', 'ql:oarlock:open:' .. queue, list.line)
    list.open = false
  end
  local there = list.record and list.tid == item.tid and list.party == item.party
  if rules.fair then head = rank_of(g, rules, list, head) end
  if not there or beyond ~= list.beyond then wait_for(g, t, item, list.mark, head, beyond) end
  -- Only now: one that waits nowhere is never opened again.
  if list.record and list.tid and not there then wait_no_more(g, places_of(g, item_of(list.tid)), list.party, list.mark) end
  list.beyond = beyond
  if when then
    redis.call('ZADD', 'ql:oarlock:due:' .. queue, text17(when), list.line)
    if not (g.batch.due and g.batch.due <= when) then g.batch.due = when end
  end
  if there then
    -- It may have been beyond its share before, and is not now: then it comes before those that have waited less long here, as it
    -- does elsewhere. Else it could wait here for one that waits elsewhere for it.
    if t.defined.borrow then grow_old(g, list) end
    return
  end
  if not list.record then
    list.since = g.now
    redis.call('HSETNX', 'ql:oarlock:waitlists:' .. queue, 'shape', rules.shape or '') -- it has this one, or none: see sort_anew
  end
  list.tid, list.party = item.tid, item.party
  write_record(list)
  grow_old(g, list)
end

-- grow_old(g, list): how long it waits is known to the throttle it waits for, and to those it has passed; but while it
-- waits for what a command decides, no place is kept for it anywhere
function grow_old(g, list)
  local passed = not places_of(g, item_of(list.tid)).asks
  for _, item in ipairs(list.need.list) do
    local key, last = 'ql:oarlock:eldest:' .. item.tid, item.tid == list.tid
    if passed and not (last and list.beyond) then
      redis.call('ZADD', key, text17(list.since), list.mark)
    else
      redis.call('ZREM', key, list.mark)
    end
    if last then passed = false end
    local t = g.places[item.tid]
    if t then t.waits, t.eldest = true, nil end
  end
end

-- item_of(tid) -> what places_of asks for
function item_of(tid)
  local base, value = split_value(tid)
  return { tid = tid, base = base, value = value }
end

-- open_list(g, queue, line, head): a take of its queue is to try it
--   head   the score of its head, nil if that is not known
function open_list(g, queue, line, head)
  local id = #queue .. ':' .. queue .. line
  local known = g.lists[id]
  if known and (known.open or not known.record) then return end
  if not head then head = tonumber(redis.call('ZREVRANGE', 'ql:oarlock:waitlist:' .. id, '0', '0', 'WITHSCORES')[2]) end
  local rules = rules_of(g, queue)
  if rules and rules.fair then -- it may have its rank already
    redis.call('ZADD', 'ql:oarlock:open:' .. queue, 'NX', text17(head or 0), line)
  else
    redis.call('ZADD', 'ql:oarlock:open:' .. queue, text17(head or 0), line)
  end
  g.opened[queue] = true
end

-- begin_waiting(g, rules, queue) -> whether the call is over; before a queue is sorted in which jobs wait
function begin_waiting(g, rules, queue)
  if sort_anew(g, rules, queue) then return true end
  open_due(g, queue)
  stir_all(g)
  return false
end

-- stir_all(g): where places are free, those in front are let try
function stir_all(g)
  local function each(action, ...)
    local ok, raised = pcall(action, g, ...)
    if not ok then report(g.batch, '', '', raised) end -- a throttle that is broken must not hold up the others
  end
  for tid in pairs(g.freed) do each(places_of, item_of(tid)) end
  g.freed = {}
  local some = {}
  for _, t in pairs(g.places) do
    if t.waits and t.max - t.used >= 1 then some[#some + 1] = t end
  end
  for _, t in ipairs(some) do each(stir, t) end
end

-- heads_of(list, room) -> jids and scores, in turn; of which list.next is the first
function heads_of(list, room)
  if not list.heads or list.next > #list.heads and list.next > 1 then
    local from, many = list.heads and list.from or 0, math.min(room, 100)
    list.heads = redis.call('ZREVRANGE', list.key, text14(from), text14(from + many - 1), 'WITHSCORES')
    list.from, list.next = from + #list.heads / 2, 1
    if #list.heads == 0 then list.touched = true end
  end
  return list.heads
end

-- open_due(g, queue): waitlists whose time has come
function open_due(g, queue)
  local key = 'ql:oarlock:due:' .. queue
  if not is_due(g.batch, key) then return end
  for _, line in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[1], 'LIMIT', '0', '32')) do
    redis.call('ZREM', key, line)
    open_list(g, queue, line)
  end
end

-- file_behind(g, c, jid, place) -> whether a job has left the inbox for a waitlist that stands, and is shut
-- Behind one that must wait stand others like him, often: of each only so much is read as tells that. Whoever may be different is left to
-- try_gate, which reads all.
function file_behind(g, c, jid, place)
  local brief = c.rules.brief
  if not brief then
    brief = { 'state', 'queue', 'klass', 'throttles', 'oarlock-wants', 'oarlock-queue', 'oarlock-lane', 'history' }
    if next(c.rules.by) then brief[9], brief[10] = 'tags', 'data' end
    c.rules.brief = brief
  end
  local f = redis.pcall('HMGET', 'ql:j:' .. jid, unpack(brief))
  if f[1] ~= 'waiting' or f[2] ~= c.queue or f[4] or f[5] or f[6] or f[7] or c.chosen[jid] then return false end
  local need, want = needs_of(g, c.rules, c.queue, { false, f[3], f[10], f[9] })
  local list = need.own
  if c.files and need.value then
    if want.windows then return false end
    spend(g.batch, 4)
    file_in_turn(g, c, jid, f[1], f[8], place, list or list_named(g, c.queue, need.line, need), need)
    return true
  end
  if not (list and list.record) or list.open or need.asks or want.windows then return false end
  spend(g.batch, 4)
  file(g, c, jid, f[1], f[8], place or score_of(c, jid), list, need)
  c.counts.behind = (c.counts.behind or 0) + 1
  return true
end

-- file(g, c, jid, state, history, place, list, need): a job leaves the inbox for its waitlist
-- First its hash says so: else it would leave the inbox, and be dropped as the head of its waitlist.
--   c        the round, see sort_out
--   history  its field of that name
--   place    its score, as text
function file(g, c, jid, state, history, place, list, need)
  list.touched = true
  redis.call('HSET', 'ql:j:' .. jid, 'state', 'throttled', 'throttles', need.text, 'oarlock-gate', need.derived)
  g.left = g.left - 1
  c.gone[#c.gone + 1] = jid
  local entries, filed = list.entries, c.filed
  entries[#entries + 1], entries[#entries + 2] = place, jid
  filed[#filed + 1], filed[#filed + 2] = g.batch.stored_now, jid
  -- It was put again: what it had before was dropped in this round, and is to be removed after what is filed was written.
  if list.left[1] then take_out(list.left, jid) end
  if c.unfiled[1] then take_out(c.unfiled, jid) end
  if state == 'throttled' then return end
  c.entry = c.entry or '[' .. g.batch.second .. ',"throttled",{"queue":' .. json_name(g.batch, c.queue) .. '}]'
  remember(jid, c.entry, g.batch.limit, history)
end

-- take_out(values, value): wherever it is
function take_out(values, value)
  for i = #values, 1, -1 do
    if values[i] == value then table.remove(values, i) end
  end
end

-- write_filed(g, c): those that a round sorted stand in their waitlists
function write_filed(g, c)
  for _, list in pairs(g.lists) do
    if #list.entries > 0 then add_all(list.key, list.entries) end
    list.entries = {}
  end
  add_all('ql:q:' .. c.queue .. '-throttled', c.filed)
end

-- forget_round(g, c): what a round decided cannot be written. Nobody of it runs or is filed, and all stand where they stood.
-- Rare.
function forget_round(g, c)
  for _, job in ipairs(c.fit) do
    if job.throttles then pcall(let_go_of, job) end
  end
  for _, list in pairs(g.lists) do list.left, list.entries, list.started = {}, {}, false end
  g.places, g.opened[c.queue] = {}, nil -- of what the gate knew of places, some were never taken
end

-- write_lists(g, c): who left waitlists in a round, and who is first now
function write_lists(g, c)
  if #c.unfiled > 0 then call_many('ZREM', 'ql:q:' .. c.queue .. '-throttled', c.unfiled) end
  for _, list in pairs(g.lists) do
    if list.touched then
      list.touched = false
      if #list.left > 0 then call_many('ZREM', list.key, list.left) end
      list.left, list.heads = {}, nil
      look_at_head(g, list)
    end
  end
end

-- look_at_head(g, list): who is first now; a waitlist without anybody is no more
function look_at_head(g, list)
  local head = redis.call('ZREVRANGE', list.key, '0', '0', 'WITHSCORES')[2]
  if not head then return dissolve(g, list) end
  local rules = rules_of(g, list.queue)
  if rules and rules.fair then head = rank_of(g, rules, list, head) end
  if list.open then redis.call('ZADD', 'ql:oarlock:open:' .. list.queue, head, list.line) end
  if not list.record then return end
  if list.tid then redis.call('ZADD', wait_key(list.tid, list.party), 'XX', head, list.mark) end
  if list.started and g.now > list.since + 1 then
    list.since = g.now
    write_record(list)
    if list.tid then grow_old(g, list) end
  end
  list.started = false
end

-- dissolve(g, list)
function dissolve(g, list)
  local key = 'ql:oarlock:waitlists:' .. list.queue
  if not list.record then -- somebody deleted it
    if list.open then redis.call('ZREM', 'ql:oarlock:open:' .. list.queue, list.line) end
    if redis.call('HLEN', key) == 1 then redis.call('DEL', key) end -- it was the last
    for tid, at in pairs(marks_of(list, text_of(list))) do
      redis.call('ZREM', 'ql:oarlock:eldest:' .. tid, at.mark)
      if g.places[tid] then g.places[tid].eldest = nil end
    end
    return
  end
  leave_throttles(g, list)
  redis.call('HDEL', key, list.line)
  if redis.call('HLEN', key) == 1 then
    redis.call('DEL', key)
    if g.turns then forget_turns(g, list.queue) end
  end
  redis.call('ZREM', 'ql:oarlock:open:' .. list.queue, list.line)
  redis.call('ZREM', 'ql:oarlock:due:' .. list.queue, list.line)
  list.record, list.open, list.tid, list.party, list.beyond = false, false, nil, nil, nil
end

-- leave_throttles(g, list): none of them knows of it any more
function leave_throttles(g, list)
  if not list.tid then return end
  for tid in pairs(tids_of(list)) do
    redis.call('ZREM', 'ql:oarlock:eldest:' .. tid, list.mark)
    if g.places[tid] then g.places[tid].eldest = nil end
  end
  wait_no_more(g, places_of(g, item_of(list.tid)), list.party, list.mark)
end

-- tids_of(list) -> set of the throttles that its jobs need
function tids_of(list)
  local tids = { [list.tid] = true }
  if list.need then
    for _, item in ipairs(list.need.list) do tids[item.tid] = true end
  else
    local ok, names = pcall(cjson.decode, text_of(list))
    for _, tid in ipairs(ok and names or {}) do tids[tid] = true end
  end
  return tids
end

-- text_of(list) -> the field throttles of its jobs, as far as that is known: its line may be a sum
--   line_of   of it, that of a job that stood in it
function text_of(list)
  local text = list.line_of or list.need and list.need.text
  if not text and #list.line == 40 then
    local head = redis.call('ZREVRANGE', list.key, '0', '0')[1]
    text = head and redis.call('HGET', 'ql:j:' .. head, 'throttles')
  end
  return text and #text > 256 and redis.sha1hex(text) == list.line and text or list.line
end

-- sort_anew(g, rules, queue) -> whether the call is over
-- Jobs that were sorted by rules of another shape come in again, so many a call.
function sort_anew(g, rules, queue)
  local key, batch = 'ql:oarlock:waitlists:' .. queue, g.batch
  local shape = redis.call('HGET', key, 'shape')
  if shape and shape ~= (rules.shape or '') then
    local lines = redis.call('HKEYS', key)
    for _, line in ipairs(lines) do
      if g.left <= 0 then break end
      if line ~= 'shape' then come_in_again(g, list_named(g, queue, line), rules.leaving) end
    end
    if #lines == 1 then redis.call('DEL', key) end -- nobody waits: a call was cut off as the last waitlist went
    batch.more = redis.call('EXISTS', key) == 1 and 1 or batch.more
    if batch.more == 1 then return true end
  end
  return false
end

-- come_in_again(g, list, plain): so many of its jobs as the call may move
--   plain   they lose the throttles that rules gave them
-- Rare.
function come_in_again(g, list, plain)
  local queue, some = list.queue, redis.call('ZREVRANGE', list.key, '0', text14(g.left - 1), 'WITHSCORES')
  local prefix = 'ql:q:' .. queue
  for i = 1, #some, 2 do
    local jid = some[i]
    local f = redis.call('HMGET', 'ql:j:' .. jid, 'state', 'queue', 'throttles', 'oarlock-gate')
    if f[1] == 'throttled' and f[2] == queue then
      list.line_of = f[3]
      redis.call('ZADD', prefix .. '-work', some[i + 1], jid)
      redis.call('HSET', 'ql:j:' .. jid, 'state', 'waiting')
      if plain and f[4] then drop_derived(jid, f[3], f[4]) end
      redis.call('ZREM', prefix .. '-throttled', jid)
    end
    redis.call('ZREM', list.key, jid)
  end
  g.left = g.left - #some / 2
  spend(g.batch, 5 * #some / 2)
  if redis.call('EXISTS', list.key) == 0 then dissolve(g, list) end
end
