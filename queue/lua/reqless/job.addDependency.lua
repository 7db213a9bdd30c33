-- job.addDependency(now, jid [, jid]...) -> 1
-- As depends on.
local jid = given_jid(ARGV[2])
in_depends(jid)
depend(jid, arguments(3))
return 1
