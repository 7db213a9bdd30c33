-- cron.leave(now, fleet, instance, lease, [name]...) -> list
-- Recurring jobs that files of this fleet had, and that of this supervisor has not, end, unless a
-- supervisor that is there has them.
--
--   list   per name ended; held: somebody has it; or gone: it is not there, or was made by hand
--
-- Reads    ql:oarlock:cron:<name>
-- Writes   ql:oarlock:crons, ql:oarlock:cron:<name>, ql:oarlock:cron-held:<name>, ql:oarlock:cron-files:<fleet>
local now, fleet, instance, lease, reply = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), {}
for i = 5, #ARGV do
  local name, word = ARGV[i], 'held'
  redis.call('HDEL', 'ql:oarlock:cron-held:' .. name, instance)
  if redis.call('HGET', 'ql:oarlock:cron:' .. name, 'source') ~= 'file' then
    word = 'gone'
  else
    local _, any = holders(name, now, lease, instance)
    if not any then
      word = 'ended'
      end_cron(name)
    end
  end
  if word ~= 'held' then redis.call('SREM', 'ql:oarlock:cron-files:' .. fleet, name) end
  reply[#reply + 1] = word
end
return reply
