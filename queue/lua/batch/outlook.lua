-- outlook(now, [queue]...) -> list
-- What there is to do, without changing anything.
--
--   list   per queue: how many jobs could be taken now (waiting, due, or with a lock that ran
--          out); when the one that is next was put, 0 if none waits; when the next delayed or
--          recurring job is due, 0 if there is none; 1 if the queue is paused; what is wrong
--          with one of its keys, which makes the others 0, or ''; or, of every queue, which needs of the key space are not known here: then
--          what is there may be more than these numbers say, and nothing of it is to be taken; of a queue that has keys, how many jobs
--          stand behind others, else -1; since when a turn is held for which somebody waits, or 0; 1 if the queue
--          is ruled: then jobs may be had of waitlists that are open, too, each of which counts as one, and those of values that wait
--          for their turns with their jobs, as far as twenty; and since when the one that is next in turn has been missing
--          nothing but a free child, 0 if there is none
--
-- Reads    ql:q:<queue>-work|scheduled|recur|locks; ql:j:<jid>  time, priority, oarlock-lane; ql:paused_queues; ql:oarlock:rules, and
--          ql:oarlock:behind and ql:oarlock:lanes:<queue> of a queue that has keys; of a ruled one
--          ql:oarlock:waitlists:<queue>, open and due
local now, reply = tonumber(ARGV[1]), {}
local special = redis.call('EXISTS', 'ql:paused_queues', 'ql:oarlock:rules', 'ql:oarlock:needs') > 0
local lacks = special and lacking()
local any_pauses = special and redis.call('EXISTS', 'ql:paused_queues') == 1
local any_keys = special and redis.call('EXISTS', 'ql:oarlock:rules') == 1

local function paused(queue)
  return any_pauses and redis.pcall('SISMEMBER', 'ql:paused_queues', queue) == 1 and 1 or 0
end

-- line(queue) -> how many stand behind, since when one does; nil if the queue has no keys
local function line(queue)
  if not any_keys or not turn_settings(queue) then return nil end
  local behind = redis.pcall('HGET', 'ql:oarlock:behind', queue)
  local first = redis.pcall('ZRANGE', 'ql:oarlock:lanes:' .. queue, '0', '0', 'WITHSCORES')
  return math.max(0, numeric(type(behind) == 'string' and behind, 0)), first[2] or '0'
end

