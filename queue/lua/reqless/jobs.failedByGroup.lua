-- jobs.failedByGroup(now, group [, start [, limit]]) -> {"jobs": [jid...], "total": n}
-- as JSON, newest first; without a group as failureGroups.counts
local first, limit = page_arguments(3, 'Failed', 'start', 'limit')
if not ARGV[2] then return count_groups() end
return page_of_group(ARGV[2], first, limit)
