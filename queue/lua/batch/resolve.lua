-- resolve(now, worker, [jid, popped]...) -> list
-- Tells what became of jobs that the worker may have settled.
--
--   popped  as in exchange
--   list    per job held (it still runs as it did: not settled), gone, or else
--
-- Reads    ql:j:<jid>  state, worker, time
local worker, reply = ARGV[2], {}
for i = 3, #ARGV, 2 do
  local f = redis.pcall('HMGET', 'ql:j:' .. ARGV[i], 'state', 'worker', 'time')
  local state, owner, time = f[1], f[2], f[3]
  local same = ARGV[i + 1] == '' or time == ARGV[i + 1]
  if f.err then -- nothing can be settled there
    reply[#reply + 1] = 'else'
  elseif not state then
    reply[#reply + 1] = 'gone'
  elseif state == 'running' and owner == worker and same then
    reply[#reply + 1] = 'held'
  else
    reply[#reply + 1] = 'else'
  end
end
return reply
