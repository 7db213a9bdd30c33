-- queue.counts(now, queue) -> JSON object, the counts of one queue, known or not
-- queue.counts(now) -> as queues.counts, but {} if there are none
local now, queue = tonumber(ARGV[1]), ARGV[2]
if queue then return queue_counts(queue, now) end
local counts = all_counts(now)
return #counts == 0 and '{}' or json_list(counts)
