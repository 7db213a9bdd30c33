-- listed(ns, group, fix, jid) -> jid, reason, remedy, or nothing
-- Whether a failed job is missing from the list of its group. With fix "1" it is added.
local group, fix, jid = ARGV[2], ARGV[3] == '1', ARGV[4]
local key = ns .. 'f:' .. group
return each(4, function()
  if redis.call('HGET', ns .. 'j:' .. jid, 'state') ~= 'failed' then return end
  local there = in_list(key, jid)
  if there and redis.call('SISMEMBER', ns .. 'failures', group) == 1 then return end
  if fix then
    redis.call('SADD', ns .. 'failures', group)
    if not there then redis.call('LPUSH', key, jid) end
  end
  return 'has failed, but is not listed in its group ' .. group, 'listed there'
end)
