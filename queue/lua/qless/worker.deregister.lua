-- worker.deregister(now, worker...) -> null
-- The worker is no longer listed. What it runs stays locked.
--
-- Refuses  Redis does, if no worker is named
-- Writes   ql:workers
call_each('ZREM', 'ql:workers')