-- turns_of(queue) -> how many jobs more may be had of open waitlists that wait for nothing but their turn, and since when the first of them does
local function turns_of(queue)
  local lines, more, since = ask('ZREVRANGE', 'ql:oarlock:open:' .. queue, '0', '19'), 0, nil
  local records = #lines > 0 and ask('HMGET', 'ql:oarlock:waitlists:' .. queue, unpack(lines)) or {}
  for i, line in ipairs(lines) do
    local when = string.match(records[i] or '', '^(%S+) %d+ 0:=')
    if when then
      more = more + math.max(0, ask('ZCARD', 'ql:oarlock:waitlist:' .. #queue .. ':' .. queue .. line) - 1)
      since = math.min(since or math.huge, numeric(when, now))
    end
  end
  return more, since
end

-- waitlists(queue) -> whether it is ruled, how many waitlists may be tried, when the next is to be opened, and since when one waits for its turn
local function waitlists(queue)
  if not any_keys or redis.call('HEXISTS', 'ql:oarlock:rules', 'q:' .. queue) == 0 then return 0 end
  if redis.call('EXISTS', 'ql:oarlock:waitlists:' .. queue) == 0 then return 1, 0 end
  local open, key = ask('ZCARD', 'ql:oarlock:open:' .. queue), 'ql:oarlock:due:' .. queue
  local when = tonumber(ask('ZRANGE', key, '0', '0', 'WITHSCORES')[2])
  local more, since = 0, nil
  if open > 0 then more, since = turns_of(queue) end
  if when and when <= now then return 1, open + more + ask('ZCOUNT', key, '-inf', ARGV[1]), nil, since end
  return 1, open + more, when, since
end

local function look(queue)
  local prefix, due, ready, since = 'ql:q:' .. queue, nil, 0, math.huge
  for _, kind in ipairs({ '-scheduled', '-recur' }) do
    local when = tonumber(ask('ZRANGE', prefix .. kind, '0', '0', 'WITHSCORES')[2])
    if when and when >= shelf and when < math.huge then when = nil end
    if when and when <= now then
      ready, since = ready + ask('ZCOUNT', prefix .. kind, '-inf', ARGV[1]), math.min(since, when)
    end
    if when and (not due or when < due) then due = when end
  end
  local put = 0
  local head = ask('ZREVRANGE', prefix .. '-work', '0', '0', 'WITHSCORES')
  if head[1] then
    local came
    came, put = head_since(queue, head[1], head[2], now)
    ready, since = ready + ask('ZCARD', prefix .. '-work'), math.min(since, came)
  end
  local stalled = ask('ZCOUNT', prefix .. '-locks', '-inf', ARGV[1])
  if stalled > 0 then
    ready, since = ready + stalled, math.min(since, tonumber(ask('ZRANGE', prefix .. '-locks', '0', '0', 'WITHSCORES')[2]) or now)
  end
  local behind, blocked = line(queue)
  if behind then
    local shelved = next_shelved(queue)
    if shelved and shelved <= now then
      ready, since = ready + ask('ZCOUNT', prefix .. '-scheduled', text17(shelf), text17(now + shelf)), math.min(since, shelved)
    end
    if shelved and (not due or shelved < due) then due = shelved end
  end
  local ruled, open, opens, waits = waitlists(queue)
  if waits then since = math.min(since, waits) end
  if opens and (not due or opens < due) then due = opens end
  return { ready + (open or 0), text17(put), due and text17(due) or '0', paused(queue), '', behind or -1, blocked or '0', ruled,
    since < math.huge and text17(since) or '0' }
end

local function answer(i, values)
  for n = 1, 9 do reply[9 * (i - 2) + n] = values[n] end
end

local function leave_out(i, why)
  answer(i, { 0, '0', '0', 0, why, -1, '0', 0, '0' })
end

local function describe(i)
  local ok, values = pcall(look, ARGV[i])
  if ok then answer(i, values) else leave_out(i, reason_of(values)) end
end

-- look_in_passing(i): at one in which there is nothing to take
local function look_in_passing(i)
  local behind, blocked = line(ARGV[i])
  answer(i, { 0, '0', '0', paused(ARGV[i]), '', behind or -1, blocked or '0', (waitlists(ARGV[i])), '0' })
end

-- most queues are empty most of the time: many such cost one command
local function survey(from, to)
  local keys = {}
  if to - from >= 1000 then -- more than a command's arguments may be
    survey(from, from + 999)
    return survey(from + 1000, to)
  end
  for i = from, to do
    local prefix = 'ql:q:' .. ARGV[i]
    for _, kind in ipairs({ '-work', '-scheduled', '-recur', '-locks' }) do keys[#keys + 1] = prefix .. kind end
    if any_keys then keys[#keys + 1] = 'ql:oarlock:waitlists:' .. ARGV[i] end
  end
  local there, queues = redis.call('EXISTS', unpack(keys)), to - from + 1
  if there == 0 then
    for i = from, to do
      local ok, raised = pcall(look_in_passing, i)
      if not ok then leave_out(i, reason_of(raised)) end
    end
  elseif 2 * there >= queues then
    for i = from, to do describe(i) end
  else
    local middle = math.floor((from + to) / 2)
    survey(from, middle)
    survey(middle + 1, to)
  end
end

if #ARGV > 1 then survey(2, #ARGV) end
if lacks then
  for i = 2, #ARGV do reply[9 * (i - 2) + 5] = lacks end
end
return reply
