-- queue.throttle.get(now, queue) -> {"id", "ttl", "maximum"} as JSON
--
-- Refuses  "Queue(): no queue name provided"
-- Reads    ql:th:ql:q:<queue>
return view_throttle(queue_throttle(given_queue(ARGV[2])))
