-- list.intake(now, worker, list, broken, count, [entry, trouble]..., puts) -> moved, answers
-- Makes jobs of the entries that a list has come to, and takes them off it.
--
--   worker    as in put
--   list      the key; its last entry is the next
--   broken    the hash of entries that cannot be a job
--   entry     as it was read, the next first
--   trouble   why it cannot be a job, as it is kept in broken; '' of one that has a put
--   puts      as of put, one for each entry without trouble
--   moved     how many entries were taken off: those that are still the next, in that order, byte for
--             byte; the others are somebody else's by now, and nothing is done about them
--   answers   per moved entry without trouble put, or the state of the job in its way, or a list of the reason
--             why it was refused; what was refused is in the list as before, and not counted
--
-- Writes   the list, broken; what put writes
-- Sends    what put sends
local list, broken, count = ARGV[3], ARGV[4], tonumber(ARGV[5])
local puts = read_puts(6 + 2 * count)
local there = redis.call('LRANGE', list, -count, -1)
local same, mine, odd = 0, {}, {}
for i = 1, count do
  local entry, trouble = ARGV[4 + 2 * i], ARGV[5 + 2 * i]
  if there[#there + 1 - i] ~= entry then break end
  same = i
  if trouble ~= '' then
    odd[#odd + 1] = entry
    odd[#odd + 1] = trouble
  else
    mine[#mine + 1] = puts[#mine + 1]
  end
end
if same == 0 then return { 0, {} } end

local answers, refused, n = {}, {}, 0
call_many('HSET', broken, odd)
enter_all(open_batch(tonumber(ARGV[1]), ARGV[2]), mine, answers)
for i = 1, same do
  if ARGV[5 + 2 * i] == '' then
    n = n + 1
    if type(answers[n]) == 'table' then refused[#refused + 1] = ARGV[4 + 2 * i] end
  end
end
if #refused < same then
  redis.call('LTRIM', list, 0, -1 - same)
  for i = #refused, 1, -1 do redis.call('RPUSH', list, refused[i]) end
end
return { same - #refused, answers }
