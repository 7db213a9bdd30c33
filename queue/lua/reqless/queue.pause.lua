-- queue.pause(now, queue...) -> null
-- As pause.
return qless.pause()
