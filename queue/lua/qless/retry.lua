-- retry(now, jid, queue, worker [, delay [, group [, message]]]) -> remaining
-- Hands a running job back at the cost of one retry; with none left it fails.
--
--   queue           where it goes; clients always name the job's own
--   delay           seconds
--   group, message  why, kept in the job if both are given
--   remaining       retries left; -1 if the job failed
--
-- Refuses  "Job(): no jid provided", "Retry(): Arg ...", "Retry(): Job <jid> ..."
--            does not exist, is not currently running: <state>
--            has been given to another worker: <owner>
-- Reads    ql:j:<jid>; ql:config  max-job-history; ql:tracked
-- Writes   ql:j:<jid>; ql:q:<queue>-locks|work|scheduled; ql:w:<worker>:jobs;
--          exhausted  ql:failures, ql:f:<group>, ql:s:stats:<day>:<queue>
-- Sends    ql:failed if tracked and exhausted, not in reqless
local now, jid = tonumber(ARGV[1]), given_jid(ARGV[2])
local queue = given(ARGV[3], 'Retry', reqless and 'queue_name' or 'queue')
local worker, delay = given(ARGV[4], 'Retry', 'worker'), number(ARGV[5] or 0, 'Retry', 'delay')
local group, message = ARGV[6], ARGV[7]
local key = 'ql:j:' .. jid
local state, owner, in_queue, priority, remaining, history, throttles, lane =
  unpack(redis.call('HMGET', key, 'state', 'worker', 'queue', 'priority', 'remaining', 'history', 'throttles', 'oarlock-lane'))
if not state then
  refuse('Retry', named_job(jid) .. ' does not exist')
elseif state ~= 'running' then
  refuse('Retry', named_job(jid) .. ' is not currently running: ' .. state)
elseif owner ~= worker then
  refuse('Retry', named_job(jid) .. ' has been given to another worker: ' .. tostring(owner))
end

unlock(in_queue, jid)
redis.call('ZREM', 'ql:w:' .. worker .. ':jobs', jid)
redis.call('HDEL', key, 'grace')
if throttles then give_back(jid, in_queue, throttles, now) end
local left = math.floor(tonumber(remaining) or 0) - 1
if left >= 0 then
  if group and message then
    redis.call('HSET', key, 'failure', failure_json(group, message, math.floor(now), worker))
  end
  if delay > 0 then
    seat(queue, '-scheduled', now + delay, jid)
    redis.call('HSET', key, 'remaining', text17(left), 'state', 'scheduled')
  else
    seat(queue, '-work', score(tonumber(priority) or 0, now), jid)
    redis.call('HSET', key, 'remaining', text17(left), 'state', 'waiting')
  end
  return left
end

local failure
local default_group, default_message = exhausted(queue, in_queue)
group = group or default_group
if ARGV[6] and message then
  failure = failure_json(group, message, math.floor(now), worker)
else
  failure = failure_json(group, default_message, now, '')
end
remember(jid, '[' .. text14(math.floor(now)) .. (reqless and ',"failed-retries"' or ',"failed"')
  .. ',{"group":' .. cjson.encode(group) .. '}]', nil, history)
redis.call('HSET', key, 'remaining', text17(left), 'state', 'failed', 'worker', '', 'expires', '', 'failure', failure)
if not reqless then tell_trackers('ql:failed', jid) end
list_failed(jid, group)
count_failure(queue, now)
if lane then depart_lane(jid, lane, now, nil, true) end
return left
