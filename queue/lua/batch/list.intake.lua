-- list.intake(now, worker, list, broken, queue, window, count, [entry, trouble]..., puts) -> moved, answers, full
-- Makes jobs of the entries that a list has come to, and takes them off it.
--
--   worker    as in put
--   list      the key; its last entry is the next
--   broken    the hash of entries that cannot be a job
--   window    how many jobs may wait in the queue, for whatever they wait but their time; 0 is no limit
--   entry     as it was read, the next first
--   trouble   why it cannot be a job, as it is kept in broken; '' of one that has a put
--   puts      as of put, one for each entry without trouble
--   moved     how many entries were taken off: those that are still the next, in that order, byte for
--             byte, up to the first that was refused; nothing is done about the others
--   answers   per entry without trouble that was come to what put answers; one that was refused is the end
--   full      1 if no more may wait
--
-- Reads    ql:q:<queue>-work|throttled; ql:oarlock:behind
-- Writes   the list, broken; what put writes
-- Sends    what put sends
local list, broken, window, count = ARGV[3], ARGV[4], tonumber(ARGV[6]), tonumber(ARGV[7])
local puts = read_puts(8 + 2 * count)
local room, moved, n, mine, odd, answers = math.huge, 0, 0, {}, {}, {}
if window > 0 then
  local prefix = 'ql:q:' .. ARGV[5]
  room = window - redis.call('ZCARD', prefix .. '-work') - redis.call('ZCARD', prefix .. '-throttled')
    - numeric(redis.call('HGET', 'ql:oarlock:behind', ARGV[5]), 0)
end

local there = redis.call('LRANGE', list, -count, -1)
for i = 1, math.min(count, room) do
  local entry, trouble = ARGV[6 + 2 * i], ARGV[7 + 2 * i]
  if there[#there + 1 - i] ~= entry then break end
  moved = i
  if trouble ~= '' then
    odd[#odd + 1] = entry
    odd[#odd + 1] = trouble
  else
    n = n + 1
    mine[n] = puts[n]
    mine[n].at = i
  end
end
if moved > 0 then
  redis.call('LTRIM', list, 0, -1) -- changes nothing: whoever may not do that below must not put anything
  enter_all(open_batch(tonumber(ARGV[1]), ARGV[2]), mine, answers, true)
  local last = #answers
  if last > 0 and type(answers[last]) == 'table' and not answers[last][2] then moved = mine[last].at - 1 end
  for i = 1, moved do if ARGV[7 + 2 * i] ~= '' then set_aside(broken, ARGV[6 + 2 * i], ARGV[7 + 2 * i]) end end
  redis.call('LTRIM', list, 0, -1 - moved)
end
return { moved, answers, room - moved < 1 and 1 or 0 }
