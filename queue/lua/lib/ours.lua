-- What Oarlock keeps with a job: fields of ql:j:<jid> that begin with oarlock-,
-- which the protocol's own commands neither show nor touch.
--   oarlock-queue       the queue in which all the others but the timeout count; elsewhere they are void
--   oarlock-timeout     seconds an attempt may take, in whichever queue
--   oarlock-crashes, oarlock-interruptions, oarlock-spared   counts
--   oarlock-deaths      deaths of supervisors that had the job, since it last ended otherwise
--   oarlock-unstarted, oarlock-unknown   what stands in its way, JSON; see Standing in Go
--   oarlock-standstill  interruptions since the last that came with a new checkpoint
--   oarlock-checkpoint  what the next attempt is told
--   oarlock-record      how the last attempt that did not end well ended, JSON
--   oarlock-failed      1: the job failed; when it runs again the counts begin anew

-- load_ours(jid, queue, of_queue) -> table of those fields that count
--   of_queue   the field oarlock-queue, which rides on the first read of the job
-- Rare.
function load_ours(jid, queue, of_queue)
  if not of_queue then return {} end
  local f = redis.call('HMGET', 'ql:j:' .. jid, 'oarlock-timeout', 'oarlock-crashes', 'oarlock-interruptions',
    'oarlock-spared', 'oarlock-checkpoint', 'oarlock-record', 'oarlock-failed', 'oarlock-unstarted', 'oarlock-unknown',
    'oarlock-standstill', 'oarlock-deaths')
  if of_queue ~= queue then return { timeout = f[1] } end
  local ours = { timeout = f[1], checkpoint = f[5], record = f[6], failed = f[7] }
  if not ours.failed then
    ours.crashes, ours.interruptions, ours.spared, ours.unstarted, ours.unknown = f[2], f[3], f[4], f[8], f[9]
    ours.standstill, ours.deaths = f[10], f[11]
  end
  return ours
end

-- carry_over(jid, how, queue): a job that goes on by a verb of ours keeps what is
-- listed here, and all else of ours is forgotten; what the protocol keeps is kept by put_job
--   how    again  into its own queue, as it is
--          moved  into another queue, as it is
--          anew   with other data, or from queue to queue as its work goes on
--   queue  where it is now
-- Rare.
function carry_over(jid, how, queue)
  local kept = {
    again = { ['oarlock-timeout'] = true, ['oarlock-checkpoint'] = true, ['oarlock-record'] = true },
    moved = { ['oarlock-timeout'] = true, ['oarlock-record'] = true },
    anew = { ['oarlock-timeout'] = true },
  }
  local key, gone, stays = 'ql:j:' .. jid, { 'oarlock-queue' }, false
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if kept[how][field] then
      stays = true
    elseif string.sub(field, 1, 8) == 'oarlock-' then
      gone[#gone + 1] = field
    end
  end
  redis.call('HDEL', key, unpack(gone))
  if stays then redis.call('HSET', key, 'oarlock-queue', queue) end
end

-- drop_counts(jid): a failed job runs again
-- Rare.
function drop_counts(jid)
  redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-crashes', 'oarlock-interruptions', 'oarlock-spared', 'oarlock-failed',
    'oarlock-unstarted', 'oarlock-unknown', 'oarlock-standstill', 'oarlock-deaths')
end
