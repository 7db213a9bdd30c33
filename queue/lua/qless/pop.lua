-- pop(now, queue, worker, count) -> JSON list of the jobs, {} if there are none
-- Hands the next jobs of a queue to a worker: first those whose lock was lost by
-- another, then the highest of the work set. Recurring and delayed jobs that are
-- due are brought in before, as many as are still wanted.
--
-- Of a queue with rules it takes what these let start, and may take fewer; see pop_by_rules.
--
-- Refuses  "Queue(): no queue name provided", "Pop(): Arg ..."; of a queue with rules why nothing can be taken
-- Reads    ql:config  heartbeat, <queue>-heartbeat, grace-period, max-job-history,
--          <queue>-max-concurrency; ql:paused_queues; ql:tracked;
--          ql:q:<queue>-work|locks|scheduled|recur; ql:j:<jid>; ql:r:<jid>; ql:oarlock:rules
-- Writes   ql:workers, ql:w:<worker>:jobs, the sets of the queue, ql:j:<jid>,
--          ql:s:wait|stats:<day>:<queue>; for lost locks also ql:failures, ql:f:<group>
-- Sends    ql:popped, ql:stalled, ql:failed if tracked; lock_lost; failed
local now, queue, worker = tonumber(ARGV[1]), given_queue(ARGV[2]), given(ARGV[3], 'Pop', 'worker')
local count = number(ARGV[4], 'Pop', 'count')
local settings = redis.call('HMGET', 'ql:config', queue .. '-heartbeat', 'heartbeat', 'grace-period', 'max-job-history',
  queue .. '-max-concurrency')
local limit = history_limit(settings[4])
-- In most calls nothing is paused, tracked or due by time, which one question tells.
local prefix = 'ql:q:' .. queue
local special = redis.call('EXISTS', 'ql:paused_queues', 'ql:tracked', prefix .. '-recur', prefix .. '-scheduled', 'ql:oarlock:rules') > 0
if special and redis.call('SISMEMBER', 'ql:paused_queues', queue) == 1 then return '{}' end
redis.call('ZADD', 'ql:workers', ARGV[1], worker)

local concurrency = numeric(settings[5], 0)
if concurrency > 0 then
  local running = redis.call('ZCOUNT', prefix .. '-locks', ARGV[1], '+inf')
  count = math.min(math.max(0, concurrency - running), count)
  if count == 0 then return '{}' end
end

if special and is_ruled_queue(queue) then return pop_by_rules(now, queue, worker, count) end
local jids, jobs = reap(queue, now, count, numeric(settings[3], 10), limit)
-- A job whose lock was lost may also wait here, if it was retried into this queue.
local leaving = {}
for i, jid in ipairs(jids) do leaving[i] = jid end
-- A child may have come in the place of one of them.
if special and bring_in(queue, now, count - #jids, limit) > 0 then jobs = load_jobs(jids) end
local ordered = special and has_keys(queue, now)
local heads = head_of(queue, count - #jids)
for _, jid in ipairs(heads) do
  local job = load_job(jid)
  if job and (job.lane or ordered) and not has_turn(jid, job, queue, now) then
    job = nil
  elseif not job then -- a jid without a job is only dropped
    leaving[#leaving + 1] = jid
  end
  -- A job that reqless gave throttles waits for them here too, and leaves at once: one behind it may give back what lets it come in again.
  if job and (not job.throttles or admit(jid, job, queue, now, limit)) then
    jids[#jids + 1], jobs[#jobs + 1], leaving[#leaving + 1] = jid, job, jid
  elseif job then
    redis.call('ZREM', prefix .. '-work', jid)
  end
end
if #leaving > 0 then call_many('ZREM', prefix .. '-work', leaving) end
return hand_over(queue, now, worker, text17(now + lock_length(settings[1], settings[2])), jids, jobs, limit, special)
