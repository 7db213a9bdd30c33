-- ghosts(ns, now, fix, longest, queue, cursor) -> cursor, key, reason, remedy, ...
-- Of some of the keys of a queue, those whose turn is a ghost's that stays: until later than any lock that it may have had. With fix "1" it
-- goes on when a lock that was renewed just now would have ended.
--   longest   seconds that a lock may last
local now, fix, longest, queue = tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4]), ARGV[5]
local turn = ns .. 'oarlock:turns:' .. queue
local some = redis.call('HSCAN', turn, ARGV[6], 'COUNT', '500')
local found = { some[1] }

local function lock()
  local set = redis.call('HMGET', ns .. 'config', queue .. '-heartbeat', 'heartbeat')
  return math.max(1, math.min(as_score(set[1] or set[2]) or 60, longest))
end

for i = 1, #some[2], 2 do
  local key, ends, rest = some[2][i], string.match(some[2][i + 1], '^!(%S+)( .*)$')
  if ends and (tonumber(ends) or 0) > now + longest then
    if fix then
      redis.call('HSET', turn, key, '!' .. string.format('%.17g', now + lock()) .. rest)
      redis.call('ZADD', ns .. 'oarlock:lanes:' .. queue, 'NX', string.format('%.17g', now), key)
    end
    for _, text in ipairs({ key, 'has a turn that is kept for an attempt longer than any lock lasts', 'it goes on when a lock of now would have ended' }) do
      found[#found + 1] = text
    end
  end
end
return found
