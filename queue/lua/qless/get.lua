-- get(now, jid) -> the job as JSON, or null
--
-- Refuses  "Job(): no jid provided"
-- Reads    ql:j:<jid>, its history and sets; ql:tracked
-- Writes   a history in the old form is moved to its list
local jid = given_jid(ARGV[2])
local job = load_job(jid)
if not job then return nil end
return view(jid, job, redis.call('ZSCORE', 'ql:tracked', jid))
