-- The take of a ruled queue. What came in stands in the work set, the inbox, until a take sorts it: each job runs, or
-- leaves for its waitlist. So whoever puts, retries or promotes needs to know nothing of rules.

-- pop_ruled(batch, queue, count) -> as pop_some
function pop_ruled(batch, queue, count)
  local g, before = batch.gate, #batch.jobs
  local rules = rules_of(g, queue)
  if rules.damage then error(rules.damage, 0) end
  local room = prepare(batch, queue, count)
  if room > 0 and batch.more == 0 then
    redis.call('HSET', 'ql:oarlock:seen', queue, text17(g.now + awake_for))
    g.inbox, g.awake[queue] = true, true
    local sorts = rules.slice or rules.ageing or rules.leaving or redis.call('HEXISTS', 'ql:oarlock:orders', queue) == 1
    if (g.lost or not is_full(g, rules, queue)) and not (sorts and prepare_order(g, rules, queue)) then room = room - sort_out(g, rules, queue, room) end
  end
  local got = (#batch.jobs - before) / job_width
  if got < count and batch.still_due then batch.more = 1 end
  return got, got < count and batch.more == 0
end

-- So many seconds after a take that had room a queue counts as worked.
awake_for = 3

-- is_full(g, rules, queue) -> whether no job of the queue may run, whichever it is
-- Of more places than jobs run some may be those of a job that was parked, and comes back to them: by its answer, or in vain.
function is_full(g, rules, queue)
  if not rules.limited or rules.bypasses then return false end
  local t = places_of(g, { tid = queue_throttle(queue) })
  return t.used >= t.max and t.used <= redis.call('ZCARD', 'ql:q:' .. queue .. '-locks')
end

-- waiting_room(g) -> all that has to do with waitlists and turns: made when a call first meets somebody who waits, for
-- in most nobody does, and functions cost by being made
-- Rare.
function waiting_room(g)
  g.waiting = {
    begin = begin_waiting, find_again = find_again, write_found = write_found, sort_anew = sort_anew, list_named = list_named, stand = stand, file = file, write_filed = write_filed, forget_round = forget_round, write_lists = write_lists, heads_of = heads_of,
    file_behind = file_behind, file_in_turn = file_in_turn, claims_before = claims_before, charge = charge, stir_all = stir_all, no_token = no_token, use_tokens = use_tokens,
    write_tokens = write_tokens,
  }
  return g.waiting
end

-- sort_out(g, rules, queue, room) -> how many were handed out
-- The inbox, and the waitlists that are open, by their scores; again, where some are opened meanwhile. In a fair queue that holds more than there is
-- room for, values take turns.
function sort_out(g, rules, queue, room)
  local done, fair = 0, rules.fair
  if redis.call('EXISTS', 'ql:oarlock:waitlists:' .. queue, 'ql:oarlock:open:' .. queue) > 0 then -- the first may be lost, see try_forgotten
    local waiting = g.waiting or waiting_room(g)
    if waiting.begin(g, rules, queue) then return 0 end
  elseif fair then
    fair = redis.call('ZCARD', 'ql:q:' .. queue .. '-work') > room
  end
  if fair then return take_turns(g, rules, queue, room) end
  for _ = 1, 3 do
    done = done + sort_once(g, rules, queue, room - done)
    g.opened[queue] = nil
    if g.waiting then g.waiting.stir_all(g) end
    if done >= room or g.batch.more == 1 or not g.opened[queue] then break end
  end
  return done
end

-- sort_once(g, rules, queue, room, phase) -> as sort_out, and the round
--   phase   of a fair queue: files, only the inbox, of which jobs are filed without being asked; or picks, only open waitlists, in turn
function sort_once(g, rules, queue, room, phase)
  local batch = g.batch
  local c = { queue = queue, rules = rules, room = room, fit = {}, chosen = {}, gone = {}, filed = {}, unfiled = {}, from = 0, inbox = {}, next = 1, step = 1, open = {}, counts = g.counts[queue] or {} }
  c.passes, c.passed = batch.passes and batch.passes[queue] or no_classes, 0
  g.counts[queue] = c.counts
  if phase then
    begin_turns(g, c, phase)
  elseif g.waiting then
    for _, line in ipairs(redis.call('ZREVRANGE', 'ql:oarlock:open:' .. queue, '0', '31')) do
      local list = g.waiting.list_named(g, queue, line)
      if not list.record and g.waiting.find_again(list, g.now) then g.waiting.write_found(list) end -- somebody deleted it
      list.open, list.heads = true, nil
      c.open[#c.open + 1] = list
    end
  end
  -- Who was judged so far runs or is filed; where one cannot be, nobody behind him is looked at.
  local judged, raised = pcall(choose_candidates, g, c)
  if not judged then
    report(batch, queue, '', raised)
    g.opened[queue] = nil
  end
  -- Whatever fails here, no job is without a place: it comes to its waitlist before it leaves the inbox, and runs
  -- before it leaves its waitlist.
  local written, why = pcall(write_places, g)
  if written and #c.filed > 0 then written, why = pcall(g.waiting.write_filed, g, c) end
  if not written then
    (g.waiting or waiting_room(g)).forget_round(g, c)
    raise(why)
  end
  if c.held then hold_all(g, c) end
  local ran = run_chosen(batch, queue, c.fit, c.gone, 0)
  if g.waiting then g.waiting.write_lists(g, c) end
  if g.turns then write_turns(g) end
  return ran, c
end

no_classes = {}

-- choose_candidates(g, c): one candidate after the other, as far as there is room
function choose_candidates(g, c)
  local batch = g.batch
  local keyed = batch.ordered[c.queue]
  c.alike = c.files and not keyed
  while #c.fit < c.room do
    if batch.commands <= 0 or g.left <= 0 then batch.more = 1 end
    if batch.more == 1 or c.passed >= most_passed then break end
    local list, jid, place, f
    if c.open[1] or c.alike or keyed or c.picks or c.files then
      list, jid, place = next_candidate(g, c)
    else
      jid, place, f = choose_free(g, c)
    end
    if not jid then
      if batch.commands <= 0 and #c.fit < c.room then batch.more = 1 end
      break
    end
    if list or not c.alike or not g.waiting.file_behind(g, c, jid, place) then
      local filed = #c.filed
      try_gate(g, c, list, jid, place, f)
      c.alike = (c.files or #c.filed > filed) and not keyed
    end
  end
end

-- choose_free(g, c) -> jid and score (text) of the first of the inbox that must be asked for what it needs, and its fields, as Redis
-- answered; nil if there is none, or the call has done enough
-- Those before it run: they have only what every job has, and their classes need nothing here.
function choose_free(g, c)
  local batch, fields, fit, gone, wants = g.batch, g.fields, c.fit, c.gone, c.rules.wants
  local each, most, before = batch.tracked and 6 or 4, batch.max_job > 0 and batch.max_job or math.huge, #fit
  local jid, place, f
  while #fit < c.room and batch.commands > 0 do
    if not c.inbox[c.next] then list_inbox(g, c) end
    jid, place = c.inbox[c.next], c.step == 2 and c.inbox[c.next + 1]
    if not jid then break end
    c.next = c.next + c.step
    f = redis.pcall('HMGET', 'ql:j:' .. jid, unpack(fields, 1, 14))
    local data = f[3]
    local want = f[1] and data and not (f[8] or f[11] or f[13] or f[14]) and wants[f[2]]
    if not (want and want.free) or c.passes[f[2]] or #data > most or #data > batch.bytes then break end
    fit[#fit + 1], gone[#gone + 1] = { jid = jid, fields = f }, jid
    batch.bytes, batch.commands = batch.bytes - #data, batch.commands - each
    jid = nil
  end
  if #fit > before then c.counts.free = (c.counts.free or 0) + #fit - before end
  return jid, place, f
end

-- list_inbox(g, c): the next part of it, jids; each with its score (text) behind it, a step of 2, where it seems that somebody needs that, for to
-- write it costs more than all else
function list_inbox(g, c)
  if not g.inbox then return end
  local key, many = 'ql:q:' .. c.queue .. '-work', c.files and c.files + 1 or #c.filed > 0 and g.left or math.max(20, math.min(100, c.room))
  local first, last = text14(c.from), text14(c.from + many - 1)
  c.next = 1
  if #c.open > 0 or #c.filed > 0 or c.files then
    c.inbox, c.step = redis.call('ZREVRANGE', key, first, last, 'WITHSCORES'), 2
  else
    c.inbox, c.step = redis.call('ZREVRANGE', key, first, last), 1
  end
  c.from = c.from + #c.inbox / c.step
  if #c.inbox == 0 then g.inbox = false end
end

-- next_candidate(g, c) -> the waitlist of which it is the head (nil: it comes from the inbox), jid, score (text)
function next_candidate(g, c)
  local best, place
  if c.picks then return next_in_turn(g, c) end
  if c.files then
    if c.files <= 0 then return nil end
    c.files = c.files - 1
  end
  if not c.inbox[c.next] then list_inbox(g, c) end
  local at = c.next
  place = c.step == 2 and c.inbox[at + 1]
  if not c.open[1] then
    c.next = at + c.step
    return nil, c.inbox[at], place
  end
  local first = place and tonumber(place)
  for _, list in ipairs(c.open) do
    if list.open then
      local heads = g.waiting.heads_of(list, c.room)
      local other = tonumber(heads[list.next + 1])
      if other and (not first or other > first) then best, first, place = list, other, heads[list.next + 1] end
    end
  end
  if best then
    local jid = best.heads[best.next]
    best.next = best.next + 2
    return best, jid, place
  end
  c.next = at + c.step
  return nil, c.inbox[at], place
end

-- try_gate(g, c, list, jid, place, f): a job runs, waits on, or leaves for a waitlist
--   list   of which it is the head; nil if it comes from the inbox
--   f      what Redis answered for the first 14 of its fields; nil if it was not asked yet. What it has by rules, and its state, count where it
--          has throttles: it stood in a waitlist, or ran
function try_gate(g, c, list, jid, place, f)
  local batch, queue = g.batch, c.queue
  f = f or redis.pcall('HMGET', 'ql:j:' .. jid, unpack(g.fields, 1, list and 16 or 14))
  if not list and f[2] and c.passes[f[2]] then
    c.passed = c.passed + 1
    spend(batch, 1)
    return
  end
  if f[11] and not list then f[15], f[16] = unpack(redis.pcall('HMGET', 'ql:j:' .. jid, 'oarlock-gate', 'state')) end
  local ok, job = true, nil
  if f[1] and f[3] and not (f[8] or f[13]) then -- as nearly all are
    job = { jid = jid, fields = f, throttles = f[11] or nil }
  else
    ok, job = pcall(read_job, jid, queue, f)
  end
  batch.commands = batch.commands - (batch.tracked and 6 or 4)
  if not ok then
    -- Who was canceled while it waited for a place by somebody who knows no waitlists is none to tell of.
    if not (list and job == no_job) then report(batch, queue, jid, job) end
    if job == no_job or is_wrong_type(job) then leave_place(c, list, jid) end
    return
  end
  if list and not (f[16] == 'throttled' and f[12] == queue) then
    g.left = g.left - 1
    return leave_place(c, list, jid)
  end
  if list then list.line_of = f[11] end
  if c.chosen[jid] or f[16] == 'running' and f[12] == queue and is_locked(queue, jid) then return leave_place(c, list, jid) end
  local size = #(f[3] or '')
  if job.ours or batch.max_job > 0 and size > batch.max_job then size = data_size(batch, job) end
  if size > batch.bytes and #batch.jobs + #c.fit > 0 then
    batch.more = 1
    return
  end
  if not job.has_turn and (job.lane or batch.ordered[queue]) and not may_begin(batch, queue, job, false) then
    if list then leave_place(c, list, jid) end
    return
  end
  if job.leg and job.leg.back then
    may_go_on(batch, queue, job)
    return leave_place(c, list, jid)
  end
  local need, want = needs_of(g, c.rules, queue, f)
  local goes_on = job.leg and not job.leg.void
  if want.windows and not goes_on and shut_out(g, c, job, want.windows) then
    if f[16] == 'stalled' then give_up(g, job) end
    return leave_place(c, list, jid)
  end
  if want.damage then job.damage = want.damage end
  job.closes = want.windows and not goes_on and closing_of(g, want.windows)
  local path = job.leg and job.leg.size and 'resumed' or want.bypass and 'bypass' or list and 'waited' or 'free'
  if #need.list > 0 then
    local fits, lent = has_places(g, c, list, job, need, place)
    if not fits then return end
    if c.picks and need.value then charge_turn(g, c, need, place) end
    if lent and path ~= 'resumed' then path = 'lent' end
  elseif (job.leg or f[16] == 'stalled') and job.throttles then
    give_up(g, job) -- by other rules it had places, and needs none now
  end
  c.counts[path] = (c.counts[path] or 0) + 1
  leave_place(c, list, jid)
  c.chosen[jid] = c.open[1] ~= nil or nil
  job.waited = list ~= nil
  c.fit[#c.fit + 1] = job
  batch.bytes = batch.bytes - size
  if batch.bytes <= 0 then batch.commands = 0 end
end

-- is_locked(queue, jid) -> whether somebody runs it: whoever let it go on waiting in the inbox, while it stood in a waitlist, knew of none
-- Rare.
function is_locked(queue, jid)
  return redis.call('ZSCORE', 'ql:q:' .. queue .. '-locks', jid)
end

-- has_places(g, c, list, job, need, place) -> whether it got all it needs, and some of that is lent; else it waits
function has_places(g, c, list, job, need, place)
  local own = g.waiting and g.waiting.list_named(g, c.queue, need.line, need)
  local moved = list and list ~= own -- its data or its throttles were changed since
  local lost = job.fields[16] == 'stalled'
  local held = (job.leg or lost) and job.throttles and held_yet(g, job, lost) or nil
  local stood = own and own.record and own
  local item, when, beyond
  local asked, permitted
  if need.asks and not held then asked, permitted = undecided(g, need, job.jid) end
  if c.files and need.value and not (held or permitted) then
    g.waiting.file_in_turn(g, c, job.jid, job.fields[16], job.fields[10], place, own or g.waiting.list_named(g, c.queue, need.line, need), need)
    return false
  end
  if not stood or stood.open or held or permitted then
    item, when, beyond = refusal(g, need, stood, held)
    if asked and not item then item, beyond = asked, nil end -- what another would lend is nothing to the command
    if not item then
      take_places(g, need, job.jid, held)
      if held and job.throttles ~= need.text then give_rest(g, job, need, held) end
      if stood then stood.started, stood.touched = true, true end
      if job.throttles ~= need.text or not job.fields[15] then job.throttles, job.places = need.text, need end -- by its gate one knows that it asked
      return true, beyond
    end
    if held then give_up(g, job, nil, held) end -- who waits holds nothing, or two could wait for each other
    own = own or waiting_room(g).list_named(g, c.queue, need.line, need)
    place = place or score_of(c, job.jid)
    if not stood or stood.open or permitted then g.waiting.stand(g, c.rules, own, place, item, when, beyond) end
  end
  if list ~= own then
    -- Who was let start stands in front of those who were not: else it would not be tried as one of them is first, when there is room.
    place = permitted and '+inf' or place or score_of(c, job.jid)
    g.waiting.file(g, c, job.jid, job.fields[16], job.fields[10], place, own, need)
    need.own = own
    local why = not item and 'behind' or item == asked and 'decider' or when and 'rate' or (beyond or item.base) and 'share' or 'full'
    c.counts[why] = (c.counts[why] or 0) + 1
  end
  if moved then
    list.left[#list.left + 1], list.touched = job.jid, true
  end
  return false
end

-- held_yet(g, job, lost) -> as held_by
--   lost   it was taken from somebody: of a throttle of which more is taken than there is it has nothing any more
-- Rare.
function held_yet(g, job, lost)
  local held = held_by(job.jid, job.throttles)
  for tid, n in pairs(held) do
    if lost and n > 0 then
      local t = places_of(g, item_of(tid))
      if t.used > t.max then
        give_up(g, job, tid)
        held[tid] = 0
      end
    end
  end
  return held
end

-- give_rest(g, job, need, held): who goes on, and came by other rules, gives up what it has and needs no more
-- Rare.
function give_rest(g, job, need, held)
  local kept = {}
  for _, item in ipairs(need.list) do kept[item.tid] = item.places end
  give_up(g, job, nil, held, kept)
end

-- give_up(g, job, only, held, kept): the places that a job has which is not to run now, or those of one throttle only
--   held   as held_by, if that is known
--   kept   per tid how many it keeps; nil for none
-- Rare.
function give_up(g, job, only, held, kept)
  local before = {}
  g.giving = {}
  for tid, many in pairs(places_in(job.throttles)) do
    if (not only or tid == only) and not (held and held[tid] == 0) then
      places_of(g, item_of(tid))
      before[tid] = redis.call('ZCARD', 'ql:th:' .. tid .. '-locks')
      for n = 1 + (kept and kept[tid] or 0), many do add(g.giving, tid, n == 1 and job.jid or job.jid .. '\0' .. n) end
    end
  end
  given_places(g)
  for tid, n in pairs(before) do
    local t = g.places[tid]
    t.used = t.used - n + redis.call('ZCARD', 'ql:th:' .. tid .. '-locks')
  end
end

-- score_of(c, jid) -> score (text) of the one of the inbox that was just looked at; those of the others that were listed are known then, too
-- Rare.
function score_of(c, jid)
  local key, from = 'ql:q:' .. c.queue .. '-work', c.from + (c.next - 1 - #c.inbox) / c.step - 1
  local inbox = redis.call('ZREVRANGE', key, text14(from), text14(c.from - 1), 'WITHSCORES')
  if inbox[1] ~= jid then return redis.call('ZSCORE', key, jid) or '0' end -- some have left meanwhile
  c.inbox, c.next, c.step = inbox, 3, 2
  return inbox[2]
end

-- leave_place(c, list, jid): it leaves the inbox, or its waitlist. One that was put again may be in the inbox, too.
function leave_place(c, list, jid)
  if list then
    list.left[#list.left + 1] = jid
    list.touched = true
    c.unfiled[#c.unfiled + 1] = jid
  else
    c.gone[#c.gone + 1] = jid
  end
end

-- take_by_age(batch, queues, count): one by one from whichever queue's head was put first
-- Rare.
function take_by_age(batch, queues, count)
  local heads = {}
  for i, queue in ipairs(queues) do heads[i] = age_of_head(batch, queue) end
  while count > 0 and batch.more == 0 do
    local best
    for i in ipairs(queues) do
      if heads[i] and not (best and heads[best] <= heads[i]) then best = i end
    end
    if not best then break end
    local alone = true
    for i in ipairs(queues) do alone = alone and (i == best or not heads[i]) end
    local got, drained = try(batch, queues[best], pop_some, alone and count or 1)
    count = count - (got or 0)
    heads[best] = got and got > 0 and not drained and age_of_head(batch, queues[best])
    if drained then leave_behind(batch, best, '0') end
  end
end

-- age_of_head(batch, queue) -> when the next of a queue was put; 0 if there may be one of which that is not known, false
-- if there is none
function age_of_head(batch, queue)
  spend(batch, 2)
  local jid = redis.pcall('ZREVRANGE', 'ql:q:' .. queue .. '-work', '0', '0')
  local time = jid[1] and redis.pcall('HGET', 'ql:j:' .. jid[1], 'time')
  if type(time) == 'string' then return numeric(time, 0) end
  return 0
end

-- tell_others(g, queues, count): wakes queues in which something can be taken now, but for those that were just taken from
-- Rare.
function tell_others(g, queues, count)
  if g.waiting then g.waiting.stir_all(g) end
  if g.emptied then forget_emptied(g) end
  local taken = {}
  if count > 0 then
    for _, queue in ipairs(queues) do taken[queue] = true end
  end
  for queue in pairs(g.opened) do wake(queue) end
  for tid in pairs(g.given or {}) do
    local queue = string.match(tid, '^ql:q:(.*)$')
    if queue and not taken[queue] and redis.call('EXISTS', 'ql:q:' .. queue .. '-work') == 1 then wake(queue) end
  end
end

-- forget_emptied(g): values come and go, and of each that ever was tend would look for holders
-- Rare.
function forget_emptied(g)
  local tids = {}
  for tid in pairs(g.emptied) do
    local t = g.places[tid]
    if not (t and t.used > 0) and redis.call('EXISTS', 'ql:th:' .. tid .. '-locks') == 0 then tids[#tids + 1] = tid end
  end
  call_many('SREM', 'ql:oarlock:held', tids)
end
