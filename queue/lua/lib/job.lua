-- load_job(jid) -> the fields of ql:j:<jid> the commands work with, as text;
-- nil if there is no such job. A field that is not there is false.
function load_job(jid)
  local f = redis.call('HMGET', 'ql:j:' .. jid, 'jid', 'klass', 'state', 'queue', 'worker', 'priority', 'expires',
    'retries', 'remaining', 'data', 'tags', 'failure', 'spawned_from_jid', 'time', 'history', 'throttles', 'oarlock-lane', 'oarlock-life', 'oarlock-park',
    'oarlock-gate')
  if not f[1] then return nil end
  return {
    klass = f[2], state = f[3], queue = f[4], worker = f[5], priority = f[6], expires = f[7],
    retries = f[8], remaining = f[9], data = f[10], tags = f[11], failure = f[12], spawned = f[13],
    time = f[14], history = f[15], throttles = f[16], lane = f[17], life = f[18], park = f[19], gate = f[20],
  }
end

-- load_jobs(jids) -> list of what load_job returns for each
-- Rare.
function load_jobs(jids)
  local jobs = {}
  for i, jid in ipairs(jids) do jobs[i] = load_job(jid) end
  return jobs
end
