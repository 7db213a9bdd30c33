-- recur.update(now, jid [, name, value]...) -> 1
-- Changes a recurring job. The pairs are applied one by one, and a refusal leaves
-- those before it in place; children that exist are not changed.
--
--   names   priority, retries, backlog  number
--           interval   seconds; the next child moves by the difference
--           data       JSON, stored byte for byte
--           klass
--           queue      it moves there with the same next time
--           throttles  JSON list of throttle ids, stored byte for byte; reqless only
--
-- Refuses  "Recurring(): no jid provided", "Recur(): No recurring job <jid>"
--          "No value provided for <name>", "Recur(): Arg ...", "Recur(): Unrecognized option ..."
-- Reads    ql:r:<jid>
-- Writes   ql:r:<jid>, ql:q:<queue>-recur, ql:queues
local now, jid = tonumber(ARGV[1]), ARGV[2] or refuse('Recurring', 'no jid provided')
local key = 'ql:r:' .. jid
if redis.call('EXISTS', key) == 0 then refuse('Recur', 'No recurring job ' .. jid) end
for i = 3, #ARGV, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  if not value then error('No value provided for ' .. name) end
  if name == 'priority' or name == 'retries' or name == 'backlog' then
    redis.call('HSET', key, name, finite(value, 'Recur', name))
  elseif name == 'interval' then
    local interval = finite(value, 'Recur', 'interval')
    local queue, before = unpack(redis.call('HMGET', key, 'queue', 'interval'))
    redis.call('HSET', key, 'interval', interval)
    redis.call('ZINCRBY', 'ql:q:' .. queue .. '-recur', interval - tonumber(before), jid)
  elseif name == 'data' then
    redis.call('HSET', key, 'data', given_json(value, 'Recur', 'data'))
  elseif name == 'klass' then
    redis.call('HSET', key, 'klass', value)
  elseif name == 'queue' then
    local queue, throttles = unpack(redis.call('HMGET', key, 'queue', 'throttles'))
    local due = redis.call('ZSCORE', 'ql:q:' .. queue .. '-recur', jid)
    redis.call('ZREM', 'ql:q:' .. queue .. '-recur', jid)
    redis.call('ZADD', 'ql:q:' .. value .. '-recur', due or now, jid)
    redis.call('HSET', key, 'queue', value)
    if throttles or reqless then
      local list = move_throttles(stored_tags(throttles), queue_throttle(queue), value)
      redis.call('HSET', key, 'throttles', cjson.encode(list))
    end
    register(value)
  elseif name == 'throttles' and reqless then
    given_throttles(value, 'Recur')
    redis.call('HSET', key, 'throttles', value)
  else
    refuse('Recur', 'Unrecognized option "' .. name .. '"')
  end
end
return 1
