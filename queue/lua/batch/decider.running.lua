-- decider.running(now, [jid]...) -> list
-- What the command of a throttle is told of jobs that have places, without changing anything.
--
--   list   per job its state, queue, class, time, priority, tags, the size of its data, and the data; false above 4 KiB
--
-- Reads    ql:j:<jid>
local told = {}
for i = 2, #ARGV do
  local key, n = 'ql:j:' .. ARGV[i], #told
  local f, size = redis.pcall('HMGET', key, 'state', 'queue', 'klass', 'time', 'priority', 'tags'), redis.pcall('HSTRLEN', key, 'data')
  if type(size) ~= 'number' then f, size = {}, 0 end
  for k = 1, 6 do told[n + k] = f[k] or '' end
  told[n + 7], told[n + 8] = size, size <= 4096 and redis.pcall('HGET', key, 'data') or false
end
return told
