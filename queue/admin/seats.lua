-- seats(ns, now, fix, queue, part, jid, ...) -> jid, reason, remedy, ...
-- Which members of the work set or the schedule of a queue are not there for what their keys say: they stand behind others of
-- their key, or are shelved without a key. With fix "1" the former leave it, and keep their place; the latter are due as others are.
--   part   work or scheduled
local fix, queue, part = ARGV[3] == '1', ARGV[4], ARGV[5]
local set = ns .. 'q:' .. queue .. '-' .. part
-- What is delayed by three centuries has places as a shelved job has; nobody delays a job by these and some years more.
local years = 10 * 366 * 86400

-- unmarked(place, sign, time) -> whether a place is that of a shelved job, and its mark is not
local function unmarked(place, sign, time)
  local due, put = place - shelf, tonumber(time) or 0
  return part == 'scheduled' and sign ~= '=' and due >= put and due < put + years
end

return each(6, function(jid)
  local place = tonumber(has(set, jid) or '')
  if not place then return end
  local mark, own, state, time = unpack(redis.call('HMGET', ns .. 'j:' .. jid, 'oarlock-lane', 'queue', 'state', 'time'))
  local sign, of, key = read_mark(mark)
  if own ~= queue then return end
  if of ~= queue then sign = nil end
  if unmarked(place, sign, time) and redis.call('HGET', ns .. 'oarlock:rules', 'o:' .. queue) then
    if fix then redis.call('ZADD', set, string.format('%.17g', place - shelf), jid) end
    return 'is shelved, as delayed jobs with a key are, and has none', 'it is due when it was to be'
  end
  if sign == '-' and state == 'waiting' then
    if fix then redis.call('ZREM', set, jid) end
    return 'stands behind others of key ' .. key .. ', and is in ' .. set, 'taken out of that; it stands where it stood'
  end
end)
