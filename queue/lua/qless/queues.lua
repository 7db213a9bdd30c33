-- queues(now) -> JSON list of the counts of all known queues, oldest first
-- queues(now, queue) -> JSON object, the counts of one queue, known or not
--
-- Reads    ql:queues, ql:paused_queues, the sets of the queue
-- Writes   delayed jobs that are due become ready
local now, queue = tonumber(ARGV[1]), ARGV[2]
if queue then return queue_counts(queue, now) end
return json_list(all_counts(now))
