-- job.requeue(now, worker, queue, jid, klass, data, delay [, option, value]...) -> jid
-- As requeue, with the differences of queue.put.
return qless.requeue()
