-- turn(ns, now, fix, queue, key, jid) -> jid, reason, remedy, or nothing
-- Whether a job says that it has the turn of its key, and has not. With fix "1" it has it again where nobody else has; else
-- it joins those of its key at the end.
local now, fix, queue, key = tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4], ARGV[5]
local turn = ns .. 'oarlock:turns:' .. queue

-- held(holder) -> whether that is somebody, or may be: who has the turn says so himself, and a run that was taken from its worker may live
local function held(holder)
  local ends = string.match(holder, '^!(%S+) ')
  if ends then return (tonumber(ends) or 0) > now end
  local sign, of, its = read_mark(redis.call('HGET', ns .. 'j:' .. string.sub(holder, 2), 'oarlock-lane'))
  return sign == '+' and of == queue and its == key
end

return each(6, function(jid)
  local sign, of, its = read_mark(redis.call('HGET', ns .. 'j:' .. jid, 'oarlock-lane'))
  if sign ~= '+' or of ~= queue or its ~= key then return end
  local holder = redis.call('HGET', turn, key)
  if holder == '=' .. jid then return end
  local other = holder and held(holder)
  if fix and other then
    redis.call('HSET', ns .. 'j:' .. jid, 'oarlock-lane', '=' .. #queue .. ':' .. queue .. ': ' .. key)
  elseif fix then
    redis.call('HSET', turn, key, '=' .. jid)
    look_after(queue, key, now)
  end
  return 'says that it has the turn of key ' .. key .. ', which is not so', other and 'joins those of its key at the end' or 'it has the turn again'
end)
