-- recurringJob.update(now, jid [, name, value]...) -> 1
-- As recur.update.
return qless.recur.update()
