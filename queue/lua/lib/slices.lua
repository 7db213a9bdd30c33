-- call_many(command, key, words): a command with a list of arguments of any length
-- Lua's stack holds some 8,000 values. The slices are even, so pairs stay together.
function call_many(command, key, words)
  if #words > 0 and #words <= 6000 then return redis.call(command, key, unpack(words)) end
  for i = 1, #words, 6000 do
    redis.call(command, key, unpack(words, i, math.min(i + 5999, #words)))
  end
end

-- add_all(key, entries): to a sorted set
-- Redis keeps a small one as a list, and looks through it, reading each score anew, for every entry that comes or goes, up to 128 of them: where
-- several come, one that is too long for a list makes it a skip list, for as long as there are any.
--   entries   scores and members, in turn
function add_all(key, entries)
  if #entries < 16 or #entries > 6000 then return call_many('ZADD', key, entries) end
  local long = string.rep(' ', 100) .. ARGV[1] -- which no member is: the time of the call is in it
  redis.call('ZADD', key, entries[1], long, unpack(entries))
  redis.call('ZREM', key, long)
end

-- call_each(command, key): a command with the arguments of the call
-- Without any, Redis refuses it.
function call_each(command, key)
  if #ARGV == 1 then redis.call(command, key) end
  call_many(command, key, arguments(2))
end
