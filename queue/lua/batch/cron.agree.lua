-- cron.agree(now, fleet, instance, lease, [name, print]...) -> list
-- Says what recurring jobs the file of a supervisor has, and learns which of them it is to write.
--
--   lease  seconds after which a supervisor that said nothing more counts as gone
--   list   per name a list: same: it is so; new: nobody who is there has what is there now, or the
--          file is newer, write it; other: a newer file of somebody who is there has it
--          otherwise; hand: it was made by hand, and is left alone; then its rev and when it
--          is due, both '' if there is none
--
-- Of two files the one is newer that was seen later for the first time: what a recurring job was
-- before is known by its prints.
--
-- Reads    ql:oarlock:cron:<name>, ql:oarlock:crons
-- Writes   ql:oarlock:cron-held:<name>, ql:oarlock:cron-files:<fleet>
local now, fleet, instance, lease, reply = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), {}
for i = 5, #ARGV, 2 do
  local name, print = ARGV[i], ARGV[i + 1]
  local f = redis.call('HMGET', 'ql:oarlock:cron:' .. name, 'source', 'print', 'was', 'rev', 'due')
  local word = 'new'
  if f[1] == 'hand' then
    word = 'hand'
  elseif f[1] then
    local others = holders(name, now, lease, instance)
    redis.call('HSET', 'ql:oarlock:cron-held:' .. name, instance, ARGV[1] .. ' ' .. print)
    redis.call('SADD', 'ql:oarlock:cron-files:' .. fleet, name)
    if f[2] == print then
      word = redis.call('ZSCORE', 'ql:oarlock:crons', name) and 'same' or 'new' -- or somebody has removed it
    elseif others[f[2]] and string.find(' ' .. (f[3] or '') .. ' ', ' ' .. print .. ' ', 1, true) then
      word = 'other'
    end
  end
  reply[#reply + 1] = { word, f[4] or '', f[5] or '' }
end
return reply
