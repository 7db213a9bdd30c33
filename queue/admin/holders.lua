-- holders(ns, key, fix, jid, ...) -> jid, reason, remedy, ...
-- Which holders of a throttle do not run, and so will never give it back. With fix "1"
-- it is taken from them; those in line for it are let on by whoever called.
local key, fix = ARGV[2], ARGV[3] == '1'
return each(4, function(jid)
  local state = redis.call('HGET', ns .. 'j:' .. jid, 'state')
  if state == 'running' or not has(key, jid) then return end
  if fix then redis.call('ZREM', key, jid) end
  return state and 'the job is ' .. state or 'there is no such job', 'it holds it no longer'
end)
