-- job.get(now, jid) -> the job as JSON, or null
-- As get; the job shows its throttles.
return qless.get()
