-- The gate of a ruled queue: which places a job must hold to run, and whether it may have them. Where those stand
-- that may not is in waitlists.lua, and whose turn it is in rota.lua. Only the script ruled has any of it.

-- open_gate(batch) -> what the queues of a call share
--   counts   per queue how often which word was to be said of a job: how it came to run (free, waited, lent, bypass,
--            resumed), why it was filed (full, share, rate, decider, behind), or that a window moved it (window)
function open_gate(batch)
  local g = {
    batch = batch, now = batch.now,
    rules = {}, defined = {}, places = {}, needs = {}, lists = {}, awake = {}, freed = {}, opened = {},
    left = call_gated, fields = { unpack(job_fields) }, counts = {}, named = {},
  }
  g.fields[14], g.fields[15], g.fields[16] = 'oarlock-wants', 'oarlock-gate', 'state'
  return g
end

-- What a call does at most of what only ruled queues ask for: jobs that are filed, dropped or sorted anew.
call_gated = 64

-- rules_of(g, queue) -> the rules of the queue, false for an ordinary one
function rules_of(g, queue)
  local known = g.rules[queue]
  if known == nil then
    local f = redis.pcall('HMGET', 'ql:oarlock:rules', 'q:' .. queue, 'o:' .. queue, 'bypass')
    known = (f[1] or f.err) and rules_in(f) or false
    if known and f[3] then known.bypasses = true end
    g.batch.ordered[queue] = f[2]
    g.rules[queue] = known
  end
  return known
end

-- rules_in(f) -> as read_rules; of what cannot be read only damage, which says why: no job of the queue is taken then
--   f   what Redis answered
function rules_in(f)
  if f.err and not is_wrong_type(f) then raise(f) end
  if f.err then return { damage = 'its rules cannot be read: ' .. f.err } end
  local ok, rules = pcall(read_rules, f[1])
  return ok and rules or { damage = 'its rules cannot be read: they are ' .. excerpt(f[1]) }
end

-- read_rules(text) -> table; see BATCH.md
function read_rules(text)
  local rules = cjson.decode(text)
  rules.known, rules.wants, rules.given, rules.by = {}, {}, {}, rules.by or {}
  rules.bypasses = false
  rules.turns_only = rules.fair ~= nil
  for _, tid in ipairs(rules.throttles or {}) do
    if rules.by[tid] then rules.fair = rules.fair or tid end
  end
  local function check(of, ...) -- these are tables, where they are there: else it raises
    for _, name in ipairs({ ... }) do next(of[name] or {}) end
  end
  check(rules, 'throttles', 'windows', 'by', 'weights')
  for _, class in pairs(rules.klass or {}) do
    check(class, 'throttles', 'windows')
    rules.bypasses = rules.bypasses or class.bypass
  end
  for _, one in ipairs(rules.globs or {}) do
    check(one.klass, 'throttles', 'windows')
    rules.bypasses = rules.bypasses or one.klass.bypass
    local escaped = string.gsub(one.glob, '[%^%$%(%)%%%.%[%]%+%-]', '%%%0')
    one.pattern = '^' .. string.gsub(string.gsub(escaped, '%*', '.*'), '%?', '.') .. '$'
  end
  return rules
end

-- class_of(rules, klass) -> what they say of a class
function class_of(rules, klass)
  local known = rules.klass and rules.klass[klass] or rules.known[klass]
  if not known then
    known = {}
    for _, one in ipairs(rules.globs or {}) do
      one.parts = one.parts or glob_parts(one.pattern)
      if in_glob(one.parts, klass) then
        known = one.klass
        break
      end
    end
    rules.known[klass] = known
  end
  return known
end

-- defined_as(g, tid) -> the rules of a throttle; a table without entries if it has none
function defined_as(g, tid)
  local known = g.defined[tid]
  if not known then
    local text = redis.call('HGET', 'ql:oarlock:rules', 't:' .. tid)
    known = text and throttle_rules(tid, text) or {}
    g.defined[tid] = known
  end
  return known
