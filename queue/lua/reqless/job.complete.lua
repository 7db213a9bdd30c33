-- job.complete(now, jid, worker, queue, data) -> 'complete'
-- As complete without options; what follows the data is ignored. The throttles of
-- the job are released.
local jid, worker = given_jid(ARGV[2]), given(ARGV[3], 'Complete', 'worker')
local queue, data = given(ARGV[4], 'Complete', 'queue_name'), given_json(ARGV[5], 'Complete', 'data')
return complete_job(tonumber(ARGV[1]), jid, worker, queue, data)
