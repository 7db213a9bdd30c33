-- job.heartbeat(now, jid, worker [, data]) -> expires
-- As heartbeat, but the worker is not registered.
return qless.heartbeat()
