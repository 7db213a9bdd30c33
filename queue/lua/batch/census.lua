-- census(now, [queue]...) -> list
-- What the queues hold and how they go, without changing anything.
--
--   list   per queue 16 values: how many jobs wait or are due; run; stall, their lock having run
--          out; are scheduled for later; depend on others; recur; wait for a throttle; 1 if the
--          queue is paused; how many may run at a time, 0 being any number; since when the one that
--          is next in turn could be taken, 0 if none could; when the next delayed job is due, 0 if
--          there is none; and of the day (UTC): how many jobs were completed, how often one failed,
--          how many locks ran out, the mean of the seconds that jobs ran; then what is wrong with one of
--          its keys, which makes the others 0, or ''
--
-- Reads    ql:q:<queue>-work|locks|scheduled|depends|recur|throttled; ql:j:<jid>  time, priority;
--          ql:paused_queues; ql:config; ql:s:run|stats:<day>:<queue>
local now, reply = tonumber(ARGV[1]), {}
local any_pauses = redis.call('EXISTS', 'ql:paused_queues') == 1
local today = day(now) .. ':'

local function limits()
  local names = {}
  for i = 2, #ARGV do names[i - 1] = ARGV[i] .. '-max-concurrency' end
  local set = #names > 0 and redis.pcall('HMGET', 'ql:config', unpack(names)) or {}
  return set.err and {} or set
end

-- how many members, and how many of them have a score that is past
local function cards(key)
  local all = ask('ZCARD', key)
  return all, all > 0 and ask('ZCOUNT', key, '-inf', ARGV[1]) or 0
end

local function look(queue, limit)
  local prefix = 'ql:q:' .. queue
  local work = ask('ZCARD', prefix .. '-work')
  local scheduled, due = cards(prefix .. '-scheduled')
  local locks, stalled = cards(prefix .. '-locks')
  local depends, recur, throttled = 0, 0, 0
  if redis.call('EXISTS', prefix .. '-depends', prefix .. '-recur', prefix .. '-throttled') > 0 then
    depends, recur, throttled = ask('ZCARD', prefix .. '-depends'), ask('ZCARD', prefix .. '-recur'), ask('ZCARD', prefix .. '-throttled')
  end
  local since = work + due + stalled > 0 and ready_since(queue, now, due, stalled)
  local next = scheduled > due and ask('ZRANGE', prefix .. '-scheduled', text14(due), text14(due), 'WITHSCORES')[2]
  local run = ask('HMGET', 'ql:s:run:' .. today .. queue, 'total', 'mean')
  local counts = ask('HMGET', 'ql:s:stats:' .. today .. queue, 'failures', 'retries')
  return {
    work + due, locks - stalled, stalled, scheduled - due, depends, recur, throttled,
    any_pauses and redis.pcall('SISMEMBER', 'ql:paused_queues', queue) == 1 and 1 or 0, text17(bounded('max-concurrency', limit)),
    since and text17(since) or 0, next or 0, run[1] or 0, counts[1] or 0, counts[2] or 0, run[2] or 0, '',
  }
end

local limit = limits()
for i = 2, #ARGV do
  local ok, numbers = pcall(look, ARGV[i], limit[i - 1])
  if not ok then numbers = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, reason_of(numbers) } end
  for _, number in ipairs(numbers) do reply[#reply + 1] = number end
end
return reply
