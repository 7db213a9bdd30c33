-- recurringJob.get(now, jid) -> the recurring job as JSON, or null
-- As recur.get; the job shows its throttles.
return qless.recur.get()
