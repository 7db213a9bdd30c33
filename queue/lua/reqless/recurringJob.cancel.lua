-- recurringJob.cancel(now, jid) -> 1
-- As unrecur.
return qless.unrecur()
