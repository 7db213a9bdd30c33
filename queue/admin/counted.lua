-- counted(ns, fix, queue, added, key, ...) -> said, many; or nothing
-- Whether as many jobs stand behind others of their keys as is said of a queue. With fix "1" that is said of it. A queue in which
-- that is so of more than ten thousand keys is not counted: it would take too long in one step.
--   added   so many come in addition
--   key     of keys that may not be in the set of those with somebody behind
local fix, queue, many = ARGV[2] == '1', ARGV[3], tonumber(ARGV[4])
local lanes, counters, seen = ns .. 'oarlock:lanes:' .. queue, ns .. 'oarlock:behind', {}
if redis.call('ZCARD', lanes) > 10000 then return {} end

local function count(keys, first)
  for i = first, #keys do
    if not seen[keys[i]] then many = many + redis.call('LLEN', lane_of(queue, keys[i])) end
    seen[keys[i]] = true
  end
end
count(redis.call('ZRANGE', lanes, 0, -1), 1)
count(ARGV, 5)
local said = redis.call('HGET', counters, queue)
if (said or '0') == tostring(many) then return {} end
if fix and many == 0 then
  redis.call('HDEL', counters, queue)
elseif fix then
  redis.call('HSET', counters, queue, many)
end
return { said or '0', tostring(many) }
