-- Recurring jobs that our supervisors put: at the times of a schedule, which Go reckons. The keys
-- are ours, and other clients know nothing of them; each run is an ordinary put.
--   ql:oarlock:crons              zset: names, by when to look at them; +inf if they are paused
--   ql:oarlock:cron:<name>        hash: what is put and when, and what was
--   ql:oarlock:cron-held:<name>   hash: which supervisor has it in its file, as time and print
--   ql:oarlock:cron-files:<fleet> set: the names that files of a fleet had
--   ql:oarlock:cron-state         hash: seen, when a supervisor looked last

-- What is written last is the hash, in one command: without it nothing has been done, and the
-- whole may be repeated.

-- set_look(name, due, pending, paused, now): when it is to be looked at again; '' and false are none
function set_look(name, due, pending, paused, now)
  local at = due
  if (pending or '') ~= '' and (tonumber(due) or math.huge) > now + 1 then at = text17(now + 1) end
  if (paused or '') ~= '' then at = '+inf' end
  redis.call('ZADD', 'ql:oarlock:crons', at, name)
end

-- holders(name, now, lease, own) -> table of prints that a living supervisor other than own has
-- in its file, whether there is any; forgets those that are long gone
function holders(name, now, lease, own)
  local key = 'ql:oarlock:cron-held:' .. name
  local held, prints, any = redis.call('HGETALL', key), {}, false
  for i = 1, #held, 2 do
    local time, print = string.match(held[i + 1], '^(%S+) (%S+)$')
    local age = now - (tonumber(time) or 0)
    if age > lease then
      redis.call('HDEL', key, held[i])
    elseif held[i] ~= own then
      prints[print], any = true, true
    end
  end
  return prints, any
end

-- end_cron(name): it recurs no more
function end_cron(name)
  redis.call('ZREM', 'ql:oarlock:crons', name)
  redis.call('DEL', 'ql:oarlock:cron:' .. name, 'ql:oarlock:cron-held:' .. name)
end

-- run_cron(batch, name, rev, due, following, missed, times) -> the answer of cron.run for one
function run_cron(batch, name, rev, due, following, missed, times)
  local key = 'ql:oarlock:cron:' .. name
  local f = redis.call('HMGET', key, 'rev', 'due', 'paused', 'overlap', 'last', 'last-jid', 'pending', 'pending-jid',
    'queue', 'klass', 'data', 'priority', 'retries', 'tags', 'runs', 'skipped', 'missed-runs')
  if f[1] ~= rev or f[2] ~= due then return { 'changed', 0, 0, '' } end
  if missed == '' then return put_off(batch, name, 0, 0, 'the caller cannot read its schedule') end
  local cron = { name = name, overlap = f[4], last = f[5], last_jid = f[6], pending = f[7], pending_jid = f[8], queue = f[9], klass = f[10],
    data = f[11], named = { priority = f[12] or '0', retries = f[13] or '5', tags = f[14] ~= '[]' and f[14] or nil, ['if-exists'] = 'never' } }
  local put, skipped, why = 0, 0, nil
  if cron.pending and cron.pending ~= '' and not is_alive(cron.last_jid) then
    why = put_run(batch, cron, cron.pending, cron.pending_jid)
    if not why then put, cron.pending = 1, '' end
  end
  for _, run in ipairs(times) do
    if why then break end
    local waits = cron.overlap ~= 'allow' and is_alive(cron.last_jid)
    if not waits then
      why = put_run(batch, cron, run[1], run[2])
      if not why then put = put + 1 end
    elseif cron.overlap == 'queue-one' and (cron.pending or '') == '' then
      cron.pending, cron.pending_jid = run[1], run[2]
    else
      skipped = skipped + 1
    end
  end
  if why then return put_off(batch, name, put, skipped, why) end
  local words = { 'due', following, 'last', cron.last or '', 'last-jid', cron.last_jid or '', 'pending', cron.pending or '',
    'pending-jid', cron.pending_jid or '', 'runs', text14((tonumber(f[15]) or 0) + put), 'skipped', text14((tonumber(f[16]) or 0) + skipped) }
  if missed ~= '0' then
    words[#words + 1], words[#words + 2] = 'missed-runs', text14((tonumber(f[17]) or 0) + tonumber(missed))
    words[#words + 1], words[#words + 2] = 'missed-at', ARGV[1]
  end
  set_look(name, following, cron.pending, f[3], batch.now)
  redis.call('HSET', key, unpack(words))
  return { 'ran', put, skipped, '' }
end

-- put_off(batch, name, put, skipped, why) -> the answer of cron.run for one that is tried again in
-- a while, all of it: what was put is known by its jid
function put_off(batch, name, put, skipped, why)
  redis.pcall('ZADD', 'ql:oarlock:crons', text17(batch.now + 60), name)
  return { 'refused', put, skipped, why }
end

-- put_run(batch, cron, time, jid) -> why it was refused; nil if it was put, or was before
-- Where the queue has keys, a tag key:<key> is its key, and it merges as puts of that queue do: then the run is the job that has its data.
function put_run(batch, cron, time, jid)
  local words, tags = {}, cron.named.tags
  cron.named.key = tags and turn_settings(cron.queue) and key_of_tags(tags) or nil
  enter_all(batch, { { queue = cron.queue, jid = jid, klass = cron.klass, data = cron.data, delay = 0, named = cron.named } }, words)
  if type(words[1]) == 'table' and not words[1][2] then return words[1][1] end
  cron.last, cron.last_jid = time, type(words[1]) == 'table' and words[1][2] or jid
  if cron.named.key and cron.overlap ~= 'allow' then note_cron(cron.last_jid, cron.name) end
  -- The next one of this call comes after it, in the order of the queue too.
  batch.now, batch.scores = batch.now + 0.000001, {}
  batch.time = string.format('%.20f', batch.now)
end

-- note_cron(jid, name): the job has the data of the last run of a recurring job, and may merge into another
-- Rare.
function note_cron(jid, name)
  local key = 'ql:j:' .. jid
  local merges, names = unpack(redis.call('HMGET', key, 'oarlock-merge', 'oarlock-crons'))
  if not merges or string.find('\n' .. (names or '') .. '\n', '\n' .. name .. '\n', 1, true) then return end
  redis.call('HSET', key, 'oarlock-crons', (names and names .. '\n' or '') .. name)
end

-- follow_crons(jid, into): another job has the data of one that is no more, so that the last runs of recurring jobs are over when that is
-- Rare.
function follow_crons(jid, into)
  for name in string.gmatch(redis.call('HGET', 'ql:j:' .. jid, 'oarlock-crons') or '', '[^\n]+') do
    local cron = 'ql:oarlock:cron:' .. name
    if redis.call('HGET', cron, 'last-jid') == jid then
      redis.call('HSET', cron, 'last-jid', into)
      note_cron(into, name)
    end
  end
end

-- is_alive(jid) -> whether there is such a job that is neither complete nor failed
function is_alive(jid)
  local state = jid and jid ~= '' and redis.call('HGET', 'ql:j:' .. jid, 'state')
  return state and state ~= 'complete' and state ~= 'failed'
end
