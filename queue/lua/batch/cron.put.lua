-- cron.put(now, name, rev, fleet, instance, print, due, [field, value]...) -> put or changed
-- Makes a recurring job of ours, or replaces what it is; what it has done stays.
--
--   rev       of the one that the caller has seen, '' if there was none; with another nothing is
--             changed. '*' replaces any
--   fleet     whose file it is of, and instance, the supervisor that has it; '' if by hand
--   print     of all fields; what it was before is kept, so that an older file is known as such
--   due       when its next run is due; '+inf' if never
--
-- Reads and writes  ql:oarlock:cron:<name>
-- Writes            ql:oarlock:crons, ql:oarlock:cron-held:<name>, ql:oarlock:cron-files:<fleet>
local now, name, rev, fleet, instance, print, due = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local key = 'ql:oarlock:cron:' .. name
local old = redis.call('HMGET', key, 'rev', 'print', 'was', 'paused', 'pending')
if rev ~= '*' and (old[1] or '') ~= rev then return 'changed' end
local was = {}
for seen in string.gmatch((old[2] or '') .. ' ' .. (old[3] or ''), '%S+') do
  if seen ~= print and #was < 32 then was[#was + 1] = seen end
end
local words = { 'rev', text14((tonumber(old[1]) or 0) + 1), 'source', fleet == '' and 'hand' or 'file', 'print', print,
  'was', table.concat(was, ' '), 'due', due }
for i = 8, #ARGV do words[#words + 1] = ARGV[i] end
if fleet ~= '' then
  redis.call('HSET', 'ql:oarlock:cron-held:' .. name, instance, ARGV[1] .. ' ' .. print)
  redis.call('SADD', 'ql:oarlock:cron-files:' .. fleet, name)
end
set_look(name, due, old[5], old[4], now)
redis.call('HSET', key, unpack(words))
return 'put'
