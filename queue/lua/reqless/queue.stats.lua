-- queue.stats(now, queue, date) -> JSON
-- As stats.
return qless.stats()
