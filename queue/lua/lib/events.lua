-- Messages. Their key order is part of the protocol, because clients' tests
-- compare them as text; so they are written by hand. One that cannot be sent is not missed.

-- announce(event): one event on the channel that carries all of them
function announce(event)
  redis.pcall('PUBLISH', 'ql:log', event)
end

-- lock_lost(jid, worker): tells a worker, and the log, that a job is no longer its
function lock_lost(jid, worker)
  local event = '{"jid":' .. cjson.encode(jid) .. ',"event":"lock_lost","worker":' .. cjson.encode(worker) .. '}'
  redis.pcall('PUBLISH', 'ql:w:' .. worker, event)
  announce(event)
end

-- failed_event(jid, group, message, worker) -> event
function failed_event(jid, group, message, worker)
  return '{"message":' .. cjson.encode(message) .. ',"jid":' .. cjson.encode(jid)
    .. ',"group":' .. cjson.encode(group) .. ',"event":"failed","worker":' .. cjson.encode(worker) .. '}'
end

-- tell_trackers(channel, jid): a bare jid on a channel of its own, if it is tracked
-- Rare.
function tell_trackers(channel, jid)
  if type(redis.pcall('ZSCORE', 'ql:tracked', jid)) == 'string' then redis.pcall('PUBLISH', channel, jid) end
end
