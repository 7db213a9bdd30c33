-- key.drop(now, queue, key, at) -> done, at, rest, list
-- Cancels jobs of a key: those behind, the last one first, and at the end the one that has the turn, though it
-- runs: as many as one call may. Of what it leaves, each is passed over by the next call.
--
--   at      how many behind were left by calls before; returned for the next call
--   done    how many were canceled
--   rest    1 if there are more
--   list    pairs of the jid of a job that was left, and why; '' for what is no job
--
-- A job that another waits for is not canceled.
--
-- Reads    ql:oarlock:turns:<queue>, ql:j:<jid>-dependents
-- Writes   ql:oarlock:lane:<n>:<queue>:<key>; what cancel writes
-- Sends    what cancel sends
local batch, queue, key, at = open_batch(tonumber(ARGV[1]), ''), ARGV[2], ARGV[3], tonumber(ARGV[4])
local lane, done, list = lane_of(queue, key), 0, {}

-- drop(jid) -> whether a job is canceled
local function drop(jid)
  if has_members('ql:j:' .. jid .. '-dependents') then
    list[#list + 1], list[#list + 2] = jid, 'another job waits for it'
    return false
  end
  local ok, wrong = pcall(cancel_job, jid, batch.now)
  if ok then
    done = done + 1
  else
    list[#list + 1], list[#list + 2] = jid, reason_of(wrong)
    reseat(batch, jid, queue)
  end
  return ok
end

-- drop_behind() -> whether there are more
local function drop_behind()
  local entries = redis.call('LRANGE', lane, -at - 30, -at - 1)
  for i = #entries, 1, -1 do
    local place, jid = string.match(entries[i], '^(%S+) (.*)$')
    local stands = place and redis.call('HGET', 'ql:j:' .. jid, 'oarlock-lane') == mark_text('-', queue, place, key)
    if stands and not drop(jid) then
      at = at + 1
    elseif redis.call('LREM', lane, '-1', entries[i]) == 1 and redis.call('HINCRBY', 'ql:oarlock:behind', queue, '-1') <= 0 then
      redis.call('HDEL', 'ql:oarlock:behind', queue)
    end
  end
  return #entries == 30
end

local function drop_holder()
  local holder = redis.call('HGET', 'ql:oarlock:turns:' .. queue, key) or ''
  if redis.call('EXISTS', lane) == 0 and string.sub(holder, 1, 1) ~= '!' then redis.call('ZREM', 'ql:oarlock:lanes:' .. queue, key) end
  local jid = string.match(holder, '^=(.*)$')
  if jid and redis.call('HGET', 'ql:j:' .. jid, 'state') then drop(jid) end
end

local ok, more = pcall(drop_behind)
if ok and more then return { done, at, 1, list } end
local held, wrong = pcall(drop_holder)
if not ok or not held then list[#list + 1], list[#list + 2] = '', reason_of(ok and wrong or more) end
return { done, at, 0, list }
