-- queue.throttle.set(now, queue, maximum) -> null
-- How many jobs of a queue may run at a time; 0 means any number.
--
-- Refuses  "Queue(): no queue name provided", "Throttle(): Arg ..."
-- Writes   ql:th:ql:q:<queue>
set_throttle(queue_throttle(given_queue(ARGV[2])), ARGV[3])
