-- cron.end(now, name, lease) -> ended, held or gone
-- Ends a recurring job of ours; what it has put lives on.
--
--   held   a supervisor that is there has it in its file, so that it would come back
--
-- Reads    ql:oarlock:cron-held:<name>
-- Writes   ql:oarlock:crons, ql:oarlock:cron:<name>, ql:oarlock:cron-held:<name>
local now, name, lease = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local source = redis.call('HGET', 'ql:oarlock:cron:' .. name, 'source')
if not source then return 'gone' end
if source == 'file' then
  local _, any = holders(name, now, lease, '')
  if any then return 'held' end
end
end_cron(name)
return 'ended'
