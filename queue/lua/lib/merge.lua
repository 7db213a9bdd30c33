-- Runs: jobs that have the payloads of many puts. What is put and merges makes no job: while one of its key waits
-- that merges alike, that gets the payload as a field of its own. So whoever cancels or prunes the job takes its
-- payloads along, and who knows nothing of them reads the first one in data.
--
--   data            of all and set a list of the first payload, of last and first the payload
--   oarlock-merge   all, set, last or first
--   oarlock-first   score and name of the payload that is in data
--   oarlock-load    how many payloads there are, times run_unit, and the bytes of all as one list; gone once
--                   somebody settled the job who knew of all, until it is moved into a queue again
--   oarlock-<name>  one of the others: its score, the number of its arrival, and itself. The name is '=' and the payload,
--                   or '#' and its digest where that is long, so that an equal one meets it; where all are
--                   kept '@' and the jid of its put, so that a put that is repeated does
--   oarlock-parts   how many jobs were made of payloads of this one
--   oarlock-crons   the recurring jobs of whose last run it has the data, a line each
--
-- They count in the queue oarlock-queue, as all of ours do.

-- What a payload adds to oarlock-load beside its bytes.
run_unit = 4294967296

-- The fields of payloads.
payload_fields = '^oarlock%-[=#@]'

-- merge_put, once a put of the call merges.
put_merging = false

-- merging() -> merge_put
-- Rare.
function merging()
  put_merging = merge_put
  return put_merging
end

-- run_setting(queue, name) -> text, or nil
-- Rare.
function run_setting(queue, name)
  return string.match(' ' .. (turn_settings(queue) or '') .. ' ', ' ' .. name .. '=(%S+) ')
end

-- run_limits(queue) -> how many payloads, and how many bytes
-- Rare.
function run_limits(queue)
  return numeric(run_setting(queue, 'run_payloads'), 100), numeric(run_setting(queue, 'run_bytes'), 262144)
end

-- is_list(mode) -> whether the data of a job is a list of payloads
-- Rare.
function is_list(mode)
  return mode == 'all' or mode == 'set'
end

-- merge_mode(queue, named) -> all, set, last or first, nil if what is put merges with nothing
-- Rare.
function merge_mode(queue, named)
  local mode = named.merge or run_setting(queue, 'merge')
  if not mode or mode == 'none' then return nil end
  if not is_list(mode) and mode ~= 'last' and mode ~= 'first' then
    refuse('Put', 'merge must be none, all, last, first or set: ' .. excerpt(mode))
  end
  return mode
end

