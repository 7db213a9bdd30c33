-- Hooks: jobs that tell what happened to others.
--
--   ql:oarlock:hooks   hash, fleet: the queue of the jobs that tell it of jobs that fail, and for each pattern of
--                      Lua that the names of queues match whose jobs are meant a NUL and the pattern

-- Whether anybody wants to be told; as a table, who. A call of the protocol tells nobody.
hooks = false

-- hooked() -> list of what is wanted: a queue, and patterns
-- Rare.
function hooked()
  if hooks == true then
    hooks = {}
    local all = redis.call('HGETALL', 'ql:oarlock:hooks')
    for i = 2, #all, 2 do
      local want = {}
      for part in string.gmatch(all[i], '[^%z]+') do want[#want + 1] = part end
      hooks[#hooks + 1] = want
    end
  end
  return hooks
end

-- tell_dead(jid, queue, now, more): puts a job that tells that a job has failed, into each queue where that is wanted
--   queue  where it failed
--   more   how many attempts there were beside those that its counts tell of
-- Nobody's failure is lost for a hook that is broken.
-- Rare.
function tell_dead(jid, queue, now, more)
  local told, count = {}, 0
  local ok, wanted = pcall(hooked)
  for _, want in ipairs(ok and wanted or {}) do
    for i = 2, #want do
      if want[1] ~= queue and not told[want[1]] and in_glob(glob_parts(want[i]), queue) then
        told[want[1]], count = true, count + 1
        local name = 'dead-' .. jid .. '-' .. text17(now) .. (count > 1 and '-' .. count or '')
        pcall(put_dead, want[1], name, jid, queue, now, more)
      end
    end
  end
end

-- put_dead(to, name, jid, queue, now, more): into the queue to, as a job of that name
-- Rare.
function put_dead(to, name, jid, queue, now, more)
  redis.call('ZCARD', 'ql:q:' .. to .. '-work') -- raises before anything is written, if it is no queue
  local f = redis.call('HMGET', 'ql:j:' .. jid, 'klass', 'failure', 'retries', 'remaining', 'oarlock-crashes',
    'oarlock-record', 'oarlock-lane', 'tags')
  local size = redis.call('HSTRLEN', 'ql:j:' .. jid, 'data')
  local data = size > 0 and size <= 65536 and redis.call('HGET', 'ql:j:' .. jid, 'data')
  local _, failure = pcall(cjson.decode, f[2] or '{}')
  if type(failure) ~= 'table' then failure = {} end
  local _, _, _, lane_key = read_mark(f[7])
  local text = '{"event":"dead","at":' .. text17(now) .. ',"jid":' .. cjson.encode(jid) .. ',"queue":' .. cjson.encode(queue)
    .. ',"klass":' .. cjson.encode(f[1] or '') .. (lane_key and ',"key":' .. cjson.encode(lane_key) or '')
    .. ',"tags":' .. (f[8] and f[8] ~= '{}' and f[8] or '[]')
    .. ',"group":' .. cjson.encode(failure.group or '') .. ',"message":' .. cjson.encode(failure.message or '')
    .. ',"attempts":' .. text14(numeric(f[3], 0) - numeric(f[4], 0) + numeric(f[5], 0) + more)
    .. ',"crashes":' .. text14(numeric(f[5], 0)) .. ',"data_bytes":' .. text14(size) .. ',"data":' .. (data or 'null')
    .. ',"record":' .. (f[6] or 'null') .. '}'
  put_job(now, '', to, name, 'oarlock.dead', text, 0, { retries = '25' }, nil)
  pcall(register, to)
  wake(to)
end
