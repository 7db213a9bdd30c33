-- list(now, kind, name, cursor, limit, cut, most, text, message, key) -> list
-- A window on the jobs that stand together somewhere, without changing anything.
--
--   kind    of a queue: next, waiting, running, stalled, scheduled, depends, throttled; failed (a group),
--           tag, worker, holders and waiters (of a throttle), tracked, complete
--   name    of the queue, group, tag, worker or throttle; '' for tracked and complete
--   cursor  '' for the beginning, what the call before said, or '+' and how many to leave out first
--   limit   how many jobs are looked at, at most
--   cut, most   as append_glance has them
--   text    is in the data of those that are meant, '' in any; data longer than most has none
--   message is in the message of their failure, likewise
--   key     is the key of those that are meant, in the queue that they name; '' is any, or none
--   list    how many there are in all; how many were looked at; the cursor of what is behind these,
--           '' if nothing is; then per job that is meant which of them it was, from 1 on, the cursor of
--           what is behind it, and the values of append_glance
--
-- Those that wait are in turn, and behind them those that are due and did not come in yet; next are those
-- that stall, and then these. Failed and complete ones come newest first.
--
-- Reads    what kind says; ql:j:<jid>; ql:tracked
local now, kind, name, cursor = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, cut, most = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local prefix, tid = 'ql:q:' .. name, 'ql:th:' .. name

-- as window_of_set has them, and true of those with the scores that row_of wants
local function sets()
  local stalled = { prefix .. '-locks', false, '-inf', now, true }
  local work, due = { prefix .. '-work', true, '+inf', '-inf' }, { prefix .. '-scheduled', false, '-inf', now, true }
  if kind == 'next' then
    return { stalled, work, due }
  elseif kind == 'waiting' then
    return { work, due }
  elseif kind == 'running' then
    return { { prefix .. '-locks', false, '(' .. now, '+inf', true } }
  elseif kind == 'stalled' then
    return { stalled }
  elseif kind == 'scheduled' then
    return { { prefix .. '-scheduled', false, '(' .. now, '+inf', true } }
  elseif kind == 'depends' or kind == 'throttled' then
    return { { prefix .. '-' .. kind, false, '-inf', '+inf' } }
  elseif kind == 'tag' then
    return { { 'ql:t:' .. name, false, '-inf', '+inf' } }
  elseif kind == 'worker' then
    return { { 'ql:w:' .. name .. ':jobs', false, '-inf', '+inf' } }
  elseif kind == 'holders' then
    return { { tid .. '-locks', false, '-inf', '+inf' } }
  elseif kind == 'waiters' then
    return { { tid .. '-pending', false, '-inf', '+inf' } }
  elseif kind == 'tracked' then
    return { { 'ql:tracked', false, '-inf', '+inf' } }
  elseif kind == 'complete' then
    return { { 'ql:completed', true, '+inf', '-inf' } }
  end
  error('there is no kind ' .. excerpt(kind), 0)
end

-- Rare ones are asked for; what cannot be read has nothing in it.
local function says(jid, field, wanted)
  if wanted == '' then return true end
  local ok, has = pcall(function()
    local value = redis.call('HSTRLEN', 'ql:j:' .. jid, field) <= most and redis.call('HGET', 'ql:j:' .. jid, field) or ''
    if field == 'failure' then value = cjson.decode(value).message end
    return string.find(value, wanted, 1, true)
  end)
  return ok and has
end

-- Rare, too. The mark of another queue than the one a job names says nothing.
local function has_key(jid, wanted)
  if wanted == '' then return true end
  local f = redis.pcall('HMGET', 'ql:j:' .. jid, 'oarlock-lane', 'queue')
  if not f[1] then return false end
  local _, of, _, key = read_mark(f[1])
  return key == wanted and of == f[2]
end

local reply = { 0, 0, '' }

local function show(jid, behind, placed)
  reply[2] = reply[2] + 1
  if has_key(jid, ARGV[10]) and says(jid, 'data', ARGV[8]) and says(jid, 'failure', ARGV[9]) then
    local n = #reply
    reply[n + 1], reply[n + 2] = reply[2], behind
    append_glance(reply, jid, cut, most, placed)
  end
end

if kind == 'failed' then
  local jids, left, length = window_of_list('ql:f:' .. name, cursor, limit)
  for i, jid in ipairs(jids) do show(jid, text14(left - i)) end
  reply[1], reply[3] = length, left > #jids and text14(left - #jids) or ''
  return reply
end
-- A cursor says in which of the sets it is, as '1:' before the rest.
local at, behind, skip = 1, '', tonumber(string.match(cursor, '^%+(%d+)$'))
if cursor ~= '' and not skip then
  at, behind = string.match(cursor, '^(%d):(.*)$')
  at = tonumber(at) or error('no such cursor', 0)
end
skip = skip or 0
for i, set in ipairs(sets()) do
  local all = ask('ZCOUNT', set[1], set[2] and set[4] or set[3], set[2] and set[3] or set[4])
  reply[1] = reply[1] + all
  if i < at or skip > 0 and skip >= all then
    skip = math.max(0, skip - all)
  elseif limit > reply[2] then
    if skip > 0 then behind, skip = '+' .. text14(skip), 0 end
    local jids, scores, more = window_of_set(set, behind, limit - reply[2])
    for j, jid in ipairs(jids) do
      show(jid, i .. ':' .. scores[j] .. ':' .. jid, set[5] and scores[j] or nil)
    end
    if more then reply[3] = i .. ':' .. scores[#jids] .. ':' .. jids[#jids] end
    behind = ''
  elseif reply[3] == '' and all > 0 then
    reply[3] = i .. ':' -- the next window begins with this set
  end
end
return reply
