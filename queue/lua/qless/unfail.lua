-- unfail(now, queue, group [, count]) -> how many
-- Makes the oldest failed jobs of a group ready again, in a queue.
--
--   count   25; a negative one means all but that many of the newest, not in reqless
--
-- Refuses  "Queue(): no queue name provided", "Unfail(): Arg ..."
-- Reads    ql:f:<group>, ql:j:<jid>; ql:config  max-job-history
-- Writes   ql:f:<group>, ql:failures, ql:j:<jid>, ql:q:<queue>-work
-- Sends    the queue's name on ql:oarlock:wake
local now = tonumber(ARGV[1])
local queue = reqless and given(ARGV[2], 'Unfail', 'queue') or given_queue(ARGV[2])
local group = given(ARGV[3], 'Unfail', 'group')
local most, count = number(ARGV[4] or 25, 'Unfail', 'count'), 0
if most == 0 or reqless and most < 0 then refuse('Unfail', 'Arg "count" must be greater than zero') end
local list = 'ql:f:' .. group
local entry = put_entry(now, queue)
local scores = {}
for _, jid in ipairs(redis.call('LRANGE', list, -most, '-1')) do
  local key = 'ql:j:' .. jid
  local retries, priority, history, exists, lane = unpack(redis.call('HMGET', key, 'retries', 'priority', 'history', 'jid', 'oarlock-lane'))
  -- A jid without a job is only dropped.
  if exists then
    remember(jid, entry, nil, history)
    redis.call('HSET', key, 'state', 'waiting', 'worker', '', 'expires', '0', 'queue', queue,
      'remaining', retries or '5')
    if not (lane and arrive_at(queue, jid, lane, now)) then
      scores[#scores + 1] = score(tonumber(priority) or 0, now)
      scores[#scores + 1] = jid
    end
    count = count + 1
  end
end
seat_all(queue, scores)
if #scores > 0 then wake(queue) end
redis.call('LTRIM', list, '0', -most - 1)
if redis.call('EXISTS', list) == 0 then redis.call('SREM', 'ql:failures', group) end
return count
