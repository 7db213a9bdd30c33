-- decider.rule(now, throttle, number, next, open, trouble, [jid, queue, verb, seconds, why]...) -> done, and per job done or gone; or else,
-- if it is another's turn
-- Says what the command of a throttle decided.
--
--   number    of the question; decided is only what was asked last, and once
--   next      how many seconds nobody asks from now on
--   open      for how many seconds nobody need be asked, where the rules say so of a command that fails
--   trouble   what was wrong with the answer; '' if nothing was
--   verb      start: the next take may have it, for so many seconds; hold: it is asked about again after so many; delay: it is
--             put off for so many
--   gone      it waits no more
--
-- Reads    ql:oarlock:rules; ql:j:<jid>; the waitlists
-- Writes   what it reads, and ql:oarlock:asker:<tid>, asked:<tid>; ql:th:<tid>-locks; ql:oarlock:held; ql:q:<queue>-work|scheduled|throttled
-- Sends    the queue's name on ql:oarlock:wake
local now, tid, key = tonumber(ARGV[1]), ARGV[2], 'ql:oarlock:asker:' .. ARGV[2]
local f = redis.call('HMGET', key, 'number', 'until')
if f[1] ~= ARGV[3] or not f[2] then return { 'else' } end
local g, told, asked_key = open_gate(open_batch(now, '')), { 'done' }, 'ql:oarlock:asked:' .. tid
waiting_room(g)

local function decide(jid, queue, verb, seconds, why)
  local v = redis.call('HMGET', 'ql:j:' .. jid, 'state', 'queue', 'throttles')
  if v[1] ~= 'throttled' or v[2] ~= queue or not v[3] then return 'gone' end
  local list = list_named(g, queue, #v[3] > 256 and redis.sha1hex(v[3]) or v[3])
  local place = redis.call('ZSCORE', list.key, jid)
  if place and not list.record and find_again(list, now) then write_found(list) end -- somebody deleted it
  if not place or list.tid ~= tid then return 'gone' end
  local when = text17(now + seconds)
  if verb == 'hold' or verb == 'delay' then
    redis.call('HSET', 'ql:j:' .. jid, 'oarlock-asked', when .. ' ' .. #tid .. ':' .. tid .. why)
  end
  if verb == 'hold' then
    redis.call('ZADD', asked_key, when, jid)
    return 'done'
  end
  if verb == 'delay' then
    seat(queue, '-scheduled', when, jid)
    redis.call('HSET', 'ql:j:' .. jid, 'state', 'scheduled')
  else
    redis.call('ZADD', 'ql:th:' .. tid .. '-locks', when, jid)
    redis.call('SADD', 'ql:oarlock:held', tid)
    seat(queue, '-work', place, jid)
    redis.call('HSET', 'ql:j:' .. jid, 'state', 'waiting')
    wake(queue)
  end
  redis.call('ZREM', 'ql:q:' .. queue .. '-throttled', jid)
  list.left[#list.left + 1], list.touched = jid, true
  return 'done'
end

for i = 7, #ARGV, 5 do told[#told + 1] = decide(ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]), ARGV[i + 4]) end
write_lists(g, { unfiled = {} })
redis.call('EXPIRE', asked_key, '7200')
redis.call('HDEL', key, 'until')
redis.call('HSET', key, 'next', text17(now + tonumber(ARGV[4])), 'open', text17(now + tonumber(ARGV[5])), 'trouble', ARGV[6], 'at', ARGV[1])
return told
