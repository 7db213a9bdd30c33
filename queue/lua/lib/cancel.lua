-- cancel_job(jid, now, over): what cancel does to one job; nobody depends on it
--   over   its attempt, if it has one, is over
-- Of a job that does not exist it speaks all the same, as the original does.
function cancel_job(jid, now, over)
  local key = 'ql:j:' .. jid
  local state, queue, worker, failure, tags, throttles, lane, expires, gate, time =
    unpack(redis.call('HMGET', key, 'state', 'queue', 'worker', 'failure', 'tags', 'throttles', 'oarlock-lane', 'expires', 'oarlock-gate', 'time'))
  if state == 'complete' then return end
  local event = '{"jid":' .. cjson.encode(jid) .. ',"queue":' .. cjson.encode(queue)
    .. ',"event":"canceled","worker":' .. cjson.encode(worker) .. '}'
  announce(event)
  if worker and worker ~= '' then redis.call('PUBLISH', 'ql:w:' .. worker, event) end
  if state then leave(jid, state, queue, worker, failure, queue) end
  if throttles then give_back(jid, queue, throttles, now, nil, state == 'running' and not over and { gate, time, expires }) end
  if lane then depart_lane(jid, lane, now, state == 'running' and expires) end
  drop_dependencies(jid)
  unindex_tags(jid, stored_tags(tags))
  tell_trackers('ql:canceled', jid)
  delete_job(key)
  if state == 'throttled' and gate then leave_waitlist(jid, queue, throttles) end
end
