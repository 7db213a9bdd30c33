-- job.timeout(now [, jid]...) -> null
-- As timeout; the job has no worker afterwards, and its throttles are released.
return qless.timeout()
