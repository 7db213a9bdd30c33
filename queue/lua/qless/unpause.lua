-- unpause(now, queue...) -> null
--
-- Refuses  Redis does, if no queue is named
-- Writes   ql:paused_queues
call_each('SREM', 'ql:paused_queues')
