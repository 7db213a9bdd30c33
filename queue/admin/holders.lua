-- holders(ns, key, fix, jid, ...) -> jid, reason, remedy, ...
-- Which holders of a throttle do not run, and so will never give it back. With fix "1"
-- it is taken from them; those in line for it are let on by whoever called.
local key, fix = ARGV[2], ARGV[3] == '1'
return each(4, function(jid)
  local state, time, life, park, answer = unpack(redis.call('HMGET', ns .. 'j:' .. jid, 'state', 'time', 'oarlock-life',
    'oarlock-park', 'oarlock-response'))
  if state == 'running' or not has(key, jid) then return end
  -- One that waits for an answer, or has it and is to go on, keeps what it holds.
  if (state == 'scheduled' or state == 'waiting') and (park or answer) and life == time then return end
  if fix then redis.call('ZREM', key, jid) end
  return state and 'the job is ' .. state or 'there is no such job', 'it holds it no longer'
end)
