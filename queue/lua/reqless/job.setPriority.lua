-- job.setPriority(now, jid, priority) -> priority, as an integer
-- As priority.
return qless.priority()
