-- lanes(ns, now, fix, queue, key, ...) -> key, reason, remedy, ...
-- In which keys jobs stand behind others without anybody who has the turn, or where nobody would look after them. With fix "1" the
-- next look gives the turn to the first of them.
local now, fix, queue = tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4]
local turn, lanes = ns .. 'oarlock:turns:' .. queue, ns .. 'oarlock:lanes:' .. queue

return each(5, function(key)
  local many = redis.call('LLEN', lane_of(queue, key))
  if many == 0 then return end
  local behind = many == 1 and 'has a job that stands behind others, ' or 'has ' .. many .. ' jobs that stand behind others, '
  if not redis.call('HGET', turn, key) then
    if fix then
      redis.call('HSET', turn, key, '!0 - ')
      look_after(queue, key, now)
    end
    return behind .. 'and nobody has its turn', 'the first of them gets it when a supervisor looks next'
  end
  if has(lanes, key) then return end
  if fix then look_after(queue, key, now) end
  return behind .. 'and nobody looks after it', 'it is looked after again'
end)
