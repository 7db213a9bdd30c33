-- queue.put(now, worker, queue, jid, klass, data, delay [, option, value]...) -> jid
-- As put. The job holds the throttles it is given and its queue's; if one is
-- taken, it waits for that instead of in the work set.
return qless.put()
