-- heartbeat(now, jid, worker [, data]) -> expires
-- Extends the lock that a worker holds on a running job.
--
--   data     JSON for the job, decoded and encoded again; false is ignored
--   expires  when the lock now runs out; an integer reply, so whole seconds
--
-- Refuses  "Job(): no jid provided", "Heatbeat(): Arg ..." (sic), "Heartbeat(): ..."
--            does not exist                  the job is gone
--            not currently running: <state>  the job was settled, or timed out
--            given out to another worker     someone else holds the lock
-- Reads    ql:j:<jid>  state, worker, queue; ql:config  heartbeat, <queue>-heartbeat
-- Writes   ql:j:<jid>  expires, worker, data; ql:w:<worker>:jobs; ql:q:<queue>-locks;
--          in qless also ql:workers
local jid, worker, data = given_jid(ARGV[2]), given(ARGV[3], 'Heatbeat', 'worker'), ARGV[4]
if data then data = cjson.decode(data) end
local key = 'ql:j:' .. jid
local state, owner, queue = unpack(redis.call('HMGET', key, 'state', 'worker', 'queue'))
if not state then
  refuse('Heartbeat', named_job(jid) .. ' does not exist')
elseif state ~= 'running' then
  refuse('Heartbeat', named_job(jid) .. ' not currently running: ' .. state)
elseif owner ~= worker or owner == '' then
  refuse('Heartbeat', named_job(jid) .. ' given out to another worker: ' .. tostring(owner))
end

local settings = redis.call('HMGET', 'ql:config', queue .. '-heartbeat', 'heartbeat')
local expires = tonumber(ARGV[1]) + lock_length(settings[1], settings[2])
local until_when = text17(expires)
local holds, locks = 'ql:w:' .. worker .. ':jobs', 'ql:q:' .. queue .. '-locks'
if data then
  redis.call('HSET', key, 'expires', until_when, 'worker', worker, 'data', cjson.encode(data))
else
  -- A Redis that is out of memory lets a script go on whose first write takes
  -- something away, and no job need lose its lock for that.
  redis.call('ZREM', holds, jid)
  redis.call('HSET', key, 'expires', until_when, 'worker', worker)
end
redis.call('ZADD', holds, until_when, jid)
redis.call('ZADD', locks, until_when, jid)
if not reqless then redis.call('ZADD', 'ql:workers', ARGV[1], worker) end
return expires
