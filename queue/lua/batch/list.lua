-- list(now, kind, name, cursor, limit, cut, most) -> list
-- A window on the jobs that stand together somewhere, without changing anything.
--
--   kind    of a queue: waiting, running, stalled, scheduled, depends, throttled; failed (a group),
--           tag, worker, holders and waiters (of a throttle), tracked, complete
--   name    of the queue, group, tag, worker or throttle; '' for tracked and complete
--   cursor  '' for the beginning, or what the call before said
--   limit   how many jobs at most
--   cut, most   as append_glance has them
--   list    how many there are in all; the cursor of what is behind these, '' if nothing is; then
--           per job the values of append_glance
--
-- Those that wait are in turn, and behind them those that are due and did not come in yet. Failed and
-- complete ones come newest first.
--
-- Reads    what kind says; ql:j:<jid>; ql:tracked
local now, kind, name, cursor = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, cut, most = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local prefix, tid = 'ql:q:' .. name, 'ql:th:' .. name

local function sets()
  if kind == 'waiting' then
    return { { prefix .. '-work', true, '+inf', '-inf' }, { prefix .. '-scheduled', false, '-inf', now } }
  elseif kind == 'running' then
    return { { prefix .. '-locks', false, '(' .. now, '+inf' } }
  elseif kind == 'stalled' then
    return { { prefix .. '-locks', false, '-inf', now } }
  elseif kind == 'scheduled' then
    return { { prefix .. '-scheduled', false, '(' .. now, '+inf' } }
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

local reply = { 0, '' }
if kind == 'failed' then
  local key = 'ql:f:' .. name
  local jids, more = window_of_list(key, cursor, limit)
  reply[1], reply[2] = redis.call('LLEN', key), more
  for _, jid in ipairs(jids) do append_glance(reply, jid, cut, most) end
  return reply
end
-- A cursor says in which of the sets it is, as '1:' before the rest.
local at, behind = 1, ''
if cursor ~= '' then
  at, behind = string.match(cursor, '^(%d):(.*)$')
  at = tonumber(at) or error('no such cursor', 0)
end
local scored = kind == 'running' or kind == 'stalled' or kind == 'scheduled'
for i, set in ipairs(sets()) do
  reply[1] = reply[1] + ask('ZCOUNT', set[1], set[2] and set[4] or set[3], set[2] and set[3] or set[4])
  if i >= at and limit > 0 then
    local jids, scores, more = window_of_set(set, i == at and behind or '', limit)
    for j, jid in ipairs(jids) do append_glance(reply, jid, cut, most, (scored or i > 1) and scores[j] or nil) end
    limit = limit - #jids
    if more ~= '' then
      reply[2], limit = i .. ':' .. more, 0
    elseif limit == 0 and i == 1 and kind == 'waiting' then
      -- The next window begins with the second set, if there is anything in it.
      reply[2] = redis.call('ZCOUNT', prefix .. '-scheduled', '-inf', now) > 0 and '2:' or ''
    end
  end
end
return reply
