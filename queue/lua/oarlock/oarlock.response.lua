-- oarlock.response(now, jid, worker) -> JSON, or nothing
-- What a job that runs was answered: an object with correlation, at, data or error, and end.
--
-- Refuses  "Job(): no jid provided", "Response(): Arg ..."
-- Reads    ql:j:<jid>
local f = redis.call('HMGET', 'ql:j:' .. given_jid(ARGV[2]), 'worker', 'state', 'time', 'oarlock-life', 'oarlock-response')
return f[1] == given(ARGV[3], 'Response', 'worker') and f[2] == 'running' and f[3] == f[4] and f[5]
