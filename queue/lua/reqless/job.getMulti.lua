-- job.getMulti(now [, jid]...) -> JSON list of the jobs that exist, [] if none
-- As multiget.
return qless.multiget()
