-- queue.unfail(now, queue, group [, count]) -> how many
-- As unfail; the count must be above zero.
return qless.unfail()
