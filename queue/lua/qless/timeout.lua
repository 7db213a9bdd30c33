-- timeout(now [, jid]...) -> null
-- Takes running jobs from their workers; each is the next to be popped.
-- A refusal ends the loop, and what was done before stays done.
--
-- Refuses  "Timeout(): Job <jid> does not exist", "Timeout(): Job <jid> not running"
-- Reads    ql:j:<jid>; ql:config  max-job-history
-- Writes   ql:j:<jid>  state, expires, in reqless worker; ql:q:<queue>-locks|work
-- Sends    lock_lost to the worker and on ql:log
local now = tonumber(ARGV[1])
for i = 2, #ARGV do
  local jid = ARGV[i]
  local key = 'ql:j:' .. jid
  local state, queue, worker, history, throttles =
    unpack(redis.call('HMGET', key, 'state', 'queue', 'worker', 'history', 'throttles'))
  if not state and not reqless then
    refuse('Timeout', 'Job ' .. jid .. ' does not exist')
  elseif state ~= 'running' then
    refuse('Timeout', 'Job ' .. jid .. ' not running')
  end
  remember(jid, plain_entry(now, 'timed-out'), nil, history)
  redis.call('ZREM', 'ql:q:' .. queue .. '-locks', jid)
  if throttles then release_all(jid, queue, throttles, now) end
  redis.call('ZADD', 'ql:q:' .. queue .. '-work', '+inf', jid)
  redis.call('HSET', key, 'state', 'stalled', 'expires', '0')
  if reqless then redis.call('HSET', key, 'worker', '') end
  lock_lost(jid, worker)
end
