-- outlook(now, [queue]...) -> list
-- What there is to do, without changing anything.
--
--   list   per queue: how many jobs could be taken now (waiting, due, or with a lock that ran
--          out); when the one that is next was put, 0 if none waits; when the next delayed or
--          recurring job is due, 0 if there is none; 1 if the queue is paused; and what is wrong
--          with one of its keys, which makes the others 0, or ''
--
-- Reads    ql:q:<queue>-work|scheduled|recur|locks; ql:j:<jid>  time; ql:paused_queues
local now, reply = tonumber(ARGV[1]), {}
local any_pauses = redis.call('EXISTS', 'ql:paused_queues') == 1

local function paused(queue)
  return any_pauses and redis.pcall('SISMEMBER', 'ql:paused_queues', queue) == 1 and 1 or 0
end

local function look(queue)
  local prefix, due, ready = 'ql:q:' .. queue, nil, 0
  for _, kind in ipairs({ '-scheduled', '-recur' }) do
    local when = tonumber(ask('ZRANGE', prefix .. kind, '0', '0', 'WITHSCORES')[2])
    if when and when <= now then ready = ready + ask('ZCOUNT', prefix .. kind, '-inf', ARGV[1]) end
    if when and (not due or when < due) then due = when end
  end
  local put = '0'
  local head = ask('ZREVRANGE', prefix .. '-work', '0', '0')[1]
  if head then
    local time = redis.pcall('HGET', 'ql:j:' .. head, 'time')
    put = type(time) == 'string' and text17(numeric(time, 0)) or '0'
    ready = ready + ask('ZCARD', prefix .. '-work')
  end
  ready = ready + ask('ZCOUNT', prefix .. '-locks', '-inf', ARGV[1])
  return ready, put, due and text17(due) or '0', paused(queue)
end

local function answer(i, ready, put, due, held_back, damage)
  local n = 5 * (i - 2)
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = ready, put, due, held_back, damage
end

local function describe(i)
  local ok, ready, put, due, held_back = pcall(look, ARGV[i])
  if ok then
    answer(i, ready, put, due, held_back, '')
  else
    answer(i, 0, '0', '0', 0, reason_of(ready))
  end
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
  end
  local there, queues = redis.call('EXISTS', unpack(keys)), to - from + 1
  if there == 0 then
    for i = from, to do answer(i, 0, '0', '0', paused(ARGV[i]), '') end
  elseif 2 * there >= queues then
    for i = from, to do describe(i) end
  else
    local middle = math.floor((from + to) / 2)
    survey(from, middle)
    survey(middle + 1, to)
  end
end

if #ARGV > 1 then survey(2, #ARGV) end
return reply
