-- unpause(now, queue...) -> null
--
-- Refuses  Redis does, if no queue is named
-- Writes   ql:paused_queues
-- Sends    their names on ql:oarlock:wake
call_each('SREM', 'ql:paused_queues')
for i = 2, #ARGV do wake(ARGV[i]) end
