-- job.fail(now, jid, worker, group, message [, data]) -> jid
-- As fail; the throttles of the job are released.
return qless.fail()
