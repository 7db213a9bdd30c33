-- failed(now) -> JSON object, group to number of failed jobs
-- failed(now, group [, start [, limit]]) -> {"jobs": [jid...], "total": n} as JSON,
-- newest first
--
-- Refuses  "Failed(): Arg ..."
-- Reads    ql:failures, ql:f:<group>
local first, limit = page_arguments(3, 'Failed', 'start', 'limit')
if not ARGV[2] then return count_groups() end
return page_of_group(ARGV[2], first, limit)
