-- call_many(command, key, words): a command with a list of arguments of any length
-- Lua's stack holds some 8,000 values. The slices are even, so pairs stay together.
function call_many(command, key, words)
  if #words > 0 and #words <= 6000 then return redis.call(command, key, unpack(words)) end
  for i = 1, #words, 6000 do
    redis.call(command, key, unpack(words, i, math.min(i + 5999, #words)))
  end
end

-- call_each(command, key): a command with the arguments of the call
-- Without any, Redis refuses it.
function call_each(command, key)
  if #ARGV == 1 then redis.call(command, key) end
  call_many(command, key, arguments(2))
end
