-- queue.forget(now, queue...) -> null
-- The same in both dialects.
return qless.queue.forget()
