-- clear(now, queue, part, to, before, from, at) -> done, at, rest, newer, list
-- Cancels the jobs at rest in a part of a queue, or moves them to another: as many as one call
-- may. Of what it leaves, each is passed over by the next call.
--
--   part     work, scheduled, depends or throttled
--   to       the queue that they go to; empty: they are canceled
--   before   jobs put after this are left
--   from     top: the highest score first; bottom: the lowest
--   at       how many of the part were left by calls before; returned for the next call
--   done     how many were canceled or moved
--   rest     1 if there are more
--   newer    how many were left because they were put later
--   list     pairs of the jid of a job that was left for another reason, and that
--
-- A job that another waits for is not canceled. A job that moves keeps all that it has: place, due time, retries left,
-- and what we keep with it; one that waited for a throttle tries for it from the new queue.
--
-- Reads    ql:q:<queue>-<part>, ql:j:<jid>; ql:config  max-job-history
-- Writes   what cancel writes; or ql:q:<queue>-<part>, ql:q:<to>-<part>, ql:queues, ql:j:<jid>,
--          its history, throttles that it waited for
-- Sends    what cancel and put send, and the queue's name on ql:oarlock:wake
local batch, queue, part, to = open_batch(tonumber(ARGV[1]), ''), ARGV[2], ARGV[3], ARGV[4]
local before, at = tonumber(ARGV[5]), tonumber(ARGV[7])
local key = 'ql:q:' .. queue .. '-' .. part
local jids = redis.call(ARGV[6] == 'top' and 'ZREVRANGE' or 'ZRANGE', key, at, at + 99)
if to ~= '' then
  redis.call('ZCARD', 'ql:q:' .. to .. '-' .. part)
  redis.call('ZCARD', 'ql:q:' .. to .. '-work')
end
local done, newer, rest, list = 0, 0, #jids == 100 and 1 or 0, {}
for _, jid in ipairs(jids) do
  if batch.commands <= 0 then
    rest = 1
    break
  end
  local ok, why = pcall(clear_one, batch, jid, queue, part, to, before)
  if not ok then
    reseat(batch, jid, queue, to ~= '' and to or nil)
    why = reason_of(why)
  end
  if not why then
    done = done + 1
  else
    at = at + 1
    if why == 'newer' then
      newer = newer + 1
    else
      list[#list + 1], list[#list + 2] = jid, why
    end
  end
end
-- Behind one that went there may have come another.
if turns and turns.passed then rest = 1 end
return { done, at, rest, newer, list }
