-- complete(now, jid, worker, queue, data [, 'next', queue] [, 'delay', seconds]
--          [, 'depends', jids]) -> the job's new state
-- Ends a running job, or moves it on to its next queue.
--
--   data   JSON, stored byte for byte
--   next   the queue it goes to; without it the job is complete
--   delay, depends  as in put, and only with next
--
-- Refuses  "Job(): no jid provided", "Complete(): Arg ...", "Complete(): ..."
--            "delay"|"depends" cannot be used without a "next".
--            does not exist, is not currently running: <state>
--            has been handed out to another worker: <owner>
--            running in another queue: <queue>
-- Reads    ql:j:<jid>; ql:config  jobs-history, jobs-history-count, max-job-history;
--          ql:tracked; the dependents
-- Writes   ql:j:<jid>; ql:q:<queue>-locks|work|scheduled; ql:w:<worker>:jobs; ql:s:run:<day>:<queue>;
--          ql:completed, what it prunes and what waited for the job;
--          with next  ql:q:<next>-work|scheduled|depends, ql:queues
-- Sends    completed or advanced on ql:log; ql:completed if tracked
local jid, worker = given_jid(ARGV[2]), given(ARGV[3], 'Complete', 'worker')
local queue = given(ARGV[4], 'Complete', reqless and 'queue_name' or 'queue')
local data = given_json(ARGV[5], 'Complete', 'data')
local named = {}
for i = 6, #ARGV - 1, 2 do named[ARGV[i]] = ARGV[i + 1] end
return complete_job(tonumber(ARGV[1]), jid, worker, queue, data, named.next, named.delay, named.depends)
