-- queue.jobsByState(now, 'complete' [, offset [, limit]]) -> JSON list of jids, newest first
-- queue.jobsByState(now, state, queue [, offset [, limit]]) -> JSON list of jids
-- As jobs, for the state throttled as well.
return qless.jobs()