end

-- throttle_rules(tid, text) -> table
-- Rare.
function throttle_rules(tid, text)
  local ok, rules = pcall(function()
    local known = cjson.decode(text)
    if known.rate then known.rate, known.period, known.burst = unpack(known.rate, 1, 3) end
    return known
  end)
  if ok then return rules end
  error('the rules of throttle ' .. excerpt(tid) .. ', which its next job needs, cannot be read: they are ' .. excerpt(text), 0)
end

-- needs_of(g, rules, queue, f) -> what a job must hold; and what jobs like it want, see wants_of
--   f        its fields, in the order of g.fields
--   text     as it stands in its field throttles; nil if it must hold nothing
--   list     per throttle tid, places, party, and of a value its base and value
--   derived  how many names at the end of text are not its own
--   line     the name of its waitlist
--   asks     whether commands decide about it, too
--   value    in whose turn it starts, and weight, how many places it takes: of a fair queue; see fair.lua
function needs_of(g, rules, queue, f)
  local word, wants = f[2] or '', rules.wants
  if f[11] or f[14] then word, wants = word .. '\0' .. (f[15] or '') .. '\0' .. (f[11] or '') .. '\0' .. (f[14] or ''), rules.given end
  local want = wants[word]
  if not want then
    want = wants_of(g, rules, queue, f)
    wants[word] = want
  end
  if want.known then return want.known, want end
  local values = no_values
  if #want.counted > 0 then
    values = values_of(g, want, rules, queue, f)
    word = word .. '\0' .. table.concat(values, '\0')
  end
  word = queue .. '\0' .. word
  local known = g.needs[word]
  if not known then
    known = list_needs(rules, want, queue, values)
    g.needs[word] = known
    if #want.counted == 0 then want.known = known end
  end
  f.data = nil
  return known, want
end

nothing_needed = { list = {} }
no_values = {}

