-- outlook(now, [queue]...) -> list
-- What there is to do, without changing anything.
--
--   list   per queue: how many jobs could be taken now (waiting, due, or with a lock that ran
--          out); when the one that is next was put, 0 if none waits; when the next delayed or
--          recurring job is due, 0 if there is none; 1 if the queue is paused
--
-- Reads    ql:q:<queue>-work|scheduled|recur|locks; ql:j:<jid>  time; ql:paused_queues
local now, reply = tonumber(ARGV[1]), {}
local any_paused = redis.call('EXISTS', 'ql:paused_queues') == 1
for i = 2, #ARGV do
  local queue = ARGV[i]
  local prefix, due, ready = 'ql:q:' .. queue, nil, 0
  for _, kind in ipairs({ '-scheduled', '-recur' }) do
    local when = tonumber(redis.call('ZRANGE', prefix .. kind, '0', '0', 'WITHSCORES')[2])
    if when and when <= now then ready = ready + redis.call('ZCOUNT', prefix .. kind, '-inf', ARGV[1]) end
    if when and (not due or when < due) then due = when end
  end
  local put = '0'
  local head = redis.call('ZREVRANGE', prefix .. '-work', '0', '0')[1]
  if head then
    put = redis.call('HGET', 'ql:j:' .. head, 'time') or '0'
    ready = ready + redis.call('ZCARD', prefix .. '-work')
  end
  ready = ready + redis.call('ZCOUNT', prefix .. '-locks', '-inf', ARGV[1])
  reply[#reply + 1] = ready
  reply[#reply + 1] = put
  reply[#reply + 1] = due and text17(due) or '0'
  reply[#reply + 1] = any_paused and redis.call('SISMEMBER', 'ql:paused_queues', queue) or 0
end
return reply