-- merge_put(batch, put) -> nil, or a list of what became of the payload (merged, equal, replaced, kept) and the jid of the job
-- that has it, if it made no job. Of what is to be a job with a run of its own put.run has the names and values for its hash.
-- Rare.
function merge_put(batch, put)
  local queue, named = put.queue, put.named
  put.run = nil
  if not named.key then refuse('Put', (named.merge and 'merge' or 'score') .. ' needs a key') end
  check_key(named.key)
  local by = tonumber(named.score or batch.stored_now)
  if not by or by - by ~= 0 then refuse('Put', 'score must be a finite number: ' .. excerpt(named.score)) end
  local mode = merge_mode(queue, named)
  if not mode then return nil end
  check_values(batch, queue, put.klass)
  local payload = put.data
  local run = { mode = mode, payload = payload, score = text17(by), name = '@' .. put.jid, klass = put.klass }
  if mode == 'set' then run.name = #payload <= 40 and '=' .. payload or '#' .. redis.sha1hex(payload) end
  if not (named.correlation or named.depends or named.throttles or says_wants(named)) then
    local word, jid = merge_into(queue, named.key, run)
    if word then return { word, jid } end
  end
  if is_list(mode) then put.data = '[' .. payload .. ']' end
  put.run = { 'oarlock-queue', queue, 'oarlock-merge', mode, 'oarlock-first', run.score .. ' ' .. run.name,
    'oarlock-load', text17(run_unit + #put.data) }
  named.retries = named.retries or '25'
  return nil
end

-- check_values(batch, queue, klass): raises where a limit is by a value of the data, of which a job that merges may have many, or
-- another at each look
-- Rare.
function check_values(batch, queue, klass)
  if not (batch.settings or batch.edition) then return end
  local ok, rules = pcall(read_rules, redis.call('HGET', 'ql:oarlock:rules', 'q:' .. queue) or '{}')
  if not ok or not next(rules.by) then return end -- nothing is taken where they cannot be read
  local class = class_of(rules, klass)
  for _, list in ipairs(class.bypass and {} or { class.throttles or {}, rules.throttles or {} }) do
    for _, tid in ipairs(list) do
      local by = rules.by[tid]
      if by and by[1] == 'path' then
        refuse('Put', 'it would merge in queue ' .. excerpt(queue) .. ', where throttle ' .. excerpt(tid) .. ' counts by /' .. table.concat(by, '/', 2)
          .. ' of the data, and a job that merges may have many; name merge none, or let the throttle count by $klass, $queue or $tag:')
      end
    end
  end
end

-- put_or_merge(now, worker, queue, jid, klass, data, delay, named) -> the jid of the job that has the payload
-- A put by a command of the protocol that names merge. Its jid is of the job that it makes, if it makes one.
-- Rare.
function put_or_merge(now, worker, queue, jid, klass, data, delay, named)
  local put = { queue = queue, jid = jid, klass = klass, data = data, named = named }
  if not is_strict(data) then refuse('Put', 'Arg "data" not JSON: ' .. excerpt(data)) end
  local merged = merge_put({ stored_now = text17(now), settings = true }, put)
  if merged then return merged[2] end
  local state = put.run and redis.call('HGET', 'ql:j:' .. jid, 'state')
  if state then refuse('Put', 'merge needs a jid that no job has: ' .. excerpt(jid) .. ' is ' .. state) end
  put_job(now, worker, queue, jid, klass, put.data, delay, named, nil, nil, put.run)
  if put.run then redis.call('HSET', 'ql:j:' .. jid, unpack(put.run)) end
  return jid
end

-- is_strict(data) -> whether JSON that cjson has read is such for others, too: one payload that is not would spoil a list of many
-- Of what it takes beside, nan, inf, hexadecimal numbers, zeros before others, and bare control characters in texts.
-- Rare.
function is_strict(data)
  local plain = string.gsub(data, '\\.', '')
  for text in string.gmatch(plain, '"([^"]*)"') do
    if string.find(text, '[%z\1-\31]') then return false end
  end
  for word in string.gmatch(string.gsub(plain, '"[^"]*"', ' '), '[^%s%[%]{},:]+') do
    local whole, rest = string.match(word, '^%-?(%d+)(.*)$')
    rest = whole and string.gsub(string.gsub(rest, '^%.%d+', ''), '^[eE][+-]?%d+$', '')
    local is_number = rest == '' and not string.find(whole, '^0%d')
    if not is_number and word ~= 'true' and word ~= 'false' and word ~= 'null' then return false end
  end
  return true
end

-- merge_into(queue, key, run) -> word, jid; nil if no job waits that takes it
-- That is the last of those behind, else the one with the turn.
-- Rare.
function merge_into(queue, key, run)
  for _ = 1, 10 do
    local entry = redis.call('LINDEX', lane_of(queue, key), '-1')
    local place, jid
    if entry then
      place, jid = string.match(entry, '^(%S+) (.*)$')
    else
      jid = string.match(redis.call('HGET', 'ql:oarlock:turns:' .. queue, key) or '', '^=(.*)$')
    end
    if not jid then return nil end
    local f = read_waiting(jid, 'oarlock-' .. run.name)
    if entry and f[4] ~= mark_text('-', queue, place, key) then
      drop_last(queue, key)
    else
      if run.mode == 'all' and f[12] then return 'merged', jid end
      if not takes_payloads(f, queue, run.mode, run.klass) then return nil end
      local word = add_payload(queue, jid, f, run)
      return word, word and jid
    end
  end
end

-- read_waiting(jid, name) -> the fields of a job by which takes_payloads judges; the twelfth is the one of that name
-- Rare.
function read_waiting(jid, name)
  return redis.call('HMGET', 'ql:j:' .. jid, 'state', 'queue', 'klass', 'oarlock-lane', 'oarlock-queue', 'oarlock-merge',
    'oarlock-first', 'oarlock-load', 'oarlock-checkpoint', 'oarlock-correlation', 'oarlock-park', name, 'oarlock-wants')
end

-- takes_payloads(f, queue, mode, klass) -> whether a job waits in such a way that more may be added to it
--   f   as read_waiting answers
-- Rare.
function takes_payloads(f, queue, mode, klass)
  local waits = f[1] == 'waiting' or f[1] == 'scheduled' or f[1] == 'throttled'
  local sign, of = read_mark(f[4])
  return waits and f[2] == queue and f[5] == queue and of == queue and sign ~= '=' and f[3] == klass and f[6] == mode
    and f[7] and f[8] and not (f[9] or f[10] or f[11] or f[13])
end

-- add_payload(queue, jid, f, run) -> word, nil if the job has no room for it
--   f   as read_waiting answers, with the field of its name
-- Rare.
function add_payload(queue, jid, f, run)
  local job, mode = 'ql:j:' .. jid, run.mode
  local first, name = string.match(f[7], '^(%S+) (.*)$')
  if mode == 'first' then return 'kept' end
  if mode == 'last' then
    if tonumber(run.score) < numeric(first, 0) then return 'kept' end
    redis.call('HSET', job, 'data', run.payload, 'oarlock-first', run.score .. ' ' .. run.name,
      'oarlock-load', text17(run_unit + #run.payload))
    return 'replaced'
  end
  if name == run.name then
    local better = better_score(queue, first, run.score)
    if better ~= first then redis.call('HSET', job, 'oarlock-first', better .. ' ' .. name) end
    return 'equal'
  elseif f[12] then
    local stands, rest = string.match(f[12], '^(%S+)( .*)$')
    local better = stands and better_score(queue, stands, run.score)
    if better ~= stands then redis.call('HSET', job, 'oarlock-' .. run.name, better .. rest) end
    return 'equal'
  end
  local load, most, most_bytes = numeric(f[8], run_unit), run_limits(queue)
  local count, bytes = math.floor(load / run_unit) + 1, load % run_unit + #run.payload + 1
  if count > most or bytes > most_bytes then return nil end
  redis.call('HSET', job, 'oarlock-' .. run.name, run.score .. ' ' .. text14(count) .. ' ' .. run.payload,
    'oarlock-load', text17(count * run_unit + bytes))
  return 'merged'
end

-- better_score(queue, there, came) -> which of the scores of two equal payloads is kept, as text
-- Rare.
function better_score(queue, there, came)
  local rule = run_setting(queue, 'score')
  if rule == 'min' and tonumber(came) < numeric(there, 0) or rule == 'max' and tonumber(came) > numeric(there, 0) then return came end
  return there
end

-- drop_last(queue, key): the last entry of a lane is of no job any more that stands there
-- Rare.
function drop_last(queue, key)
  redis.call('LTRIM', lane_of(queue, key), '0', '-2')
  left_lane(queue, key)
end

-- left_lane(queue, key): an entry was taken out of a lane of which the turn is not passed on
-- Rare.
function left_lane(queue, key)
  count_left(queue, 1)
  local holder = redis.call('HGET', 'ql:oarlock:turns:' .. queue, key)
  if redis.call('EXISTS', lane_of(queue, key)) == 0 and string.sub(holder or '', 1, 1) == '=' then
    redis.call('ZREM', 'ql:oarlock:lanes:' .. queue, key)
  end
end

-- read_run(jid, all) -> list of its payloads, the oldest first: each with score, name and payload, as text
--   all   what HGETALL answers for the job, or nil
-- Rare.
function read_run(jid, all)
  all = all or redis.call('HGETALL', 'ql:j:' .. jid)
  local list, data, first, mode = {}, '', '', ''
  for i = 1, #all, 2 do
    local name, value = all[i], all[i + 1]
    if name == 'data' then
      data = value
    elseif name == 'oarlock-first' then
      first = value
    elseif name == 'oarlock-merge' then
      mode = value
    elseif string.find(name, payload_fields) then
      local by, at, payload = string.match(value, '^(%S+) (%S+) (.*)$')
      if payload then list[#list + 1] = { name = string.sub(name, 9), score = by, at = numeric(at, 0), payload = payload } end
    end
  end
  if is_list(mode) and string.sub(data, 1, 1) == '[' and string.sub(data, -1) == ']' then data = string.sub(data, 2, -2) end
  local by, name = string.match(first, '^(%S+) (.*)$')
  list[#list + 1] = { name = name or '', score = by or '0', at = 0, payload = data }
  sort_run(list)
  return list
end

-- sort_run(list): by score, then as they came
-- Rare.
function sort_run(list)
  for _, one in ipairs(list) do one.by = numeric(one.score, 0) end
  table.sort(list, function(a, b)
    if a.by ~= b.by then return a.by < b.by end
    return a.at < b.at
  end)
end

-- run_data(mode, list) -> the data that a child is given
-- Rare.
function run_data(mode, list)
  if not is_list(mode) then return list[1].payload end
  local texts = {}
  for i, one in ipairs(list) do texts[i] = one.payload end
  return '[' .. table.concat(texts, ',') .. ']'
end

-- run_load(mode, list) -> what oarlock-load says of a list
-- Rare.
function run_load(mode, list)
  local bytes = is_list(mode) and 1 or -1
  for _, one in ipairs(list) do bytes = bytes + #one.payload + 1 end
  return #list * run_unit + bytes
end

-- write_run(jid, mode, list, ...): these are its payloads from here on; and more names and values of its hash
-- What is new is written before what is old goes: between them a payload may be there twice, but none is missing.
-- Rare.
function write_run(jid, mode, list, ...)
  local key, words, stays = 'ql:j:' .. jid, { ... }, {}
  for i, one in ipairs(list) do
    if i > 1 then
      stays['oarlock-' .. one.name] = true
      words[#words + 1] = 'oarlock-' .. one.name
      words[#words + 1] = one.score .. ' ' .. text14(i) .. ' ' .. one.payload
    end
  end
  redis.call('HSET', key, 'data', run_data(mode, { list[1] }), 'oarlock-merge', mode, 'oarlock-first', list[1].score .. ' ' .. list[1].name,
    'oarlock-load', text17(run_load(mode, list)), unpack(words))
  drop_payloads(key, stays)
end

-- drop_payloads(key, stays): the fields of payloads go, but for those that stay
-- Rare.
function drop_payloads(key, stays)
  local gone = {}
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.find(field, payload_fields) and not stays[field] then gone[#gone + 1] = field end
  end
  call_many('HDEL', key, gone)
end

-- join_runs(queue, mode, older, newer) -> list of the payloads of both, as if they had been put into one job; nil if there is no room for them
-- Rare.
function join_runs(queue, mode, older, newer)
  if mode == 'first' then return older end
  if mode == 'last' then return newer[1].by >= older[1].by and newer or older end
  local list, by_name = {}, {}
  for _, run in ipairs({ older, newer }) do
    for _, one in ipairs(run) do
      local equal = mode == 'set' and by_name[one.name]
      if equal then
        equal.score = better_score(queue, equal.score, one.score)
      else
        list[#list + 1], by_name[one.name] = one, one
        one.at = #list
      end
    end
  end
  sort_run(list)
  local most, most_bytes = run_limits(queue)
  if #list > most or run_load(mode, list) % run_unit > most_bytes then return nil end
  return list
end

-- may_vanish(jid) -> whether nobody looks for the job by its jid
-- Rare.
function may_vanish(jid)
  return redis.call('EXISTS', 'ql:j:' .. jid .. '-dependents', 'ql:j:' .. jid .. '-dependencies') == 0
    and type(redis.pcall('ZSCORE', 'ql:tracked', jid)) ~= 'string'
end

-- vanish(jid, into, queue, now): a job whose payloads another has is no more
-- Rare.
function vanish(jid, into, queue, now)
  local key = 'ql:j:' .. jid
  local f = redis.call('HMGET', key, 'state', 'worker', 'failure', 'tags', 'throttles', 'oarlock-lane')
  announce('{"jid":' .. cjson.encode(jid) .. ',"into":' .. cjson.encode(into) .. ',"event":"merged","queue":' .. cjson.encode(queue) .. '}')
  leave(jid, f[1], queue, f[2], f[3], queue)
  if f[5] then give_back(jid, queue, f[5], now) end
  local sign, of, place, its = read_mark(f[6])
  if sign == '-' then
    if redis.call('LREM', lane_of(of, its), '1', place .. ' ' .. jid) == 1 then left_lane(of, its) end
  elseif sign then
    depart_lane(jid, f[6], now)
  end
  unindex_tags(jid, stored_tags(f[4]))
  follow_crons(jid, into)
  delete_job(key)
end

-- absorb_next(batch, s): a job that is to be tried again has the payloads, too, that wait behind it
--   s   a settlement, with ours
-- Rare.
function absorb_next(batch, s)
  local jid, queue, mode = s.jid, s.queue, s.ours.merge
  local sign, of, _, key = read_mark(s.lane)
  if sign ~= '+' or of ~= queue or s.ours.checkpoint or s.named.checkpoint or s.ours.correlation then return end
  local place, other = string.match(redis.call('LINDEX', lane_of(queue, key), '0') or '', '^(%S+) (.*)$')
  if not other then return end
  local f = read_waiting(other, 'jid')
  if f[4] ~= mark_text('-', queue, place, key) or not takes_payloads(f, queue, mode, redis.call('HGET', s.key, 'klass')) then return end
  if not (may_vanish(jid) and may_vanish(other)) then return end
  local list = join_runs(queue, mode, read_run(jid), read_run(other))
  if not list then return end
  write_run(jid, mode, list)
  vanish(other, jid, queue, batch.now)
end

-- revive_into(batch, a) -> the jid of a job that waits and has the payloads of a failed one now, which is no more; nil if there is none
--   a   an amendment, as look_again has read it
-- That job is due now, and has all its retries.
-- Rare.
function revive_into(batch, a)
  local jid, queue = a.jid, a.queue
  local f = read_waiting(jid, 'retries')
  local _, of, _, key = read_mark(f[4])
  local mode = f[6]
  if of ~= queue or f[5] ~= queue or not (mode and f[7] and f[8]) or f[9] or f[10] then return nil end
  local _, other = string.match(redis.call('LINDEX', lane_of(queue, key), '-1') or '', '^(%S+) (.*)$')
  other = other or string.match(redis.call('HGET', 'ql:oarlock:turns:' .. queue, key) or '', '^=(.*)$')
  if not other or other == jid then return nil end
  local w = read_waiting(other, 'retries')
  local _, its_queue, _, its = read_mark(w[4])
  if its_queue ~= queue or its ~= key or not takes_payloads(w, queue, mode, f[3]) then return nil end
  if not (may_vanish(jid) and may_vanish(other)) then return nil end
  local list = join_runs(queue, mode, read_run(jid), read_run(other))
  if not list then return nil end
  drop_counts(other)
  write_run(other, mode, list, 'remaining', w[12] or '25')
  if w[1] == 'scheduled' then promote_each(queue, batch.now, { other }) end
  redis.call('HDEL', 'ql:j:' .. other, 'scheduled')
  know(batch, queue)
  wake(queue)
  vanish(jid, other, queue, batch.now)
  return other
end

-- make_part(now, jid, queue, list, state, ...) -> jid of a new job with some of the payloads of another, whatever else that
-- has alike; it stands nowhere yet
--   ...   more names and values of its hash
-- Rare.
function make_part(now, jid, queue, list, state, ...)
  local key, part = 'ql:j:' .. jid, nil
  repeat
    part = jid .. '.' .. text14(redis.call('HINCRBY', key, 'oarlock-parts', '1'))
  until redis.call('EXISTS', 'ql:j:' .. part) == 0
  local f = redis.call('HMGET', key, 'klass', 'priority', 'tags', 'retries', 'oarlock-merge', 'oarlock-lane', 'throttles', 'oarlock-timeout',
    'oarlock-trace', 'oarlock-gate')
  local _, _, _, its = read_mark(f[6])
  local words = { 'jid', part, 'klass', f[1] or '', 'priority', f[2] or '0', 'tags', f[3] or '{}', 'state', state, 'worker', '',
    'expires', '0', 'queue', queue, 'retries', f[4] or '25', 'remaining', f[4] or '25', 'time', string.format('%.20f', now),
    'oarlock-queue', queue, ... }
  for name, value in pairs({ ['oarlock-lane'] = its and mark_text('=', queue, '', its) or false, ['oarlock-timeout'] = f[8], ['oarlock-trace'] = f[9] }) do
    if value then words[#words + 1], words[#words + 2] = name, value end
  end
  if f[7] and f[10] then
    drop_derived(part, f[7], f[10]) -- writes what is left
  elseif f[7] then
    words[#words + 1], words[#words + 2] = 'throttles', f[7]
  end
  write_run(part, f[5], list, unpack(words))
  index_tags(part, stored_tags(f[3]))
  remember(part, put_entry(now, queue), nil, false)
  return part
end

-- bury_first(batch, s, group, failure) -> jid of the failed job that has the oldest of many payloads, nil if there are not many
-- A job is out of retries: its oldest payload has had its chances, and the others begin anew.
-- Rare.
function bury_first(batch, s, group, failure)
  local jid, queue, ours = s.jid, s.queue, s.ours
  if not (ours.merge and ours.load) or numeric(ours.load, 0) < 2 * run_unit then return nil end
  local list, now = read_run(jid), batch.now
  if #list < 2 then return nil end
  local dead = { table.remove(list, 1) }
  local part = make_part(now, jid, queue, dead, 'failed', 'expires', '', 'remaining', '-1', 'failure', failure, 'oarlock-failed', '1')
  local record = s.named.record or ours.record
  if record then redis.call('HSET', 'ql:j:' .. part, 'oarlock-record', record) end
  remember(part, '[' .. text14(math.floor(now)) .. ',"failed",{"group":' .. cjson.encode(group) .. '}]', batch.limit, false)
  list_failed(part, group)
  count_failure(queue, now)
  know(batch, queue)
  if hooks then tell_dead(part, queue, now, 0) end
  write_run(jid, ours.merge, list, 'remaining', s.retries, 'state', 'waiting')
  drop_counts(jid)
  redis.call('HDEL', s.key, 'oarlock-checkpoint')
  ready_later(batch, queue, jid, score_text(batch, s.priority))
  return part
end

-- take_along(s): a job goes on to its next queue with all its payloads as its data
-- Rare.
function take_along(s)
  local mode, load = unpack(redis.call('HMGET', s.key, 'oarlock-merge', 'oarlock-load'))
  if mode and numeric(load, 0) >= 2 * run_unit then redis.call('HSET', s.key, 'data', run_data(mode, read_run(s.jid))) end
end

-- leave_rest(jid, lane, now): somebody ended a job who knew only of its first payload; the others are the next of its key
--   lane   its mark
-- Rare.
function leave_rest(jid, lane, now)
  local name, sign, queue, _, key = 'ql:j:' .. jid, read_mark(lane)
  local of_queue, load = unpack(redis.call('HMGET', name, 'oarlock-queue', 'oarlock-load'))
  if sign ~= '+' or of_queue ~= queue or numeric(load, 0) < 2 * run_unit then return end
  local list, rest = read_run(jid), {}
  for _, one in ipairs(list) do
    if one.at ~= 0 then rest[#rest + 1] = one end
  end
  if #rest > 0 then
    local part = make_part(now, jid, queue, rest, 'waiting')
    stand_behind('LPUSH', queue, key, part)
  end
  redis.call('HDEL', name, 'oarlock-load', 'oarlock-merge', 'oarlock-first')
  drop_payloads(name, {}) -- they are of that job from here on, and this one is as any other
end

-- count_again(jid): a job that is complete is to run once more, with all its payloads
-- Rare.
function count_again(jid)
  local key = 'ql:j:' .. jid
  local f = redis.call('HMGET', key, 'oarlock-merge', 'oarlock-first', 'oarlock-load')
  if f[1] and f[2] and not f[3] then redis.call('HSET', key, 'oarlock-load', text17(run_load(f[1], read_run(jid)))) end
end

-- same_run(key, data) -> the data of a job that has merged payloads, as it is there, if that is the same JSON; else nil
-- Rare.
function same_run(key, data)
  if redis.call('HEXISTS', key, 'oarlock-first') == 0 then return nil end
  local had = redis.call('HGET', key, 'data')
  if not had or had == data then return had or nil end
  if #had + #data > 65536 then return nil end
  local ok, same = pcall(function() return cjson.encode(cjson.decode(had)) == cjson.encode(cjson.decode(data)) end)
  return ok and same and had or nil
end

-- move_run(jid, old, queue): a client that sees the first payload only has put a job again as it was: all its payloads move with it
--   old   the job before, as put_job returned it
-- Rare.
function move_run(jid, old, queue)
  if old.state ~= 'complete' and old.queue == queue then return end -- they count as before
  if old.state == 'complete' then count_again(jid) end
  carry_over(jid, 'moved', queue)
end
