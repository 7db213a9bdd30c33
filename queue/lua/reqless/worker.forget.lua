-- worker.forget(now, worker...) -> null
-- As worker.deregister.
return qless.worker.deregister()
