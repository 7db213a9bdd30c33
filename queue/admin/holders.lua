-- holders(ns, key, fix, now, jid, ...) -> jid, reason, remedy, ...
-- Which holders of a throttle do not run, and so will never give it back. With fix "1"
-- it is taken from them; those in line for it are let on by whoever called. A job that was taken from a worker that lost its lock is
-- stalled: the next take, or the look of a supervisor, judges what it holds.
local key, fix = ARGV[2], ARGV[3] == '1'
return each(5, function(holder)
  local jid = string.match(holder, '^([^%z]*)%z') or holder -- by rules it may have several places
  local state, time, life, park, answer = unpack(redis.call('HMGET', ns .. 'j:' .. jid, 'state', 'time', 'oarlock-life',
    'oarlock-park', 'oarlock-response'))
  local ends = has(key, holder)
  if state == 'running' or state == 'stalled' or not ends then return end
  -- Of an attempt that was taken from its worker, and may live as long as its lock would have lasted.
  if string.find(holder, '^[^%z]*%z%d+%z') and tonumber(ends) > tonumber(ARGV[4]) then return end
  -- One that waits for an answer, or has it and is to go on, keeps what it holds.
  if (state == 'scheduled' or state == 'waiting') and (park or answer) and life == time then return end
  if fix then redis.call('ZREM', key, holder) end
  return state and 'the job is ' .. state or 'there is no such job', 'it holds it no longer'
end)
