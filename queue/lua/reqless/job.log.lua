-- job.log(now, jid, message [, data]) -> null
-- As log.
return qless.log()
