-- cancel_job(jid, now): what cancel does to one job; nobody depends on it
-- Of a job that does not exist it speaks all the same, as the original does.
function cancel_job(jid, now)
  local key = 'ql:j:' .. jid
  local state, queue, worker, failure, tags, throttles =
    unpack(redis.call('HMGET', key, 'state', 'queue', 'worker', 'failure', 'tags', 'throttles'))
  if state == 'complete' then return end
  local event = '{"jid":' .. cjson.encode(jid) .. ',"queue":' .. cjson.encode(queue)
    .. ',"event":"canceled","worker":' .. cjson.encode(worker) .. '}'
  announce(event)
  if worker and worker ~= '' then redis.call('PUBLISH', 'ql:w:' .. worker, event) end
  if state then leave(jid, state, queue, worker, failure, queue) end
  if throttles then give_back(jid, queue, throttles, now) end
  drop_dependencies(jid)
  unindex_tags(jid, stored_tags(tags))
  tell_trackers('ql:canceled', jid)
  redis.call('DEL', key, key .. '-history')
end
