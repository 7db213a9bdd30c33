-- pause(now, queue...) -> null
-- A paused queue takes jobs but hands out none.
--
-- Refuses  Redis does, if no queue is named
-- Writes   ql:paused_queues
call_each('SADD', 'ql:paused_queues')
