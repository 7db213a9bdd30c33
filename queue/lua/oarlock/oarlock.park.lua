-- oarlock.park(now, jid, worker, queue, correlation, seconds [, option, value]...) -> the job's new state
-- A running job waits for an answer, and is nobody's meanwhile. It comes back when that is there, or when it has waited in vain.
--
--   correlation  what the answer will name; empty: the one that it has from before
--   seconds      how long it waits
--   options      data  JSON that replaces the job's
--                then  complete: the answer completes the job; a worker of ours sees to that
--   state        scheduled; waiting, if the answer is there; failed, if another job of the class has the correlation
--
-- Refuses  "Job(): no jid provided", "Park(): Arg ..."; "Park(): ..." why the job is not the worker's, or cannot wait
-- Reads    ql:j:<jid>; ql:oarlock:correlations:<klass>, early:<klass>; ql:config  max-job-history; ql:oarlock:rules
-- Writes   these but settings and rules; ql:q:<queue>-locks|scheduled|work; ql:w:<worker>:jobs; ql:oarlock:needs, correlations-due;
--          places of throttles that are free while a job is parked
-- Sends    ql:failed if tracked and failed; the queue's name on ql:oarlock:wake
return park_by_name(tonumber(ARGV[1]), given_jid(ARGV[2]), given(ARGV[3], 'Park', 'worker'), given(ARGV[4], 'Park', 'queue'),
  given(ARGV[5], 'Park', 'correlation'), finite(ARGV[6], 'Park', 'seconds'), options(7))
