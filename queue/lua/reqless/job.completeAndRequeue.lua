-- job.completeAndRequeue(now, jid, worker, queue, data, next [, 'delay', seconds]
--                        [, 'depends', jids]) -> the job's new state
-- As complete with next; without it, as job.complete. The job keeps its list of
-- throttles, the old queue's included.
local jid, worker = given_jid(ARGV[2]), given(ARGV[3], 'Complete', 'worker')
local queue, data = given(ARGV[4], 'Complete', 'queue_name'), given_json(ARGV[5], 'Complete', 'data')
local named = {}
for i = 7, #ARGV - 1, 2 do named[ARGV[i]] = ARGV[i + 1] end
return complete_job(tonumber(ARGV[1]), jid, worker, queue, data, ARGV[6], named.delay, named.depends)
