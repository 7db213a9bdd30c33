-- queue.length(now, queue) -> how many jobs run, are ready, or are scheduled
-- As length.
return qless.length()
