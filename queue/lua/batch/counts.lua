-- counts(now, [queue]...) -> list
-- How many jobs the queues have in which state, without changing anything: the protocol's
-- queue.counts brings in what is due.
--
--   list   per queue nine values: how many jobs wait or are due; run; stall, their lock having run
--          out; are scheduled for later; depend on others; recur; wait for a throttle; 1 if the
--          queue is paused; and what is wrong with one of its keys, which makes the others 0, or ''
--
-- Reads    ql:q:<queue>-work|locks|scheduled|depends|recur|throttled; ql:paused_queues
local now, reply = ARGV[1], {}

local function look(queue)
  local prefix = 'ql:q:' .. queue
  local due = ask('ZCOUNT', prefix .. '-scheduled', '-inf', now)
  local stalled = ask('ZCOUNT', prefix .. '-locks', '-inf', now)
  return {
    ask('ZCARD', prefix .. '-work') + due, ask('ZCARD', prefix .. '-locks') - stalled, stalled,
    ask('ZCARD', prefix .. '-scheduled') - due, ask('ZCARD', prefix .. '-depends'), ask('ZCARD', prefix .. '-recur'),
    ask('ZCARD', prefix .. '-throttled'), redis.pcall('SISMEMBER', 'ql:paused_queues', queue) == 1 and 1 or 0, '',
  }
end

for i = 2, #ARGV do
  local ok, numbers = pcall(look, ARGV[i])
  if not ok then numbers = { 0, 0, 0, 0, 0, 0, 0, 0, reason_of(numbers) } end
  for _, n in ipairs(numbers) do reply[#reply + 1] = n end
end
return reply
