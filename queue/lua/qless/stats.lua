-- stats(now, queue, date) -> JSON
-- The statistics of a queue for the day that contains a time:
--   {"run": {"std", "histogram", "mean", "count"}, "failures", "retries", "failed",
--    "wait": as run}
-- with times in seconds; 148 buckets for seconds, minutes, hours and days.
--
-- Refuses  "Queue(): no queue name provided", "Stats(): Arg "date" ..."
-- Reads    ql:s:wait|run|stats:<day>:<queue>
local queue, date = given_queue(ARGV[2]), number(ARGV[3], 'Stats', 'date')
return view_stats(queue, day(date))
