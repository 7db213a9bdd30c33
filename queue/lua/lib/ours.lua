-- What Oarlock keeps with a job: fields of ql:j:<jid> that begin with oarlock-,
-- which the protocol's own commands neither show nor touch.
--   oarlock-queue       the queue in which all the others count; elsewhere they are void
--   oarlock-timeout     seconds an attempt may take
--   oarlock-crashes, oarlock-interruptions, oarlock-releases   counts
--   oarlock-checkpoint  what the next attempt is told
--   oarlock-record      how the last attempt that did not end well ended, JSON
--   oarlock-failed      1: the job failed; when it runs again the counts begin anew

-- load_ours(jid, queue, of_queue) -> table, empty unless the fields count
--   of_queue   the field oarlock-queue, which rides on the first read of the job
-- Rare.
function load_ours(jid, queue, of_queue)
  if of_queue ~= queue then return {} end
  local f = redis.call('HMGET', 'ql:j:' .. jid, 'oarlock-timeout', 'oarlock-crashes', 'oarlock-interruptions',
    'oarlock-releases', 'oarlock-checkpoint', 'oarlock-record', 'oarlock-failed')
  local ours = { timeout = f[1], checkpoint = f[5], record = f[6], failed = f[7] }
  if not ours.failed then ours.crashes, ours.interruptions, ours.releases = f[2], f[3], f[4] end
  return ours
end

-- drop_ours(jid): forgets all of it
-- Rare.
function drop_ours(jid)
  redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-queue', 'oarlock-timeout', 'oarlock-crashes', 'oarlock-interruptions',
    'oarlock-releases', 'oarlock-checkpoint', 'oarlock-record', 'oarlock-failed')
end

-- drop_counts(jid): a failed job runs again
-- Rare.
function drop_counts(jid)
  redis.call('HDEL', 'ql:j:' .. jid, 'oarlock-crashes', 'oarlock-interruptions', 'oarlock-releases', 'oarlock-failed')
end
