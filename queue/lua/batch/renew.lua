-- renew(now, worker, count, [jid, queue, popped, checkpoint]...) -> list
-- Extends the locks that a worker holds, each as the protocol's heartbeat does.
--
--   popped      as in exchange
--   checkpoint  kept with the job unless empty
--   list        per job when the lock now ends, or a list of lost or refused and why
--
-- Reads    ql:j:<jid>  state, worker, queue, time; ql:config  heartbeat, <queue>-heartbeat
-- Writes   ql:j:<jid>  expires, oarlock-queue, oarlock-checkpoint; ql:q:<queue>-locks;
--          ql:w:<worker>:jobs; ql:workers
local now, worker, count = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local queues, listed = {}, {}
for i = 5, 1 + 4 * count, 4 do
  local queue = ARGV[i]
  if not listed[queue] then
    listed[queue] = true
    queues[#queues + 1] = queue
  end
end
local fields = { 'heartbeat' }
for i, queue in ipairs(queues) do fields[i + 1] = queue .. '-heartbeat' end
local settings = call_wide('HMGET', 'ql:config', fields)
local expiries = {}
for i, queue in ipairs(queues) do expiries[queue] = text17(now + lock_length(settings[i + 1], settings[1])) end

local reply, held, locks = {}, {}, {}

local function renew(jid, queue, popped, checkpoint)
  local key = 'ql:j:' .. jid
  -- The mark of the attempt vouches for the queue, too: whatever moves a job renews it.
  local f = redis.call('HMGET', key, 'state', 'worker', popped == '' and 'queue' or 'time')
  local state, owner, mark = f[1], f[2], f[3]
  if not state then return { 'lost', 'the job does not exist' } end
  if state ~= 'running' then return { 'lost', 'not running but ' .. state } end
  if owner ~= worker then return { 'lost', 'given to another worker: ' .. tostring(owner) } end
  if popped == '' and mark ~= queue then return { 'lost', 'running in another queue: ' .. tostring(mark) } end
  if popped ~= '' and mark ~= popped then return { 'lost', 'popped again since' } end
  local expires = expiries[queue]
  if checkpoint == '' then
    redis.call('HSET', key, 'expires', expires)
  else
    if #checkpoint > 65536 then return { 'refused', 'the checkpoint exceeds 64 KiB' } end
    local of_queue = redis.call('HGET', key, 'oarlock-queue')
    if of_queue and of_queue ~= queue then drop_ours(jid) end
    redis.call('HSET', key, 'expires', expires, 'oarlock-queue', queue, 'oarlock-checkpoint', checkpoint)
  end
  held[#held + 1], held[#held + 2] = expires, jid
  add(locks, queue, expires, jid)
  return expires
end

for i = 1, count do
  local at = 4 * i
  local ok, result = pcall(renew, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  reply[i] = ok and result or { 'refused', reason_of(result) }
end
if #held > 0 then
  call_many('ZADD', 'ql:w:' .. worker .. ':jobs', held)
  for queue, entries in pairs(locks) do call_many('ZADD', 'ql:q:' .. queue .. '-locks', entries) end
  redis.call('ZADD', 'ql:workers', ARGV[1], worker)
end
return reply