-- wants_of(g, rules, queue, f) -> what jobs of a class want that say the same of themselves: windows, or nil; and what they need,
-- before values are known: own, names, counted (those of names that count by a value), weight, shared; or known, free (nothing, and no windows), bypass (it counts nowhere), and damage:
-- what is wrong with its throttles, if something is: it can wait for none of them then
-- What a job says itself counts before what is said of its class; in a queue that is ruled no more it says nothing.
function wants_of(g, rules, queue, f)
  local class = class_of(rules, f[2] or '')
  local said = f[14] and not rules.leaving and said_wants(f[14]) or {}
  local windows = said.windows and named_windows(g, said.windows) or class.windows or rules.windows
  if said.bypass or class.bypass then return { known = nothing_needed, windows = windows, bypass = true } end
  local ok, own = pcall(own_names, f)
  if not ok then return { known = nothing_needed, windows = windows, damage = 'its throttles ' .. excerpt(f[11]) .. ': ' .. reason_of(own) } end
  local want = { own = own, names = {}, counted = {}, weight = said.weight or class.weight or 1, shared = rules.limited, windows = windows }
  local seen = { [queue_throttle(queue)] = true }
  for _, list in ipairs({ own, class.throttles or {}, rules.throttles or {} }) do
    for _, tid in ipairs(list) do
      want.shared = want.shared or tid == queue_throttle(queue)
      if not seen[tid] then
        seen[tid] = true
        want.names[#want.names + 1] = tid
        if rules.by[tid] then want.counted[#want.counted + 1] = tid end
        want.asks = want.asks or rules.asks and rules.asks[tid]
      end
    end
  end
  if #want.names == 0 and not want.shared then return { known = nothing_needed, windows = windows, free = not windows } end
  return want
end

-- own_names(f) -> those of the field throttles that rules did not give it, each once
function own_names(f)
  local own, seen = {}, {}
  if not f[11] then return own end
  local all = given_throttles(f[11], 'Take')
  for i = 1, #all - numeric(f[15], 0) do
    local tid = tostring(all[i])
    if not seen[tid] then
      seen[tid] = true
      own[#own + 1] = tid
    end
  end
  return own
end

-- list_needs(rules, want, queue, values) -> as needs_of
-- Rare.
function list_needs(rules, want, queue, values)
  local list, names, given_once = {}, {}, {}
  local function need(tid, party, base, value)
    list[#list + 1] = { tid = tid, places = want.weight, party = party, base = base, value = value }
  end
  for _, tid in ipairs(want.names) do
    if values[tid] then
      need(tid .. '=' .. values[tid], queue, tid, values[tid])
      if not (rules.turns_only and tid == rules.fair) then need(tid, values[tid]) end
    else
      need(tid, queue)
    end
  end
  if want.shared then need(queue_throttle(queue), queue) end
  for _, tid in ipairs(want.own) do
    names[#names + 1] = tid
    given_once[tid] = 1
  end
  for _, item in ipairs(list) do
    for _ = 1 + (given_once[item.tid] or 0), want.weight do names[#names + 1] = item.tid end
  end
  local text = cjson.encode(names)
  return { text = text, list = list, asks = want.asks, value = rules.fair and values[rules.fair], weight = want.weight, derived = text14(#names - #want.own), line = #text > 256 and redis.sha1hex(text) or text }
end

-- values_of(g, want, rules, queue, f) -> the job's values, in the order of the throttles that count by some, and by their names
-- Rare.
function values_of(g, want, rules, queue, f)
  local values = {}
  for i, tid in ipairs(want.counted) do
    values[i] = named_value(value_of(rules.by[tid], queue, f), defined_as(g, tid))
    values[tid] = values[i]
  end
  return values
end

-- value_of(by, queue, f) -> whatever a throttle that counts by a value finds in a job, or nil
--   by   { 'klass' }, { 'queue' }, { 'tag', prefix } or { 'path', member... }
function value_of(by, queue, f)
  local kind = by[1]
  if kind == 'klass' then return f[2] end
  if kind == 'queue' then return queue end
  if kind == 'tag' then return tag_with(f[4], by[2]) end
  if f.data == nil then
    local ok, data = pcall(cjson.decode, #(f[3] or '') <= 65536 and f[3] or '')
    f.data = ok and data
  end
  local found = f.data
  for i = 2, #by do
    if type(found) ~= 'table' then return nil end
    local member = found[by[i]]
    if member == nil and string.find(by[i], '^%d+$') then member = found[tonumber(by[i]) + 1] end
    found = member
  end
  return found
end

-- tag_with(text, prefix) -> what follows it in the first tag that begins so, or nil
--   text   the field tags
function tag_with(text, prefix)
  for _, tag in ipairs(stored_tags(text)) do
    if type(tag) == 'string' and string.sub(tag, 1, #prefix) == prefix then return string.sub(tag, #prefix + 1) end
  end
end

-- named_value(value, defined) -> as it stands in the name of a throttle
-- What has no share of its own has, where there are shares, that of all others.
function named_value(value, defined)
  if type(value) == 'number' then
    value = text14(value)
  elseif type(value) == 'boolean' then
    value = tostring(value)
  elseif type(value) ~= 'string' then
    value = '-'
  end
  if defined.shares and not defined.shares[value] then return '*' end
  local last = string.byte(value, -1)
  local is_key = (last == 115 or last == 103) and (string.find(value, '%-locks$') or string.find(value, '%-pending$')) -- of the value without that
  if #value > 64 or is_key then return string.sub(value, 1, 24) .. redis.sha1hex(value) end
  return value
end

-- places_of(g, item) -> what is known of a throttle, read once a call
--   max      how many places it has, math.huge if it has no limit; used: of those, taken
--   defined  its rules
--   waits    whether somebody waits for it, or passed it and waits for another
--   asks     whether its command says who may start; see deciders.lua
function places_of(g, item)
  local tid = item.tid
  local known = g.places[tid]
  if known then return known end
  local defined = defined_as(g, tid)
  local f = redis.pcall('HMGET', 'ql:th:' .. tid, 'maximum', 'oarlock-tat', 'oarlock-limit', 'oarlock-at')
  if f.err then f = throttle_fields(tid, 'maximum', 'oarlock-tat', 'oarlock-limit', 'oarlock-at') end
  local most = numeric(f[1] or f[3] or ruled_limit(g, tid, defined), 0)
  known = { tid = tid, defined = defined, used = redis.call('ZCARD', 'ql:th:' .. tid .. '-locks'), members = {} }
  if item.base and (not f[1] or f[1] == f[3]) then most = cap_of(g, item.base, item.value) end
  known.max = most >= 1 and most or math.huge
  if defined.rate then known.tat = numeric(f[4], 0) > g.now + clock_step and 0 or numeric(f[2], 0) end
  if defined.asks then known.asks = must_be_asked(g, tid, defined) end
  known.waits = redis.call('EXISTS', 'ql:oarlock:rota:' .. tid, 'ql:oarlock:over:' .. tid, 'ql:oarlock:eldest:' .. tid) > 0
  g.places[tid] = known
  return known
end

-- ruled_limit(g, tid, defined) -> how many places a throttle has by the rules, of which somebody deleted the key that says so; 0 if it has no limit
function ruled_limit(g, tid, defined)
  local queue = string.match(tid, '^ql:q:(.*)$')
  local rules = queue and rules_of(g, queue)
  return rules and rules.limited and rules.limit_of_queue or defined.limit or 0
end

-- cap_of(g, base, value) -> how many places a value may have, 0 if there is no such limit
-- Rare.
function cap_of(g, base, value)
  local defined = defined_as(g, base)
  if defined.borrow then return 0 end
  return share_of(defined, value, places_of(g, { tid = base }).max)
end

-- share_of(defined, value, limit) -> how many of so many places are a value's; 0 if that is not said
function share_of(defined, value, limit)
  if defined.each then return defined.each end
  if not defined.shares or limit == math.huge then return 0 end
  return math.max(1, math.floor((defined.shares[value] or defined.others or 0) * limit + 0.000000001))
end

-- refusal(g, need, list, held) -> nil if the job may have all its places, else the item of need for which it must wait;
-- when to ask again where that is known; and whether it is beyond its share: then the places are lent, or to be lent
--   list   its waitlist, nil if there is none
--   held   per tid how many it has already, or nil: such a job is asked for what is missing, and for no rate
function refusal(g, need, list, held)
  local lent
  for _, item in ipairs(need.list) do
    local t = places_of(g, item)
    local wanted = t.asks and 0 or math.min(item.places, t.max) - (held and held[item.tid] or 0)
    if wanted > 0 then
      local room, asks = t.max - t.used, t.tat and not held
      if room < wanted then return item end
      local when = asks and (g.waiting or waiting_room(g)).no_token(g, t, wanted, 0)
      if when then return item, when end
      if t.waits or t.defined.borrow then
        local ahead, beyond, stop = (g.waiting or waiting_room(g)).claims_before(g, t, item, wanted, list)
        if stop or room - ahead < wanted then return item, nil, beyond end
        when = ahead > 0 and asks and g.waiting.no_token(g, t, wanted, ahead)
        if when then return item, when, beyond end
        lent = lent or beyond
      end
    end
  end
  return nil, nil, lent
end

-- take_places(g, need, jid, held): the job has them from here on
function take_places(g, need, jid, held)
  for _, item in ipairs(need.list) do
    local t = places_of(g, item)
    local most, had = math.min(item.places, t.max), held and held[item.tid] or 0
    for n = had + 1, most do
      t.members[#t.members + 1] = '1'
      t.members[#t.members + 1] = n == 1 and jid or jid .. '\0' .. n
    end
    if most > had then
      t.used = t.used + most - had
      if t.tat and not held then g.waiting.use_tokens(g, t, most, jid) end
      if t.waits then (g.waiting or waiting_room(g)).charge(g, t, item, most - had) end
    end
  end
end

-- write_places(g): those that were taken in this call
function write_places(g)
  local tids = {}
  for tid, t in pairs(g.places) do
    if #t.members > 0 then
      tids[#tids + 1] = tid
      add_all('ql:th:' .. tid .. '-locks', t.members)
      t.members = {}
      if t.starts then g.waiting.write_tokens(g, t) end
    end
  end
  if #tids > 0 then call_many('SADD', 'ql:oarlock:held', tids) end
end

-- held_by(jid, text) -> per tid how many places the job has of those that its field throttles names
-- Rare.
function held_by(jid, text)
  local held, names = {}, {}
  for _, tid in ipairs(given_throttles(text, 'Take')) do
    tid = tostring(tid)
    names[tid] = (names[tid] or 0) + 1
  end
  for tid, n in pairs(names) do
    held[tid] = 0
    for i = 1, n do
      if redis.call('ZSCORE', 'ql:th:' .. tid .. '-locks', i == 1 and jid or jid .. '\0' .. i) then held[tid] = held[tid] + 1 end
    end
  end
  return held
end

-- give_places(batch, s): those of a settled job, when all of the call are settled; of one that parks those of which the rules say so
function give_places(batch, s)
  local g, jid = batch.gate, s.jid
  local named = g.named[s.throttles]
  if not named then
    local ok, names = pcall(given_throttles, s.throttles, 'Take')
    if not ok then return report(batch, s.queue, jid, names) end
    named = {}
    for _, tid in ipairs(names) do named[tostring(tid)] = (named[tostring(tid)] or 0) + 1 end
    g.named[s.throttles] = named
  end
  g.giving = g.giving or {}
  for tid, many in pairs(named) do
    if s.action ~= 'park' or free_while_parked(g, tid) then
      add(g.giving, tid, jid)
      for n = 2, many do add(g.giving, tid, jid .. '\0' .. n) end
    end
  end
end

-- free_while_parked(g, tid) -> whether a job that waits for its answer has no place of it, and asks for one when it goes on
-- Rare.
function free_while_parked(g, tid)
  return (defined_as(g, tid).free or defined_as(g, string.match(tid, '^[^=]*')).free) or false
end

-- not_kept(members, kept) -> those of places that are to be given back whose job is not one that could not be settled, and runs on
-- Rare.
function not_kept(members, kept)
  local some = {}
  for _, member in ipairs(members) do
    if not kept[string.match(member, '^[^%z]*')] then some[#some + 1] = member end
  end
  return some
end

-- given_places(g): what settled jobs had is free, and who waits for it may try
-- What cannot be given back now is found by tend.
-- Rare.
function given_places(g)
  g.given = g.given or {}
  local waited = redis.pcall('EXISTS', 'ql:oarlock:waited') == 1
  for tid, members in pairs(g.giving) do
    local ok, raised = pcall(function()
      if g.batch.kept then members = not_kept(members, g.batch.kept) end
      local key = 'ql:th:' .. tid
      call_many('ZREM', key .. '-locks', members)
      if string.find(tid, '=', 1, true) and redis.call('EXISTS', key .. '-locks', key .. '-pending') == 0 then
        g.emptied = g.emptied or {}
        g.emptied[tid] = true
      elseif redis.call('EXISTS', key .. '-pending') == 1 then
        release(tid, '', g.now, 25)
      end
    end)
    g.given[tid] = true
    if ok and waited then g.freed[tid] = true end
    if not ok then report(g.batch, '', '', raised) end
  end
  g.giving = nil
  if waited and not g.waiting then waiting_room(g) end
end
