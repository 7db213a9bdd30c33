-- job.retry(now, jid, queue, worker [, delay [, group [, message]]]) -> remaining
-- As retry; the throttles of the job are released. A job with no retries left
-- is not announced to its trackers.
return qless.retry()
