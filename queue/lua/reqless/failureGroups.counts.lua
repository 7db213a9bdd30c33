-- failureGroups.counts(now [, start [, limit]]) -> JSON object, group to number of
-- failed jobs. The two numbers are checked and otherwise unused.
page_arguments(2, 'Failed', 'start', 'limit')
return count_groups()
