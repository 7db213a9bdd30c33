-- job.cancel(now [, jid]...) -> the jids, as a list
-- As cancel; the throttles of the jobs are released.
return qless.cancel()
