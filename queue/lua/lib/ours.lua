-- What Oarlock keeps with a job: fields of ql:j:<jid> that begin with oarlock-,
-- which the protocol's own commands neither show nor touch.
--   oarlock-queue       the queue in which the others count, but timeout and trace; elsewhere they are void
--   oarlock-timeout     seconds an attempt may take, in whichever queue
--   oarlock-trace       the trace in which it was put, in whichever queue; see Trace in Go
--   oarlock-wants       what it says itself of what it needs to run, in whichever queue; see wants.lua
--   oarlock-crashes, oarlock-interruptions, oarlock-spared   counts
--   oarlock-deaths      deaths of supervisors that had the job, since it last ended otherwise
--   oarlock-unstarted, oarlock-unknown   what stands in its way, JSON; see Standing in Go
--   oarlock-batch       how many jobs at most may be in the message that brings it to a child
--   oarlock-standstill  interruptions since the last that came with a new checkpoint
--   oarlock-checkpoint  what the next attempt is told
--   oarlock-record      how the last attempt that did not end well ended, JSON
--   oarlock-failed      1: the job failed; when it runs again the counts begin anew
--   oarlock-correlation, oarlock-park and what else belongs to an answer: see park.lua
--   oarlock-merge, oarlock-first, oarlock-load and payloads: see merge.lua

-- load_ours(jid, queue, of_queue) -> table of those fields that count, by their names without oarlock-
--   of_queue   the field oarlock-queue, which rides on the first read of the job
-- Rare.
function load_ours(jid, queue, of_queue)
  if not of_queue then return {} end
  -- Those of the first line belong to the job, in whichever queue; those of the second begin anew with a job that
  -- failed.
  local our_fields = {
    'timeout', 'correlation', 'trace',
    'crashes', 'interruptions', 'spared', 'unstarted', 'unknown', 'standstill', 'deaths', 'batch',
    'life', 'checkpoint', 'record', 'failed', 'park', 'then', 'response', 'response-given', 'merge', 'first', 'load',
  }
  local names, ours = {}, {}
  for i, name in ipairs(our_fields) do names[i] = 'oarlock-' .. name end
  local f = redis.call('HMGET', 'ql:j:' .. jid, unpack(names))
  for i, name in ipairs(our_fields) do
    if of_queue == queue or i <= 3 then ours[name] = f[i] or nil end
  end
  if ours.failed then
    for i = 4, 11 do ours[our_fields[i]] = nil end
  end
  return ours
end

-- carry_over(jid, how, queue): a job that goes on by a verb of ours keeps what is
-- listed here, and all else of ours is forgotten; what the protocol keeps is kept by put_job
--   how    again   into its own queue, as it is
--          moved   into another queue, as it is
--          onward  from queue to queue as its work goes on; an answer that no attempt was given yet goes along
--          anew    with other data
--   queue  where it is now
-- Rare.
function carry_over(jid, how, queue)
  local key, fields = 'ql:j:' .. jid, {}
  for _, field in ipairs(redis.call('HKEYS', key)) do fields[field] = true end
  local kept = {
    again = { 'checkpoint', 'record', 'response', 'response-given', 'then', 'merge', 'first', 'load', 'parts', 'crons' },
    moved = { 'record', 'response', 'response-given', 'then', 'merge', 'first', 'load', 'parts', 'crons' },
    onward = { not fields['oarlock-response-given'] and 'response' },
    anew = {},
  }
  local stay = { ['oarlock-timeout'] = true, ['oarlock-correlation'] = true, ['oarlock-trace'] = true, ['oarlock-early'] = true, ['oarlock-wants'] = true }
  local gone, stays = { 'oarlock-queue' }, false
  for _, name in ipairs(kept[how]) do stay['oarlock-' .. tostring(name)] = true end
  for field in pairs(fields) do
    if field == 'oarlock-lane' or field == 'oarlock-gate' then -- one says itself where it counts, the other is of throttles
    elseif stay[field] or stay['oarlock-load'] and string.find(field, payload_fields) then
      stays = true
    elseif string.sub(field, 1, 8) == 'oarlock-' then
      gone[#gone + 1] = field
    end
  end
  redis.call('HDEL', key, unpack(gone))
  if stays then redis.call('HSET', key, 'oarlock-queue', queue) end
  if stay['oarlock-response'] and fields['oarlock-response'] then
    redis.call('HSET', key, 'oarlock-life', string.format('%.20f', tonumber(ARGV[1]))) -- the time that the job has now
  end
end

-- drop_counts(jid): a failed job runs again
-- Rare.
function drop_counts(jid)
  redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-crashes', 'oarlock-interruptions', 'oarlock-spared', 'oarlock-failed',
    'oarlock-unstarted', 'oarlock-unknown', 'oarlock-standstill', 'oarlock-deaths', 'oarlock-batch')
end
