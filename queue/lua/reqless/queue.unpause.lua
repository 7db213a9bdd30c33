-- queue.unpause(now, queue...) -> null
-- As unpause.
return qless.unpause()
