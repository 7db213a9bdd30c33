-- queue.pop(now, queue, worker, limit) -> JSON list of the jobs, [] if there are none
-- As pop, but a job is handed over only if all its throttles are available; it then
-- holds them. Others are moved out of the way to wait for one of theirs. Jobs whose
-- lock was lost by another come first, and hold their throttles still.
--
-- Of a queue with rules it takes what these let start, as pop does.
--
-- Refuses  what pop refuses
-- Reads    what pop reads, without max-concurrency; ql:config  max-pop-retry,
--          <queue>-max-pop-retry; ql:th:<tid>
-- Writes   what pop writes; ql:th:<tid>-locks|pending; ql:q:<queue>-throttled
-- Sends    what pop sends
local now, queue, worker = tonumber(ARGV[1]), given_queue(ARGV[2]), given(ARGV[3], 'Pop', 'worker')
local limit = number(ARGV[4], 'Pop', 'limit')
local settings = redis.call('HMGET', 'ql:config', queue .. '-heartbeat', 'heartbeat', 'grace-period', 'max-job-history',
  queue .. '-max-pop-retry', 'max-pop-retry')
local history = history_limit(settings[4])
-- In most calls nothing is paused, tracked or due by time, which one question tells.
local prefix = 'ql:q:' .. queue
local special = redis.call('EXISTS', 'ql:paused_queues', 'ql:tracked', prefix .. '-recur', prefix .. '-scheduled',
  'ql:oarlock:rules') > 0
if special and redis.call('SISMEMBER', 'ql:paused_queues', queue) == 1 then return '[]' end
redis.call('ZADD', 'ql:workers', ARGV[1], worker)

if special and is_ruled_queue(queue) then return pop_by_rules(now, queue, worker, limit) end
local expires = text17(now + lock_length(settings[1], settings[2]))
local taken, taken_jobs = reap(queue, now, limit, numeric(settings[3], 10), history)
-- They run before the work set is looked at. One that was also retried into this queue
-- is there as well, and what it holds and has become counts then.
local shown = hand_over(queue, now, worker, expires, taken, taken_jobs, history, special)
local wanted = limit - #taken
if wanted <= 0 or room_in(queue_throttle(queue)) <= 0 then return shown end

if special then bring_in(queue, now, wanted, history) end
local ordered = special and has_keys(queue, now)
local jids, jobs = {}, {}
local tries = numeric(settings[5], numeric(settings[6], 1))
while tries >= 1 and #jids < wanted do
  tries = tries - 1
  local heads = head_of(queue, wanted - #jids)
  if #heads == 0 then break end
  local leaving = {}
  for _, jid in ipairs(heads) do
    local job = load_job(jid)
    if job and (job.lane or ordered) and not has_turn(jid, job, queue, now) then
      job = nil
    elseif not job then -- a jid without a job is only dropped
      leaving[#leaving + 1] = jid
    end
    if job and admit(jid, job, queue, now, history) then
      jids[#jids + 1], jobs[#jobs + 1], leaving[#leaving + 1] = jid, job, jid
    elseif job then -- at once: one behind it may give back what lets it come in again
      redis.call('ZREM', prefix .. '-work', jid)
    end
  end
  if #leaving > 0 then call_many('ZREM', prefix .. '-work', leaving) end
end
shown = hand_over(queue, now, worker, expires, jids, jobs, history, special)
if #taken == 0 then return shown end
for _, jid in ipairs(jids) do taken[#taken + 1] = jid end
return view_all(taken)
