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
  local state, queue, worker, history, throttles, lane, expires, gate, time =
    unpack(redis.call('HMGET', key, 'state', 'queue', 'worker', 'history', 'throttles', 'oarlock-lane', 'expires', 'oarlock-gate', 'time'))
  if not state and not reqless then
    refuse('Timeout', 'Job ' .. jid .. ' does not exist')
  elseif state ~= 'running' then
    refuse('Timeout', 'Job ' .. jid .. ' not running')
  end
  take_back(jid, { queue = queue, worker = worker, history = history, throttles = throttles, lane = lane, expires = expires, gate = gate,
    time = time }, now, plain_entry(now, 'timed-out'))
end
