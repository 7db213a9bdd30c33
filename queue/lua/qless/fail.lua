-- fail(now, jid, worker, group, message [, data]) -> jid
-- Ends a running job as failed, filed under a group.
--
--   data   JSON for the job, decoded and encoded again; false is ignored
--
-- Refuses  "Job(): no jid provided", "Fail(): Arg ...", "Fail(): Job ..."
--            does not exist, not currently running: <state>
--            running with another worker: <owner>
-- Reads    ql:j:<jid>; ql:config  max-job-history; ql:tracked
-- Writes   ql:j:<jid>; ql:q:<queue>-locks|work|scheduled; ql:w:<worker>:jobs; ql:failures; ql:f:<group>;
--          ql:s:stats:<day>:<queue>
-- Sends    failed on ql:log; ql:failed if tracked
local now, jid, worker = tonumber(ARGV[1]), given_jid(ARGV[2]), given(ARGV[3], 'Fail', 'worker')
local group, message = given(ARGV[4], 'Fail', 'group'), given(ARGV[5], 'Fail', 'message')
local data = ARGV[6] and cjson.decode(ARGV[6])
local key = 'ql:j:' .. jid
local state, owner, queue, history, throttles, lane =
  unpack(redis.call('HMGET', key, 'state', 'worker', 'queue', 'history', 'throttles', 'oarlock-lane'))
-- The original forgot a blank after the jid.
local who = reqless and 'Job ' or 'Job ' .. jid
if not state then
  refuse('Fail', who .. 'does not exist')
elseif state ~= 'running' then
  refuse('Fail', who .. 'not currently running: ' .. state)
elseif owner ~= worker then
  refuse('Fail', named_job(jid) .. ' running with another worker: ' .. tostring(owner))
end

leave_running(jid, queue)
if reqless then
  redis.call('ZREM', 'ql:q:' .. queue .. '-depends', jid)
  redis.call('ZREM', 'ql:q:' .. queue .. '-throttled', jid)
end
redis.call('ZREM', 'ql:w:' .. worker .. ':jobs', jid)
announce(failed_event(jid, group, message, worker))
tell_trackers('ql:failed', jid)
remember(jid, '[' .. text14(math.floor(now)) .. ',"failed",{"group":' .. cjson.encode(group)
  .. ',"worker":' .. cjson.encode(worker) .. '}]', nil, history)
count_failure(queue, now)
if data then redis.call('HSET', key, 'data', cjson.encode(data)) end
redis.call('HSET', key, 'state', 'failed', 'worker', '', 'expires', '',
  'failure', failure_json(group, message, math.floor(now), worker))
list_failed(jid, group)
if throttles then give_back(jid, queue, throttles, now) end
if lane then depart_lane(jid, lane, now, nil, true) end
return jid
