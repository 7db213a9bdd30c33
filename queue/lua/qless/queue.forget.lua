-- queue.forget(now, queue...) -> null
-- The queue is no longer listed. Its jobs stay, and bring it back with the next put.
--
-- Refuses  Redis does, if no queue is named
-- Writes   ql:queues
call_each('ZREM', 'ql:queues')
