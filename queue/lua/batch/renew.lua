-- renew(now, worker, count, [jid, queue, popped]..., [index, checkpoint]...) -> list
-- Extends the locks that a worker holds, each as the protocol's heartbeat does.
--
--   popped      as in exchange. It vouches for worker and queue, too, for whatever changes
--               these gives the job another time
--   index       from 1: whose checkpoint it is, to be kept with that job if its lock holds
--   list        per job when the lock now ends, or a list of lost or refused and why
--
-- The first write deletes nothing: a Redis that is out of memory lets a script go on that
-- began with a deletion, and no job need lose its lock for that.
--
-- Reads    ql:j:<jid>  state, worker, queue, time; ql:config  heartbeat, <queue>-heartbeat
-- Writes   ql:j:<jid>  expires, oarlock-queue, oarlock-checkpoint; ql:q:<queue>-locks;
--          ql:w:<worker>:jobs; ql:workers
local now, worker, count = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local of_all = read_setting('heartbeat')
local expiries = {}
for i = 5, 2 + 3 * count, 3 do
  local queue = ARGV[i]
  if not expiries[queue] then
    expiries[queue] = text17(now + lease_length(read_setting(queue .. '-heartbeat'), of_all))
  end
end

-- objection(f, key, queue, popped) -> what is wrong with a job that is not held
--   f   state, time or worker, and without popped the queue
local function objection(f, key, queue, popped)
  if f.err then return { 'refused', f.err } end
  if not f[1] then return { 'lost', 'the job does not exist' } end
  if f[1] ~= 'running' then return { 'lost', 'not running but ' .. f[1] } end
  if popped ~= '' then return { 'lost', 'popped again since, by ' .. tostring(redis.pcall('HGET', key, 'worker')) } end
  if f[2] ~= worker then return { 'lost', 'given to another worker: ' .. tostring(f[2]) } end
  return { 'lost', 'running in another queue: ' .. tostring(f[3]) }
end

local function keep_checkpoint(jid, queue, checkpoint)
  local key = 'ql:j:' .. jid
  local of_queue = redis.call('HGET', key, 'oarlock-queue')
  if of_queue and of_queue ~= queue then carry_over(jid, 'anew', queue) end
  redis.call('HSET', key, 'oarlock-queue', queue, 'oarlock-checkpoint', checkpoint)
end

redis.call('DEL', 'ql:oarlock:none')
local reply, jids, queue_of, n = {}, {}, {}, 0
for i = 1, count do
  local jid, queue, popped = ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3]
  local key, expires = 'ql:j:' .. jid, expiries[queue]
  local f, held
  if popped ~= '' then
    f = redis.pcall('HMGET', key, 'state', 'time')
    held = f[2] == popped
  else
    f = redis.pcall('HMGET', key, 'state', 'worker', 'queue')
    held = f[2] == worker and f[3] == queue
  end
  if held and f[1] == 'running' then
    local kept = redis.pcall('HSET', key, 'expires', expires)
    if type(kept) == 'table' then
      reply[i] = { 'refused', kept.err }
    else
      n = n + 1
      jids[n], queue_of[jid], reply[i] = jid, queue, expires
    end
  else
    reply[i] = objection(f, key, queue, popped)
  end
end
if n == 0 then return reply end

-- Entries of a sorted set leave it and come back with their new scores. Redis keeps a small
-- set as a list, in the order of scores and then names, and looks for each entry, or its
-- place, from the start; by leaving in this order and coming back in the reverse, each is
-- found at once.
local function come_back(key, sorted)
  local entries, m = {}, 0
  for i = #sorted, 1, -1 do
    local jid = sorted[i]
    entries[m + 1], entries[m + 2] = expiries[queue_of[jid]], jid
    m = m + 2
  end
  call_many('ZADD', key, entries)
end

table.sort(jids)
local holds, locks = 'ql:w:' .. worker .. ':jobs', {}
for i = 1, n do add(locks, 'ql:q:' .. queue_of[jids[i]] .. '-locks', jids[i]) end
-- Where a set cannot be written, the jobs' hashes say for how long they are ours; each entry
-- is then put back by itself, as far as that is possible.
local function exchange_entries(key, sorted)
  call_many('ZREM', key, sorted)
  come_back(key, sorted)
end

local function renew_entries(key, sorted, all_together)
  if pcall(all_together, key, sorted) then return end
  if key == holds then
    local held = redis.pcall('ZCARD', holds)
    if type(held) == 'table' and is_wrong_type(held) then redis.pcall('DEL', holds) end -- nobody else's
  end
  for _, jid in ipairs(sorted) do redis.pcall('ZADD', key, expiries[queue_of[jid]], jid) end
end

pcall(call_many, 'ZREM', holds, jids)
for key, held in pairs(locks) do renew_entries(key, held, exchange_entries) end
-- Where all of it is in one queue that nobody else works, both sets are the same. A Redis
-- before 6.2 refuses to copy.
local key = next(locks)
local same = not next(locks, key) and redis.pcall('ZCARD', key) == n
if not same or redis.pcall('COPY', key, holds) ~= 1 then renew_entries(holds, jids, come_back) end
redis.pcall('ZADD', 'ql:workers', ARGV[1], worker)

for at = 4 + 3 * count, #ARGV, 2 do
  local i, checkpoint = tonumber(ARGV[at]), ARGV[at + 1]
  if type(reply[i]) == 'string' then
    local jid, queue = ARGV[3 * i + 1], ARGV[3 * i + 2]
    local ok, raised = pcall(keep_checkpoint, jid, queue, checkpoint)
    if not ok then reply[i] = { 'refused', reason_of(raised) } end
  end
end
return reply
